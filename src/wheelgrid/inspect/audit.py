"""The audit: every rule on one wheel, and the exceptions that its policy makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from wheelgrid.core.audit_policy import NO_POLICY, AuditPolicy
from wheelgrid.core.rung import Outcome
from wheelgrid.inspect.findings import Expected, Finding, Level
from wheelgrid.inspect.policy import Waived, apply_waivers
from wheelgrid.inspect.rules import (
    bundled,
    contents,
    device_archs,
    floors,
    identity,
    integrity,
    labels,
    loading,
    macos,
    python_tags,
    requires,
    tags,
    torch_abi,
    weight,
)
from wheelgrid.inspect.subject import Subject, Upstream
from wheelgrid.inspect.wheel import Reading, read_wheel

__all__ = ["Audit", "audit", "findings_of"]

Rule = Callable[[Subject], Iterator[Finding]]

_ALL: tuple[Rule, ...] = (
    identity.file_name,
    identity.agreement,
    identity.metadata,
    identity.asked_for,
    identity.format_files,
    integrity.wheel_tags,
    integrity.record,
    integrity.damage,
    integrity.paths,
    tags.expected_tags,
    floors.linux_floor,
    floors.musl,
    macos.macos_floor,
    python_tags.suffixes,
    tags.machine,
    python_tags.stable_symbols,
    floors.needless_linux,
    floors.unpublishable,
    python_tags.no_abi,
    python_tags.could_be_wider,
    python_tags.threading,
    contents.extensions,
    device_archs.declared_targets,
    contents.device_code,
    contents.several_accelerators,
    weight.duplicates,
    weight.ceilings,
    weight.debug_data,
    device_archs.declared_list,
    bundled.bundled,
    loading.version_files,
    loading.search_paths,
    torch_abi.stable_or_pinned,
    loading.layout,
    bundled.excludes,
    loading.runtime_majors,
    labels.label,
    labels.limits_torch,
    requires.stubs,
    torch_abi.oldest_torch,
    torch_abi.string_abi,
    torch_abi.what_torch_has,
    requires.pinned_runtimes,
    labels.sycl_of_torch,
    integrity.unreadable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All findings on one wheel; `waived` are those that exceptions accept, which fail nothing."""

    wheel: str
    findings: tuple[Finding, ...]
    waived: tuple[Waived, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Failed with an error, unknown with something unchecked, else passed."""
        levels = {f.level for f in self.findings}
        if Level.ERROR in levels:
            return Outcome.FAILED
        return Outcome.UNKNOWN if Level.UNCHECKED in levels else Outcome.PASSED


def findings_of(subject: Subject) -> tuple[Finding, ...]:
    """What all rules find, before any exception."""
    return tuple(finding for rule in _ALL for finding in rule(subject))


def audit(
    file: Path,
    expected: Expected | None = None,
    *,
    policy: AuditPolicy = NO_POLICY,
    as_of: date | None = None,
    upstream: Upstream | None = None,
) -> Audit:
    """Read a wheel and apply every rule; with `expected`, also what the plan asked for.

    `as_of` is the day against which exceptions are judged; without it, a policy with exceptions is
    a ValueError. `upstream` is what is known of torch.
    """
    kernels = device_archs.targets_asked(expected, policy) is not None
    wheel = read_wheel(file, Reading(digests=True, kernels=kernels))
    subject = Subject(wheel=wheel, expected=expected, policy=policy, upstream=upstream)
    found, waived = apply_waivers(findings_of(subject), policy.waivers, as_of)
    return Audit(wheel=wheel.file, findings=found, waived=waived)
