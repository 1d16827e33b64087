"""The declared matrix: axes, policy exclusions, tiers and toolchains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.condition import Condition
from wheelgrid.core.evidence import Source
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.rung import Rung

__all__ = ["Exclusion", "Matrix", "TierEntry", "Toolchain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """A policy: these cells are not wanted, for this reason."""

    id: str
    when: Condition
    reason: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class TierEntry:
    """Cells of some packages that a tier takes up to a rung; `why` explains an early stop."""

    packages: tuple[str, ...]
    when: Condition
    until: Rung
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A compiler that installs as packages, and the GPU archs that builds with it target."""

    accelerator: Accelerator
    requires: tuple[str, ...]
    archs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One matrix.yaml, decoded. Axis values keep the order in which they are written."""

    name: str
    title: str
    torch: tuple[Version, ...]
    python: tuple[PythonVersion, ...]
    accelerator: tuple[Accelerator, ...]
    platform: tuple[Platform, ...]
    packages: tuple[str, ...]
    exclusions: tuple[Exclusion, ...] = ()
    tiers: Mapping[str, tuple[TierEntry, ...]] | None = None
    toolchains: Mapping[Accelerator, Toolchain] | None = None

    def axis_values(self, axis: str) -> tuple[str, ...]:
        """The values of one axis as text."""
        return tuple(str(value) for value in getattr(self, axis))
