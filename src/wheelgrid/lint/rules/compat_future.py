"""CP011: Nothing was seen or said in the future."""

from __future__ import annotations

from collections.abc import Iterator

from wheelgrid.core.errors import Fault
from wheelgrid.lint.rule import Context, Rule, Scope, Severity

__all__ = ["RULE"]


def _check(context: Context) -> Iterator[Fault]:
    today = context.as_of.isoformat()
    for statement in context.statements:
        source = statement.source
        if source.date > today:
            yield statement.fault(
                f"is {source.kind} of {source.date}, which is after {today}",
                hint="an announced date belongs into the statement; `date` is when it was said",
                at="date",
            )


RULE = Rule(
    id="CP011",
    scope=Scope.ENTRY,
    severity=Severity.ERROR,
    summary="Nothing was seen or said in the future.",
    why=(
        "A plan is not an observation. With a date ahead, a release that was only announced is "
        "taken for one that is there."
    ),
    fix="Write the day on which it was seen or said. A planned day is a claim about that day.",
    bad='says: released, on: "2026-12-22", kind: observation, date: "2026-12-22"  # on 1 December',
    good='says: released, on: "2026-12-22", kind: claim, date: "2026-09-16"',
    check=_check,
)
