"""One extension against one torch: which symbols are missing there, and why.

Causes that look alike to a user ("undefined symbol") are told apart: another std::string (a flag of
the compiler), another signature of the same function (another torch), a torch for another vendor
or for CPUs only (another build), or no such function at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from packaging.version import Version

from wheelgrid.core.shim import SHIM_PREFIXES, StringAbi
from wheelgrid.inspect.mangled import Mangled, is_torch_symbol, read_mangled
from wheelgrid.inspect.torch_abi import plain_name, torch_libraries
from wheelgrid.inspect.torch_exports import Exports

__all__ = ["Cause", "Missing", "compare", "torch_names", "wanted_exports", "with_string_abi"]

_BEGIN = re.compile(r"_Z(?:N[rVK]*[RO]?)?")
_VENDOR = re.compile(r"(?:c10|at|torch)::(cuda|hip|xpu)::|aoti_torch_(cuda|hip|xpu)_")
_KEY = 12
_MOST_SHOWN = 4


class Cause(StrEnum):
    """Why a symbol is not there."""

    STRING_ABI = "string-abi"
    SIGNATURE = "signature"
    NOT_EXPORTED = "not-exported"
    BUILD = "build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """One symbol that the torch does not export.

    `function` is its name without parameters, `exported` are symbols of the same function there,
    `text` says it in a sentence.
    """

    symbol: str
    function: str
    cause: Cause
    text: str
    exported: tuple[str, ...] = ()


def torch_names(undefined: Iterable[str]) -> frozenset[str]:
    """Those undefined names that a torch must export: C++ of torch, and shims."""
    plain = map(plain_name, undefined)
    return frozenset(n for n in plain if n.startswith(SHIM_PREFIXES) or is_torch_symbol(n))


def wanted_exports(names: frozenset[str]) -> Callable[[str], bool]:
    """Which exports matter to an extension: the names it needs, and others of the same function."""
    parts = [found for name in names if (found := read_mangled(name)) is not None]
    keys = {part.key for part in parts}
    begins = {part.key[:_KEY] for part in parts}

    def wanted(name: str) -> bool:
        if name in names:
            return True
        begin = _BEGIN.match(name)
        if begin is None or name[begin.end() : begin.end() + _KEY] not in begins:
            return False
        found = read_mangled(name)
        return found is not None and found.key in keys

    return wanted


def _shown(symbol: str, found: Mangled | None) -> str:
    """A symbol for people; as it is where its parameters cannot be spelled."""
    return symbol if found is None or found.parameters is None else found.name + found.parameters


def _abi_text(wheel: StringAbi, torch: StringAbi) -> str:
    return f"the C++11 string ABI differs: wheel {wheel}, torch {torch}"


def _missing(
    symbol: str,
    same: Mapping[str, list[tuple[str, Mangled]]],
    torch: StringAbi | None,
    absent: Iterable[str],
) -> Missing:
    found = read_mangled(symbol)
    others = same.get(found.key, []) if found else []
    function = found.name if found else symbol
    exported = tuple(name for name, _ in others[:_MOST_SHOWN])
    mine = found.string if found else None
    theirs = torch or next((part.string for _, part in others if part.string), None)
    if mine is not None and theirs is not None and mine is not theirs:
        text = f"{function}: {_abi_text(mine, theirs)}"
        return Missing(
            symbol=symbol, function=function, cause=Cause.STRING_ABI, text=text, exported=exported
        )
    if others:
        there = ", ".join(_shown(name, part) for name, part in others[:_MOST_SHOWN])
        text = f"another signature: torch exports {there}, the wheel wants {_shown(symbol, found)}"
        return Missing(
            symbol=symbol, function=function, cause=Cause.SIGNATURE, text=text, exported=exported
        )
    cause, text = Cause.NOT_EXPORTED, f"torch exports no {_shown(symbol, found)}"
    vendor = _VENDOR.match(function)
    libraries = [n for n in absent if vendor and n.endswith(f"_{vendor[1] or vendor[2]}")]
    if libraries:
        cause, text = (
            Cause.BUILD,
            f"{text}: this build of torch has no {' and no '.join(libraries)}",
        )
    return Missing(symbol=symbol, function=function, cause=cause, text=text)


def compare(
    undefined: Iterable[str], exports: Exports, needed: Iterable[str] = ()
) -> tuple[Missing, ...]:
    """What of torch an extension needs and this torch does not export, by name.

    `exports` must hold what `wanted_exports` asks for, of all libraries. `needed` are the libraries
    that the extension links to; names that others in its wheel define are not to be in `undefined`.
    """
    absent = [name for name in torch_libraries(needed) if name not in exports.libraries]
    names, there = torch_names(undefined), exports.names
    same: dict[str, list[tuple[str, Mangled]]] = {}
    for name in sorted(there):
        part = read_mangled(name)
        if part is not None:
            same.setdefault(part.key, []).append((name, part))
    return tuple(_missing(n, same, exports.string_abi, absent) for n in sorted(names - there))


def with_string_abi(
    wanted: StringAbi, releases: Mapping[Version, StringAbi]
) -> tuple[Version, ...]:
    """The releases of torch, of those looked at, whose std::string is the wanted one."""
    return tuple(sorted(torch for torch, abi in releases.items() if abi is wanted))
