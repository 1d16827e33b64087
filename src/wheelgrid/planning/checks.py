"""Mistakes that only show when the whole matrix is at hand."""

from __future__ import annotations

from collections.abc import Mapping

from wheelgrid.core.errors import Fault
from wheelgrid.core.matrix import Matrix
from wheelgrid.core.recipe import Recipe
from wheelgrid.planning.expand import expand

__all__ = ["dead_conditions"]


def dead_conditions(matrix: Matrix, recipes: Mapping[str, Recipe]) -> list[Fault]:
    """Conditions that fit no candidate: a typo, or a value that has left its axis.

    A rule that silently stops matching (because a patch version was bumped, say) changes the
    matrix without a word; so it is an error.
    """
    cells = expand(matrix)
    places = [
        ("matrix.yaml", f"exclude {exclusion.id}", exclusion.when)
        for exclusion in matrix.exclusions
    ]
    places += [
        ("matrix.yaml", f"tiers.{name}[{index}].when", entry.when)
        for name, entries in (matrix.tiers or {}).items()
        for index, entry in enumerate(entries)
    ]
    places += [
        (f"recipes/{recipe.folder}/recipe.yaml", "when", recipe.when) for recipe in recipes.values()
    ]
    return [
        Fault(
            file=file,
            path=path,
            message="fits no cell of the matrix",
            hint="check the spelling of its values against the axes",
        )
        for file, path, when in places
        if not any(when.matches(cell) for cell in cells)
    ]
