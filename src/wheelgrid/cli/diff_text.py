"""How a difference of plans reads: in a terminal, as Markdown for a pull request, as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from wheelgrid.planning.diff import CellChange, Cost, Diff

__all__ = ["diff_document", "diff_lines", "diff_markdown"]

DIFF_SCHEMA_VERSION = 1
MAX_MARKDOWN = 60_000
"""Bytes; GitHub refuses comments of more than 65,536 characters."""
_SHOWN = 40
_UNSAFE = str.maketrans({c: f"&#{ord(c)};" for c in "&<>|`*_[]()#!~@\\$\r\n"})


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


def _cost_rows(before: Cost, after: Cost) -> list[tuple[str, str, str]]:
    return [
        (name.replace("_", " "), _number(getattr(before, name)), _number(getattr(after, name)))
        for name in ("build_minutes", "test_minutes", "gpu_minutes", "usd")
    ]


def _grouped(changes: Iterable[CellChange]) -> list[tuple[str, str, list[str]]]:
    """Cells by reason, the largest group first: (code, why, ids)."""
    groups: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        groups.setdefault((change.code, change.why), []).append(change.id)
    ordered = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [(code, why, ids) for (code, why), ids in ordered]


def _packages(names: Sequence[str], known: Sequence[str]) -> str:
    """Builds counted by package."""
    counts: Counter[str] = Counter()
    for name in names:
        fits = [p for p in known if name.startswith(f"{p}-")]
        counts[max(fits, key=len, default="")] += 1
    return ", ".join(f"{n} {package or 'other'}" for package, n in sorted(counts.items()))


def _section(sign: str, title: str, changes: Sequence[CellChange]) -> list[str]:
    if not changes:
        return []
    lines = [f"\n{title}: {len(changes)}"]
    for code, why, ids in _grouped(changes):
        lines.append(f"  {len(ids)} [{code}] {why}")
        lines += [f"    {sign} {name}" for name in ids[:_SHOWN]]
        if len(ids) > _SHOWN:
            lines.append(f"    {sign} and {len(ids) - _SHOWN} more")
    return lines


def diff_lines(diff: Diff, packages: Sequence[str]) -> list[str]:
    """The difference for a terminal."""
    lines = [f"from {diff.before}", f"to   {diff.after}"]
    lines += [f"{name}: {old} -> {new} ({new - old:+d})" for name, old, new in diff.counts]
    for axis, added, removed in diff.axes:
        signs = [*(f"+{v}" for v in added), *(f"-{v}" for v in removed)]
        lines.append(f"axis {axis}: {' '.join(signs)}")
    lines += [f"{n}: {a} -> {b}" for n, a, b in _cost_rows(diff.cost_before, diff.cost_after)]
    lines += _section("+", "cells gained", diff.gained)
    lines += _section("-", "cells lost", diff.lost)
    lines += _section("~", "cells at another stage of a sunset", diff.entering_sunset)
    for sign, title, builds in (
        ("+", "builds added", diff.builds_added),
        ("-", "builds removed", diff.builds_removed),
    ):
        if builds:
            lines.append(f"\n{title}: {len(builds)} ({_packages(builds, packages)})")
            lines += [f"    {sign} {name}" for name in builds[:_SHOWN]]
            if len(builds) > _SHOWN:
                lines.append(f"    {sign} and {len(builds) - _SHOWN} more")
    if diff.builds_changed:
        lines.append(f"\nbuilds changed: {len(diff.builds_changed)}")
        for change in diff.builds_changed[:_SHOWN]:
            fields = ", ".join(f"{name} {old} -> {new}" for name, old, new in change.fields)
            lines.append(f"    ~ {change.id}: {fields}")
    if diff.unexplained:
        lines.append(
            f"\n{len(diff.unexplained)} cells are lost without a reason: say why in matrix.yaml, "
            "removed: [{axis, value, reason, source, date}]"
        )
    if not diff.changed:
        lines.append("no cell, build or axis value differs")
    return lines


def _safe(text: str) -> str:
    """Text that cannot be markup, a mention or a table cell's end: values are hostile."""
    return text.translate(_UNSAFE)


