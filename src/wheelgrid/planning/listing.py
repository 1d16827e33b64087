"""Every candidate with its decision, one after the other, without making an object of each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import product

from wheelgrid.core.axis import AxisValue, as_python
from wheelgrid.core.cell import AXES, encode_part
from wheelgrid.planning.decide import Decided
from wheelgrid.planning.space import bits

__all__ = ["INCLUDED", "listing"]

INCLUDED = "included"

Listed = tuple[str, str, str]


def _piece(axis: str, value: AxisValue, *, stack: bool) -> str:
    """The part of an id that one value writes."""
    if not stack or axis not in AXES:
        return f"{encode_part(axis)}={encode_part(value.text)}"
    python = as_python(value.text) if axis == "python" else None
    return python.tag if python is not None else value.text


def _template(names: list[str], *, stack: bool) -> str:
    """How the pieces of the axes, in order of the space, make an id."""
    at = {name: index for index, name in enumerate(names)}
    if not stack:
        return ",".join(f"{{{index}}}" for index in at.values())
    order = ("torch", "python", "platform", "accelerator")
    base = "torch" + "-".join(f"{{{at[name]}}}" for name in order)
    return base + "".join(f",{{{index}}}" for name, index in at.items() if name not in AXES)


def _ids(decided: Decided) -> Iterator[str]:
    """The ids of the product, in order."""
    space, stack = decided.space, decided.matrix.is_stack
    pieces = [
        [
            tuple(_piece(a, v, stack=stack) for a, v in zip(d.axes, entry, strict=True))
            for entry in d.entries
        ]
        for d in space.dimensions
    ]
    names = [axis for dimension in space.dimensions for axis in dimension.axes]
    # Rows print their axes in the order in which the matrix names them, zipped or not.
    order = sorted(range(len(names)), key=lambda index: space.names.index(names[index]))
    write = _template([names[index] for index in order], stack=stack).format
    if order == list(range(len(names))) and all(len(d.axes) == 1 for d in space.dimensions):
        for flat in product(*([piece for (piece,) in column] for column in pieces)):
            yield write(*flat)
        return
    for entries in product(*pieces):
        parts = [piece for entry in entries for piece in entry]
        yield write(*(parts[index] for index in order))


def listing(decided: Decided) -> Iterator[Listed]:
    """(id, reason or `included`, rule) of every candidate, in matrix order."""
    outcomes: list[tuple[str, str]] = [(INCLUDED, "")]
    codes = array("H", bytes(2 * decided.space.size))
    for (reason, rule), mask in decided.excluded_by.items():
        outcomes.append((str(reason), rule))
        code = len(outcomes) - 1
        for number in bits(mask):
            codes[number] = code
    if decided.space.dimensions:
        for name, code in zip(_ids(decided), codes, strict=False):
            yield (name, *outcomes[code])
    for number in range(decided.space.product_size, decided.size):
        decision = decided.decision(number)
        head = decision.headline
        found = (INCLUDED, "") if head is None else (str(head.reason), head.rule)
        yield (decision.cell.id, *found)
