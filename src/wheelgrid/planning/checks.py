"""Mistakes that only show when the whole matrix is at hand.

Each function returns faults with positions. `wheelgrid plan` refuses what `policy` calls an
error; `wheelgrid lint` reports them all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from wheelgrid.core.axis import Axis, Place
from wheelgrid.core.build import Build
from wheelgrid.core.condition import Condition
from wheelgrid.core.errors import Fault
from wheelgrid.core.grid import Exclusion, Rule, Severity, Table
from wheelgrid.core.matrix import Matrix
from wheelgrid.core.recipe import Recipe
from wheelgrid.planning.decide import Decided
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.space import Space

__all__ = [
    "colliding_builds",
    "constant_axes",
    "contradictions",
    "dead_conditions",
    "duplicate_cells",
    "expired_rules",
    "fault_at",
    "partial_rows",
    "refused",
    "shadowed_rules",
    "stated",
    "unused_values",
]

_PATCH = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\Z")


@dataclass(frozen=True, slots=True)
class Named:
    """One condition of the matrix, and how messages call it."""

    label: str
    when: Condition
    place: Place


def fault_at(place: Place, path: str, message: str, hint: str = "") -> Fault:
    """A fault at a place of the matrix; `path` replaces the place's own where it says more."""
    return Fault(
        file=place.file,
        path=path or place.path,
        line=place.line,
        column=place.column,
        message=message,
        hint=hint,
    )


def stated(matrix: Matrix) -> Iterator[Named]:
    """Exclusions and rules: what must fit something to be of use."""
    for exclusion in matrix.exclusions:
        yield Named(f"exclude {exclusion.id}", exclusion.when, exclusion.place)
    for rule in matrix.rules:
        yield Named(f"rules {rule.id}", rule.when, rule.place)


def _conditions(matrix: Matrix, recipes: Mapping[str, Recipe]) -> Iterator[Named]:
    yield from stated(matrix)
    for name, entries in matrix.tiers.items():
        for index, entry in enumerate(entries):
            yield Named(f"tiers.{name}[{index}].when", entry.when, entry.place)
    for recipe in recipes.values():
        yield Named("when", recipe.when, Place(f"recipes/{recipe.folder}/recipe.yaml"))


def _bumped(when: Condition, matrix: Matrix) -> str:
    """The hint for a rule that misses because only the patch version differs."""
    for axis, alternatives in when.patterns:
        for pattern in alternatives:
            if not _PATCH.match(pattern.text):
                continue
            line = pattern.text.rpartition(".")[0]
            near = [v for v in matrix.axis_values(axis) if v.startswith(f"{line}.")]
            if near and pattern.text not in near:
                return f"{axis} has {', '.join(near)}: write '{line}.*' to fit every patch"
    return "check the spelling of its values against the axes"


def refused(matrix: Matrix, recipes: Mapping[str, Recipe], as_of: date) -> list[Fault]:
    """What the policy of the matrix makes an error before anything is planned."""
    found: list[Fault] = []
    if matrix.policy.dead_rules is Severity.ERROR:
        dead = dead_conditions(matrix, recipes)
        # What a shared file says may be for another matrix; `wheelgrid lint` still reports it.
        shared = {e.place.file for e in matrix.exclusions} - {matrix.place.file}
        found += [fault for fault in dead if fault.file not in shared]
    if matrix.policy.expired_rules is Severity.ERROR:
        found += expired_rules(matrix, as_of)
    return found


def contradictions(plan: Plan) -> list[Fault]:
    """What can never be meant: two cells with one id, two builds of one wheel, half a cell."""
    decided = plan.decided
    return [*duplicate_cells(decided), *partial_rows(decided), *colliding_builds(plan.builds)]


def dead_conditions(
    matrix: Matrix, recipes: Mapping[str, Recipe], space: Space | None = None
) -> list[Fault]:
    """Conditions that fit no candidate: a typo, or a value that has left its axis.

    A rule that silently stops matching (because a patch version was bumped, say) changes the
    matrix without a word; so it is an error unless `policy` says otherwise. A rule that only
    another channel has cells for is alive.
    """
    space = space or Space(matrix)

    def fits(when: Condition) -> bool:
        return bool(space.mask(when)) or any(Space(m).mask(when) for m in matrix.elsewhere)

    message = "fits no cell of the matrix"
    return [
        fault_at(named.place, named.label, message, _bumped(named.when, matrix))
        for named in _conditions(matrix, recipes)
        if not fits(named.when)
    ]


def shadowed_rules(matrix: Matrix, space: Space) -> list[Fault]:
    """Exclusions, rules and table rows that earlier ones leave nothing to do."""
    found: list[Fault] = []
    covered = 0
    names: list[tuple[str, int]] = []
    for exclusion in matrix.exclusions:
        mask = space.mask(exclusion.when)
        if mask and not mask & ~covered:
            found.append(_shadow(exclusion, f"exclude {exclusion.id}", names, space, mask))
        covered |= mask
        names.append((exclusion.id, mask))
    left = space.everything
    before: list[tuple[str, int]] = []
    for rule in matrix.rules:
        mask = space.mask(rule.when)
        if mask and not mask & left:
            found.append(_shadow(rule, f"rules {rule.id}", before, space, mask))
        left &= ~mask
        before.append((rule.id, mask))
    for table in matrix.tables:
        found += _shadowed_rows(table, space)
    return found


