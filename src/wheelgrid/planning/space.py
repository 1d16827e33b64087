"""The space of a matrix: its candidates by number, and sets of them as bits of one integer.

A condition names a few axes, so the set of candidates that fit it is a product of small sets. As
bits of one integer it is made by shifts, joined by `|` and counted by `bit_count`: a million
candidates cost microseconds a rule, and no candidate needs an object until somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from wheelgrid.core.axis import AxisValue, as_accelerator, as_platform, as_python, as_version
from wheelgrid.core.cell import AXES, Cell, Row
from wheelgrid.core.condition import Condition
from wheelgrid.core.grid import Entry
from wheelgrid.core.matrix import Matrix

__all__ = ["Candidate", "Dimension", "Space", "bits", "to_point", "whole_row"]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One axis, or several that vary together: entries give a value for each."""

    axes: tuple[str, ...]
    entries: tuple[tuple[AxisValue, ...], ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A point as conditions see it: the values of some axes."""

    values: Mapping[str, AxisValue]

    def axis(self, name: str) -> str:
        """The value on an axis, or an attribute of one; KeyError where it has none."""
        if name in self.values:
            return self.values[name].text
        base, dot, path = name.partition(".")
        found = self.values[base].attribute(path) if dot else None
        if found is None:
            raise KeyError(name)
        return found


def _dimensions(matrix: Matrix) -> tuple[Dimension, ...]:
    """Axes in the order in which they are written; a zip stands where its first axis is."""
    zipped = {name: group for group in matrix.zips for name in group}
    axes = {axis.name: axis for axis in matrix.axes}
    found: list[Dimension] = []
    done: set[str] = set()
    for name, axis in axes.items():
        if name in done:
            continue
        group = zipped.get(name, (name,))
        done.update(group)
        columns = [axes[member].values for member in group] if name in zipped else [axis.values]
        found.append(Dimension(group, tuple(zip(*columns, strict=True))))
    return tuple(found)


def _repeat(mask: int, size: int, times: int) -> int:
    """`mask` of `size` bits, repeated; by doubling, so that the cost is that of the result."""
    result, filled, block, width = 0, 0, mask, size
    while times:
        if times & 1:
            result |= block << filled
            filled += width
        times >>= 1
        if times:
            block |= block << width
            width *= 2
    return result


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, ascending."""
    text = f"{mask:b}"[::-1]
    index = text.find("1")
    while index >= 0:
        yield index
        index = text.find("1", index + 1)


def _attributes(name: str, value: AxisValue) -> Iterator[tuple[str, str]]:
    def walk(prefix: str, found: object) -> Iterator[tuple[str, str]]:
        if isinstance(found, Mapping):
            for key, inner in found.items():
                yield from walk(f"{prefix}.{key}", inner)
        elif isinstance(found, bool):
            yield prefix, "true" if found else "false"
        elif isinstance(found, str):
            yield prefix, found

    if value.attributes:
        yield from walk(name, value.attributes)


def to_point(values: Mapping[str, AxisValue], extra: Mapping[str, str] | None = None) -> Cell | Row:
    """A cell where the four axes of a stack have values of their kind, else a row."""
    attributes = {k: v for name, value in values.items() for k, v in _attributes(name, value)}
    attributes.update(extra or {})
    if set(AXES) <= values.keys():
        torch, python = as_version(values["torch"].text), as_python(values["python"].text)
        accelerator = as_accelerator(values["accelerator"].text)
        platform = as_platform(values["platform"].text)
        if torch and python and accelerator and platform:
            free = tuple((n, v.text) for n, v in values.items() if n not in AXES)
            return Cell(
                torch=torch,
                python=python,
                accelerator=accelerator,
                platform=platform,
                free=free,
                attributes=attributes,
            )
    return Row(
        pairs=tuple((name, value.text) for name, value in values.items()),
        attributes=attributes,
        shown={n: v.json for n, v in values.items() if v.shown is not None},
    )


def whole_row(matrix: Matrix, entry: Entry) -> Candidate:
    """A row as a candidate: first the axes in their order, then its other keys."""
    names = [axis.name for axis in matrix.axes if axis.name in entry.values]
    names += [name for name in entry.values if name not in names]
    return Candidate({name: entry.values[name] for name in names})


class Space:
    """All candidates of a matrix: the product of its dimensions, then its whole rows.

    Candidate numbers run through the product with the last dimension fastest; the rows of `add`
    come after it, in the order in which they are written.
    """

    def __init__(self, matrix: Matrix) -> None:
        """Lay out the dimensions; nothing is expanded."""
        self.matrix = matrix
        self.dimensions = _dimensions(matrix)
        self.rows = tuple(whole_row(matrix, entry) for entry in matrix.add)
        sizes = [len(d.entries) for d in self.dimensions]
        self.block = [1]  # candidates below one entry, from the last dimension up
        for size in reversed(sizes):
            self.block.append(self.block[-1] * size)
        self.block.reverse()
        self.product_size = self.block[0] if sizes else 0
        self.where = {a: i for i, d in enumerate(self.dimensions) for a in d.axes}

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.product_size + len(self.rows)

    @property
    def everything(self) -> int:
        """The set of all candidates."""
        return (1 << self.size) - 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The axes of the product, in the order of a row."""
        return tuple(axis.name for axis in self.matrix.axes)

    def candidate(self, number: int) -> Candidate:
        """One candidate by its number."""
        if number >= self.product_size:
            return self.rows[number - self.product_size]
        found: dict[str, AxisValue] = {}
        for index, dimension in enumerate(self.dimensions):
            at, number = divmod(number, self.block[index + 1])
            found.update(zip(dimension.axes, dimension.entries[at], strict=True))
        return Candidate({name: found[name] for name in self.names})

    def candidates(self) -> Iterator[Candidate]:
        """All candidates in order."""
        for entries in product(*(d.entries for d in self.dimensions)) if self.dimensions else ():
            found = {
                name: value
                for dimension, entry in zip(self.dimensions, entries, strict=True)
                for name, value in zip(dimension.axes, entry, strict=True)
            }
            yield Candidate({name: found[name] for name in self.names})
        yield from self.rows

    def number(self, values: Mapping[str, str]) -> int | None:
        """The number of the candidate with these values, or None."""
        if set(values) == set(self.names) and self.dimensions:
            total = 0
            for index, dimension in enumerate(self.dimensions):
                wanted = tuple(values[name] for name in dimension.axes)
                texts = [tuple(v.text for v in entry) for entry in dimension.entries]
                if wanted not in texts:
                    break
                total += texts.index(wanted) * self.block[index + 1]
            else:
                return total
        for index, row in enumerate(self.rows):
            if {n: v.text for n, v in row.values.items()} == dict(values):
                return self.product_size + index
        return None

    def mask(self, condition: Condition) -> int:
        """The candidates that fit a condition."""
        allowed: dict[int, list[int]] = {}
        for axis, alternatives in condition.patterns:
            at = self.where.get(axis.partition(".")[0])
            if at is None:
                return self._rows_mask(condition)
            one = Condition(((axis, alternatives),))
            dimension = self.dimensions[at]
            fits = [
                index
                for index, entry in enumerate(dimension.entries)
                if one.matches(Candidate(dict(zip(dimension.axes, entry, strict=True))))
            ]
            before = allowed.get(at)
            allowed[at] = fits if before is None else [i for i in before if i in set(fits)]
        return self._product(allowed) | self._rows_mask(condition)

    def mask_of(self, axis: str, text: str) -> int:
        """The candidates of the product with exactly this value."""
        at = self.where[axis]
        dimension = self.dimensions[at]
        column = dimension.axes.index(axis)
        fits = [i for i, entry in enumerate(dimension.entries) if entry[column].text == text]
        return self._product({at: fits})

    def _rows_mask(self, condition: Condition) -> int:
        mask = 0
        for index, row in enumerate(self.rows):
            if condition.matches(row):
                mask |= 1 << (self.product_size + index)
        return mask

    def _product(self, allowed: Mapping[int, Sequence[int]]) -> int:
        """The candidates whose entries are allowed in each named dimension."""
        if not self.dimensions:
            return 0
        mask = 1
        for index in range(len(self.dimensions) - 1, -1, -1):
            size = self.block[index + 1]
            if index not in allowed:
                mask = _repeat(mask, size, len(self.dimensions[index].entries))
                continue
            block, mask = mask, 0
            for entry in allowed[index]:
                mask |= block << (entry * size)
        return mask

    def group(
        self, axes: Sequence[str], key: Callable[[Candidate], Hashable]
    ) -> dict[Hashable, int]:
        """Candidates by a key that depends on some axes only; the key None is left out.

        The key is asked once for each combination of those axes, not for each candidate.
        """
        involved = sorted({self.where[a] for a in axes if a in self.where})
        chosen: dict[Hashable, set[tuple[int, ...]]] = {}
        complete = all(a in self.where for a in axes) and bool(self.dimensions)
        ranges = [range(len(self.dimensions[i].entries)) for i in involved]
        for combination in product(*ranges) if complete else ():
            values: dict[str, AxisValue] = {}
            for index, at in zip(involved, combination, strict=True):
                dimension = self.dimensions[index]
                values.update(zip(dimension.axes, dimension.entries[at], strict=True))
            found = key(Candidate(values))
            if found is not None:
                chosen.setdefault(found, set()).add(combination)
        masks = {
            found: self._projected(0, involved, frozenset(combinations), {})
            for found, combinations in chosen.items()
        }
        for index, row in enumerate(self.rows):
            found = key(row) if all(a in row.values for a in axes) else None
            if found is not None:
                masks[found] = masks.get(found, 0) | 1 << (self.product_size + index)
        return masks

    def _projected(
        self,
        index: int,
        involved: Sequence[int],
        combinations: frozenset[tuple[int, ...]],
        known: dict[tuple[int, frozenset[tuple[int, ...]]], int],
    ) -> int:
        """The candidates whose entries in the involved dimensions are among the combinations."""
        if index == len(self.dimensions):
            return 1
        found = known.get((index, combinations))
        if found is not None:
            return found
        size = self.block[index + 1]
        mask = 0
        if index not in involved:
            inner = self._projected(index + 1, involved, combinations, known)
            mask = _repeat(inner, size, len(self.dimensions[index].entries))
        else:
            rest: dict[int, set[tuple[int, ...]]] = {}
            for first, *others in combinations:
                rest.setdefault(first, set()).add(tuple(others))
            for entry, tails in rest.items():
                inner = self._projected(index + 1, involved, frozenset(tails), known)
                mask |= inner << (entry * size)
        known[index, combinations] = mask
        return mask
