"""Packs cells into CI jobs: at most so many a matrix, by cost, and none lost on the way."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from wheelgrid.core.errors import BadInputError, Fault

__all__ = ["MAX_JOBS", "Difference", "Job", "Load", "Sharding", "check_count", "pack", "shard"]
__all__ += ["split", "unfinished", "verify"]

MAX_JOBS = 256
"""GitHub's limit of jobs that one matrix of a workflow may make."""


class Sharding(StrEnum):
    """What to do with more cells than a matrix may have jobs."""

    ERROR = "error"
    PACK = "pack"
    SPLIT = "split"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One cell (or package in a cell) to run: its id, its cost, and the labels it asks for."""

    id: str
    cost: float = 1.0
    runs_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job of a matrix. All its cells ask for the same labels; it runs one after another."""

    id: str
    name: str
    runs_on: tuple[str, ...]
    cells: tuple[str, ...]
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How what is there differs from what was planned."""

    missing: tuple[str, ...]
    repeated: tuple[str, ...]
    unknown: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.missing or self.repeated or self.unknown)

    def __str__(self) -> str:
        """Print counts and the first of each kind: `2 missing (a, b), 0 repeated, ...`."""
        parts = []
        for kind in ("missing", "repeated", "unknown"):
            ids: tuple[str, ...] = getattr(self, kind)
            shown = ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")  # noqa: PLR2004
            parts.append(f"{len(ids)} {kind}" + (f" ({shown})" if ids else ""))
        return ", ".join(parts)


def unfinished(planned: Iterable[str], finished: Iterable[str]) -> Difference:
    """Compare what ended with what was planned: asked after every run, whatever CI reports."""
    wanted, seen = Counter(planned), Counter(finished)
    return Difference(
        missing=tuple(sorted(wanted.keys() - seen.keys())),
        repeated=tuple(sorted(id_ for id_, times in seen.items() if times > 1)),
        unknown=tuple(sorted(seen.keys() - wanted.keys())),
    )


def verify(planned: Iterable[str], jobs: Iterable[Job]) -> None:
    """RuntimeError unless every planned cell is in exactly one job: that is a defect here."""
    lost = unfinished(planned, (cell for job in jobs for cell in job.cells))
    if lost:
        msg = f"packing lost or repeated cells: {lost}"
        raise RuntimeError(msg)


def check_count(count: int, axes: Mapping[str, int], *, max_jobs: int = MAX_JOBS) -> None:
    """BadInputError where one matrix cannot hold one job for each cell.

    `axes` counts the values of each axis, so that the author sees which one to cut.
    """
    if count <= max_jobs:
        return
    sizes = ", ".join(f"{name} {size}" for name, size in sorted(axes.items(), key=_by_size))
    product = math.prod(axes.values())
    message = f"{count} jobs > {max_jobs} in one matrix"
    if axes:
        message += f"; values per axis: {sizes}"
        excluded = "" if product == count else ", some excluded"
        message += f" ({' x '.join(str(size) for size in axes.values())} = {product}{excluded})"
    shards = math.ceil(count / max_jobs)
    hint = (
        f"cut an axis, split into ceil({count}/{max_jobs}) = {shards} matrices, or pack several "
        f"cells into each of {max_jobs} jobs"
    )
    raise BadInputError([Fault(file="matrix.yaml", path="axes", message=message, hint=hint)])


def _by_size(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _single(load: Load, number: int) -> Job:
    return Job(
        id=f"job-{number:04d}",
        name=load.id,
        runs_on=load.runs_on,
        cells=(load.id,),
        cost=load.cost,
    )


def _sorted(loads: Iterable[Load]) -> list[Load]:
    """By id, so that membership does not depend on the order of the input; ids are unique."""
    found = sorted(loads, key=lambda load: load.id)
    twice = sorted(id_ for id_, times in Counter(load.id for load in found).items() if times > 1)
    if twice:
        message = f"{len(twice)} cells are listed twice, the first is {twice[0]}"
        raise BadInputError([Fault(file="selection", message=message)])
    if not all(0 <= load.cost < math.inf for load in found):
        raise ValueError("a cost is negative or no number")
    return found


def split(loads: Iterable[Load], *, max_jobs: int = MAX_JOBS) -> tuple[tuple[Job, ...], ...]:
    """One job for each cell, in ceil(n / max_jobs) matrices of nearly equal size, by id."""
    found = _sorted(loads)
    shards = math.ceil(len(found) / max_jobs)
    ends = [round(len(found) * number / shards) for number in range(shards + 1)] if shards else []
    matrices = tuple(
        tuple(_single(load, number + 1) for number, load in enumerate(found[start:end], start))
        for start, end in pairwise(ends)
    )
    verify([load.id for load in found], [job for matrix in matrices for job in matrix])
    return matrices


def _lots(
    groups: Mapping[tuple[str, ...], Sequence[Load]], jobs: int
) -> dict[tuple[str, ...], int]:
    """How many of fewer jobs than loads each group of labels gets, at least one.

    The next one goes where the mean load is highest.
    """
    totals = {labels: math.fsum(load.cost for load in group) for labels, group in groups.items()}
    lots = dict.fromkeys(groups, 1)
    queue = [(-totals[labels], labels) for labels in groups if len(groups[labels]) > 1]
    heapq.heapify(queue)
    for _ in range(jobs - len(groups)):
        _, labels = heapq.heappop(queue)
        lots[labels] += 1
        if lots[labels] < len(groups[labels]):
            heapq.heappush(queue, (-totals[labels] / lots[labels], labels))
    return lots


def _longest_first(loads: Sequence[Load], jobs: int) -> list[list[Load]]:
    """Longest processing time first: each load goes to the job with least to do so far.

    Graham 1969: no job gets more than 4/3 - 1/(3 jobs) of the best possible longest job. Loads
    without cost are spread by number.
    """
    queue = [(0.0, 0, number) for number in range(jobs)]
    bins: list[list[Load]] = [[] for _ in range(jobs)]
    for load in sorted(loads, key=lambda load: (-load.cost, load.id)):
        cost, count, number = heapq.heappop(queue)
        bins[number].append(load)
        heapq.heappush(queue, (cost + load.cost, count + 1, number))
    return bins


def pack(loads: Iterable[Load], *, max_jobs: int = MAX_JOBS) -> tuple[Job, ...]:
    """At most `max_jobs` jobs of nearly equal cost; cells share a job only with their labels.

    BadInputError where there are more different sets of labels than jobs.
    """
    found = _sorted(loads)
    groups: dict[tuple[str, ...], list[Load]] = {}
    for load in found:
        groups.setdefault(load.runs_on, []).append(load)
    if len(groups) > max_jobs:
        message = f"{len(groups)} different sets of runner labels > {max_jobs} jobs in one matrix"
        raise BadInputError([Fault(file="matrix.yaml", path="runners", message=message)])
    if len(found) <= max_jobs:
        return tuple(_single(load, number) for number, load in enumerate(found, 1))
    lots = _lots(groups, max_jobs)
    bins = [b for labels in sorted(groups) for b in _longest_first(groups[labels], lots[labels])]
    jobs = tuple(_packed(loads, number) for number, loads in enumerate(filter(None, bins), 1))
    verify([load.id for load in found], jobs)
    return jobs


def _packed(loads: Sequence[Load], number: int) -> Job:
    more = f" and {len(loads) - 1} more" if len(loads) > 1 else ""
    return Job(
        id=f"job-{number:04d}",
        name=f"{loads[0].id}{more}",
        runs_on=loads[0].runs_on,
        cells=tuple(load.id for load in loads),
        cost=math.fsum(load.cost for load in loads),
    )


def shard(
    loads: Sequence[Load],
    how: Sharding = Sharding.ERROR,
    *,
    axes: Mapping[str, int] | None = None,
    max_jobs: int = MAX_JOBS,
) -> tuple[tuple[Job, ...], ...]:
    """Matrices of jobs: one that fits, or an error, fewer larger jobs or several matrices."""
    if max_jobs < 1:
        raise ValueError("a matrix needs at least one job")
    if how is Sharding.SPLIT:
        return split(loads, max_jobs=max_jobs)
    if how is Sharding.ERROR:
        check_count(len(loads), axes or {}, max_jobs=max_jobs)
    jobs = pack(loads, max_jobs=max_jobs)
    return (jobs,) if jobs else ()
