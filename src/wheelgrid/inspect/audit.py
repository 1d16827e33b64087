"""The audit: every rule on one wheel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wheelgrid.core.rung import Outcome
from wheelgrid.inspect.findings import Expected, Finding, Level
from wheelgrid.inspect.rules import contents, identity, integrity, linkage, tags
from wheelgrid.inspect.wheel import Wheel, read_wheel

__all__ = ["Audit", "audit"]

Rule = Callable[[Wheel, Expected | None], Iterator[Finding]]

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
    tags.glibc_floor,
    tags.abi3_files,
    tags.machine,
    tags.abi3_symbols,
    contents.extensions,
    contents.device_code,
    linkage.bundled,
    linkage.loading,
    linkage.torch_abi,
    integrity.unreadable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All findings on one wheel."""

    wheel: str
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """Failed with an error, unknown with something unchecked, else passed."""
        levels = {f.level for f in self.findings}
        if Level.ERROR in levels:
            return Outcome.FAILED
        return Outcome.UNKNOWN if Level.UNCHECKED in levels else Outcome.PASSED


def audit(file: Path, expected: Expected | None = None) -> Audit:
    """Read a wheel and apply every rule; with `expected`, also what the plan asked for."""
    wheel = read_wheel(file)
    found = tuple(finding for rule in _ALL for finding in rule(wheel, expected))
    return Audit(wheel=wheel.file, findings=found)
