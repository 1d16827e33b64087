"""MX001: A rule fits at least one candidate."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import checks

__all__ = ["RULE"]

RULE = Rule(
    id="MX001",
    scope=Scope.MATRIX,
    severity=Severity.ERROR,
    summary="A rule fits at least one candidate.",
    why=(
        "A rule that fits nothing is a typo, or a value has left its axis. It changes the "
        "matrix without a word: neighbours lost every exclusion of a minor line when its "
        "patch version was bumped."
    ),
    fix=("Correct the spelling, write a range instead of one patch version, or delete the rule."),
    bad='when: {torch: "2.12.1"}  # the axis has 2.12.2',
    good='when: {torch: "2.12.*"}',
    check=lambda context: checks.dead_conditions(
        context.matrix, context.recipes, context.decided.space
    ),
)
