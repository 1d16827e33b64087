"""Chooses the cells to test: coverage of value combinations, cost, must-haves and staleness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase

from wheelgrid.config.yaml import nearest
from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.core.evidence import Observation
from wheelgrid.core.rung import Outcome, Rung
from wheelgrid.planning.budget import Budget, Unit
from wheelgrid.planning.cost import CellCost, CostModel, amounts, learn
from wheelgrid.planning.coverage import Proof, Selection, prove, select
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.select import select_tier

__all__ = ["STALE_DAYS", "STRENGTHS", "Choice", "Seen", "choose", "cost_model"]

STRENGTHS: Mapping[str, int | None] = {"pairwise": 2, "3-way": 3, "full": None}
STALE_DAYS = 30
"""A test older than this counts as stale; a policy of ours, not a measurement."""


class Seen(StrEnum):
    """What the records say of a cell, least known first: the order of preference."""

    NEVER = "never tested"
    STALE = "stale"
    TESTED = "tested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The chosen cells with their costs, and the proof of what they cover."""

    points: tuple[Cell | Row, ...]
    costs: tuple[CellCost, ...]
    seen: tuple[Seen, ...]
    axes: tuple[str, ...]
    selection: Selection
    proof: Proof
    candidates: int
    budget: Budget | None


def cost_model(plan: Plan, records: Iterable[Observation]) -> CostModel:
    """Costs from the runners of the matrix, the records and what recipes declare."""
    return CostModel(
        runners=plan.matrix.runners,
        learned=learn(records),
        declared={name: recipe.minutes for name, recipe in plan.recipes.items()},
    )


def _packages(plan: Plan, point: Cell | Row) -> tuple[str, ...]:
    return tuple(n for n in plan.matrix.packages if (n, point.id) in plan.build_of)


def _last_test(records: Iterable[Observation]) -> dict[str, date]:
    """The day on which each cell was last executed, pass or fail."""
    found: dict[str, date] = {}
    for record in records:
        ran = any(
            r.rung is Rung.EXECUTED and r.outcome in {Outcome.PASSED, Outcome.FAILED}
            for r in record.rungs
        )
        day = date.fromisoformat(record.provenance.time[:10])
        if ran and day >= found.get(record.cell, day):
            found[record.cell] = day
    return found


def _seen(point: Cell | Row, last: Mapping[str, date], as_of: date) -> Seen:
    day = last.get(point.id)
    if day is None:
        return Seen.NEVER
    return Seen.STALE if (as_of - day).days > STALE_DAYS else Seen.TESTED


def _must(points: Sequence[Cell | Row], patterns: Sequence[str]) -> list[int]:
    """Positions of the must-have cells; a pattern that fits none is an error."""
    found: dict[int, None] = {}
    faults: list[Fault] = []
    for pattern in patterns:
        hits = [i for i, point in enumerate(points) if fnmatchcase(point.id, pattern)]
        if not hits:
            hint = nearest(pattern, [p.id for p in points[:5000]])
            message = f"{pattern!r} fits none of the {len(points)} cells to choose from"
            faults.append(Fault(file="--must", message=message, hint=hint))
        found.update(dict.fromkeys(hits))
    if faults:
        raise BadInputError(faults)
    return list(found)


def _points(plan: Plan, tier: str) -> tuple[Cell | Row, ...]:
    """The cells to choose from: all, or those of a tier; without packages its `when` decides."""
    if not tier:
        return plan.points
    units = select_tier(plan, tier)
    if plan.matrix.packages:
        return tuple({unit.cell.id: unit.cell for unit in units}.values())
    entries = plan.matrix.tiers[tier]
    return tuple(p for p in plan.points if any(entry.when.matches(p) for entry in entries))


def _varying(points: Sequence[Cell | Row], names: Sequence[str]) -> tuple[str, ...]:
    """The axes on which the cells differ: the others add no combination."""
    return tuple(n for n in names if len({_value(point, n) for point in points}) > 1)


def _names(plan: Plan, points: Sequence[Cell | Row]) -> list[str]:
    """The axes of the matrix, or the keys of its whole rows."""
    named = [axis.name for axis in plan.matrix.axes]
    return named or list(dict.fromkeys(name for point in points for name in point.values))


def _value(point: Cell | Row, axis: str) -> str:
    try:
        return point.axis(axis)
    except KeyError:
        return ""


def choose(
    plan: Plan,
    records: Sequence[Observation],
    *,
    coverage: str = "full",
    budget: Budget | None = None,
    must: Sequence[str] = (),
    tier: str = "",
) -> Choice:
    """Cells of the plan (or of a tier) that cover what `coverage` asks for, within the budget.

    BadInputError where a must-have pattern fits nothing, the must-haves cost more than the
    budget, or a cost that the budget counts is not known.
    """
    points = _points(plan, tier)
    model = cost_model(plan, records)
    costs = [model.cell(point, _packages(plan, point)) for point in points]
    unit = budget.unit if budget else Unit.MINUTES
    paid = amounts(costs, unit)
    last = _last_test(records)
    seen = [_seen(point, last, plan.as_of) for point in points]
    names = [axis.name for axis in plan.matrix.axes] or sorted(
        {n for p in points for n in p.values}
    )
    axes = _varying(points, names)
    rows = [tuple(_value(point, name) for name in axes) for point in points]
    wanted = STRENGTHS[coverage]
    strength = None if wanted is None else min(wanted, len(axes)) or None
    selection = select(
        rows,
        strength=strength,
        must=_must(points, must),
        cost=paid if budget else None,
        prefer=[list(Seen).index(one) for one in seen],
        budget=budget.amount if budget else None,
        unit=str(unit) if budget else "",
    )
    return Choice(
        points=tuple(points[i] for i in selection.chosen),
        costs=tuple(costs[i] for i in selection.chosen),
        seen=tuple(seen[i] for i in selection.chosen),
        axes=axes,
        selection=selection,
        proof=prove(rows, selection.chosen, strength),
        candidates=len(points),
        budget=budget,
    )
