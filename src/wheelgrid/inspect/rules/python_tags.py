"""Rules on the Python tag and the ABI tag against names and symbols: WG203, WG205, WG208-WG210."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from wheelgrid.inspect.findings import Finding, error, shown, warning
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.python_abi import is_python_symbol, since
from wheelgrid.inspect.subject import Subject

__all__ = ["could_be_wider", "no_abi", "stable_symbols", "suffixes", "threading"]

_SUFFIX = re.compile(r"\.(?:cpython-(3\d+t?)-[^/]*|(cp3\d+t?)-win[^/]*|(abi3t?))\.(?:so|pyd)\Z")
_LONGEST = 255
"""Bytes of the longest file name; a search in longer ones would take its square in time."""
_EXACT = re.compile(r"cp(3\d+)(t?)\Z")
_INTERPRETER = re.compile(r"cp3(\d+)\Z")
_DLL = re.compile(r"python(3\d+)(t?)(?:_d)?\.dll\Z", re.IGNORECASE)
_FIRST_ABI3T = 15
_NEWEST = 100
_DEFINITIONS = ("PyModuleDef_Init", "PyModule_Create2", "PyModule_FromDefAndSpec2")
"""What takes a PyModuleDef, whose layout the abi3t does not fix (PEP 803; PEP 793 replaces it)."""


def _abis(subject: Subject) -> set[str]:
    return {t.abi for t in subject.tags}


def _suffix_abi(path: str) -> str:
    """The ABI that a file name asks for: cp311, cp314t, abi3, abi3t; empty for a plain name."""
    match = _SUFFIX.search(path[-_LONGEST:])
    if match is None:
        return ""
    return f"cp{match[1]}" if match[1] else match[2] or match[3]


def _fits(suffix: str, abi: str) -> bool:
    """Whether a Python of the ABI tag imports files of that name (importlib's suffixes)."""
    if suffix in {"", abi}:
        return True
    exact = _EXACT.match(abi)
    if exact is None:
        return False
    return suffix == ("abi3t" if exact[2] else "abi3") or (suffix, exact[2]) == ("abi3t", "")


def _uses_python(library: Library) -> bool:
    return bool(library.entry_points) or library.python.kind != "none"


def suffixes(subject: Subject) -> Iterator[Finding]:
    """WG203: no extension is named for a Python that the tag does not name.

    Helpers for other Pythons beside the right one are fine, and names of files that no Python
    imports bind nobody.
    """
    abis = _abis(subject)
    stable = bool(abis & {"abi3", "abi3t", "none"})
    names = [(one, _suffix_abi(one.path)) for one in subject.libraries]
    right = {_stem(one) for one, suffix in names if any(_fits(suffix, abi) for abi in abis)}
    for library, suffix in names:
        if not suffix or any(_fits(suffix, abi) for abi in abis):
            continue
        if "none" in abis and not abis - {"none"} and suffix.startswith("abi3"):
            continue
        if not stable and _stem(library) in right:
            continue
        if suffix.startswith("abi3"):
            text = f"has the suffix .{suffix}, which {', '.join(sorted(abis))} does not load"
        else:
            wanted = f"; the tag is {', '.join(sorted(abis))}"
            text = f"is for one Python version, {suffix}{wanted}"
        make = error if _uses_python(library) else warning
        yield make("WG203", text, library.path)


def _stem(library: Library) -> str:
    match = _SUFFIX.search(library.path[-_LONGEST:])
    return library.path[: -len(match[0])] if match else library.path


def stable_symbols(subject: Subject) -> Iterator[Finding]:
    """WG205: undefined symbols of Python's C API against CPython's stable ABI manifest."""
    abis = _abis(subject)
    if not abis & {"abi3", "abi3t"}:
        return
    stable = [t for t in subject.tags if t.abi in {"abi3", "abi3t"}]
    floors = [int(m[1]) for t in stable if (m := _INTERPRETER.match(t.interpreter))]
    floor = min(floors, default=2)
    if "abi3t" in abis and floor < _FIRST_ABI3T:
        yield error("WG205", f"the tag says abi3t from 3.{floor}; abi3t begins with 3.15 (PEP 803)")
    for library in subject.libraries:
        bad = [p for name in _symbols(library) if (p := _problem(name, floor, abis))]
        if library.python.dll and _DLL.match(library.python.dll):
            bad.append(f"{library.python.dll} (of one Python; the stable ABI is in python3.dll)")
        if bad:
            yield error("WG205", f"uses {shown(bad)}", library.path)


def _symbols(library: Library) -> list[str]:
    return sorted(filter(is_python_symbol, library.undefined))


def _problem(name: str, floor: int, abis: set[str]) -> str:
    """Why a symbol cannot be used from Python 3.<floor> on; empty when it can."""
    minor = since(name)
    if minor is None:
        return f"{name} (not in the stable ABI)"
    if "abi3t" in abis and name in _DEFINITIONS:
        return f"{name} (not in abi3t: export PyModExport_ instead, PEP 793)"
    return f"{name} (since 3.{minor})" if minor > floor else ""


def no_abi(subject: Subject) -> Iterator[Finding]:
    """WG208: a tag such as py3-none promises every Python; the C API keeps no such promise."""
    if _abis(subject) != {"none"} or not any(t.interpreter.startswith("py") for t in subject.tags):
        return
    tag = subject.tags[0]
    for library in subject.libraries:
        use = library.python
        if use.kind == "full":
            names = shown(use.outside) or use.dll
            text = f"uses the C API of one Python ({names}); {tag} promises every Python"
            yield error("WG208", text, library.path)
        elif use.kind == "limited":
            text = f"uses the limited C API: of CPython with the GIL, from 3.{max(2, use.floor)} on"
            yield warning("WG208", f"{text}; {tag} promises every Python", library.path)


def _oldest_python(subject: Subject) -> int:
    """The oldest Python 3 minor that the wheel's Requires-Python admits; 2 where it says none."""
    text = str(subject.wheel.metadata.get("Requires-Python", "")) if subject.wheel.metadata else ""
    try:
        versions = SpecifierSet(text)
    except InvalidSpecifier:
        return 2
    return next((n for n in range(2, _NEWEST) if versions.contains(f"3.{n}.99")), 2)


def could_be_wider(subject: Subject) -> Iterator[Finding]:
    """WG209: a tag for one Python where, by their symbols, all files would serve many."""
    abis = _abis(subject)
    libraries = subject.libraries
    exact = abis and all((m := _EXACT.match(abi)) and not m[2] for abi in abis)
    unsure = any(m.unreadable for m in subject.wheel.native) or any(x.damage for x in libraries)
    if not exact or unsure or not libraries or any(x.python.kind == "full" for x in libraries):
        return
    if any(use.needs_python for use in subject.torch_uses.values()):
        return
    limited = [x for x in libraries if x.python.kind == "limited"]
    tag = subject.tags[0]
    if limited:
        most = max(limited, key=lambda x: x.python.floor)
        floor = max(_oldest_python(subject), most.python.floor)
        symbol = f" ({most.python.floor_symbol})" if most.python.floor_symbol else ""
        text = f"{tag} could be cp3{floor}-abi3: the files use only the limited C API of 3.{floor}"
        yield warning("WG209", text + symbol)
    elif not any(_uses_python(x) for x in libraries):
        text = f"{tag} could be py3-none-{tag.platform}: no file uses Python's C API"
        yield warning("WG209", text)


def threading(subject: Subject) -> Iterator[Finding]:
    """WG210: the build of Python that a file was compiled for, as far as its symbols tell."""
    exact = {abi for abi in _abis(subject) if _EXACT.match(abi)}
    free = {abi for abi in _abis(subject) if abi.endswith("t")}
    for library in subject.libraries:
        dll = _DLL.match(library.python.dll)
        name = PurePosixPath(library.path).name
        if dll and exact and f"cp{dll[1]}{dll[2]}" not in exact:
            text = f"imports {library.python.dll}; the tag is {', '.join(sorted(exact))}"
            yield error("WG210", text, library.path)
        elif library.python.free_threaded and not free and not _suffix_abi(name).endswith("t"):
            tags = ", ".join(sorted(_abis(subject)))
            text = f"is compiled for a free-threaded Python; {tags} is for one with the GIL"
            yield error("WG210", text, library.path)
