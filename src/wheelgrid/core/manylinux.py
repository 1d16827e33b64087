"""What each manylinux tag promises beside glibc: the newest symbol versions that a file may need.

Source: auditwheel 6.8.2, auditwheel/policy/manylinux-policy.json, read on 2026-12-01. The maxima
are those of x86_64; the numbers of the other CPUs are the same. A test compares this table with
auditwheel's file, and its glibc with compat/manylinux.yaml.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["OLDEST_USEFUL", "POLICIES", "ManylinuxPolicy", "lowest_policy", "policy_of"]

SymbolVersion = tuple[int, ...]

OLDEST_USEFUL = (2, 17)
"""No lower tag is worth having: no installer with support is older than manylinux2014."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManylinuxPolicy:
    """One tag without its CPU. `maxima` has the newest version by family: GLIBC, GLIBCXX ..."""

    tag: str
    glibc: tuple[int, int]
    maxima: Mapping[str, SymbolVersion]
    machines: frozenset[str]

    def admits(self, needs: Iterable[tuple[str, SymbolVersion]]) -> bool:
        """Whether no need is newer than what the tag promises."""
        return all(version <= self.maxima.get(family, version) for family, version in needs)


_FIRST = frozenset({"x86_64", "i686"})
_MAIN = _FIRST | {"aarch64", "ppc64le", "s390x", "armv7l"}
_RISCV = _MAIN | {"riscv64"}
_ALL = _RISCV | {"loongarch64"}
_ROWS = (
    (5, "3.4.8", "1.3.1", "4.2.0", _FIRST),
    (12, "3.4.13", "1.3.3", "4.3.0", _FIRST),
    (17, "3.4.19", "1.3.7", "4.8.0", _MAIN | {"ppc64"}),
    (24, "3.4.22", "1.3.10", "4.8.0", _MAIN),
    (26, "3.4.22", "1.3.10", "4.8.0", _MAIN),
    (27, "3.4.24", "1.3.11", "7.0.0", _MAIN),
    (28, "3.4.24", "1.3.11", "7.0.0", _MAIN),
    (31, "3.4.28", "1.3.12", "7.0.0", _RISCV),
    (34, "3.4.29", "1.3.13", "7.0.0", _RISCV),
    (35, "3.4.30", "1.3.13", "12.0.0", _RISCV),
    (36, "3.4.30", "1.3.13", "12.0.0", _ALL),
    (37, "3.4.30", "1.3.13", "12.0.0", _ALL),
    (38, "3.4.30", "1.3.13", "12.0.0", _ALL),
    (39, "3.4.33", "1.3.15", "14.0.0", _ALL),
    (40, "3.4.33", "1.3.15", "14.0.0", _ALL),
    (41, "3.4.33", "1.3.15", "14.0.0", _ALL),
)
"""Minor of glibc 2, then GLIBCXX, CXXABI and GCC, then the CPUs that have the tag."""


def _numbers(text: str) -> SymbolVersion:
    return tuple(map(int, text.split(".")))


POLICIES = tuple(
    ManylinuxPolicy(
        tag=f"manylinux_2_{minor}",
        glibc=(2, minor),
        maxima={
            "GLIBC": (2, minor),
            "GLIBCXX": _numbers(glibcxx),
            "CXXABI": _numbers(cxxabi),
            "GCC": _numbers(gcc),
        },
        machines=machines,
    )
    for minor, glibcxx, cxxabi, gcc, machines in _ROWS
)
"""All tags, the oldest glibc first."""


def policy_of(glibc: tuple[int, int]) -> ManylinuxPolicy:
    """The policy of a promised glibc; the next older one where the tag has none of its own."""
    fitting = [policy for policy in POLICIES if policy.glibc <= glibc]
    return fitting[-1] if fitting else POLICIES[0]


def lowest_policy(
    needs: Iterable[tuple[str, SymbolVersion]], machine: str
) -> ManylinuxPolicy | None:
    """The oldest tag whose promise is enough, for one CPU; None where none is."""
    everything = list(needs)
    return next((p for p in POLICIES if machine in p.machines and p.admits(everything)), None)
