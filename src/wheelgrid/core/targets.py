"""A target of installation: one interpreter on one system, and the tags that it installs.

The order is that of pip and uv (PEP 425): own ABI, stable ABI, `none`, then older Pythons. A
free-threaded interpreter takes no abi3 wheel (PEP 703) but abi3t ones (PEP 803). Those exist from
3.15 on; installers do not look at that, the check of names does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from packaging.tags import Tag, compatible_tags

from wheelgrid.core.platform_tags import linux_tags, macos_tags, musl_tags
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

__all__ = ["ABI3T_SINCE", "Floors", "Target"]

ABI3T_SINCE = (3, 15)
"""The first CPython with a stable ABI for free-threaded builds (PEP 803)."""
_OLDEST_ABI3 = 2
_MARKERS = {
    "linux": ("linux", "Linux", "posix"),
    "musllinux": ("linux", "Linux", "posix"),
    "win": ("win32", "Windows", "nt"),
    "macosx": ("darwin", "Darwin", "posix"),
}
_MACHINES = {"win_amd64": "AMD64", "win_arm64": "ARM64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """How old the target's system is. The defaults are what current torch wheels need."""

    glibc: tuple[int, int] = (2, 28)
    musl: tuple[int, int] = (1, 2)
    macos: tuple[int, int] = (14, 0)


@dataclass(frozen=True, kw_only=True)
class Target:
    """One CPython on one platform; `platforms` are its platform tags, best first."""

    python: PythonVersion
    platform: Platform
    floors: Floors = field(default_factory=Floors)

    @property
    def system(self) -> str:
        """The floor in words: `glibc 2.28`, `macOS 14.0`, `musl 1.2`; empty on Windows."""
        floors = self.floors
        if self.platform.is_linux:
            return f"glibc {floors.glibc[0]}.{floors.glibc[1]}"
        if self.platform.startswith("musllinux"):
            return f"musl {floors.musl[0]}.{floors.musl[1]}"
        if self.platform.startswith("macosx"):
            return f"macOS {floors.macos[0]}.{floors.macos[1]}"
        return ""

    @cached_property
    def platforms(self) -> tuple[str, ...]:
        """Platform tags that its installers ask for, best first."""
        system, _, arch = self.platform.value.partition("_")
        match system:
            case "linux":
                return tuple(linux_tags(arch, self.floors.glibc))
            case "musllinux":
                return tuple(musl_tags(arch, self.floors.musl))
            case "macosx":
                return tuple(macos_tags(arch, self.floors.macos))
            case _:
                return (self.platform.value,)

    def _stable(self) -> str:
        """The stable ABI that its installers ask for."""
        return "abi3t" if self.python.free_threaded else "abi3"

    def _cpython(self) -> Iterator[tuple[str, str]]:
        """Pairs of Python tag and ABI tag, best first."""
        own, stable = self.python.interpreter_tag, self._stable()
        yield own, self.python.tag
        yield own, stable
        yield own, "none"
        for minor in range(self.python.minor - 1, _OLDEST_ABI3 - 1, -1):
            yield f"cp{self.python.major}{minor}", stable

    @cached_property
    def ranks(self) -> dict[Tag, int]:
        """Every tag that it installs with its rank, 0 the best."""
        binary = (Tag(py, abi, p) for py, abi in self._cpython() for p in self.platforms)
        rest = compatible_tags(self.python.release, self.python.interpreter_tag, self.platforms)
        found: dict[Tag, int] = {}
        for tag in (*binary, *rest):
            found.setdefault(tag, len(found))
        return found

    def rank(self, tags: frozenset[Tag]) -> int | None:
        """The best rank among a wheel's tags; None where it cannot be installed."""
        return min((self.ranks[tag] for tag in tags if tag in self.ranks), default=None)

    @property
    def markers(self) -> dict[str, str]:
        """The environment in which requirement markers are judged (PEP 508); no extras."""
        system = self.platform.value.partition("_")[0]
        sys_platform, name, os_name = _MARKERS[system]
        machine = _MACHINES.get(self.platform.value, self.platform.value.partition("_")[2])
        version = f"{self.python.major}.{self.python.minor}"
        return {
            "python_version": version,
            "python_full_version": f"{version}.0",
            "sys_platform": sys_platform,
            "platform_system": name,
            "os_name": os_name,
            "platform_machine": machine,
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "implementation_version": f"{version}.0",
            "platform_release": "",
            "platform_version": "",
            "extra": "",
        }
