"""The stable ABI of libtorch as it was seen: which torch has which C function (shim).

A shim is a C function of torch/csrc/stable/c or torch/csrc/inductor/aoti_torch/c: an extension that
uses nothing else of torch runs with every torch that exports what it uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from packaging.version import Version

__all__ = ["SHIM_PREFIXES", "Seen", "Shim", "ShimKnowledge", "StringAbi", "known_shims"]

SHIM_PREFIXES = ("aoti_torch_", "torch_")


class StringAbi(StrEnum):
    """Which std::string a library was compiled with: _GLIBCXX_USE_CXX11_ABI 1 or 0."""

    NEW = "new"
    OLD = "old"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The shims that one library of one torch wheel exports.

    `library` is without the prefix and suffix of a system: torch_cpu. `sha256` is of the wheel, and
    `sha256_of` says who computed it: `file` (this tool) or `index` (taken from its page).
    """

    torch: Version
    library: str
    wheel: str
    sha256: str
    sha256_of: str
    names: frozenset[str]
    string_abi: StringAbi | None = None

    @property
    def line(self) -> str:
        """Library and system: lists of one line, and only those, are compared with each other."""
        tag = self.wheel.removesuffix(".whl").rpartition("-")[2]
        system = tag.partition("_")[0].rstrip("0123456789").removeprefix("many")
        return f"{self.library}/{system}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shim:
    """One C function: the first torch that exports it and, if it went, the first without it.

    Where systems differ, both hold for all of them that have it. `or_older`: the first torch is the
    oldest that was looked at, so it may have come before.
    """

    library: str
    first: Version
    gone: Version | None = None
    or_older: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShimKnowledge:
    """All shims by name, and the string ABI of the releases that were looked at.

    `string_abi` is of Linux wheels without a local label: other builds of a release can differ.
    """

    shims: Mapping[str, Shim] = field(default_factory=dict)
    string_abi: Mapping[Version, StringAbi] = field(default_factory=dict)
    looked_at: tuple[Version, ...] = ()


def _lines(seen: Iterable[Seen]) -> Mapping[str, Mapping[Version, frozenset[str]]]:
    """Names by line and release; several wheels of one release count together."""
    found: dict[str, dict[Version, frozenset[str]]] = {}
    for one in seen:
        releases = found.setdefault(one.line, {})
        torch = Version(one.torch.public)
        releases[torch] = releases.get(torch, frozenset()) | one.names
    return found


def _shim(line: str, name: str, releases: Mapping[Version, frozenset[str]]) -> Shim:
    """When a name came and went; one that went and came back counts from its return."""
    order = sorted(releases)
    last = max(torch for torch in order if name in releases[torch])
    before = [torch for torch in order if torch < last and name not in releases[torch]]
    first = next(t for t in order if name in releases[t] and not any(t < gap for gap in before))
    gone = next((torch for torch in order if torch > last), None)
    library = line.partition("/")[0]
    return Shim(library=library, first=first, gone=gone, or_older=first == order[0])


def _everywhere(one: Shim, other: Shim) -> Shim:
    """What holds for each system: a wheel does not say for which of them a name is asked."""
    gone = [shim.gone for shim in (one, other) if shim.gone is not None]
    or_older = one.or_older and other.or_older
    # Where nobody looked at an older torch, the other system may tell more.
    first = min(one.first, other.first) if or_older else _latest(one, other)
    return replace(one, first=first, gone=min(gone, default=None), or_older=or_older)


def _latest(one: Shim, other: Shim) -> Version:
    return max(shim.first for shim in (one, other) if not shim.or_older)


def known_shims(seen: Iterable[Seen]) -> ShimKnowledge:
    """What follows from all that was seen."""
    everything = tuple(seen)
    shims: dict[str, Shim] = {}
    for line, releases in sorted(_lines(everything).items()):
        for name in frozenset().union(*releases.values()):
            found = _shim(line, name, releases)
            shims[name] = _everywhere(shims[name], found) if name in shims else found
    default = [one for one in everything if one.torch.local is None]
    abis = {one.torch: one.string_abi for one in default if one.string_abi is not None}
    looked_at = tuple(sorted({Version(s.torch.public) for s in everything}))
    return ShimKnowledge(shims=dict(sorted(shims.items())), string_abi=abis, looked_at=looked_at)
