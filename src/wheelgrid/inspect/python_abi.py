"""Which part of CPython's C API a native file uses, and from which Python on.

Sources: CPython's Misc/stable_abi.toml (see stable_abi.json); PEP 384, PEP 703, PEP 803.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = ["PythonAbi", "is_python_symbol", "python_abi", "since"]

_C_API = re.compile(r"_?Py[A-Z_]")
_PYTHON_DLL = re.compile(r"python(3t?|3(\d+)(t?))(_d)?\.dll\Z", re.IGNORECASE)
_FREE_THREADED = frozenset({"_Py_MergeZeroLocalRefcount", "_Py_DecRefShared", "_PyGILState_Lock"})
"""What the inlined Py_DECREF and locks of a free-threaded build call (Include/refcount.h)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonAbi:
    """Use of the C API. `kind` is none, limited or full.

    Of limited use, `floor` is the oldest Python 3 minor that has every symbol, and `floor_symbol`
    the one that sets it. `outside` are symbols that are not in the stable ABI.
    `dll` is the Python DLL that a Windows file imports. A symbol table does not tell for sure of a
    free-threaded build: `free_threaded` is True where a symbol of such builds is used.
    """

    kind: str
    floor: int = 0
    floor_symbol: str = ""
    outside: tuple[str, ...] = ()
    symbols: int = 0
    dll: str = ""
    free_threaded: bool = False


def is_python_symbol(name: str) -> bool:
    """Whether a symbol belongs to CPython's C API by its name."""
    return _C_API.match(name) is not None


@cache
def _stable_abi() -> dict[str, int]:
    """The table of the stable ABI, which `wheelgrid render` makes."""
    text = resources.files("wheelgrid.inspect").joinpath("stable_abi.json").read_text("utf-8")
    return dict(json.loads(text)["since"])


def since(name: str) -> int | None:
    """The Python 3 minor that brought a symbol into the stable ABI; None where it is not in it."""
    return _stable_abi().get(name)


def python_abi(undefined: Iterable[str], needed: Iterable[str] = ()) -> PythonAbi:
    """Judge the undefined symbols of a file; `needed` tells the Python DLL on Windows."""
    names = sorted(filter(is_python_symbol, undefined))
    dll = next((n for n in needed if _PYTHON_DLL.match(n)), "")
    outside = tuple(n for n in names if since(n) is None)
    inside = [(minor, n) for n in names if (minor := since(n)) is not None]
    floor, symbol = max(inside, default=(0, ""), key=lambda pair: pair[0])
    kind = "none" if not names and not dll else "limited"
    exact = _PYTHON_DLL.match(dll)
    if outside or (exact and exact[2]):
        kind = "full"
    return PythonAbi(
        kind=kind,
        floor=floor if kind == "limited" else 0,
        floor_symbol=symbol if kind == "limited" else "",
        outside=outside,
        symbols=len(names),
        dll=dll,
        free_threaded=not _FREE_THREADED.isdisjoint(names) or bool(exact and exact[3]),
    )
