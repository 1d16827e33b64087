"""MX005: No two builds have one artifact name."""

from __future__ import annotations

from wheelgrid.lint.rule import Rule, Scope, Severity
from wheelgrid.planning import checks

__all__ = ["RULE"]

RULE = Rule(
    id="MX005",
    scope=Scope.MATRIX,
    severity=Severity.ERROR,
    summary="No two builds have one artifact name.",
    why=("A second wheel of the same name replaces the first, in dist/ and in every index."),
    fix=("List the axis that tells the builds apart in `uses` of the recipe."),
    bad="values `a-b` and `a.b` of a used axis",
    good="values `ab` and `cd`",
    check=lambda context: checks.colliding_builds(context.builds),
)
