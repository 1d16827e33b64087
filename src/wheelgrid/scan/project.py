"""Reads the files of a project that can pin a version, and judges them against the sunsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.judge import judge
from wheelgrid.scan.mention import Mention, Source, What
from wheelgrid.scan.python_value import allows
from wheelgrid.scan.readers import is_generated, is_workflow, reader_of
from wheelgrid.scan.reliance import Kind, Reliance
from wheelgrid.scan.tree import MAX_BYTES, MAX_FILES, open_tree
from wheelgrid.scan.workflow_cells import CellBudget, JobMatrix, job_matrices
from wheelgrid.scan.yaml_files import meaning

__all__ = ["MAX_BYTES", "MAX_FILES", "Scan", "scan_project"]

_TORCH = re.compile(r"(?i)(?<![A-Za-z0-9])(?:py|lib)?torch(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a project relies on, which files were looked at, and what could not be read.

    `unread` are files; `unknown` are parts of files that were looked at; `left_out` are folders.
    """

    found: tuple[Reliance, ...]
    looked_at: tuple[str, ...]
    unread: tuple[tuple[str, str], ...]
    unknown: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Reading:
    """Everything that the readers gave, by file."""

    mentions: dict[str, list[Mention]] = field(default_factory=dict)
    matrices: dict[str, list[JobMatrix]] = field(default_factory=dict)
    unread: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)
    torch: bool = False
    budget: CellBudget = field(default_factory=CellBudget)

    def add(self, name: str, text: str) -> None:
        """Read one file."""
        reader = reader_of(name)
        if reader is None:
            return
        source = Source(name, text)
        self.mentions[name] = list(reader(source))
        if is_workflow(name):
            self.matrices[name] = job_matrices(
                text, name, budget=self.budget, unknown=source.unknown
            )
        self.unknown += [(name, what) for what in source.unknown]
        self.torch = self.torch or _TORCH.search(text) is not None


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _drop_repeated_claims(reading: _Reading) -> None:
    """`setup()` without python_requires is no gap where a file beside it has the range.

    Where none has it, one finding is enough for a folder: pyproject.toml, setup.cfg, setup.py.
    """
    order = ("pyproject.toml", "setup.cfg", "setup.py")
    ranged, gaps = set[str](), dict[str, list[str]]()
    for name, given in reading.mentions.items():
        if name.rpartition("/")[2] not in order:
            continue
        kinds = {m.what for m in given}
        if What.REQUIRES_PYTHON in kinds:
            ranged.add(_folder(name))
        if What.NO_REQUIRES_PYTHON in kinds:
            gaps.setdefault(_folder(name), []).append(name)
    for folder, names in gaps.items():
        names.sort(key=lambda name: order.index(name.rpartition("/")[2]))
        # A [project] table speaks for itself: what setup.py says then does not count.
        own = names[0].endswith("pyproject.toml")
        keep = {names[0]} if own or folder not in ranged else set[str]()
        for name in names:
            if name not in keep:
                reading.mentions[name] = [
                    m for m in reading.mentions[name] if m.what is not What.NO_REQUIRES_PYTHON
                ]


def _ranges(reading: _Reading) -> dict[str, list[str]]:
    """Folder -> the ranges of Python that its metadata declares."""
    found: dict[str, list[str]] = {}
    for name, given in reading.mentions.items():
        for one in given:
            if one.what is What.REQUIRES_PYTHON and one.context != "python_min":
                found.setdefault(_folder(name), []).append(one.text)
    return found


def _admitted(
    name: str, ranges: dict[str, list[str]], sunsets: tuple[Sunset, ...]
) -> frozenset[str]:
    """The Pythons in sunset that the nearest declared range admits; all without a range."""
    folder = _folder(name)
    while folder and folder not in ranges:
        folder = _folder(folder)
    given = ranges.get(folder, [])
    return frozenset(
        s.value
        for s in sunsets
        if s.axis == "python"
        and (not given or any(allows(text, s.value) is not False for text in given))
    )


def _carries(sunset: Sunset, path: tuple[str, ...], text: str) -> bool:
    """Whether a value of a matrix, under its keys, is the one in sunset."""
    what = meaning(path, text)
    mention = Mention(file="", line=1, column=1, what=what, text=text)
    judged = judge([mention], (sunset,), admitted=frozenset(), torch=False)
    return any(one.kind is Kind.PIN for one in judged)


def _counted(
    judged: list[Reliance], matrices: list[JobMatrix], sunsets: tuple[Sunset, ...]
) -> Iterator[Reliance]:
    """Findings inside a workflow's matrix say how many of its cells have the value."""
    by_id = {s.id: s for s in sunsets}
    for one in judged:
        matrix = next((m for m in matrices if m.first <= one.line <= m.last), None)
        if matrix is None or one.kind is not Kind.PIN:
            yield one
            continue
        sunset = by_id[one.sunset]
        hits = matrix.having(lambda path, text, s=sunset: _carries(s, path, text))  # type: ignore[misc]
        if not hits:
            continue  # every such cell is excluded: nothing runs with it
        suffix = f" ({hits} of {len(matrix.cells)} cells of job {matrix.job})"
        cells = {"job": len(matrix.cells), "with_value": hits}
        yield replace(one, message=one.message + suffix, cells=cells)


def _once(found: list[Reliance]) -> list[Reliance]:
    """Findings without repeats: one line may be read in two ways, and PKG-INFO is generated."""
    seen: dict[tuple[str, int, str, str], Reliance] = {}
    written = {(one.kind, one.sunset) for one in found if not is_generated(one.file)}
    for one in found:
        if not is_generated(one.file) or (one.kind, one.sunset) not in written:
            seen.setdefault((one.file, one.line, one.kind, one.sunset), one)
    return list(seen.values())


def _judged(reading: _Reading, sunsets: tuple[Sunset, ...]) -> Iterator[Reliance]:
    ranges = _ranges(reading)
    declares = any(m.what is What.REQUIREMENT for given in reading.mentions.values() for m in given)
    torch = reading.torch or not declares
    for name, given in reading.mentions.items():
        admitted = _admitted(name, ranges, sunsets)
        judged = list(judge(given, sunsets, admitted=admitted, torch=torch))
        yield from _counted(judged, reading.matrices.get(name, []), sunsets)


def scan_project(root: Path, sunsets: tuple[Sunset, ...]) -> Scan:
    """Read every file of a folder, sdist or wheel that can pin a version, and judge it."""
    reading = _Reading()
    tree = open_tree(root, lambda name: reader_of(name) is not None)
    for entry in tree.files:
        if entry.problem:
            reading.unread.append((entry.name, entry.problem))
        else:
            reading.add(entry.name, entry.text)
    _drop_repeated_claims(reading)
    found = _once(list(_judged(reading, sunsets)))
    found.sort(key=lambda r: (r.file, r.line, r.column, r.kind, r.sunset))
    return Scan(
        found=tuple(found),
        looked_at=tuple(reading.mentions),
        unread=tuple(reading.unread),
        unknown=tuple(reading.unknown),
        left_out=tuple(sorted(tree.left_out.items())),
    )
