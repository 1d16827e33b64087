"""Expands declared axes into candidate cells."""

from __future__ import annotations

from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.matrix import Matrix
from wheelgrid.planning.space import Space, to_point

__all__ = ["expand"]


def expand(matrix: Matrix) -> tuple[Cell | Row, ...]:
    """The whole product and the whole rows, in the order in which they are written."""
    return tuple(to_point(candidate.values) for candidate in Space(matrix).candidates())
