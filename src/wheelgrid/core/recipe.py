"""Recipes: how one package is built, what its wheel must contain and how it is tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.audit_policy import NO_POLICY, AuditPolicy
from wheelgrid.core.condition import Condition, matching_key
from wheelgrid.core.python import PythonVersion

__all__ = ["Abi", "DirectorySource", "Proof", "Reach", "Recipe", "SdistSource", "Unproven"]


class Abi(StrEnum):
    """What the package's binaries are tied to; it decides how far one wheel reaches.

    none: CPython alone (no torch). libtorch: the C++ ABI of one torch release line.
    libtorch_stable: libtorch's stable C ABI, from a target version on. pure: no binary.
    """

    NONE = "none"
    LIBTORCH = "libtorch"
    LIBTORCH_STABLE = "libtorch-stable"
    PURE = "pure"

    @property
    def uses_torch(self) -> bool:
        """Whether building needs torch's headers."""
        return self in {Abi.LIBTORCH, Abi.LIBTORCH_STABLE}


class Reach(StrEnum):
    """How far a wheel reaches over the runtime versions of its accelerator's family.

    exact: one toolkit. major: every toolkit of one major version, as CUDA's minor version
    compatibility allows; it is built with the oldest of them. any: no accelerator touches it.
    """

    EXACT = "exact"
    MAJOR = "major"
    ANY = "any"


class Proof(StrEnum):
    """What a build claims so that one wheel can serve many cells, and the audit must prove."""

    PYTHON_STABLE_ABI = "python-stable-abi"
    TORCH_STABLE_ABI = "torch-stable-abi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """A claim of one package version and accelerator that the audit of a wheel refuted."""

    package: str
    version: str
    accelerator: str
    proof: Proof
    rule: str
    why: str
    wheel_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SdistSource:
    """A source distribution in a package index, pinned by hash."""

    filename: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySource:
    """A source tree beside the recipe."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One package. Tables keyed by accelerator patterns merge from general to specific."""

    name: str
    version: Version
    summary: str
    source: SdistSource | DirectorySource
    folder: str
    abi: Mapping[str, Abi]
    when: Condition
    extensions: Mapping[str, tuple[str, ...]]
    requires: Mapping[str, tuple[str, ...]]
    env: Mapping[str, Mapping[str, str]]
    stable_torch: Version | None = None
    limited_api: PythonVersion | None = None
    limited_api_t: PythonVersion | None = None
    reach: Mapping[str, Reach] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    build_torch: Mapping[str, str] = field(default_factory=dict)
    patches: tuple[str, ...] = ()
    memory_mib: int = 1024
    max_jobs: int = 1
    minutes: float = 1.0
    test_requires: tuple[str, ...] = ()
    import_name: str = ""
    tests: tuple[str, ...] = ()
    audit: AuditPolicy = NO_POLICY

    def abi_for(self, accelerator: Accelerator) -> Abi:
        """The ABI on an accelerator; the most specific pattern wins."""
        return self.abi[matching_key(self.abi, accelerator)[-1]]

    def reach_for(self, accelerator: Accelerator) -> Reach:
        """How far a wheel for the accelerator reaches; torch-free wheels reach all by default."""
        keys = matching_key(self.reach, accelerator)
        if keys:
            return self.reach[keys[-1]]
        return Reach.ANY if self.abi_for(accelerator) is Abi.NONE else Reach.EXACT

    def extensions_for(self, accelerator: Accelerator) -> tuple[str, ...]:
        """Native modules, by dotted name, that a wheel for the accelerator must contain."""
        keys = matching_key(self.extensions, accelerator)
        return self.extensions[keys[-1]] if keys else ()

    def requires_for(self, accelerator: Accelerator) -> tuple[str, ...]:
        """Pinned build requirements: the general ones and those of the accelerator."""
        keys = matching_key(self.requires, accelerator)
        return tuple(item for key in keys for item in self.requires[key])

    def env_for(self, accelerator: Accelerator) -> dict[str, str]:
        """Environment of the build: specific values replace general ones."""
        merged: dict[str, str] = {}
        for key in matching_key(self.env, accelerator):
            merged.update(self.env[key])
        return merged

    def build_torch_for(self, accelerator: Accelerator) -> str:
        """The accelerator of the torch to compile against; `same` unless said otherwise."""
        keys = matching_key(self.build_torch, accelerator)
        return self.build_torch[keys[-1]] if keys else "same"
