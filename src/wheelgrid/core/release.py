"""What is known of one torch release: Pythons, builds, GPU targets, companions; by statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

__all__ = ["ArchList", "Companions", "Published", "PythonsStatement", "Stated", "TorchKnowledge"]
__all__ += ["weigh"]


class _Sourced(Protocol):
    @property
    def source(self) -> Source:
        """Where the statement comes from."""
        ...


S = TypeVar("S", bound=_Sourced)


def weigh(statements: Iterable[S]) -> S | None:
    """The statement that decides: an observation before a claim, then the newest date."""
    ranked = sorted(statements, key=lambda s: s.source.date, reverse=True)
    return min(ranked, key=lambda s: s.source.kind is not Kind.OBSERVATION, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """One plain value and who says it: a date, a specifier, a C++ standard."""

    value: str
    source: Source


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
class ArchList:
    """The GPU targets compiled into one build; `ptx` holds those with code for newer GPUs too."""

    source: Source
    accelerator: Accelerator
    platforms: frozenset[Platform]
    values: tuple[str, ...]
    ptx: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Companions:
    """Distributions that go with a release: name to specifier; accelerator None means any."""

    source: Source
    values: Mapping[str, str]
    accelerator: Accelerator | None = None
    platforms: frozenset[Platform] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchKnowledge:
    """All that is known of one torch release."""

    torch: Version
    pythons: tuple[PythonsStatement, ...] = ()
    published: tuple[Published, ...] = ()
    defaults: tuple[tuple[Platform, Accelerator, Source], ...] = ()
    archs: tuple[ArchList, ...] = ()
    companions: tuple[Companions, ...] = ()
    plain: Mapping[str, tuple[Stated, ...]] = field(default_factory=dict)
    """`released`, `requires_python` and `cxx_standard`: what each source says."""

    def default_accelerator(self, platform: Platform) -> tuple[Accelerator, Source] | None:
        """What the default package index serves there; an observation beats a claim."""
        known = [(a, s) for p, a, s in self.defaults if p == platform]
        return min(known, key=lambda pair: pair[1].kind is not Kind.OBSERVATION, default=None)

    def pythons_on(self, platform: Platform) -> PythonsStatement | None:
        """The statement that decides which Pythons have wheels there."""
        return weigh(s for s in self.pythons if platform in s.platforms)

    def arch_list(self, accelerator: Accelerator, platform: Platform) -> ArchList | None:
        """The statement that decides which GPU targets a build has."""
        return weigh(
            a for a in self.archs if a.accelerator == accelerator and platform in a.platforms
        )

    def stated(self, name: str) -> Stated | None:
        """The statement that decides a plain value: `stated("cxx_standard")`."""
        return weigh(self.plain.get(name, ()))

    def has_build(self, accelerator: Accelerator) -> Source | None:
        """A source that lists the accelerator as published somewhere; None without one.

        A statement that the build does not exist takes away its platforms, unless the listing
        was seen and the denial only claimed.
        """
        listed = [p for p in self.published if p.positive and accelerator in p.values]
        denied = [p for p in self.published if not p.positive and accelerator in p.values]

        def holds(listing: Published) -> bool:
            seen = listing.source.kind is Kind.OBSERVATION
            against = [d for d in denied if not seen or d.source.kind is Kind.OBSERVATION]
            return bool(listing.platforms.difference(*(d.platforms for d in against)))

        found = weigh(filter(holds, listed))
        return found.source if found else None
