"""What GitHub makes of a matrix: product, exclude, include, exactly as its own code does.

Source: actions/runner, src/Sdk/WorkflowParser/Conversion/MatrixBuilder.cs. A filter compares
every leaf of its value with the same leaf of the cell by the `==` of GitHub's expressions, which
ignores case and turns unlike types into numbers. Sets of cells are bits of one integer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from wheelgrid.importers.report import Cells, Json

__all__ = ["MAX_CANDIDATES", "Product", "bits", "equal", "expand", "fits"]

MAX_CANDIDATES = 200_000
"""Largest product that is expanded. GitHub itself refuses more than 256 jobs."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_BASES = {"0x": 16, "0o": 8}


def _number(value: object) -> float:
    """A value as GitHub's expressions count it; NaN, equal to nothing, where it is no number."""
    if value is None:
        return 0.0
    if isinstance(value, (bool, int, float)):
        return float(value)
    if not isinstance(value, str):
        return math.nan
    text = value.strip()
    if not text:
        return 0.0
    base = _BASES.get(text[:2])
    try:
        if base is not None:
            return float(int(text[2:], base))
        return float(text) if _NUMBER.match(text) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def equal(left: object, right: object) -> bool:
    """The `==` of GitHub's expressions, for a leaf of a cell and a literal."""
    if isinstance(left, str) and isinstance(right, str):
        return left.upper() == right.upper()
    if isinstance(left, (list, dict)) or isinstance(right, (list, dict)):
        return False
    return _number(left) == _number(right)


def _leaves(
    value: Json, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))
    else:
        yield path, value


def _at(value: object, path: tuple[str | int, ...]) -> object:
    """The leaf at a path; what is not there is null, as in an expression."""
    for step in path:
        if isinstance(value, dict):
            names = {name.upper(): inner for name, inner in value.items()}
            value = names.get(str(step).upper())
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            return None
    return value


def fits(value: Json, wanted: Json) -> bool:
    """Whether an axis value fits what a filter says of it: partial match on nested values."""
    return all(equal(_at(value, path), leaf) for path, leaf in _leaves(wanted))


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, ascending."""
    text = f"{mask:b}"[::-1]
    index = text.find("1")
    while index >= 0:
        yield index
        index = text.find("1", index + 1)


class Product:
    """The product of the axes; a set of candidates is an integer with a bit for each."""

    def __init__(self, axes: Mapping[str, Sequence[Json]]) -> None:
        """Lay out the candidates, the last axis fastest; nothing is expanded."""
        self.axes = axes
        self.size = math.prod(len(values) for values in axes.values()) if axes else 0
        self._strides: dict[str, int] = {}
        stride = self.size
        for name, values in axes.items():
            stride = stride // len(values) if values else 0
            self._strides[name] = stride

    @property
    def everything(self) -> int:
        """The set of all candidates."""
        return (1 << self.size) - 1

    def having(self, axis: str, indexes: Sequence[int]) -> int:
        """The candidates that have one of some values, by number, on an axis."""
        if not self.size:
            return 0
        stride, count = self._strides[axis], len(self.axes[axis])
        block = 0
        for index in indexes:
            block |= ((1 << stride) - 1) << (index * stride)
        return block * (self.everything // ((1 << (stride * count)) - 1))

    def fitting(self, axis: str, wanted: Json) -> list[int]:
        """The values of an axis, by number, that fit what a filter says."""
        return [i for i, value in enumerate(self.axes[axis]) if fits(value, wanted)]

    def mask(self, wanted: Mapping[str, Json]) -> int:
        """The candidates that fit a filter; keys that are no axis do not count."""
        found = self.everything
        for axis, value in wanted.items():
            if axis in self.axes:
                found &= self.having(axis, self.fitting(axis, value))
        return found

    def cell(self, number: int) -> dict[str, Json]:
        """One candidate by its number."""
        return {
            name: values[number // self._strides[name] % len(values)]
            for name, values in self.axes.items()
        }


def expand(
    axes: Mapping[str, Sequence[Json]],
    exclude: Sequence[Mapping[str, Json]],
    include: Sequence[Mapping[str, Json]],
) -> Cells:
    """The cells in GitHub's order: kept candidates with what includes add, then further rows."""
    product = Product(axes)
    kept = product.everything
    for rule in exclude:
        kept &= ~product.mask(rule)
    extra: dict[int, dict[str, Json]] = {}
    rows: Cells = []
    for row in include:
        matched = product.mask(row) & kept
        if not matched:
            rows.append(dict(row))
        added = {key: value for key, value in row.items() if key not in axes}
        for number in bits(matched) if added else ():
            extra.setdefault(number, {}).update(added)
    return [{**product.cell(n), **extra.get(n, {})} for n in bits(kept)] + rows
