"""MX007: Every value of an axis is in at least one included cell."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import checks

__all__ = ["RULE"]

RULE = Rule(
    id="MX007",
    scope=Scope.MATRIX,
    severity=Severity.WARNING,
    summary="Every value of an axis is in at least one included cell.",
    why=("A value on the axis that every rule excludes reads as supported, and is not."),
    fix=("Take the value off the axis, or see `wheelgrid plan --why-not` for what excludes it."),
    bad="cu118 on the axis, excluded everywhere",
    good="no cu118 on the axis",
    check=lambda context: checks.unused_values(context.decided),
)
