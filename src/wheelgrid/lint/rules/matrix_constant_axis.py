"""MX006: Every axis varies among the included cells."""

from __future__ import annotations

from wheelgrid.core.errors import Fault
from wheelgrid.core.grid import Severity as Policy
from wheelgrid.lint.rule import Context, Rule, Scope, Severity
from wheelgrid.planning import checks

__all__ = ["RULE"]


def _check(context: Context) -> list[Fault]:
    """Constant axes, unless the matrix says that they are meant."""
    if context.matrix.policy.constant_axes is Policy.IGNORE:
        return []
    return checks.constant_axes(context.decided)


RULE = Rule(
    id="MX006",
    scope=Scope.MATRIX,
    severity=Severity.WARNING,
    summary="Every axis varies among the included cells.",
    why=("An axis with one value left makes ids longer and hides that the choice is gone."),
    fix=("Take the axis off the matrix, or set `policy: {constant_axes: ignore}`."),
    bad="axes: {cxx11_abi: [old]}",
    good="axes: {cxx11_abi: [old, new]}",
    check=_check,
)
