"""Writes the exclusions of a workflow's matrix, and says which of them have no effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wheelgrid.importers import github_rules as rules
from wheelgrid.importers.document import ExcludeOut, identifier
from wheelgrid.importers.github_cells import Product
from wheelgrid.importers.github_job import Job
from wheelgrid.importers.github_read import RawRow
from wheelgrid.importers.report import Json, canonical
from wheelgrid.importers.values import text_of

__all__ = ["excludes"]


def _id(row: RawRow) -> str:
    return identifier("-".join(map(text_of, row.values.values())), default="rule")[:70]


def _why_dead(row: RawRow, product: Product) -> str:
    parts = [
        f"{axis} has no value {text_of(wanted)!r}"
        for axis, wanted in row.values.items()
        if not product.fitting(axis, wanted)
    ]
    return ", ".join(parts)


def _report_dropped(job: Job, use: rules.Use, product: Product) -> None:
    """Say why a rule is dropped."""
    row = job.raw.exclude[use.number]
    if use.dead:
        why = _why_dead(row, product)
        job.note("dead-exclude", row.place, f"this rule matches nothing and is dropped: {why}")
        return
    others = [job.raw.exclude[number] for number in use.covered_by]
    lines = ", ".join(str(other.place.line) for other in others)
    same = any(canonical(other.values) == canonical(row.values) for other in others)
    what = "this rule is an exact duplicate" if same else "this rule only repeats others"
    rule = "rule" if len(others) == 1 else "rules"
    message = f"{what} and is dropped: covered by the {rule} at line {lines}"
    job.note("duplicate-exclude" if same else "redundant-exclude", row.place, message)


def _report_patches(job: Job, row: RawRow, when: Mapping[str, list[Json]]) -> None:
    """Say where a kept rule still names an exact patch version."""
    for axis, version, after in rules.exact_patches(row.values):
        minor = version.rpartition(".")[0]
        if when[axis] == [f"{minor}.*"]:
            continue
        name = axis.removesuffix("-version").removesuffix("_version")
        message = (
            f"this rule names {name} {version} exactly: it will stop matching at {after}; "
            f"write {minor}.*"
        )
        job.note("exact-patch", row.place, message)


class _Reasons:
    """The comment above a rule; it also holds for those after it that name the same axes."""

    def __init__(self, job: Job) -> None:
        self.job, self.text, self.axes = job, "", set[str]()

    def of(self, row: RawRow) -> str:
        own = self.job.comments.get(row.place.line, "")
        if own or set(row.values) != self.axes:
            self.text = own
        self.axes = set(row.values)
        return self.text or f"excluded by {self.job.options.name}"


def excludes(job: Job, product: Product, used: Sequence[rules.Use]) -> list[ExcludeOut]:
    """The rules that have an effect, each with the reason that its comment gives."""
    found: list[ExcludeOut] = []
    names: set[str] = set()
    reasons = _Reasons(job)
    for use in used:
        row = job.raw.exclude[use.number]
        reason = reasons.of(row)
        if not use.needed:
            _report_dropped(job, use, product)
            continue
        when = rules.patterns_of(product, row.values, ranges=job.options.ranges)
        _report_patches(job, row, when)
        name = base = _id(row)
        count = 1
        while name in names:
            count += 1
            name = f"{base}-{count}"
        names.add(name)
        found.append(
            ExcludeOut(
                id=name,
                when=when,
                reason=reason,
                source=f"{job.options.name} line {row.place.line}",
                date=job.options.as_of,
            )
        )
    return found
