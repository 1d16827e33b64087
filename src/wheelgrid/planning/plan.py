"""The expanded plan: every decision and every build, from one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from wheelgrid.core.build import Build
from wheelgrid.core.cell import Cell
from wheelgrid.core.decision import Decision
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix
from wheelgrid.core.recipe import Recipe
from wheelgrid.planning.collapse import applies, collapse
from wheelgrid.planning.decide import decide
from wheelgrid.planning.expand import expand

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True)
class Plan:
    """One matrix, decided and collapsed, as of a day."""

    matrix: Matrix
    recipes: Mapping[str, Recipe]
    knowledge: Knowledge
    as_of: date
    decisions: tuple[Decision, ...]
    builds: tuple[Build, ...]

    @cached_property
    def included(self) -> tuple[Cell, ...]:
        """The cells of the desired state, in matrix order."""
        return tuple(d.cell for d in self.decisions if d.included)

    @cached_property
    def decision_of(self) -> dict[str, Decision]:
        """Decisions by cell id."""
        return {d.cell.id: d for d in self.decisions}

    @cached_property
    def build_of(self) -> dict[tuple[str, str], Build]:
        """The build that serves a (package, cell id)."""
        return {(b.package, c.id): b for b in self.builds for c in b.cells}

    def excluded_by_reason(self) -> dict[str, int]:
        """How many cells each headline reason excludes; with `included` it sums to all."""
        heads = [d.headline for d in self.decisions]
        return dict(sorted(Counter(str(h.reason) for h in heads if h is not None).items()))

    def gap(self, package: str, cell: Cell) -> str:
        """Why a package has no build for an included cell; empty when it has one."""
        recipe = self.recipes[package]
        if applies(recipe, cell):
            return ""
        if not recipe.when.matches(cell):
            return f"the recipe of {package} does not cover {cell.accelerator}"
        return (
            f"{package} is built for the stable ABI of torch >= {recipe.stable_torch} and "
            f"Python >= {recipe.limited_api}"
        )


def make_plan(
    matrix: Matrix, recipes: Mapping[str, Recipe], knowledge: Knowledge, *, as_of: date
) -> Plan:
    """Decide every candidate and collapse the included cells of each package into builds."""
    decisions = tuple(decide(cell, matrix, knowledge, as_of=as_of) for cell in expand(matrix))
    included = [d.cell for d in decisions if d.included]
    builds = tuple(build for name in matrix.packages for build in collapse(recipes[name], included))
    return Plan(
        matrix=matrix,
        recipes=recipes,
        knowledge=knowledge,
        as_of=as_of,
        decisions=decisions,
        builds=builds,
    )
