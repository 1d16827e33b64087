"""Expands declared axes into candidate cells."""

from __future__ import annotations

from itertools import product

from wheelgrid.core.cell import Cell
from wheelgrid.core.matrix import Matrix

__all__ = ["expand"]


def expand(matrix: Matrix) -> tuple[Cell, ...]:
    """The whole product, in the order in which the axes are written."""
    return tuple(
        Cell(torch=torch, python=python, accelerator=accelerator, platform=platform)
        for torch, platform, accelerator, python in product(
            matrix.torch, matrix.platform, matrix.accelerator, matrix.python
        )
    )
