"""What is known of a vendor's runtime: platforms, toolkits, drivers, products, packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeVar

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from wheelgrid.core.accelerator import Family
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.platforms import Platform

__all__ = [
    "AcceleratorKnowledge",
    "Driver",
    "FamilyStatus",
    "GlibcFloor",
    "Gpu",
    "RenamedArch",
    "TargetFamily",
    "ToolkitArchs",
    "VendorPackage",
    "applies",
    "decisive",
    "is_empty",
    "lowest_of",
    "range_of",
]

_PLAIN = re.compile(r"[0-9]+(\.[0-9]+)*\Z")


@lru_cache(maxsize=1024)
def range_of(text: str) -> SpecifierSet:
    """A version statement as a range: `13.0` is 13.0 and all its patches, empty is every one.

    A version that is more than numbers (`2.14.0.dev20260706`) is only itself. ValueError for text
    that is neither a version nor a range.
    """
    try:
        if _PLAIN.match(text):
            return SpecifierSet(f"=={text}.*")
        return SpecifierSet(f"=={text}" if text[:1].isdigit() else text)
    except InvalidSpecifier as error:
        msg = f"{text!r} is not a version or a range such as '13.0' or '>=13.0'"
        raise ValueError(msg) from error


def applies(text: str, version: Version | None) -> bool:
    """Whether a version statement is about this version; without a version only `every one` is."""
    if version is None:
        return not text
    return range_of(text).contains(version, prereleases=True)


_End = tuple[Version, bool]


def _above(version: Version) -> Version:
    """The version after all that begin with these numbers: 2.15 for 2.14."""
    *kept, last = version.release
    return Version(".".join(map(str, (*kept, last + 1))))


def _ends(versions: SpecifierSet) -> tuple[list[_End], list[_End]]:
    """Lower and upper ends of a range, each with whether it is inside."""
    low: list[_End] = []
    high: list[_End] = []
    for clause in versions:
        base = Version(clause.version.removesuffix(".*"))
        match clause.operator:
            case ">=" | ">":
                low.append((base, clause.operator == ">="))
            case "<=" | "<":
                high.append((base, clause.operator == "<="))
            case "~=":
                low.append((base, True))
                high.append((_above(Version(".".join(map(str, base.release[:-1])))), False))
            case "==" | "===":
                low.append((base, True))
                prefix = clause.version.endswith(".*")
                high.append((_above(base), False) if prefix else (base, True))
            case _:  # != cuts a hole, not an end
                pass
    return low, high


def is_empty(versions: SpecifierSet) -> bool:
    """Whether a range ends before it begins, as `>=2.14,<2.13` does."""
    low, high = _ends(versions)
    return any(
        start > end or (start == end and not (from_inside and to_inside))
        for start, from_inside in low
        for end, to_inside in high
    )


def lowest_of(text: str) -> Version | None:
    """The oldest version that a version statement is about; None where it has no lower end."""
    low, _ = _ends(range_of(text)) if text else ([], [])
    return max((version for version, _ in low), default=None)


class _Versioned(Protocol):
    @property
    def source(self) -> Source:
        """Where the statement comes from."""
        ...

    @property
    def version(self) -> str:
        """The version or range that it is about; empty for all."""
        ...


V = TypeVar("V", bound=_Versioned)


def _rank(statement: _Versioned) -> tuple[bool, int, str]:
    """An observation first, then the most specific; the newest last, so that it wins in `max`."""
    text = statement.version
    specific = 2 if _PLAIN.match(text) else int(bool(text))
    return statement.source.kind is Kind.OBSERVATION, specific, statement.source.date


def decisive(statements: Iterable[V], version: Version | None) -> V | None:
    """The statement about a version that decides: seen, then exact before range, then newest."""
    return max((s for s in statements if applies(s.version, version)), key=_rank, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolkitArchs:
    """The GPU targets that a toolkit compiles for; exhaustive, without `a` and `f` forms."""

    source: Source
    version: str
    values: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """The oldest driver (or operating system, where there is none) by system: linux, windows."""

    source: Source
    version: str
    minimum: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GlibcFloor:
    """The oldest glibc that a build can promise. `of`: what sets it, toolkit or torch."""

    source: Source
    version: str
    value: str
    of: str = "torch"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamedArch:
    """A GPU target that has another name in these toolkit versions; the old one means nothing."""

    source: Source
    version: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A product and the target to compile for."""

    source: Source
    name: str
    arch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFamily:
    """A named set of targets that are built together (TheRock)."""

    source: Source
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyStatus:
    """How far the vendor says a family of targets is, on one operating system."""

    source: Source
    name: str
    os: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorPackage:
    """A distribution of the vendor and what it is for."""

    source: Source
    name: str
    text: str
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorKnowledge:
    """What is known of one family: where it exists, its toolkits, products and torch indexes."""

    family: Family
    title: str
    platforms: frozenset[Platform]
    source: Source
    torch_index: Mapping[str, tuple[str, Source]] = field(default_factory=dict)
    toolkits: tuple[ToolkitArchs, ...] = ()
    drivers: tuple[Driver, ...] = ()
    glibc_floors: tuple[GlibcFloor, ...] = ()
    renamed: tuple[RenamedArch, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    families: tuple[TargetFamily, ...] = ()
    statuses: tuple[FamilyStatus, ...] = ()
    packages: tuple[VendorPackage, ...] = ()
