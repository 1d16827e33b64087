"""One greedy run of the set cover, and exchanges that make its result smaller."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from wheelgrid.planning.coverage_sets import Key, RowSets, Tuples, lowest, turned

__all__ = ["Attempt", "Exchange"]

_STEP = 7919
"""A prime: the seed times this is where the search among equal rows begins."""
_PATIENCE = 6
"""Rounds in a row that may bring nothing."""
_MOST_NEEDS = 6
"""A row that alone shows more combinations than this is not worth an attempt to remove it."""


class Attempt:
    """A greedy run. `seed` varies which of equal rows is taken.

    The gains of all rows, the number of new combinations each would show, are one bit-sliced
    counter: `gains[p]` holds bit p of every row's gain. To take a row subtracts, for each of its
    new combinations, the set of rows that show it.
    """

    def __init__(self, rows: RowSets, tuples: Tuples, *, seed: int = 0) -> None:
        """Begin with no row chosen and everything open."""
        self.rows, self.tuples, self.seed = rows, tuples, seed
        self.open = [rows.everything] * len(tuples.groups)
        self.left = list(tuples.counts)
        # At first every row has something new in every group.
        count = len(tuples.groups)
        self.gains = [rows.everything * (count >> p & 1) for p in range(count.bit_length())]
        self.chosen: list[int] = []

    def take(self, bit: int) -> None:
        """Choose a row; what it shows is new for no other row any more."""
        self.chosen.append(bit)
        for group, left in enumerate(self.left):
            if not left or not self.open[group] >> bit & 1:
                continue
            same = self.tuples.rows_with(self.tuples.key(group, bit))
            self.open[group] ^= same
            self.left[group] -= 1
            for place in range(len(self.gains)):
                self.gains[place] ^= same
                same &= self.gains[place]

    def _levels(self, rows: int, place: int, gain: int = 0) -> Iterator[tuple[int, int]]:
        """Rows of equal gain, the highest first; rows without gain are left out."""
        if place < 0:
            if gain:
                yield gain, rows
            return
        high = rows & self.gains[place]
        if high:
            yield from self._levels(high, place - 1, gain | 1 << place)
        if high != rows:
            yield from self._levels(rows ^ high, place - 1, gain)

    def _best(self, among: int) -> int:
        """The rows with most gain for their cost, of one cost and preference; 0 for none."""
        found, best = 0, -1.0
        for gain, rows in self._levels(among, len(self.gains) - 1):
            first = lowest(rows)
            price = self.rows.cost[first]
            rate = gain / price if price else math.inf
            if rate > best:
                found, best = rows & self.rows.no_worse(first), rate
            if self.rows.uniform or best == math.inf:
                break
        return found

    def _pick(self, money: float) -> int | None:
        """The next row that can be paid, or None when nothing is left to gain."""
        payable = self.rows.everything if money == math.inf else self.rows.affordable(money)
        ties = self._best(payable)
        if not ties:
            return None
        # A row shows one combination of each group, so the group with most left sets the pace.
        for group in sorted(range(len(self.left)), key=lambda g: -self.left[g]):
            ties = ties & self.open[group] or ties
        return turned(ties, self.seed * _STEP * (len(self.chosen) + 1) % self.rows.size)

    def run(self, must: Sequence[int], budget: float) -> None:
        """Take the rows of `must`, then by gain until all is shown or no row can be paid."""
        for bit in must:
            self.take(bit)
        while any(self.left):
            found = self._pick(math.inf if budget == math.inf else budget - self.cost)
            if found is None:
                break
            self.take(found)

    @property
    def cost(self) -> float:
        """What the chosen rows cost together."""
        return math.fsum(self.rows.cost[bit] for bit in self.chosen)

    @property
    def quality(self) -> tuple[int, float, int, int]:
        """Less is better: combinations missing, cost, rows, preference."""
        preference = sum(self.rows.prefer[bit] for bit in self.chosen)
        return sum(self.left), self.cost, len(self.chosen), preference

    def missing(self) -> Iterator[Key]:
        """The combinations that no chosen row shows."""
        for group, rows in enumerate(self.open):
            left = rows
            while left:
                key = self.tuples.key(group, lowest(left))
                yield key
                left ^= self.tuples.rows_with(key)


class Exchange:
    """Local search over a finished choice: what is shown stays shown, at no higher cost.

    A row can go when nothing depends on it. What depends on it is moved away: another row is
    replaced by one that shows all that depends on that row, and this besides.
    """

    def __init__(self, attempt: Attempt, must: Sequence[int], *, work: int) -> None:
        """Begin with what an attempt chose; `work` bounds the sets that are compared."""
        self.rows, self.tuples, self.work, self.seed = attempt.rows, attempt.tuples, work, 0
        self.fixed = frozenset(must)
        self.owners: dict[Key, dict[int, None]] = {}
        self.keys: dict[int, list[Key]] = {}
        self.sets: dict[Key, int] = {}
        self.stand_ins: dict[int, int] = {}
        for bit in attempt.chosen:
            self._add(bit)

    def _add(self, bit: int) -> None:
        self.keys[bit] = list(self.tuples.keys(bit))
        for key in self.keys[bit]:
            owners = self.owners.setdefault(key, {})
            for other in owners:
                self.stand_ins.pop(other, None)
            owners[bit] = None

    def _remove(self, bit: int) -> None:
        self.stand_ins.pop(bit, None)
        for key in self.keys.pop(bit):
            owners = self.owners[key]
            del owners[bit]
            if len(owners) == 1:
                self.stand_ins.pop(next(iter(owners)), None)

    def _needs(self, bit: int) -> list[Key]:
        """What only this row shows."""
        return [key for key in self.keys[bit] if len(self.owners[key]) == 1]

    def _having(self, key: Key) -> int:
        if key not in self.sets:
            self.sets[key] = self.tuples.rows_with(key)
        return self.sets[key]

    def _stand_ins(self, bit: int) -> int:
        """The rows that could replace a chosen one: they show what it alone shows."""
        found = self.stand_ins.get(bit)
        if found is None:
            found = self.rows.no_worse(bit)
            for key in self._needs(bit):
                found &= self._having(key)
            self.stand_ins[bit] = found
            self.work -= len(self.tuples.groups)
        return found

    def _replace(self, bit: int, found: int) -> bool:
        """Put one of the rows found in place of a chosen one, if it is not chosen already."""
        self.seed += 1
        new = turned(found, self.seed * _STEP % self.rows.size)
        if new in self.keys:
            return False
        self._remove(bit)
        self._add(new)
        return True

    def _move(self, key: Key, away_from: int) -> bool:
        """Let another row show a combination besides its own."""
        having = self._having(key)
        for bit in list(self.keys):
            if bit == away_from or bit in self.fixed:
                continue
            self.work -= 1
            found = self._stand_ins(bit) & having
            if found and self._replace(bit, found):
                return True
        return False

    def _round(self) -> None:
        """Try to empty each row, those with least to move first; then shift what is free."""
        for bit in sorted(self.keys, key=lambda bit: (len(self._needs(bit)), bit)):
            if bit not in self.keys or bit in self.fixed or self.work < 0:
                continue
            needs = self._needs(bit)
            if len(needs) > _MOST_NEEDS or not all(self._move(key, bit) for key in needs):
                continue
            # A replaced row may have left something to this one, so it is asked again.
            if not self._needs(bit):
                self._remove(bit)
        for bit in list(self.keys):
            if bit not in self.fixed and self.work > 0:
                self._replace(bit, self._stand_ins(bit))

    def run(self, least: int) -> list[int]:
        """Exchange until no choice can have fewer rows, rounds bring nothing, or work is spent."""
        idle, uniform = 0, self.rows.uniform
        while self.work > 0 and idle < _PATIENCE and (len(self.keys) > least or not uniform):
            before = self._cost()
            self._round()
            idle = 0 if self._cost() < before else idle + 1
        return list(self.keys)

    def _cost(self) -> tuple[float, int]:
        return math.fsum(self.rows.cost[bit] for bit in self.keys), len(self.keys)
