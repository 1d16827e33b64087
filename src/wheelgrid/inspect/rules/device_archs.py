"""Rules on declared GPU targets against device code: WG302, WG309."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.core.accelerator import Family
from wheelgrid.core.arch_targets import ArchTargets, family_of_target, parse_targets
from wheelgrid.core.audit_policy import AuditPolicy
from wheelgrid.inspect.device import (
    code_families,
    cuda_targets,
    loadable,
    rocm_targets,
    sycl_targets,
)
from wheelgrid.inspect.findings import Expected, Finding, error, shown, unchecked, warning
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.order import by_number
from wheelgrid.inspect.subject import Subject

__all__ = ["declared_list", "declared_targets", "targets_asked"]

_LONGEST = 80
_CODE = re.compile(r"(?:sm|compute)_([0-9]{1,3})([0-9])([af]?)\Z")


def targets_asked(expected: Expected | None, policy: AuditPolicy) -> ArchTargets | None:
    """What was declared: by the policy, else by the toolchain of the plan."""
    if policy.archs is not None:
        return policy.archs
    archs = expected.archs if expected else ()
    return parse_targets(" ".join(archs)) if archs else None


def _declared(subject: Subject) -> ArchTargets | None:
    return targets_asked(subject.expected, subject.policy)


def _families(subject: Subject, declared: ArchTargets) -> list[Family]:
    """The vendors that the declaration is about; with a plan only the one of the build."""
    named = {family_of_target(t) for t in (*declared.machine, *declared.ptx)}
    if subject.expected is not None:
        named &= {subject.expected.accelerator.family}
    return sorted(named)


def _found(library: Library, family: Family) -> set[str]:
    if family is Family.CUDA:
        return cuda_targets(loadable(library))
    return rocm_targets(library) if family is Family.ROCM else sycl_targets(library)


def _has(target: str, found: set[str]) -> bool:
    """Whether a target is there: gfx90a also as gfx90a:xnack+, bmg also as bmg-g21."""
    return target in found or (
        not target.startswith(("sm_", "compute_"))
        and any(name.startswith((f"{target}:", f"{target}-")) for name in found)
    )


def _capability(target: str) -> tuple[int, int]:
    match = _CODE.match(target)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _outcome(target: str, found: set[str]) -> str:
    """What a GPU of a missing target gets instead."""
    if target.startswith("gfx"):
        return "no kernel runs there"
    if not target.startswith("sm_"):
        return "it is not there"
    ptx = [t for t in found if t.startswith("compute_") and not t.endswith(("a", "f"))]
    older = [t for t in ptx if _capability(t) <= _capability(target)]
    same = [
        t
        for t in found
        if t.startswith("sm_")
        and not t.endswith(("a", "f"))
        and _capability(t)[0] == _capability(target)[0]
        and _capability(t) <= _capability(target)
    ]
    if same:
        return f"such a GPU runs the code of {max(same, key=_capability)}"
    if older:
        return f"it runs by JIT from {max(older, key=_capability)}, with a slow first start"
    return "it will not run there: no PTX for it either"


def _missing(family: Family, declared: ArchTargets, found: set[str]) -> Iterator[Finding]:
    for target in declared.of(family):
        if _has(target, found):
            continue
        has = shown(by_number(found)) if len(found) > 8 else ", ".join(by_number(found))  # noqa: PLR2004
        if target.startswith("compute_"):
            text = "PTX is declared and in no native file: newer GPUs get no code from it"
            yield error("WG302", f"{target}: {text}; found {has or 'no code'}")
        else:
            text = f"is declared and in no native file: {_outcome(target, found)}"
            yield error("WG302", f"{target} {text}; found {has or 'no code'}")


def declared_targets(subject: Subject) -> Iterator[Finding]:
    """WG302: declared minus found fails; found minus declared, and units that lack one, warn."""
    declared = _declared(subject)
    if declared is None:
        return
    for family in _families(subject, declared):
        files = [one for one in subject.wheel.libraries if family in code_families(one)]
        if any(one.device.kpack for one in files):
            yield unchecked("WG302", "kernels are in a separate kpack archive, not looked into")
            continue
        found = set().union(*(_found(one, family) for one in files))
        yield from _missing(family, declared, found)
        names = declared.of(family)
        extra = [t for t in by_number(found) if not any(_has(name, {t}) for name in names)]
        if extra:
            yield warning("WG302", f"holds code that was not declared: {', '.join(extra)}")
        for library in files if family is Family.CUDA else []:
            yield from _units(library, [n for n in names if n in found])


def _units(library: Library, names: list[str]) -> Iterator[Finding]:
    """Translation units with kernels that lack a declared target which others have.

    A container without kernels is what the device linker leaves, and lacks nothing.
    """
    groups = [g for g in loadable(library) if g.kernels is None or g.kernels]
    total = sum(group.containers for group in groups)
    parts = []
    for name in names:
        lacking = [g for g in groups if name not in cuda_targets([g])]
        units = sum(g.containers for g in lacking)
        kernels = sorted(frozenset().union(*(g.kernels or () for g in lacking)))
        example = f" ({len(kernels)} kernels, such as {kernels[0][:_LONGEST]})" if kernels else ""
        parts += [f"{name} in {units}{example}"] if units else []
    if parts:
        text = f"of {total} translation units some lack a declared target: {', '.join(parts)}"
        yield warning("WG302", text, library.path)


def declared_list(subject: Subject) -> Iterator[Finding]:
    """WG309: what is odd about the declared list itself."""
    declared = _declared(subject)
    for note in declared.notes if declared else ():
        normal = " ".join(declared.normal) if declared else ""
        yield warning("WG309", f"{note}; the list is {normal}")
