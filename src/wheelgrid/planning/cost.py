"""What cells cost: minutes learned from records, and the runners that spend them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

from wheelgrid.core.accelerator import Family
from wheelgrid.core.axis import as_accelerator
from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.core.evidence import Observation
from wheelgrid.core.rung import Outcome, Rung
from wheelgrid.core.runner import Runner, runner_for
from wheelgrid.planning.budget import Unit

__all__ = [
    "DEFAULT_MINUTES",
    "Basis",
    "CellCost",
    "CostModel",
    "Estimate",
    "Work",
    "amounts",
    "learn",
]

DEFAULT_MINUTES = 5.0
"""Assumed for one package in one cell where nothing is measured or declared."""


class Work(StrEnum):
    """What the minutes are spent on; also the names that records use."""

    BUILD = "build"
    TEST = "test"


class Basis(StrEnum):
    """Where an estimate comes from, the best first."""

    MEASURED = "measured"
    DECLARED = "declared"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Minutes of some work; `samples` counts the runs behind a measured one."""

    minutes: float
    basis: Basis
    samples: int = 0

    def __str__(self) -> str:
        """Print `3.2 min (measured, n=4)`."""
        n = f", n={self.samples}" if self.samples else ""
        return f"{self.minutes:.3g} min ({self.basis}{n})"


Learned = Mapping[tuple[str, Family, Work], tuple[float, ...]]
"""Minutes of every run that counts, by package, accelerator family and work."""

_PROOF = {Work.BUILD: Rung.BUILT, Work.TEST: Rung.EXECUTED}


def learn(observations: Iterable[Observation]) -> Learned:
    """Minutes from records that hold them.

    Only what passed counts: a run that failed or was skipped early says little of the time of a
    whole one. A wheel that serves several cells was built once, so it counts once.
    """
    found: dict[tuple[str, Family, Work], list[float]] = {}
    built: set[tuple[str, str]] = set()
    for record in observations:
        family = Cell.parse(record.cell).accelerator.family
        passed = {rung.rung for rung in record.rungs if rung.outcome is Outcome.PASSED}
        for work in Work:
            seconds = record.seconds.get(work)
            if seconds is None or _PROOF[work] not in passed:
                continue
            wheel = (record.build, record.wheel_sha256)
            if work is Work.BUILD:
                if wheel in built:
                    continue
                built.add(wheel)
            found.setdefault((record.package, family, work), []).append(seconds / 60)
    return {key: tuple(sorted(minutes)) for key, minutes in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCost:
    """What one cell costs on its runner. None where it is not known: that is not zero."""

    cell: str
    runner: str
    minutes: float
    gpu_minutes: float | None
    usd: float | None
    estimates: tuple[tuple[str, Estimate], ...]

    def amount(self, unit: Unit) -> float | None:
        """The cost in a unit; None where it is not known."""
        if unit is Unit.CELLS:
            return 1.0
        if unit is Unit.MINUTES:
            return self.minutes
        return self.gpu_minutes if unit is Unit.GPU_MINUTES else self.usd


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """Runners in order, minutes learned, and minutes that recipes declare by package."""

    runners: Sequence[Runner] = ()
    learned: Learned = field(default_factory=dict)
    declared: Mapping[str, float] = field(default_factory=dict)
    default: float = DEFAULT_MINUTES
    accelerator_axis: str = "accelerator"

    def estimate(self, package: str, family: Family | None, work: Work = Work.TEST) -> Estimate:
        """The median of what was measured, else what the recipe declares, else the default."""
        samples = self.learned.get((package, family, work), ()) if family else ()
        if samples:
            minutes = median(samples)
            return Estimate(minutes=minutes, basis=Basis.MEASURED, samples=len(samples))
        if package in self.declared:
            return Estimate(minutes=self.declared[package], basis=Basis.DECLARED)
        return Estimate(minutes=self.default, basis=Basis.ASSUMED)

    def _estimates(
        self, point: Cell | Row, packages: Sequence[str], work: Work, runner: Runner | None
    ) -> tuple[tuple[str, Estimate], ...]:
        if packages:
            family = _family(point, self.accelerator_axis)
            return tuple((name, self.estimate(name, family, work)) for name in packages)
        if runner is not None and runner.minutes is not None:
            return ((runner.name, Estimate(minutes=runner.minutes, basis=Basis.DECLARED)),)
        return (("cell", Estimate(minutes=self.default, basis=Basis.ASSUMED)),)

    def cell(
        self, point: Cell | Row, packages: Sequence[str] = (), work: Work = Work.TEST
    ) -> CellCost:
        """The cost of some packages in one cell, on the first runner that takes it."""
        runner = runner_for(self.runners, point)
        estimates = self._estimates(point, packages, work, runner)
        minutes = math.fsum(estimate.minutes for _, estimate in estimates)
        price = None if runner is None else runner.price_per_minute
        return CellCost(
            cell=point.id,
            runner="" if runner is None else runner.name,
            minutes=minutes,
            gpu_minutes=None if runner is None else minutes * runner.gpus,
            usd=None if price is None else minutes * price,
            estimates=estimates,
        )


def _family(point: Cell | Row, axis: str) -> Family | None:
    """The accelerator family of a cell; None for a row without that axis."""
    try:
        accelerator = as_accelerator(point.axis(axis))
    except KeyError:
        return None
    return None if accelerator is None else accelerator.family


def amounts(costs: Sequence[CellCost], unit: Unit) -> list[float]:
    """The costs in one unit. BadInputError where some are not known: they must not pass as free."""
    found = [cost.amount(unit) for cost in costs]
    unknown = [c for c, amount in zip(costs, found, strict=True) if amount is None]
    if unknown:
        first = unknown[0]
        lacks = "fits no runner" if not first.runner else f"runs on {first.runner!r}, without price"
        message = f"{len(unknown)} of {len(costs)} cells have no known cost in {unit}: "
        hint = "matrix.yaml: runners: give `when`, `gpus` and `price_per_minute`"
        raise BadInputError(
            [Fault(file="--budget", message=f"{message}{first.cell} {lacks}", hint=hint)]
        )
    return [amount for amount in found if amount is not None]
