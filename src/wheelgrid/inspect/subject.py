"""What the rules of the audit look at: one wheel, what is asked of it, what is known of torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelgrid.core.audit_policy import NO_POLICY, AuditPolicy
from wheelgrid.core.labels import Label, parse_label
from wheelgrid.core.shim import ShimKnowledge
from wheelgrid.inspect.findings import Expected
from wheelgrid.inspect.library import CPU_FORMATS, DEVICE_MACHINES, Library
from wheelgrid.inspect.torch_abi import TorchAbi, torch_abi
from wheelgrid.inspect.torch_exports import Exports
from wheelgrid.inspect.wheel import Wheel, requirements

__all__ = ["Subject", "Upstream", "plain_stem"]

_STEM = re.compile(r"\.(?:so|dylib|dll|pyd)(?:\.[0-9.]+)?\Z")
_VERSIONED = re.compile(r"\.so(?:\.[0-9A-Za-z_]+)+\Z")
_LONGEST = 255
_HASH = re.compile(r"-[0-9a-f]{2,64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """What is known of torch. `oneapi`: torch line (2.13) to the years of oneAPI it is built with.

    `exports` gives, for names that an extension needs, what one torch exports, and `requires` what
    that torch itself requires; both only where a torch was named to compare with.
    """

    abi: ShimKnowledge = field(default_factory=ShimKnowledge)
    oneapi: Mapping[str, frozenset[str]] = field(default_factory=dict)
    exports: Callable[[frozenset[str]], Exports] | None = None
    requires: tuple[str, ...] = ()


def plain_stem(name: str) -> str:
    """The name of a library without suffix, version and the hash that repair tools put in.

    No file system takes a longer name than 255 bytes; such a one is left as it is.
    """
    if len(name) > _LONGEST:
        return name
    stem = _STEM.sub("", _VERSIONED.sub("", name))
    return _HASH.sub("", stem)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One wheel under audit. `upstream` is None where nobody said what is known of torch."""

    wheel: Wheel
    expected: Expected | None = None
    policy: AuditPolicy = NO_POLICY
    upstream: Upstream | None = None

    @cached_property
    def tags(self) -> tuple[Tag, ...]:
        """The tags of the file name, in order; none for a name that cannot be read."""
        found = self.wheel.name.tags if self.wheel.name else frozenset[Tag]()
        return tuple(sorted(found, key=str))

    @cached_property
    def label(self) -> Label:
        """What the local label of the file name says."""
        return parse_label(self.wheel.name.version.local if self.wheel.name else None)

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """Requires-Dist that can be read, extras left out."""
        good = requirements(self.wheel)[0]
        return tuple(r for r in good if r.marker is None or "extra" not in str(r.marker))

    @cached_property
    def libraries(self) -> tuple[Library, ...]:
        """Native files for CPUs."""
        return tuple(
            one
            for one in self.wheel.libraries
            if one.format in CPU_FORMATS and not set(one.machines) & DEVICE_MACHINES
        )

    @cached_property
    def provided(self) -> frozenset[str]:
        """File names and sonames of the libraries that the wheel itself holds."""
        names = {PurePosixPath(one.path).name for one in self.libraries}
        return frozenset(names | {one.soname for one in self.libraries if one.soname})

    @cached_property
    def torch_uses(self) -> Mapping[str, TorchAbi]:
        """What native files use of torch, by path; torch's own wheel uses nothing of another."""
        if self.is_torch:
            return {}
        shims = self.upstream.abi.shims if self.upstream else {}
        found = {one.path: torch_abi(one.undefined, one.needed, shims) for one in self.libraries}
        return {path: use for path, use in found.items() if use is not None}

    @property
    def is_torch(self) -> bool:
        """Whether this is the wheel of torch itself."""
        return self.wheel.name is not None and self.wheel.name.distribution == "torch"

    @cached_property
    def torch_requirements(self) -> tuple[Requirement, ...]:
        """The requirements of torch."""
        return tuple(r for r in self.requirements if canonicalize_name(r.name) == "torch")

    def admits_torch(self, torch: Version) -> bool:
        """Whether the requirements let an installer take this torch."""
        return all(
            r.specifier.contains(torch, prereleases=True)
            for r in self.torch_requirements
            if r.marker is None
        )

    def torch_bounds(self) -> Iterator[Version]:
        """The versions of torch that requirements name as allowed."""
        for requirement in self.torch_requirements:
            for clause in requirement.specifier:
                if clause.operator in {"==", "~=", ">="}:
                    yield Version(clause.version.removesuffix(".*"))
