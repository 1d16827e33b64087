"""Reads a matrix that an import has written, as `plan` would, and compares its cells."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import cast

from wheelgrid.config.matrix import decode_matrix
from wheelgrid.config.yaml import Faults, parse
from wheelgrid.core.errors import BadInputError
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.importers.report import Cells, Finding, Imported, Level, Place, canonical
from wheelgrid.planning.checks import refused
from wheelgrid.planning.decide import Decided, decide
from wheelgrid.planning.space import to_point

__all__ = ["cells_of", "check"]


def cells_of(text: str, as_of: date) -> Cells:
    """The included cells of a matrix.yaml, given as text; BadInputError with all its faults."""
    faults = Faults()
    item = parse(text, file="matrix.yaml", faults=faults)
    matrix = decode_matrix(item) if item is not None else None
    faults.check()
    assert matrix is not None  # noqa: S101 - a missing matrix is a fault
    faults.found += refused(matrix, {}, as_of)
    faults.check()
    decided = decide(matrix, Knowledge(torch={}, accelerators={}), as_of=as_of)
    faults.found += decided.faults()
    faults.check()
    return cast("Cells", list(_rows(decided)))  # values of a decoded matrix are JSON


def _rows(decided: Decided) -> Iterator[dict[str, object]]:
    """The included cells as `plan --cells` prints them."""
    plain = not (decided.matrix.include or decided.matrix.derived)
    for number in decided.numbers():
        if plain:  # nothing is added to a cell: its values are all there is
            yield to_point(decided.candidate(number).values).values
        else:
            decision = decided.decision(number)
            yield {**decision.cell.values, **decision.extra}


def check(imported: Imported, *, file: str, as_of: date) -> None:
    """Refuse what does not expand to the cells of the original: no text, and a finding."""
    if not imported.text:
        return
    wanted = {canonical(cell) for cell in imported.cells}
    try:
        found = [canonical(cell) for cell in cells_of(imported.text, as_of)]
    except BadInputError as error:
        problem = f"matrix.yaml cannot hold it: {error.faults[0].message}"
    else:
        if len(found) == len(wanted) and set(found) == wanted:
            return
        problem = f"{len(found)} cells are written, {len(wanted)} expected"
        first = min(wanted.symmetric_difference(found), default="")
        problem += f"; the first that differs: {first[:200]}" if first else ""
    imported.text = ""
    imported.findings.append(
        Finding(
            level=Level.UNKNOWN,
            code="not-the-same-cells",
            message=f"could not import: {problem}",
            place=Place(file=file),
            job=imported.job,
        )
    )
