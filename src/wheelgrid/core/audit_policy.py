"""What a project asks of its wheels beyond the rules: ceilings, floors, archs and exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from wheelgrid.core.accelerator import Family
from wheelgrid.core.arch_targets import ArchTargets

__all__ = ["INDEX_LIMIT", "NO_POLICY", "AuditPolicy", "Waiver"]

INDEX_LIMIT = 100 << 20
"""PyPI's limit of one file, in bytes, for a project that asked for no other."""
_DEBUG = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """An exception: findings of a rule in matching members are accepted up to a day.

    `member` is a glob over paths in the wheel; `*` also covers findings on the whole wheel.
    """

    rule: str
    reason: str
    until: date
    link: str
    member: str = "*"
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPolicy:
    """What one package, or one run of the audit, asks for. Sizes are in bytes.

    `max_size` fails a wheel, `warn_size` only says so; `max_debug` is of debug data in one file.
    `excludes` are the patterns that repair was given, `allow_bundled` globs of vendors' libraries
    that may be in the wheel, `accelerators` those that it may hold code for together, and `floor`
    platform tags without CPU (manylinux_2_28) that the wheel must at least install on.
    """

    source: str = ""
    max_size: int | None = None
    warn_size: int = INDEX_LIMIT
    max_debug: int = _DEBUG
    waivers: tuple[Waiver, ...] = ()
    excludes: tuple[str, ...] = ()
    archs: ArchTargets | None = None
    allow_bundled: tuple[str, ...] = ()
    accelerators: frozenset[Family] = frozenset()
    floor: tuple[str, ...] = ()


NO_POLICY = AuditPolicy()
"""The rules alone."""
