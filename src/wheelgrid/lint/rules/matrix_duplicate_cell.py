"""MX004: No two cells have one id."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import checks

__all__ = ["RULE"]

RULE = Rule(
    id="MX004",
    scope=Scope.MATRIX,
    severity=Severity.ERROR,
    summary="No two cells have one id.",
    why=(
        "Records, logs, artefacts and reports are named by the id: two cells with one id "
        "overwrite each other."
    ),
    fix=("Delete one of the rows, or name the value that tells them apart."),
    bad="add: [{os: a}, {os: a}]",
    good="add: [{os: a}, {os: b}]",
    check=lambda context: [
        *checks.duplicate_cells(context.decided),
        *checks.partial_rows(context.decided),
    ],
)