def _details(title: str, changes: Sequence[CellChange], sign: str) -> list[str]:
    lines = [f"<details><summary>{title}: {len(changes)}</summary>", ""]
    for code, why, ids in _grouped(changes):
        lines.append(f"- **{len(ids)}** {_safe(code)}: {_safe(why)}")
        shown = [f"{sign} {_safe(name)}" for name in ids[:_SHOWN]]
        more = [f"and {len(ids) - _SHOWN} more"] if len(ids) > _SHOWN else []
        lines.append("  <br>" + "<br>".join(shown + more))
    return [*lines, "", "</details>", ""]


def diff_markdown(diff: Diff, packages: Sequence[str]) -> str:
    """The difference as a comment on a pull request; below GitHub's limit, whatever it holds."""
    if not diff.changed:
        return "### wheelgrid: no cell, build or axis value differs\n"
    rows = [(name, str(old), str(new), f"{new - old:+d}") for name, old, new in diff.counts]
    rows += [(*row, "") for row in _cost_rows(diff.cost_before, diff.cost_after)]
    lines = [
        f"### wheelgrid: {len(diff.gained)} cells gained, {len(diff.lost)} lost",
        "",
        "| | before | after | |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]
    for axis, added, removed in diff.axes:
        signs = [*(f"+{_safe(v)}" for v in added), *(f"-{_safe(v)}" for v in removed)]
        lines.append(f"- axis {_safe(axis)}: {' '.join(signs)}")
    if diff.unexplained:
        lines += ["", f"**{len(diff.unexplained)} cells are lost without a reason.**"]
    lines.append("")
    parts = [
        _details("Cells lost", diff.lost, "-") if diff.lost else [],
        _details("Cells gained", diff.gained, "+") if diff.gained else [],
        _details("Cells at another stage of a sunset", diff.entering_sunset, "~")
        if diff.entering_sunset
        else [],
        _builds_markdown(diff, packages),
    ]
    return _capped(lines, [line for part in parts for line in part])


def _builds_markdown(diff: Diff, packages: Sequence[str]) -> list[str]:
    lines = []
    for title, builds in (("added", diff.builds_added), ("removed", diff.builds_removed)):
        if builds:
            lines.append(f"- {len(builds)} builds {title}: {_safe(_packages(builds, packages))}")
    if diff.builds_changed:
        lines.append(f"- {len(diff.builds_changed)} builds changed")
    return lines


def _capped(head: list[str], body: list[str]) -> str:
    """The text, cut at a line with a count of what is left out."""
    size = sum(len(line.encode()) + 1 for line in head)
    kept = list(head)
    for index, line in enumerate(body):
        size += len(line.encode()) + 1
        if size > MAX_MARKDOWN:
            kept.append(f"\n{len(body) - index} lines are left out: `wheelgrid diff` prints them.")
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def diff_document(diff: Diff) -> dict[str, Any]:
    """The difference as JSON; schema in schemas/diff.schema.json."""
    return {
        "schema_version": DIFF_SCHEMA_VERSION,
        "before": diff.before,
        "after": diff.after,
        "counts": {name: {"before": old, "after": new} for name, old, new in diff.counts},
        "axes": {
            name: {"added": list(added), "removed": list(removed)}
            for name, added, removed in diff.axes
        },
        "cells": {
            "gained": [asdict(change) for change in diff.gained],
            "lost": [asdict(change) for change in diff.lost],
            "sunset": [asdict(change) for change in diff.entering_sunset],
        },
        "builds": {
            "added": list(diff.builds_added),
            "removed": list(diff.builds_removed),
            "changed": [
                {
                    "id": change.id,
                    "fields": {n: {"before": a, "after": b} for n, a, b in change.fields},
                }
                for change in diff.builds_changed
            ],
        },
        "cost": {"before": asdict(diff.cost_before), "after": asdict(diff.cost_after)},
    }
