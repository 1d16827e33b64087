"""MX008: Patterns compare versions as versions."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import spelling

__all__ = ["RULE"]

RULE = Rule(
    id="MX008",
    scope=Scope.MATRIX,
    severity=Severity.ERROR,
    summary="Patterns compare versions as versions.",
    why=(
        "As text 2.10 is smaller than 2.9, and 2.1* fits 2.10.0. A range on values that are "
        "no versions never fits."
    ),
    fix=("Write a range such as >=2.1,<2.2, or 2.1.* with its dot."),
    bad='when: {torch-version: "2.1*"}',
    good='when: {torch-version: "2.1.*"}',
    check=lambda context: spelling.text_comparisons(context.matrix),
)
