"""CP009: Ranges and dates run forwards."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from wheelgrid.core.errors import Fault
from wheelgrid.core.vendor import is_empty, lowest_of, range_of
from wheelgrid.lint.rule import Context, Rule, Scope, Severity
from wheelgrid.lint.rules._places import written

__all__ = ["RULE"]


def _ranges(context: Context) -> Iterator[Fault]:
    for statement in context.statements:
        for field in ("torch", "version"):
            text = statement.text(field)
            if text and is_empty(range_of(text)):
                yield statement.fault(f"{field} {text!r} holds no version", at=field)


def _since(context: Context) -> Iterator[Fault]:
    """A feature that works in a release before the one that is said to have brought it."""
    for feature in context.knowledge.features:
        try:
            since = Version(feature.since)
        except InvalidVersion:
            continue
        for status in feature.statuses:
            lowest, place = lowest_of(status.torch), written(context, status.source)
            works = status.status in {"supported", "preview"}
            early = lowest is not None and Version(lowest.base_version) < since
            if works and early and place is not None:
                yield place.fault(
                    f"works in torch {status.torch}, but {feature.id} is said to exist since "
                    f"{feature.since}",
                    at="torch",
                )


def _lives(context: Context) -> Iterator[Fault]:
    for life in context.knowledge.pythons.values():
        place = written(context, life.source)
        if place is not None and life.end_of_life <= life.released:
            yield place.fault(
                f"Python {life.python} ends on {life.end_of_life}, before it began", at="released"
            )


def _check(context: Context) -> Iterator[Fault]:
    yield from _ranges(context)
    yield from _since(context)
    yield from _lives(context)


RULE = Rule(
    id="CP009",
    scope=Scope.ENTRY,
    severity=Severity.ERROR,
    summary="Ranges and dates run forwards.",
    why="A range that ends before it begins fits nothing, so the statement is never used.",
    fix="Exchange the ends, or correct the typing error.",
    bad='torch: ">=2.14,<2.13"',
    good='torch: ">=2.13,<2.14"',
    check=_check,
)
