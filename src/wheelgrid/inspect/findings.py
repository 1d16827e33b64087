"""What the audit says: findings, and what a wheel is expected to be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.audit_rules import RULES
from wheelgrid.core.platforms import Platform
from wheelgrid.core.recipe import Abi

__all__ = ["RULES", "Expected", "Finding", "Level", "error", "shown", "unchecked", "warning"]

_FEW = 3


class Level(StrEnum):
    """error fails the audit; warning is shown; unchecked means the tool could not look."""

    ERROR = "error"
    WARNING = "warning"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found, and in which member."""

    rule: str
    level: Level
    message: str
    member: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the plan says the wheel must be. `archs` are the GPU targets of its toolchain."""

    package: str
    version: str
    abi: Abi
    python_tag: str
    abi_tag: str
    platform: Platform | None
    accelerator: Accelerator
    extensions: tuple[str, ...]
    torch: Version | None = None
    archs: tuple[str, ...] = ()


def error(rule: str, message: str, member: str = "") -> Finding:
    """A finding that fails the audit."""
    return Finding(rule=rule, level=Level.ERROR, message=message, member=member)


def warning(rule: str, message: str, member: str = "") -> Finding:
    """A finding that is shown and fails nothing."""
    return Finding(rule=rule, level=Level.WARNING, message=message, member=member)


def unchecked(rule: str, message: str, member: str = "") -> Finding:
    """Something that could not be looked at: no pass."""
    return Finding(rule=rule, level=Level.UNCHECKED, message=message, member=member)


def shown(names: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    everything = list(names)
    more = f" and {len(everything) - _FEW} more" if len(everything) > _FEW else ""
    return ", ".join(everything[:_FEW]) + more
