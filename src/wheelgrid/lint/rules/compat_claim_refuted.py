"""CP007: Claims agree with what was seen."""

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
        if found.is_observed and place is not None:
            yield place.fault(
                str(found),
                hint=f"both are kept and the observation decides: {found.other.source}, "
                f"{found.other.date}",
            )


RULE = Rule(
    id="CP007",
    scope=Scope.TREE,
    severity=Severity.WARNING,
    summary="Claims agree with what was seen.",
    why=(
        "Upstream pages are typed by people and drift from the index. Both are kept: the claim "
        "shows what users are told, the observation what they get. The finding has both lists."
    ),
    fix=(
        "Nothing, if the page is wrong: tell its owners. If the claim was copied wrongly, correct "
        "it; if the index has changed, run `wheelgrid observe`."
    ),
    bad='claim: ["3.7", "3.8", "3.9"]; seen in the index: 3.8, 3.9, 3.10, 3.11',
    good='claim: ["3.8", "3.9", "3.10", "3.11"]; seen in the index: the same',
    check=_check,
)
