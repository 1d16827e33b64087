"""The static site: HTML pages and one JSON document, in place as a whole or not at all."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from wheelgrid.core.decision import Reason
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.core.evidence import Kind
from wheelgrid.core.knowledge import Feature
from wheelgrid.core.rung import RUNGS, Outcome, RungResult
from wheelgrid.reports.model import CellView, PackageCell, Site, State, TorchBlock

__all__ = ["DATA_SCHEMA_VERSION", "MARKER", "write_site"]

DATA_SCHEMA_VERSION = 1
MARKER = ".wheelgrid-site"
"""The file that says that a folder is a site of ours, so that it may be replaced."""

MAX_TEXT = 4096
_COMPONENT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*\Z")
_LINK = re.compile(r"https?://[^\x00-\x20\x7f<>\"'\\]+\Z")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What a browser must not see: controls, bidirectional overrides that reorder text, surrogates.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


@dataclass(frozen=True, slots=True)
class _PackageGroups:
    """The cells of a package by what is known, so that a page need not repeat itself."""

    have: tuple[PackageCell, ...]
    seen: tuple[PackageCell, ...]
    silent: tuple[PackageCell, ...]
    derived: dict[str, list[PackageCell]]
    gaps: dict[str, list[PackageCell]]
    counts: Counter[State]


def _clean(value: object) -> object:
    """What a template prints: bounded text without controls. Escaping comes after, for all."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    more = len(value) - MAX_TEXT
    text = f"{value[:MAX_TEXT]}… ({more} more characters)" if more > 0 else value
    if text.isprintable():
        return text
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", _ANSI.sub("", text.replace("\r\n", "\n")))


def _is_link(text: str) -> bool:
    """Only http and https, of printable ASCII: nothing else a source says becomes a link."""
    return len(text) < MAX_TEXT and text.isascii() and bool(_LINK.match(text))


def _component(text: str) -> str:
    """Text as one part of a path in the site; ValueError for anything that could leave it."""
    if not _COMPONENT.match(text):
        msg = f"{text!r} cannot be the name of a page: letters, digits, '.', '_' and '-' only"
        raise ValueError(msg)
    return text


def _has_page(view: CellView) -> bool:
    """All cells but those that could never be: there is no more to say about them."""
    headline = view.decision.headline
    return headline is None or headline.reason is not Reason.PLATFORM_WITHOUT_RUNTIME


def _whys(block: TorchBlock) -> list[tuple[State, str, int]]:
    """Why cells of a drawn table are excluded: each reason once, the widest first."""
    found: Counter[tuple[State, str]] = Counter()
    for view in (view for row in block.rows for view in row.cells):
        headline = view.decision.headline
        if headline is not None:
            found[view.state, headline.message] += 1
    return [(state, message, count) for (state, message), count in found.most_common()]


def _derived(view: CellView) -> bool:
    """Whether every pass of a cell was seen in another one: no package passed here itself."""
    passes = [item for item in view.packages if item.state is State.PASSED]
    return bool(passes) and all(item.derived_from for item in passes)


def _places(cells: Iterable[PackageCell]) -> dict[str, dict[str, dict[str, list[PackageCell]]]]:
    """Cells by platform, accelerator and torch; each list runs along the Pythons."""
    found: dict[str, dict[str, dict[str, list[PackageCell]]]] = {}
    for item in cells:
        rows = found.setdefault(str(item.cell.platform), {})
        row = rows.setdefault(str(item.cell.accelerator), {})
        row.setdefault(str(item.cell.torch), []).append(item)
    return found


def _package_groups(cells: tuple[PackageCell, ...]) -> _PackageGroups:
    have = tuple(c for c in cells if c.build is not None)
    derived: dict[str, list[PackageCell]] = {}
    gaps: dict[str, list[PackageCell]] = {}
    for item in cells:
        if item.build is None:
            gaps.setdefault(item.gap, []).append(item)
        elif item.derived_from:
            derived.setdefault(item.derived_from, []).append(item)
    seen = [c for c in have if c.record is not None and not c.derived_from]
    return _PackageGroups(
        have=have,
        seen=tuple(sorted(seen, key=lambda c: c.state is not State.FAILED)),
        silent=tuple(c for c in have if c.record is None),
        derived=derived,
        gaps=gaps,
        counts=Counter(c.state for c in have),
    )


def _totals(site: Site) -> dict[str, int]:
    """The numbers of the first sentence; `ran` and `follows` keep seen and derived apart."""
    states = Counter(v.state for v in site.cells)
    follows = sum(v.state in {State.PASSED, State.PARTIAL} and _derived(v) for v in site.cells)
    return {
        "included": sum(v.decision.included for v in site.cells),
        "ran": states[State.PASSED] + states[State.PARTIAL] - follows,
        "follows": follows,
        "failed": states[State.FAILED],
        "untested": states[State.UNTESTED],
    }


def _climb(rungs: tuple[RungResult, ...]) -> list[tuple[list[RungResult], RungResult]]:
    """Rungs, where neighbours that say nothing but the same thing share one line."""
    lines: list[tuple[list[RungResult], RungResult]] = []
    for result in rungs:
        last = lines[-1][1] if lines else None
        if last is not None and last == replace(result, rung=last.rung) and last.why:
            lines[-1][0].append(result)
        else:
            lines.append(([result], result))
    return lines


