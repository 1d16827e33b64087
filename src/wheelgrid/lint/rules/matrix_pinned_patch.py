"""MX010: Rules survive the next patch release."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import spelling

__all__ = ["RULE"]

RULE = Rule(
    id="MX010",
    scope=Scope.MATRIX,
    severity=Severity.WARNING,
    summary="Rules survive the next patch release.",
    why=(
        "A rule that names one patch version stops matching when the axis is bumped, and its "
        "cells come back."
    ),
    fix=("Write the line with `.*`, or a range."),
    bad='when: {torch-version: "2.12.1"}',
    good='when: {torch-version: "2.12.*"}',
    check=lambda context: spelling.pinned_patches(context.matrix),
)
