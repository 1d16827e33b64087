"""Laws: what excludes candidates. Each can judge one candidate, and all of them as a set.

Both answers come from the same statement, so `explain` of one cell and the counts of a million
cannot differ; a property test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from wheelgrid.core.axis import (
    IMPLICIT_ROLES,
    AxisValue,
    Place,
    Role,
    as_accelerator,
    as_platform,
    as_python,
    as_version,
)
from wheelgrid.core.condition import Condition
from wheelgrid.core.decision import Reason, Ruling
from wheelgrid.core.errors import Fault
from wheelgrid.core.evidence import Source
from wheelgrid.core.grid import Exclusion, Otherwise, Rule, Table
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.core.matrix import Matrix
from wheelgrid.planning import facts
from wheelgrid.planning.space import Candidate, Space

__all__ = ["Law", "laws_of", "roles_of"]


def _policy(rule: str, reason: str, source: Source) -> Ruling:
    return Ruling(reason=Reason.POLICY, rule=f"matrix.{rule}", message=reason, sources=(source,))


@dataclass(frozen=True, slots=True)
class Law:
    """One reason to exclude: `judge` gives its rulings on a candidate, `masks` all it excludes.

    `masks` returns rule id -> set of candidates; `unfit` holds candidates that a table or rule
    list does not cover although it must.
    """

    reason: Reason
    judge: Callable[[Candidate], tuple[Ruling, ...]]
    masks: Callable[[Space], Mapping[str, int]]
    unfit: Callable[[Space], int] = lambda _: 0
    place: Place = field(default_factory=Place)


def _exclusion(exclusion: Exclusion) -> Law:
    ruling = _policy(exclusion.id, exclusion.reason, exclusion.source)
    return Law(
        reason=Reason.POLICY,
        judge=lambda c: (ruling,) if exclusion.when.matches(c) else (),
        masks=lambda space: {ruling.rule: space.mask(exclusion.when)},
        place=exclusion.place,
    )


def _table(table: Table) -> Law:
    ruling = _policy(table.id, table.reason, table.source)

    def allows(values: tuple[object, ...]) -> Condition:
        return Condition(((table.axis, values),))  # type: ignore[arg-type]

    def judge(candidate: Candidate) -> tuple[Ruling, ...]:
        for row in table.rows:
            if row.when.matches(candidate):
                return () if allows(row.values).matches(candidate) else (ruling,)
        return () if table.otherwise is Otherwise.KEEP else (ruling,)

    def walk(space: Space) -> tuple[int, int]:
        left, dropped = space.everything, 0
        for row in table.rows:
            fits = space.mask(row.when) & left
            dropped |= fits & ~space.mask(allows(row.values))
            left &= ~fits
        return dropped, left

    def masks(space: Space) -> dict[str, int]:
        dropped, left = walk(space)
        return {ruling.rule: dropped if table.otherwise is Otherwise.KEEP else dropped | left}

    return Law(
        reason=Reason.POLICY,
        judge=judge,
        masks=masks,
        unfit=lambda space: walk(space)[1] if table.otherwise is Otherwise.ERROR else 0,
        place=table.place,
    )


def _rules(matrix: Matrix) -> Law:
    rules, otherwise = matrix.rules, matrix.rules_otherwise
    none_fits = Ruling(
        reason=Reason.POLICY,
        rule="matrix.rules",
        message="no rule fits, and rules_otherwise excludes what no rule names",
        sources=(),
    )

    def ruling(rule: Rule) -> Ruling:
        return _policy(rule.id, rule.reason, rule.source)

    def judge(candidate: Candidate) -> tuple[Ruling, ...]:
        for rule in rules:
            if rule.when.matches(candidate):
                return () if rule.include else (ruling(rule),)
        return () if otherwise is Otherwise.KEEP else (none_fits,)

    def walk(space: Space) -> tuple[dict[str, int], int]:
        left, found = space.everything, {}
        for rule in rules:
            fits = space.mask(rule.when) & left
            if not rule.include:
                found[ruling(rule).rule] = fits
            left &= ~fits
        return found, left

    def masks(space: Space) -> dict[str, int]:
        found, left = walk(space)
        return found if otherwise is Otherwise.KEEP else {**found, none_fits.rule: left}

    return Law(
        reason=Reason.POLICY,
        judge=judge,
        masks=masks,
        unfit=lambda space: walk(space)[1] if otherwise is Otherwise.ERROR else 0,
        place=rules[0].place if rules else matrix.place,
    )


def roles_of(matrix: Matrix) -> dict[Role, str]:
    """Role to axis name, of declared axes and of the keys of whole rows."""
    found: dict[Role, str] = {
        axis.role: axis.name for axis in matrix.axes if axis.role is not Role.TEXT
    }
    if not matrix.axes:
        for entry in (*matrix.add, *matrix.include):
            for name in entry.values:
                role = matrix.row_roles.get(name, IMPLICIT_ROLES.get(name, Role.TEXT))
                if role is not Role.TEXT:
                    found.setdefault(role, name)
    return found


_PARSE: Mapping[Role, Callable[[str], object]] = {
    Role.TORCH: as_version,
    Role.PYTHON: as_python,
    Role.ACCELERATOR: as_accelerator,
    Role.PLATFORM: as_platform,
    Role.GPU_ARCH: str,
}
_FACTS: tuple[tuple[Reason, tuple[Role, ...], Callable[..., Iterable[Ruling]]], ...] = (
    (
        Reason.PLATFORM_WITHOUT_RUNTIME,
        (Role.ACCELERATOR, Role.PLATFORM),
        facts.platform_rulings,
    ),
    (Reason.ARCH_NOT_IN_TOOLKIT, (Role.GPU_ARCH, Role.ACCELERATOR), facts.arch_rulings),
    (
        Reason.ACCELERATOR_NOT_PUBLISHED,
        (Role.TORCH, Role.ACCELERATOR, Role.PLATFORM),
        facts.published_rulings,
    ),
    (Reason.NO_WHEEL_PYTHON, (Role.TORCH, Role.PYTHON, Role.PLATFORM), facts.python_rulings),
    (
        Reason.ARCH_NOT_IN_TORCH,
        (Role.TORCH, Role.ACCELERATOR, Role.PLATFORM, Role.GPU_ARCH),
        facts.torch_arch_rulings,
    ),
)
"""What knowledge rules on: the reason, the roles whose values it reads, and the function."""


def _fact(
    reason: Reason,
    names: Mapping[Role, str],
    needs: tuple[Role, ...],
    judge: Callable[..., Iterable[Ruling]],
) -> Law | None:
    """A law over the axes of some roles, given as text; None where the matrix lacks one."""
    if not all(role in names for role in needs):
        return None
    axes = [names[role] for role in needs]

    @lru_cache(maxsize=65536)
    def rulings(*texts: str) -> tuple[Ruling, ...]:
        return tuple(judge(*texts))

    def one(candidate: Candidate) -> tuple[Ruling, ...]:
        try:
            return rulings(*(candidate.axis(axis) for axis in axes))
        except KeyError:
            return ()

    def masks(space: Space) -> Mapping[str, int]:
        def first(candidate: Candidate) -> str | None:
            found = one(candidate)
            return found[0].rule if found else None

        return space.group(axes, first)  # type: ignore[return-value]

    return Law(reason=reason, judge=one, masks=masks)


def _typed(
    needs: tuple[Role, ...], judge: Callable[..., Iterable[Ruling]], known: Knowledge
) -> Callable[..., Iterable[Ruling]]:
    """The function over text; text that is no value of its role gets no ruling."""

    def over_text(*texts: str) -> Iterable[Ruling]:
        values = [_PARSE[role](text) for role, text in zip(needs, texts, strict=True)]
        return () if None in values else judge(*values, known)

    return over_text


def _sunset(sunset: Sunset, names: Mapping[Role, str]) -> Law | None:
    """Cells with a value that is gone. Its conditions speak of the standard axes."""
    roles = {sunset.axis, *sunset.gone.axes}
    if not roles <= {str(role) for role in Role}:
        return None
    needs = tuple(sorted(Role(name) for name in roles))

    def judge(*texts: str) -> Iterable[Ruling]:
        values = {str(r): AxisValue(text) for r, text in zip(needs, texts, strict=True)}
        if sunset.removes(Candidate(values)):
            yield facts.sunset_ruling(sunset)

    return _fact(Reason.SUNSET, names, needs, judge)


def _knowledge_laws(names: Mapping[Role, str], known: Knowledge) -> Iterable[Law | None]:
    for sunset in known.sunsets:
        yield _sunset(sunset, names)
    for reason, needs, judge in _FACTS:
        yield _fact(reason, names, needs, _typed(needs, judge, known))


def laws_of(matrix: Matrix, known: Knowledge) -> tuple[tuple[Law, ...], tuple[Law, ...]]:
    """The laws of the matrix itself, and those of knowledge, each in headline order."""
    own = [_exclusion(e) for e in matrix.exclusions] + [_table(t) for t in matrix.tables]
    if matrix.rules:
        own.append(_rules(matrix))
    if not matrix.policy.knowledge:
        return tuple(own), ()
    return tuple(own), tuple(
        law for law in _knowledge_laws(roles_of(matrix), known) if law is not None
    )


def unfit_fault(law: Law, space: Space) -> Fault | None:
    """The fault of a table or rule list that leaves candidates undecided, or None."""
    mask = law.unfit(space)
    if not mask:
        return None
    example = space.candidate((mask & -mask).bit_length() - 1)
    values = ", ".join(f"{name}={value.text}" for name, value in example.values.items())
    return Fault(
        file=law.place.file,
        path=law.place.path,
        line=law.place.line,
        column=law.place.column,
        message=f"no row fits {mask.bit_count()} candidates, for example {values}",
        hint="add a row, or say `otherwise: keep` or `drop`",
    )
