"""What is known of upstream: the whole of compat/, decoded, and the questions it answers.

Every answer comes with its source. None means that no statement says so: unknown, never no.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.evidence import Source
from wheelgrid.core.feature import Feature, FeatureStatus, Partial
from wheelgrid.core.ground_rules import ManylinuxTag, PythonLife, RunRule
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.release import ArchList, Companions, Published, PythonsStatement, TorchKnowledge
from wheelgrid.core.shim import ShimKnowledge
from wheelgrid.core.vendor import AcceleratorKnowledge, decisive

__all__ = [
    "AcceleratorKnowledge",
    "ArchList",
    "Companions",
    "Feature",
    "FeatureStatus",
    "Knowledge",
    "Partial",
    "Published",
    "PythonsStatement",
    "TorchKnowledge",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """The whole of compat/, decoded. `pythons`, `manylinux` and `run_rules` hold for all.

    `torch_abi` is what was seen of the stable ABI; it is empty where nobody asked for it.
    """

    torch: Mapping[Version, TorchKnowledge]
    accelerators: Mapping[Family, AcceleratorKnowledge]
    sunsets: tuple[Sunset, ...] = ()
    features: tuple[Feature, ...] = ()
    pythons: Mapping[PythonVersion, PythonLife] = field(default_factory=dict)
    manylinux: tuple[ManylinuxTag, ...] = ()
    run_rules: tuple[RunRule, ...] = ()
    torch_abi: ShimKnowledge = field(default_factory=ShimKnowledge)

    def toolkit_archs(
        self, version: Version, family: Family = Family.CUDA
    ) -> tuple[frozenset[str], Source] | None:
        """The GPU targets that a toolkit compiles for: `sm_75`, `sm_80` ...; exhaustive."""
        known = self.accelerators.get(family)
        found = decisive(known.toolkits, version) if known else None
        return (found.values, found.source) if found else None

    def renamed_arch(self, arch: str, accelerator: Accelerator) -> tuple[str, Source] | None:
        """The name that a target has in this toolkit, if it was renamed (sm_101 under CUDA 13)."""
        known = self.accelerators.get(accelerator.family)
        names = [r for r in known.renamed if r.old == arch] if known else []
        found = decisive(names, accelerator.version)
        return (found.new, found.source) if found else None

    def glibc_floor(self, accelerator: Accelerator) -> tuple[str, Source] | None:
        """The oldest glibc that a build for the accelerator can promise, such as `2.28`.

        What the toolkit needs, where that is known; otherwise what the torch wheels promise.
        """
        known = self.accelerators.get(accelerator.family)
        for of in ("toolkit", "torch"):
            floors = [f for f in known.glibc_floors if f.of == of] if known else []
            found = decisive(floors, accelerator.version)
            if found:
                return found.value, found.source
        return None

    def driver_floor(self, accelerator: Accelerator, system: str) -> tuple[str, Source] | None:
        """The oldest driver for `linux` or `windows`; for cpu and mps the oldest system."""
        known = self.accelerators.get(accelerator.family)
        drivers = [d for d in known.drivers if system in d.minimum] if known else []
        found = decisive(drivers, accelerator.version)
        return (found.minimum[system], found.source) if found else None

    def torch_archs(
        self, torch: Version, accelerator: Accelerator, platform: Platform
    ) -> tuple[tuple[str, ...], tuple[str, ...], Source] | None:
        """The GPU targets compiled into a torch wheel, those with PTX, and who says so."""
        release = self.torch.get(torch)
        found = release.arch_list(accelerator, platform) if release else None
        return (found.values, found.ptx, found.source) if found else None

    def gpu(self, name: str) -> tuple[str, Source] | None:
        """The target of a product, by its name without regard to case: `H100` is sm_90."""
        for known in self.accelerators.values():
            for product in known.gpus:
                if product.name.casefold() == name.casefold():
                    return product.arch, product.source
        return None

    def _releases(self) -> Iterator[TorchKnowledge]:
        """All known releases, oldest first."""
        for version in sorted(self.torch):
            yield self.torch[version]

    def first_torch_with_python(
        self, python: PythonVersion, platform: Platform | None = None
    ) -> tuple[Version, Source] | None:
        """The oldest known release with wheels for a Python (there, or on any platform)."""
        places = list(Platform) if platform is None else [platform]
        for release in self._releases():
            for place in places:
                found = release.pythons_on(place)
                if found is not None and python in found.values:
                    return release.torch, found.source
        return None

    def last_torch_with_python(
        self, python: PythonVersion, platform: Platform | None = None
    ) -> tuple[Version, Source] | None:
        """The newest known release with wheels for a Python (there, or on any platform)."""
        places = list(Platform) if platform is None else [platform]
        for version in sorted(self.torch, reverse=True):
            for place in places:
                found = self.torch[version].pythons_on(place)
                if found is not None and python in found.values:
                    return version, found.source
        return None

    def first_torch_with_accelerator(
        self, accelerator: Accelerator
    ) -> tuple[Version, Source] | None:
        """The oldest known release that a source lists with this build."""
        with_it = ((r.torch, r.has_build(accelerator)) for r in self._releases())
        return next(((torch, source) for torch, source in with_it if source), None)

    def last_torch_with_accelerator(
        self, accelerator: Accelerator
    ) -> tuple[Version, Source] | None:
        """The newest known release that a source lists with this build."""
        found = None
        for release in self._releases():
            source = release.has_build(accelerator)
            found = (release.torch, source) if source else found
        return found
