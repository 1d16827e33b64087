"""Rows and combinations as sets of rows: integers with one bit for each row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations

__all__ = ["Key", "RowSets", "Tuples", "Value", "lowest"]

Value = str | int
"""What a row has on an axis; the values of one axis are all text or all numbers."""

Key = tuple[int, tuple[Value, ...]]
"""A combination: the number of its group of axes, and a value on each."""


def lowest(rows: int) -> int:
    """The number of the lowest row in a set that is not empty."""
    return (rows & -rows).bit_length() - 1


def turned(rows: int, offset: int) -> int:
    """The first row of a set from an offset on, and from the start where none follows."""
    later = rows >> offset
    return lowest(later) + offset if later else lowest(rows)


class RowSets:
    """The rows, sorted: bit 0 is the cheapest, most preferred, first in order of values.

    The order of the input takes no part, so equal sets of rows give equal choices.
    """

    def __init__(
        self, rows: Sequence[tuple[Value, ...]], cost: Sequence[float], prefer: Sequence[int]
    ) -> None:
        """Sort rows by cost, preference (the lower first) and values."""
        order = sorted(range(len(rows)), key=lambda i: (cost[i], prefer[i], rows[i]))
        self.position = order
        self.bit = {index: bit for bit, index in enumerate(order)}
        self.rows = [rows[i] for i in order]
        self.cost = [cost[i] for i in order]
        self.prefer = [prefer[i] for i in order]
        self.size = len(order)
        self.everything = (1 << self.size) - 1
        self.uniform = not order or self.cost[0] == self.cost[-1]
        self._ends = _class_ends(list(zip(self.cost, self.prefer, strict=True)))

    def no_worse(self, bit: int) -> int:
        """The rows that are cheaper, or as cheap and at least as preferred."""
        return (1 << self._ends[bit]) - 1

    def affordable(self, money: float) -> int:
        """The rows that cost at most so much."""
        return (1 << bisect_right(self.cost, money)) - 1


def _class_ends(classes: Sequence[tuple[float, int]]) -> list[int]:
    """For each row, where the rows of its class end."""
    ends = [len(classes)] * len(classes)
    for bit in reversed(range(len(classes) - 1)):
        same = classes[bit] == classes[bit + 1]
        ends[bit] = ends[bit + 1] if same else bit + 1
    return ends


class Tuples:
    """Every combination of a strength that a row shows; each is the set of rows that show it."""

    def __init__(self, rows: RowSets, strength: int) -> None:
        """Find every combination of `strength` axes; there must be as many axes."""
        self._columns = list(zip(*rows.rows, strict=True))
        self._having = [_by_value(column) for column in self._columns]
        self.groups = list(combinations(range(len(self._columns)), strength))
        self.counts = [
            len(set(zip(*(self._columns[axis] for axis in axes), strict=True)))
            for axes in self.groups
        ]

    @property
    def total(self) -> int:
        """How many combinations there are."""
        return sum(self.counts)

    def key(self, group: int, bit: int) -> Key:
        """The combination that a row shows on the axes of a group."""
        return group, tuple(self._columns[axis][bit] for axis in self.groups[group])

    def keys(self, bit: int) -> Iterator[Key]:
        """Every combination that a row shows: one for each group."""
        return (self.key(group, bit) for group in range(len(self.groups)))

    def rows_with(self, key: Key) -> int:
        """The rows that show a combination."""
        axes = self.groups[key[0]]
        found = self._having[axes[0]][key[1][0]]
        for axis, value in zip(axes[1:], key[1][1:], strict=True):
            found &= self._having[axis][value]
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