def _differences(feature: Feature) -> list[tuple[str, str, list[str], list[str]]]:
    """(torch, accelerator, claimed, observed) where the two have no status in common."""
    found: dict[tuple[str, str], dict[Kind, set[str]]] = {}
    for status in feature.statuses:
        kinds = found.setdefault((status.torch, status.accelerator), {})
        kinds.setdefault(status.source.kind, set()).add(status.status)
    return [
        (torch, accelerator, sorted(kinds[Kind.CLAIM]), sorted(kinds[Kind.OBSERVATION]))
        for (torch, accelerator), kinds in found.items()
        if {Kind.CLAIM, Kind.OBSERVATION} <= kinds.keys()
        and kinds[Kind.CLAIM].isdisjoint(kinds[Kind.OBSERVATION])
    ]


def _nearby(
    view: CellView, site: Site, pages: dict[str, CellView]
) -> dict[str, list[tuple[str, CellView]]]:
    """By axis, the cells that differ in its value alone, on the same platform."""
    return {
        axis: [
            (str(value), pages[other])
            for value in getattr(site.plan.matrix, axis)
            if (other := replace(view.cell, **{axis: value}).id) in pages
        ]
        for axis in ("python", "torch", "accelerator")
    }


def _environment(site: Site, pages: dict[str, CellView]) -> Environment:
    env = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=PackageLoader("wheelgrid.reports"),
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.tests |= {"derived": _derived, "link": _is_link}
    env.filters |= {"climb": _climb, "places": _places, "whys": _whys}
    env.globals |= {"site": site, "pages": pages, "rungs": RUNGS, "states": tuple(State)}
    return env


def _render(site: Site) -> Iterator[tuple[str, str]]:
    """Every HTML page: its path in the site and its text."""
    pages = {view.cell.id: view for view in site.cells if _has_page(view)}
    groups = {name: _package_groups(cells) for name, cells in site.packages.items()}
    env = _environment(site, pages)
    template = env.get_template("index.html.j2")
    yield "index.html", template.render(root="", groups=groups, totals=_totals(site))
    template = env.get_template("package.html.j2")
    for name, group in groups.items():
        recipe = site.plan.recipes[name]
        builds = [b for b in site.plan.builds if b.package == name]
        text = template.render(root="../../", recipe=recipe, group=group, builds=builds)
        yield f"p/{_component(name)}/index.html", text
    template = env.get_template("feature.html.j2")
    for feature in site.features:
        text = template.render(root="../../", feature=feature, differs=_differences(feature))
        yield f"f/{_component(feature.id)}/index.html", text
    template = env.get_template("cell.html.j2")
    for cell_id, view in pages.items():
        text = template.render(root="../../", view=view, nearby=_nearby(view, site, pages))
        yield f"c/{_component(cell_id)}/index.html", text


def _cell_data(view: CellView) -> dict[str, Any]:
    headline = view.decision.headline
    data: dict[str, Any] = {"state": str(view.state)}
    if headline is not None:
        return data | {"reason": str(headline.reason), "rule": headline.rule}
    data["packages"] = {
        item.package: {"state": str(item.state), "rungs": "".join(r.outcome[0] for r in item.rungs)}
        | ({"derived_from": item.derived_from} if item.derived_from else {})
        for item in view.packages
    }
    return data


def _data(site: Site) -> str:
    """States and rungs for machines. `rungs` has one letter a rung: that of its outcome."""
    document = {
        "schema_version": DATA_SCHEMA_VERSION,
        "title": site.title,
        "as_of": str(site.as_of),
        "rungs": [str(rung) for rung in RUNGS],
        "outcomes": {outcome[0]: str(outcome) for outcome in Outcome},
        "states": {str(s): {"glyph": s.glyph, "meaning": s.meaning} for s in State},
        "counts": {str(state): count for state, count in site.state_counts},
        "cells": {view.cell.id: _cell_data(view) for view in site.cells},
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"


def _check_target(target: Path) -> None:
    """A folder that somebody else wrote is not ours to delete."""
    empty = target.is_dir() and not any(target.iterdir())
    if empty or not target.exists() or (target / MARKER).is_file():
        return
    message = f"exists and is not a site that wheelgrid wrote (it has no {MARKER} file)"
    hint = "name another folder with --out, or remove this one yourself"
    raise BadInputError([Fault(file=str(target), message=message, hint=hint)])


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _swap(new: Path, target: Path, old: Path) -> None:
    """Put the new folder in place of the old one; on failure the old one comes back."""
    existed = target.exists()
    if existed:
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if existed:
            old.rename(target)
        raise


def write_site(site: Site, target: Path) -> int:
    """Write the site at `target`, whole, and return the number of its HTML pages.

    A site that was there is replaced, so pages of cells that are gone vanish with it; any other
    folder is refused with BadInputError. Nothing but the input decides the bytes.
    """
    target = target.resolve()
    _check_target(target)
    pages = list(_render(site))
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
        new = Path(scratch, "new")
        for name, text in pages:
            _write(new, name, text)
        copyfile(Path(__file__).with_name("templates") / "style.css", new / "style.css")
        _write(new, "data/site.json", _data(site))
        _write(new, MARKER, "Written by wheelgrid report, which replaces this folder.\n")
        _swap(new, target, Path(scratch, "old"))
    return len(pages)
