"""CP008: Claims agree with each other."""

from __future__ import annotations

from collections.abc import Iterator

from wheelgrid.core.disagreement import disagreements
from wheelgrid.core.errors import Fault
from wheelgrid.lint.rule import Context, Rule, Scope, Severity
from wheelgrid.lint.rules._places import written

__all__ = ["RULE"]


def _check(context: Context) -> Iterator[Fault]:
    for found in disagreements(context.knowledge):
        place = written(context, found.claim)
        if not found.is_observed and place is not None:
            yield place.fault(
                str(found), hint=f"the other source is {found.other.source}, {found.other.date}"
            )


RULE = Rule(
    id="CP008",
    scope=Scope.TREE,
    severity=Severity.INFO,
    summary="Claims agree with each other.",
    why="Where nothing was seen, two pages that differ are a question nobody has answered yet.",
    fix="Look for yourself and add an observation: it decides, and both claims stay.",
    bad="RELEASE.md: rocm7.14; the release blog: rocm7.2, rocm7.14",
    good="an observation of the index, beside both claims",
    check=_check,
)
