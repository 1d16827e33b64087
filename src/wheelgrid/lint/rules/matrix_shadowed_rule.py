"""MX002: No rule is left without effect by earlier ones."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import checks

__all__ = ["RULE"]

RULE = Rule(
    id="MX002",
    scope=Scope.MATRIX,
    severity=Severity.WARNING,
    summary="No rule is left without effect by earlier ones.",
    why=(
        "Of two rules for the same cells the second never decides, so a change of it does "
        "nothing. In one real matrix four of fourteen exclusions only repeat others."
    ),
    fix=("Delete the later rule, or move it before the ones that hide it."),
    bad="a second exclusion inside the first",
    good="one exclusion",
    check=lambda context: checks.shadowed_rules(context.matrix, context.decided.space),
)
