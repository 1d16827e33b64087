"""Selects units of work: (package, cell) pairs, by tier or by pattern."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from wheelgrid.core.build import Build
from wheelgrid.core.cell import Cell
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.core.rung import RUNGS, Rung
from wheelgrid.planning.plan import Plan

__all__ = ["Unit", "select_pattern", "select_tier"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One package in one cell, to be taken up to a rung. `why` explains an early stop."""

    package: str
    cell: Cell
    build: Build
    until: Rung = Rung.EXECUTED
    why: str = ""

    @property
    def id(self) -> str:
        """`torch-scatter@torch2.13.0-cp311-linux_x86_64-cpu`."""
        return f"{self.package}@{self.cell.id}"

    def wants(self, rung: Rung) -> bool:
        """Whether the unit is to be taken to this rung."""
        return RUNGS.index(rung) <= RUNGS.index(self.until)


def select_tier(plan: Plan, tier: str) -> tuple[Unit, ...]:
    """The units of a tier; the first entry that names a (package, cell) decides how far."""
    tiers = plan.matrix.tiers or {}
    if tier not in tiers:
        known = ", ".join(sorted(tiers)) or "none"
        raise BadInputError(
            [Fault(file="matrix.yaml", path="tiers", message=f"no tier {tier!r}; known: {known}")]
        )
    found: dict[tuple[str, str], Unit] = {}
    for entry in tiers[tier]:
        for package in entry.packages:
            for cell in plan.included:
                build = plan.build_of.get((package, cell.id))
                if build is None or not entry.when.matches(cell):
                    continue
                unit = Unit(
                    package=package, cell=cell, build=build, until=entry.until, why=entry.why
                )
                found.setdefault((package, cell.id), unit)
    return tuple(found.values())


def _texts(cell: Cell, build: Build) -> tuple[str, ...]:
    return (build.package, cell.id, build.id, f"{build.package}@{cell.id}")


def select_pattern(plan: Plan, patterns: tuple[str, ...]) -> tuple[Unit, ...]:
    """Units whose package, cell id, build id or `package@cell` fits any glob.

    A pattern that fits nothing is an error: a typo must not select an empty set in silence.
    """
    units: dict[str, Unit] = {}
    faults: list[Fault] = []
    for pattern in patterns:
        hits = 0
        for build in plan.builds:
            for cell in build.cells:
                if any(fnmatchcase(t, pattern) for t in _texts(cell, build)):
                    unit = Unit(package=build.package, cell=cell, build=build)
                    units.setdefault(unit.id, unit)
                    hits += 1
        if not hits:
            faults.append(_no_match(plan, pattern))
    if faults:
        raise BadInputError(faults)
    return tuple(units.values())


def _no_match(plan: Plan, pattern: str) -> Fault:
    decision = plan.decision_of.get(pattern.rpartition("@")[2])
    hint = "try `wheelgrid plan` for the ids; globs such as 'regex@*-cp313-*' work"
    message = f"{pattern!r} names no package, cell or build of the plan"
    if decision is not None and decision.headline is not None:
        message = f"{decision.cell.id} is excluded: {decision.headline.message}"
        hint = f"try `wheelgrid explain {decision.cell.id}`"
    return Fault(file="selection", message=message, hint=hint)
