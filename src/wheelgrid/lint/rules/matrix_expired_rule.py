"""MX003: No rule is past its expiry."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import checks

__all__ = ["RULE"]

RULE = Rule(
    id="MX003",
    scope=Scope.MATRIX,
    severity=Severity.WARNING,
    summary="No rule is past its expiry.",
    why=(
        "A rule with `until` was meant to end. Past that day nobody has looked whether its "
        "reason still holds; it still applies, so that no build changes because midnight "
        "passed."
    ),
    fix=(
        "Check the reason. Delete the rule, or give it a new date. `policy: {expired_rules: "
        "error}` makes `plan` refuse."
    ),
    bad='until: "2026-01-31"',
    good='until: "2027-01-31"',
    check=lambda context: checks.expired_rules(context.matrix, context.as_of),
)
