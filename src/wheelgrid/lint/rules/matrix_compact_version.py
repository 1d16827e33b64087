"""MX009: Versions keep their dots."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import spelling

__all__ = ["RULE"]

RULE = Rule(
    id="MX009",
    scope=Scope.MATRIX,
    severity=Severity.WARNING,
    summary="Versions keep their dots.",
    why=("cu1210 can be 12.10 or 121.0, and compact spellings compare as text: 92 is above 124."),
    fix=("Put the dotted version on the axis and derive labels from it."),
    bad="cuda-version: [cu126, cu1210]",
    good='cuda-version: ["12.6", "12.10"]',
    check=lambda context: spelling.compact_versions(context.matrix),
)
