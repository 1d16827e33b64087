"""What is known of upstream: torch releases, accelerators, features; claims and observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

__all__ = [
    "AcceleratorKnowledge",
    "Feature",
    "FeatureStatus",
    "Knowledge",
    "Partial",
    "Published",
    "PythonsStatement",
    "TorchKnowledge",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonsStatement:
    """The Pythons for which a torch release has wheels on these platforms; exhaustive."""

    source: Source
    platforms: frozenset[Platform]
    values: frozenset[PythonVersion]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Which builds of one family a release has on these platforms.

    `positive` lists all of them; otherwise `values` are the ones known not to exist.
    """

    source: Source
    family: Family
    platforms: frozenset[Platform]
    values: frozenset[Accelerator]
    positive: bool = True
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchKnowledge:
    """All that is known of one torch release."""

    torch: Version
    pythons: tuple[PythonsStatement, ...] = ()
    published: tuple[Published, ...] = ()
    defaults: tuple[tuple[Platform, Accelerator, Source], ...] = ()

    def default_accelerator(self, platform: Platform) -> tuple[Accelerator, Source] | None:
        """What the default package index serves there; an observation beats a claim."""
        known = [(a, s) for p, a, s in self.defaults if p == platform]
        return min(known, key=lambda pair: pair[1].kind is not Kind.OBSERVATION, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorKnowledge:
    """What is known of one family: where it exists, and each version's torch index."""

    family: Family
    title: str
    platforms: frozenset[Platform]
    source: Source
    torch_index: Mapping[str, tuple[str, Source]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureStatus:
    """What one source says of a feature on one torch and accelerator."""

    torch: str
    accelerator: str
    status: str
    detail: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """What partial support lacks; torch and accelerator are empty where it holds for all."""

    torch: str
    accelerator: str
    missing: tuple[str, ...]
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A named capability of the stack and what is known of it."""

    id: str
    title: str
    summary: str
    since: str
    stability: str
    accelerators: tuple[str, ...]
    needs: tuple[str, ...]
    workaround: str
    statuses: tuple[FeatureStatus, ...]
    partial: tuple[Partial, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The whole of compat/, decoded."""

    torch: Mapping[Version, TorchKnowledge]
    accelerators: Mapping[Family, AcceleratorKnowledge]
    sunsets: tuple[Sunset, ...] = ()
    features: tuple[Feature, ...] = ()
