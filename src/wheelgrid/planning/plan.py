"""The expanded plan: every decision and every build, from one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from wheelgrid.core.build import Build
from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.decision import Decision, Reason
from wheelgrid.core.errors import BadInputError
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.lifecycle import build_ended
from wheelgrid.core.matrix import Matrix
from wheelgrid.core.recipe import Recipe, Unproven
from wheelgrid.planning.collapse import applies, collapse
from wheelgrid.planning.decide import Decided, decide

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True)
class Plan:
    """One matrix, decided and collapsed, as of a day."""

    matrix: Matrix
    recipes: Mapping[str, Recipe]
    knowledge: Knowledge
    as_of: date
    decided: Decided
    builds: tuple[Build, ...]
    unproven: tuple[Unproven, ...] = ()

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """Every decision, in matrix order; made when first asked for."""
        return tuple(self.decided.decision(number) for number in range(self.decided.size))

    @cached_property
    def points(self) -> tuple[Cell | Row, ...]:
        """The included cells or rows, in matrix order."""
        return tuple(self.decided.point(n)[0] for n in self.decided.numbers())

    @cached_property
    def included(self) -> tuple[Cell, ...]:
        """The cells of the desired state, in matrix order; rows are none."""
        return tuple(point for point in self.points if isinstance(point, Cell))

    @cached_property
    def decision_of(self) -> dict[str, Decision]:
        """Decisions by cell id."""
        return {d.cell.id: d for d in self.decisions}

    @cached_property
    def build_of(self) -> dict[tuple[str, str], Build]:
        """The build that serves a (package, cell id)."""
        return {(b.package, c.id): b for b in self.builds for c in b.cells}

    def excluded_by_rule(self) -> dict[tuple[Reason, str], int]:
        """How many cells each reason and rule excludes as headline, the most first."""
        counts = Counter({key: mask.bit_count() for key, mask in self.decided.excluded_by.items()})
        for candidate in range(self.decided.space.size, self.decided.size):
            head = self.decided.decision(candidate).headline
            if head is not None:
                counts[head.reason, head.rule] += 1
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    def excluded_by_reason(self) -> dict[str, int]:
        """How many cells each headline reason excludes; with `included` it sums to all."""
        counts: Counter[str] = Counter()
        for (reason, _), count in self.excluded_by_rule().items():
            counts[str(reason)] += count
        return dict(sorted(counts.items()))

    def gap(self, package: str, cell: Cell) -> str:
        """Why a package has no build for an included cell; empty when it has one."""
        recipe = self.recipes[package]
        ended = build_ended(self.knowledge.sunsets, cell, self.as_of)
        if ended is not None:
            return (
                f"{ended.axis} {ended.value} is not built after {ended.build_until}; wheels that "
                "are published stay as the last version"
            )
        if applies(recipe, cell):
            return ""
        if not recipe.when.matches(cell):
            return f"the recipe of {package} does not cover {cell.accelerator}"
        return (
            f"{package} is built for the stable ABI of torch >= {recipe.stable_torch} and "
            f"Python >= {recipe.limited_api}"
        )


def make_plan(
    matrix: Matrix,
    recipes: Mapping[str, Recipe],
    knowledge: Knowledge,
    *,
    as_of: date,
    unproven: tuple[Unproven, ...] = (),
) -> Plan:
    """Decide every candidate and collapse the included cells of each package into builds.

    `unproven` are claims that the audit of a wheel refuted: they no longer collapse.

    BadInputError where a table, a rule list or a derived attribute must cover a candidate and
    does not.
    """
    decided = decide(matrix, knowledge, as_of=as_of)
    faults = decided.faults()
    if faults:
        raise BadInputError(faults)
    plan = Plan(
        matrix=matrix,
        recipes=recipes,
        knowledge=knowledge,
        as_of=as_of,
        decided=decided,
        builds=(),
        unproven=unproven,
    )
    if not matrix.packages:
        return plan
    built = tuple(c for c in plan.included if not build_ended(knowledge.sunsets, c, as_of))
    builds = tuple(
        build for name in matrix.packages for build in collapse(recipes[name], built, unproven)
    )
    object.__setattr__(plan, "builds", builds)
    return plan
