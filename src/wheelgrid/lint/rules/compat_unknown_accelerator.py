"""CP012: Accelerators that torch is listed with are known."""

from __future__ import annotations

from collections.abc import Iterator

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.errors import Fault
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.vendor import applies
from wheelgrid.lint.rule import Context, Rule, Scope, Severity
from wheelgrid.lint.rules._places import written

__all__ = ["RULE"]


def _missing(accelerator: Accelerator, knowledge: Knowledge) -> str:
    """What is not known of an accelerator, in words; empty when enough is."""
    known = knowledge.accelerators.get(accelerator.family)
    if known is None:
        return f"there is no compat/accelerators/{accelerator.family}.yaml"
    version = accelerator.version
    if version is None:
        return ""
    if accelerator.family is Family.CUDA:
        found = knowledge.toolkit_archs(version) is not None
        return "" if found else "no statement says which GPU targets its toolkit compiles for"
    named = [*known.torch_index, *(f.version for f in known.glibc_floors)]
    if any(text and applies(text, version) for text in named):
        return ""
    return "neither an index nor a glibc floor is known of it"


def _check(context: Context) -> Iterator[Fault]:
    seen: set[Accelerator] = set()
    for torch in sorted(context.knowledge.torch):
        for listing in context.knowledge.torch[torch].published:
            place = written(context, listing.source)
            for accelerator in sorted(listing.values - seen) if listing.positive else ():
                seen.add(accelerator)
                missing = _missing(accelerator, context.knowledge)
                if missing and place is not None:
                    yield place.fault(
                        f"torch {torch} is listed with {accelerator}, but {missing}",
                        hint="add it to compat/accelerators, or correct the version",
                        at="values",
                    )


RULE = Rule(
    id="CP012",
    scope=Scope.TREE,
    severity=Severity.WARNING,
    summary="Accelerators that torch is listed with are known.",
    why=(
        "A typing error in a version looks like a new runtime. And without the toolkit's targets "
        "a matrix cannot be checked against it."
    ),
    fix="Add the toolkit (or the index) to compat/accelerators, or correct the version.",
    bad="values: [cuda12.6, cuda31.0]",
    good="values: [cuda12.6, cuda13.0]",
    check=_check,
)