def _shadow(
    rule: Exclusion | Rule, label: str, earlier: list[tuple[str, int]], space: Space, mask: int
) -> Fault:
    by = [name for name, other in earlier if other & mask]
    return fault_at(
        rule.place,
        label,
        f"decides nothing: its {mask.bit_count()} of {space.size} candidates are already decided "
        f"by {', '.join(by)}",
        "delete it, or move it before them",
    )


def _shadowed_rows(table: Table, space: Space) -> Iterator[Fault]:
    left = space.everything
    for index, row in enumerate(table.rows):
        mask = space.mask(row.when)
        if mask and not mask & left:
            yield fault_at(
                row.place,
                f"tables {table.id}.rows[{index}]",
                "is never reached: earlier rows fit all its candidates",
                "the first row that fits decides: move it up, or delete it",
            )
        left &= ~mask


def expired_rules(matrix: Matrix, as_of: date) -> list[Fault]:
    """Exclusions, rules and tables that are past their `until`. They still apply."""
    stated: list[tuple[str, Exclusion | Rule | Table]] = [
        *((f"exclude {e.id}", e) for e in matrix.exclusions),
        *((f"rules {r.id}", r) for r in matrix.rules),
        *((f"tables {t.id}", t) for t in matrix.tables),
    ]
    return [
        fault_at(
            rule.place,
            label,
            f"expired on {rule.until}, {(as_of - rule.until).days} days ago: {rule.reason}",
            "check whether the reason still holds; then delete it or move its date",
        )
        for label, rule in stated
        if rule.until is not None and rule.until < as_of
    ]


def duplicate_cells(decided: Decided) -> list[Fault]:
    """Whole rows (`add`, or `include` rows that became cells) equal to another candidate."""
    space = decided.space
    seen: Counter[tuple[tuple[str, str], ...]] = Counter()
    found: list[Fault] = []
    for entry in (*decided.matrix.add, *decided.appended_rows):
        values = {name: value.text for name, value in entry.values.items()}
        key = tuple(sorted(values.items()))
        seen[key] += 1
        number = space.number(values)
        if seen[key] > 1 or (number is not None and number < space.product_size):
            text = ", ".join(f"{name}={value}" for name, value in values.items())
            message = f"two cells have one id: {text}"
            found.append(fault_at(entry.place, "", message, "delete one of them"))
    return found


def partial_rows(decided: Decided) -> list[Fault]:
    """Include rows that became cells without a value on every axis of a stack."""
    if not decided.matrix.packages:
        return []
    names = {axis.name for axis in decided.matrix.axes}
    return [
        fault_at(
            entry.place,
            "",
            f"fits no kept cell, and as a cell of its own lacks {', '.join(sorted(missing))}",
            "name a value on every axis, or one that a kept cell has",
        )
        for entry in decided.appended_rows
        if (missing := names - entry.values.keys())
    ]


def colliding_builds(builds: Iterable[Build]) -> list[Fault]:
    """Builds that would write one wheel file: same folder, name, version and tags."""
    seen: dict[str, Build] = {}
    found: list[Fault] = []
    for build in builds:
        other = seen.setdefault(build.artifact, build)
        if other is not build:
            found.append(
                Fault(
                    file=f"recipes/{build.package}/recipe.yaml",
                    message=f"two builds have one artifact name: {build.artifact}",
                    hint="name the axis that tells them apart in `uses`",
                )
            )
    return found


def _kept_values(decided: Decided, axis: Axis) -> dict[str, int]:
    """How many kept candidates of the product each value of an axis has."""
    space = decided.space
    return {
        value.text: (space.mask_of(axis.name, value.text) & decided.kept).bit_count()
        for value in axis.values
    }


def constant_axes(decided: Decided) -> list[Fault]:
    """Axes that never vary: one value, or only one that any included cell has."""
    found = []
    for axis in decided.matrix.axes:
        alive = [value for value, count in _kept_values(decided, axis).items() if count]
        if len(alive) == 1 and decided.space.size > 1:
            found.append(
                fault_at(
                    axis.place,
                    f"axes.{axis.name}",
                    f"never varies: every included cell has {alive[0]}",
                    "drop the axis, or say why it is kept in a comment",
                )
            )
    return found


def unused_values(decided: Decided) -> list[Fault]:
    """Values on an axis that no included cell has."""
    return [
        fault_at(
            axis.place,
            f"axes.{axis.name}",
            f"{value} is on the axis, but every cell with it is excluded",
            f"see `wheelgrid plan --why-not`; take {value} off the axis if that is meant",
        )
        for axis in decided.matrix.axes
        for value, count in _kept_values(decided, axis).items()
        if not count and decided.kept
    ]
