"""Which ABI of libtorch an extension uses: the stable one (shims in C), the C++ one, or both.

Loading proves nothing: an extension that uses C++ of torch may load with another torch and go wrong
later, or not load at all. Only its undefined symbols tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from packaging.version import Version

from wheelgrid.core.shim import SHIM_PREFIXES, Shim, StringAbi
from wheelgrid.inspect.mangled import is_torch_symbol, read_mangled

__all__ = ["TorchAbi", "TorchAbiKind", "is_torch_name", "plain_name", "string_abi", "torch_abi"]
__all__ += ["torch_libraries"]

_LIBRARY = re.compile(r"(?:.*[/\\])?(?:lib)?((?:torch|c10)(?:_[a-z0-9_]+)?)\.(?:so|dylib|dll)\b")
_MSVC = re.compile(r"\?.*@(?:c10|at|torch|caffe2)@@")
_FIRST = 5
_STABLE_REGISTRATION = re.compile(r"aoti_torch_library_|torch_library_")
_REGISTRATION = re.compile(
    r"_ZNK?[RO]?(?:5torch7Library|3c1017RegisterOperators|5torch3jit17RegisterOperators)"
)


class TorchAbiKind(StrEnum):
    """What an extension uses of torch. NONE: it links to torch and uses nothing of it."""

    STABLE = "stable"
    UNSTABLE = "unstable"
    MIXED = "mixed"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchAbi:
    """What one native file uses of torch.

    `oldest` is the first torch that has every shim used, as far as shims are known, and `below` the
    first that lost one; `or_older`: no torch before `oldest` was looked at. `unknown` are names
    like shims that no torch seen exports: with them, `oldest` is not the whole answer. `cxx` counts
    C++ symbols, `cxx_first` are some of them. `registers` says how operators are registered.
    """

    kind: TorchAbiKind
    shims: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    oldest: Version | None = None
    or_older: bool = False
    below: Version | None = None
    newest_shims: tuple[str, ...] = ()
    cxx: int = 0
    cxx_first: tuple[str, ...] = ()
    string_abi: StringAbi | None = None
    libraries: tuple[str, ...] = ()
    registers: frozenset[TorchAbiKind] = frozenset()

    @property
    def needs_c10(self) -> bool:
        """Whether it links to libc10, which exports no shim."""
        return any(name == "c10" or name.startswith("c10_") for name in self.libraries)

    @property
    def needs_python(self) -> bool:
        """Whether it links to libtorch_python, which is of one Python."""
        return "torch_python" in self.libraries

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "kind": self.kind.value,
            "shims": len(self.shims),
            "unknown_shims": list(self.unknown),
            "oldest_torch": _text(self.oldest),
            "or_older": self.or_older,
            "because_of": list(self.newest_shims),
            "below_torch": _text(self.below),
            "cxx_symbols": self.cxx,
            "cxx_examples": list(self.cxx_first),
            "string_abi": self.string_abi.value if self.string_abi else None,
            "libraries": list(self.libraries),
            "needs_c10": self.needs_c10,
            "needs_python": self.needs_python,
            "registers": sorted(kind.value for kind in self.registers),
        }


def _text(version: Version | None) -> str | None:
    return None if version is None else str(version)


def plain_name(symbol: str) -> str:
    """The name as ELF has it: Mach-O puts an underscore before each."""
    if symbol.startswith(("__Z", *(f"_{prefix}" for prefix in SHIM_PREFIXES))):
        return symbol[1:]
    return symbol


def is_torch_name(symbol: str) -> bool:
    """Whether a plain name is C++ of torch, in the mangling of GCC and Clang or of MSVC."""
    return is_torch_symbol(symbol) or _MSVC.match(symbol) is not None


def string_abi(names: Iterable[str]) -> StringAbi | None:
    """The std::string of C++ symbols of torch; None where none of them has one in its type.

    Old strings are `Ss` in a type; `Ss` in an identifier is none, so only names that can be read
    count.
    """
    old = False
    for name in names:
        if not is_torch_symbol(name):
            continue
        if "7__cxx11" in name or "B5cxx11" in name:
            return StringAbi.NEW
        if not old and "Ss" in name:
            found = read_mangled(name)
            old = found is not None and found.string is StringAbi.OLD
    return StringAbi.OLD if old else None


def torch_libraries(needed: Iterable[str]) -> tuple[str, ...]:
    """The libraries of torch among needed ones, without what systems put around: `torch_cpu`."""
    found = (_LIBRARY.match(name) for name in needed)
    return tuple(sorted({match[1] for match in found if match}))


def _kind(shims: int, cxx: int) -> TorchAbiKind:
    if shims and cxx:
        return TorchAbiKind.MIXED
    if cxx:
        return TorchAbiKind.UNSTABLE
    return TorchAbiKind.STABLE if shims else TorchAbiKind.NONE


def torch_abi(
    undefined: Iterable[str], needed: Iterable[str], shims: Mapping[str, Shim]
) -> TorchAbi | None:
    """Judge one file by its undefined symbols and the libraries it names; None without torch."""
    names = {plain_name(name) for name in undefined}
    like = sorted(name for name in names if name.startswith(SHIM_PREFIXES))
    cxx = sorted(name for name in names if is_torch_name(name))
    libraries = torch_libraries(needed)
    if not (like or cxx or libraries):
        return None
    known = {name: shims[name] for name in like if name in shims}
    oldest = max((shim.first for shim in known.values()), default=None)
    newest = [name for name, shim in known.items() if shim.first == oldest]
    registers = {TorchAbiKind.STABLE for name in like if _STABLE_REGISTRATION.match(name)}
    registers |= {TorchAbiKind.UNSTABLE for name in cxx if _REGISTRATION.match(name)}
    return TorchAbi(
        kind=_kind(len(like), len(cxx)),
        shims=tuple(like),
        unknown=tuple(name for name in like if name not in shims),
        oldest=oldest,
        or_older=bool(newest) and all(known[name].or_older for name in newest),
        below=min((s.gone for s in known.values() if s.gone is not None), default=None),
        newest_shims=tuple(newest[:_FIRST]),
        cxx=len(cxx),
        cxx_first=tuple(cxx[:_FIRST]),
        string_abi=string_abi(cxx),
        libraries=libraries,
        registers=frozenset(registers),
    )
