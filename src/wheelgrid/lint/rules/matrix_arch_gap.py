"""MX011: Toolchains compile for every GPU that torch has code for."""

from __future__ import annotations

from collections.abc import Iterator

from wheelgrid.core.errors import Fault
from wheelgrid.lint.rule import Context, Rule, Scope, Severity
from wheelgrid.planning.arch_gaps import arch_gap
from wheelgrid.planning.checks import fault_at

__all__ = ["RULE"]


def _check(context: Context) -> Iterator[Fault]:
    """Per toolchain, the targets of the torch builds in its cells that it leaves out."""
    for accelerator, toolchain in context.matrix.toolchains.items():
        shipped: set[str] = set()
        for torch in context.matrix.torch:
            for platform in context.matrix.platform:
                known = context.knowledge.torch_archs(torch, accelerator, platform)
                shipped.update(known[0] if known else ())
        gap = arch_gap(toolchain.archs, shipped)
        if gap.missing:
            yield fault_at(
                toolchain.place,
                f"toolchains.{accelerator}.archs",
                f"torch has code for {', '.join(gap.missing)}, wheels of this toolchain have not; "
                f"their minimum is {gap.minimum}",
                "add the targets, or say in the package's page which GPUs are left out",
            )


RULE = Rule(
    id="MX011",
    scope=Scope.MATRIX,
    severity=Severity.WARNING,
    summary="Toolchains compile for every GPU that torch has code for.",
    why=(
        "A wheel without code for a GPU that its torch supports fails at the first launch with "
        "'no kernel image is available', long after it was installed."
    ),
    fix="Add the missing targets to `archs` of the toolchain.",
    bad='archs: ["8.0", "8.6", "8.9", "9.0"]  # torch has 7.5 too',
    good='archs: ["7.5", "8.0", "8.6", "8.9", "9.0"]',
    check=_check,
)
