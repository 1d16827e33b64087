"""Chooses few rows that together still show every combination of t values that any row shows.

Greedy set cover over the valid rows themselves: no row is invented, so no chosen row can be
invalid, and a combination counts as achievable only if a valid row has it. Sets of rows are
integers with one bit for each row; gains of all rows are held as a bit-sliced counter, so a step
costs a few wide integer operations, not a pass over the rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from wheelgrid.core.errors import BadInputError, Fault

__all__ = ["Combination", "Proof", "Selection", "Value", "prove", "select"]

Value = str | int
"""What a row has on an axis; the values of one axis are all text or all numbers."""

_WORK = 60_000_000
"""Bound on the work of further attempts, in machine words; about half a second."""
_ATTEMPTS = 24


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
    """Chosen rows, as positions in the rows given: must-have rows first, then by gain.

    `strength` is None where every row is wanted. `least` is a proven lower bound: no choice that
    covers everything has fewer rows. `cost` is in the unit of the costs given (rows without any).
    """

    chosen: tuple[int, ...]
    strength: int | None
    cost: float
    least: int


class _Rows:
    """The rows as bits: bit 0 is the cheapest, most preferred, first row in order of values."""

    def __init__(
        self, rows: Sequence[tuple[Value, ...]], cost: Sequence[float], prefer: Sequence[int]
    ) -> None:
        order = sorted(range(len(rows)), key=lambda i: (cost[i], prefer[i], rows[i]))
        self.position = order
        self.bit = {index: bit for bit, index in enumerate(order)}
        self.rows = [rows[i] for i in order]
        self.cost = [cost[i] for i in order]
        self.prefer = [prefer[i] for i in order]
        self.size = len(order)
        self.class_end = self._class_ends()
        self.uniform = self.size == 0 or self.cost[0] == self.cost[-1]

    def _class_ends(self) -> list[int]:
        """For each bit, where the rows of equal cost and preference end."""
        ends, end = [0] * self.size, self.size
        for bit in reversed(range(self.size)):
            if bit + 1 < self.size and (self.cost[bit], self.prefer[bit]) != (
                self.cost[bit + 1],
                self.prefer[bit + 1],
            ):
                end = bit + 1
            ends[bit] = end
        return ends

    def affordable(self, money: float) -> int:
        """The rows that cost at most so much."""
        low, high = 0, self.size
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.cost[middle] <= money else (low, middle)
        return (1 << low) - 1


class _Combinations:
    """Every achievable combination of a strength; each is the set of rows that have it."""

    def __init__(self, rows: _Rows, strength: int) -> None:
        columns = list(zip(*rows.rows, strict=True))
        self.groups = list(combinations(range(len(columns)), strength))
        self.having = [_by_value(column) for column in columns]
        self.counts = [len(set(zip(*(columns[a] for a in g), strict=True))) for g in self.groups]
        self.total = sum(self.counts)

    def rows_with(self, group: int, row: tuple[Value, ...]) -> int:
        """The rows that agree with this one on the axes of a group."""
        first, *others = self.groups[group]
        found = self.having[first][row[first]]
        for axis in others:
            found &= self.having[axis][row[axis]]
        return found


def _by_value(column: Sequence[Value]) -> dict[Value, int]:
    """For each value of an axis, the rows that have it."""
    length = len(column) // 8 + 1
    found: dict[Value, bytearray] = {}
    for bit, value in enumerate(column):
        if value not in found:
            found[value] = bytearray(length)
        found[value][bit >> 3] |= 1 << (bit & 7)
    return {value: int.from_bytes(data, "little") for value, data in found.items()}


def _lowest(rows: int) -> int:
    return (rows & -rows).bit_length() - 1


class _Attempt:
    """One greedy run. `seed` varies which of equal rows is taken, `narrow` where it looks first."""

    def __init__(self, rows: _Rows, space: _Combinations, *, seed: int, narrow: bool) -> None:
        self.rows, self.space, self.seed, self.narrow = rows, space, seed, narrow
        everything = (1 << rows.size) - 1
        self.open = [everything] * len(space.groups)
        self.left = list(space.counts)
        count = len(space.groups)
        # Every row still has a new combination in every group: the counter starts at `count`.
        self.gains = [everything if count >> p & 1 else 0 for p in range(count.bit_length())]
        self.chosen: list[int] = []
        self.money = math.inf

    def take(self, bit: int) -> None:
        """Choose a row: its combinations are open no more, and gains fall where others had them."""
        self.chosen.append(bit)
        self.money -= self.rows.cost[bit]
        row = self.rows.rows[bit]
        for group, left in enumerate(self.left):
            same = self.space.rows_with(group, row) if left else 0
            if not same & self.open[group]:
                continue
            self.open[group] ^= same
            self.left[group] -= 1
            for place in range(len(self.gains)):
                self.gains[place] ^= same
                same &= self.gains[place]
                if not same:
                    break

    def levels(self, rows: int, place: int, gain: int = 0) -> Iterator[tuple[int, int]]:
        """The rows by gain, the highest first; rows without gain are left out."""
        if place < 0:
            if gain:
                yield gain, rows
            return
        high = rows & self.gains[place]
        if high:
            yield from self.levels(high, place - 1, gain | 1 << place)
        if high != rows:
            yield from self.levels(rows ^ high, place - 1, gain)

    def best(self, among: int) -> int:
        """The rows with most gain for their cost, of equal cost and preference; 0 for none."""
        found, best = 0, -1.0
        for gain, rows in self.levels(among, len(self.gains) - 1):
            first = _lowest(rows)
            price = self.rows.cost[first]
            rate = gain / price if price else math.inf
            if rate > best:
                found, best = rows & ((1 << self.rows.class_end[first]) - 1), rate
            if self.rows.uniform or rate == math.inf:
                break
        return found

    def pick(self) -> int | None:
        """The next row that can be paid, or None when nothing is left to gain."""
        among = (1 << self.rows.size) - 1
        if self.money < math.inf:
            among = self.rows.affordable(self.money)
        order = sorted(range(len(self.left)), key=lambda g: -self.left[g])
        narrowed = among & self.open[order[0]] if self.narrow else 0
        ties = self.best(narrowed or among)
        if not ties:
            return None
        # Each row shows one combination of a group, so the group with most left sets the pace.
        for group in order:
            ties = ties & self.open[group] or ties
        offset = (self.seed * 7919 * (len(self.chosen) + 1)) % self.rows.size
        later = ties >> offset
        return _lowest(later) + offset if later else _lowest(ties)

    def run(self, must: Sequence[int], budget: float) -> None:
        """Take the must-have rows, then by gain until all is covered or the money is spent."""
        for bit in must:
            self.take(bit)
        self.money = budget - sum(self.rows.cost[bit] for bit in must)
        while any(self.left):
            bit = self.pick()
            if bit is None:
                break
            self.take(bit)
        self.drop_needless(len(must))

    def drop_needless(self, kept: int) -> None:
        """Take back rows whose combinations others show too, the dearest and latest first."""
        keys = [
            [(g, *(self.rows.rows[bit][a] for a in axes)) for g, axes in enumerate(self.space.groups)]
            for bit in self.chosen
        ]
        times = Counter(key for row in keys for key in row)
        numbers = range(kept, len(self.chosen))
        for number in sorted(numbers, key=lambda n: (-self.rows.cost[self.chosen[n]], -n)):
            if all(times[key] > 1 for key in keys[number]):
                times.subtract(keys[number])
                self.money += self.rows.cost[self.chosen[number]]
                self.chosen[number] = -1
        self.chosen = [bit for bit in self.chosen if bit >= 0]

    @property
    def cost(self) -> float:
        """What the chosen rows cost together."""
        return math.fsum(self.rows.cost[bit] for bit in self.chosen)

    def quality(self) -> tuple[int, float, int, int]:
        """Less is better: combinations missing, cost, rows, preference."""
        preference = sum(self.rows.prefer[bit] for bit in self.chosen)
        return sum(self.left), self.cost, len(self.chosen), preference

    def missing(self) -> Iterator[Combination]:
        """The combinations that no chosen row shows."""
        for group, axes in enumerate(self.space.groups):
            rows = self.open[group]
            while rows:
                row = self.rows.rows[_lowest(rows)]
                yield Combination(axes, tuple(row[a] for a in axes))
                rows ^= self.space.rows_with(group, row)
