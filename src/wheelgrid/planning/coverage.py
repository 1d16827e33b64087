"""Chooses few rows that together still show every combination of t values that any row shows.

Greedy set cover over the valid rows themselves: no row is invented, so no chosen row can be
invalid, and a combination counts as achievable only if a valid row shows it. `prove` checks a
choice apart from the search, by plain counting.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.planning.coverage_search import Attempt, Exchange
from wheelgrid.planning.coverage_sets import RowSets, Tuples, Value

__all__ = ["Combination", "Proof", "Selection", "Value", "prove", "select"]

_WORDS = 60_000_000
"""Bound on each half of the search, in 64-bit words touched; some tenths of a second."""
_ATTEMPTS = 4


@dataclass(frozen=True, slots=True, order=True)
class Combination:
    """Values on some axes, by position, that at least one row has together."""

    axes: tuple[int, ...]
    values: tuple[Value, ...]

    def describe(self, names: Sequence[str]) -> str:
        """`python=3.14t, gpu=sm_90`, with the names of the axes."""
        return ", ".join(f"{names[a]}={v}" for a, v in zip(self.axes, self.values, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a check of a choice found: combinations there are, and those that are missing."""

    achievable: int
    missing: tuple[Combination, ...]

    @property
    def covered(self) -> int:
        """How many combinations the chosen rows show."""
        return self.achievable - len(self.missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Proof):
    """Chosen rows, as positions in the rows given: must-have rows, then the others.

    `strength` is None where every row was wanted. `least` is a proven lower bound: no choice that
    shows everything has fewer rows. `cost` is in the unit of the costs given; rows without any.
    """

    chosen: tuple[int, ...]
    strength: int | None
    cost: float
    least: int


def select(
    rows: Sequence[tuple[Value, ...]],
    *,
    strength: int | None = 2,
    must: Iterable[int] = (),
    cost: Sequence[float] | None = None,
    prefer: Sequence[int] | None = None,
    budget: float | None = None,
    unit: str = "",
) -> Selection:
    """Choose rows that show every achievable combination of `strength` values, or all rows (None).

    `must` are positions that are taken in any case. `cost` and `prefer` go with the rows: most new
    combinations per cost come first, and among equals the lower `prefer` (never tested: 0).
    With a `budget`, in the unit of the costs, what cannot be paid stays missing and is listed.
    The same set of rows gives the same choice, in whatever order they come. BadInputError where
    the must-have rows alone cost more than the budget; ValueError for numbers that do not fit.
    """
    kept, money = sorted(set(must)), math.inf if budget is None else budget
    costs = [1.0] * len(rows) if cost is None else cost
    ranks = [0] * len(rows) if prefer is None else prefer
    _check(rows, kept, costs, ranks)
    _check_budget([costs[index] for index in kept], money, unit)
    sets = RowSets(rows, costs, ranks)
    first = sorted(sets.bit[index] for index in kept)
    if strength is None or not rows or strength >= len(rows[0]):
        bits, left = _whole(sets, first, money)
        missing = [Combination(tuple(range(len(row))), row) for row in left]
        achievable = least = len(set(rows))
    else:
        tuples = Tuples(sets, strength)
        found = _search(sets, tuples, first, money)
        bits = found.chosen
        missing = [Combination(tuples.groups[group], row) for group, row in found.missing()]
        achievable, least = tuples.total, max(tuples.counts)
    others = sorted({sets.position[bit] for bit in bits} - set(kept))
    return Selection(
        chosen=(*kept, *others),
        strength=strength,
        achievable=achievable,
        missing=tuple(sorted(missing)),
        cost=math.fsum(sets.cost[bit] for bit in bits),
        least=least,
    )


def _search(sets: RowSets, tuples: Tuples, must: Sequence[int], money: float) -> Attempt:
    """The best of some greedy runs, made smaller by exchanges; bounded work, so no clock."""
    words = sets.size // 64 + 8
    run = tuples.total * words * 2 * (len(tuples.groups).bit_length() + 1)
    least = max(*tuples.counts, len(must))
    best = Attempt(sets, tuples)
    best.run(must, money)
    for seed in range(1, min(_ATTEMPTS, 1 + _WORDS // run)):
        if _is_least(sets, best, least):
            return best
        attempt = Attempt(sets, tuples, seed=seed)
        attempt.run(must, money)
        best = min(best, attempt, key=lambda a: a.quality)
    if _is_least(sets, best, least):
        return best
    smaller = Attempt(sets, tuples)
    smaller.run(Exchange(best, must, work=_WORDS // words).run(least), money)
    return min(best, smaller, key=lambda a: a.quality)


def _is_least(sets: RowSets, attempt: Attempt, least: int) -> bool:
    return sets.uniform and not any(attempt.left) and len(attempt.chosen) <= least


def _whole(
    sets: RowSets, must: Sequence[int], money: float
) -> tuple[list[int], list[tuple[Value, ...]]]:
    """Every different row that can be paid, the cheapest first; and the rows left out."""
    chosen = list(must)
    seen = {sets.rows[bit] for bit in must}
    left: dict[tuple[Value, ...], None] = {}
    spent = math.fsum(sets.cost[bit] for bit in must)
    for bit, row in enumerate(sets.rows):
        if row in seen:
            continue
        if spent + sets.cost[bit] <= money:
            seen.add(row)
            chosen.append(bit)
            spent += sets.cost[bit]
        else:
            left[row] = None
    return chosen, [row for row in left if row not in seen]


def _check(
    rows: Sequence[tuple[Value, ...]],
    must: Sequence[int],
    costs: Sequence[float],
    ranks: Sequence[int],
) -> None:
    """Refuse numbers that do not go with the rows."""
    if len({len(row) for row in rows}) > 1:
        raise ValueError("rows have different numbers of axes")
    if len(costs) != len(rows) or len(ranks) != len(rows):
        msg = f"{len(rows)} rows, {len(costs)} costs and {len(ranks)} preferences"
        raise ValueError(msg)
    if not all(0 <= cost < math.inf for cost in costs):
        raise ValueError("a cost is negative or no number")
    if must and not 0 <= must[0] <= must[-1] < len(rows):
        msg = f"must-have rows {must[0]}..{must[-1]} of {len(rows)}"
        raise ValueError(msg)


def _check_budget(costs: Sequence[float], budget: float, unit: str) -> None:
    """Refuse must-have rows that cost more than there is."""
    spent = math.fsum(costs)
    if spent > budget:
        message = (
            (
                f"the {len(costs)} must-have cells cost {spent:.6g} {unit}, the budget is "
                f"{budget:.6g} {unit}: {spent - budget:.6g} {unit} short"
            )
            .replace(" ,", ",")
            .replace(" :", ":")
            .replace("  ", " ")
        )
        hint = "raise the budget or require fewer cells"
        raise BadInputError([Fault(file="--budget", message=message, hint=hint)])


def prove(rows: Sequence[tuple[Value, ...]], chosen: Iterable[int], strength: int | None) -> Proof:
    """Count what the rows show and what the chosen ones leave out; shares nothing with `select`."""
    if not rows:
        return Proof(achievable=0, missing=())
    width = len(rows[0])
    taken = [rows[index] for index in chosen]
    total, missing = 0, []
    for axes in combinations(range(width), min(width, width if strength is None else strength)):
        shown = {tuple(row[axis] for axis in axes) for row in taken}
        achievable = {tuple(row[axis] for axis in axes) for row in rows}
        total += len(achievable)
        missing += [Combination(axes, values) for values in achievable - shown]
    return Proof(achievable=total, missing=tuple(sorted(missing)))
