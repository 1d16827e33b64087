"""How many cells of a workflow's matrices carry a value: expanded as GitHub does it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from wheelgrid.config.foreign import ForeignNode, Kind, parse_foreign
from wheelgrid.config.yaml import Faults
from wheelgrid.importers.github_cells import expand
from wheelgrid.importers.github_read import read_matrix
from wheelgrid.importers.report import Level

__all__ = ["CellBudget", "JobMatrix", "job_matrices"]

MAX_CELLS = 20_000
_MOST_WORK = 200_000
_KNOWN_ANYWAY = {"number-for-version"}  # 3.10 without quotes is 3.1, and expands as such


@dataclass(slots=True)
class CellBudget:
    """How many cells, each with its rules, one scan still expands; GitHub runs 256 of a job."""

    left: int = _MOST_WORK

    def takes(self, cells: int, rules: int) -> bool:
        """Whether so many cells, judged by so many rules, still fit; those that do are spent."""
        work = cells * (1 + rules)
        if cells > MAX_CELLS or work > self.left:
            return False
        self.left -= work
        return True


@dataclass(frozen=True, slots=True)
class JobMatrix:
    """The matrix of one job: its lines in the file and its cells."""

    job: str
    first: int
    last: int
    cells: tuple[Mapping[str, object], ...]

    def having(self, carries: Callable[[tuple[str, ...], str], bool]) -> int:
        """How many cells carry a value, judged by its keys and text."""
        known: dict[tuple[tuple[str, ...], str], bool] = {}
        count = 0
        for cell in self.cells:
            for pair in _leaves((), cell):
                if pair not in known:
                    known[pair] = carries(*pair)
                if known[pair]:
                    count += 1
                    break
        return count


def _leaves(path: tuple[str, ...], value: object) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves((*path, str(name)), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(path, inner)
    elif isinstance(value, float):
        text = str(value)
        yield path, text
        if len(text) == 3:  # noqa: PLR2004 - 3.1 may have been written 3.10
            yield path, f"{text}0"
    elif value is not None:
        yield path, str(value)


def _last_line(node: ForeignNode) -> int:
    lines = [node.line, *(_last_line(item) for item in node.items)]
    lines += [_last_line(value) for _, value in node.pairs]
    return max(lines)


def job_matrices(
    text: str, file: str, *, budget: CellBudget, unknown: list[str]
) -> list[JobMatrix]:
    """Every matrix that can be expanded; those decided at run time are left out.

    `unknown` takes the jobs whose matrix has too many cells to count.
    """
    root = parse_foreign(text, file=file, faults=Faults())
    jobs = root.get("jobs") if root is not None else None
    found = []
    for name, job in jobs.entries() if jobs is not None else ():
        strategy = job.get("strategy")
        matrix = strategy.get("matrix") if strategy is not None else None
        if matrix is None or matrix.kind is not Kind.MAPPING:
            continue
        raw = read_matrix(matrix, file=file, job=name)
        doubts = {Level.ERROR, Level.UNKNOWN}
        if any(f.level in doubts and f.code not in _KNOWN_ANYWAY for f in raw.findings):
            continue
        size = math.prod(max(1, len(axis.values)) for axis in raw.axes)
        if not budget.takes(size, len(raw.exclude) + len(raw.include)):
            unknown.append(
                f"line {matrix.line}: the matrix of job {name} has too many cells to count"
            )
            continue
        cells = expand(
            {axis.name: axis.values for axis in raw.axes},
            [row.values for row in raw.exclude],
            [row.values for row in raw.include],
        )
        found.append(JobMatrix(name, matrix.line, _last_line(matrix), tuple(cells)))
    return found
