"""What readelf and cuobjdump print, as values; nothing here knows of our own parsers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Heading", "ReadElf", "parse_cuobjdump", "parse_readelf"]

FAMILIES = ("GLIBC", "GLIBCXX", "CXXABI", "GCC")
_DYNAMIC = re.compile(r" 0x[0-9a-f]+ \((NEEDED|RPATH|RUNPATH)\) +[A-Za-z ]+: \[(.*)\]$")
_NEED = re.compile(r" +0x[0-9a-f]+: +Name: (\S+) +Flags: ")
_UNDEFINED = re.compile(r" +\d+: [0-9a-f]+ +\S+ \S+ +(GLOBAL|WEAK) +\S+ +(?:\[.*\] +)?UND (.+)$")
_FLOOR = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*)$")
_PYTHON = re.compile(r"_?Py[A-Z_]")
_HEADING = re.compile(r"Fatbin (elf|ptx|nvvm|.*) code:$")
_ARCH = re.compile(r"arch = sm_(\S+)$")
_PREFIXES = {"elf": "sm", "ptx": "compute", "nvvm": "lto"}

Heading = tuple[str, str]
"""Kind (elf, ptx, lto) and target, such as `sm_90a`, `compute_120f`, `lto_80`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadElf:
    """What the loader reads of one file; `floors` are the highest versions by family."""

    needed: tuple[str, ...]
    rpath: str
    runpath: str
    floors: dict[str, str]
    python_symbols: int


def _highest(versions: Iterable[str]) -> dict[str, str]:
    best: dict[str, tuple[tuple[int, ...], str]] = {}
    for version in versions:
        if match := _FLOOR.match(version):
            key = tuple(map(int, match[2].split(".")))
            best[match[1]] = max(best.get(match[1], ((), "")), (key, match[2]))
    return {family: text for family, (_key, text) in sorted(best.items())}


def parse_readelf(text: str) -> ReadElf:
    """Read `readelf -dVW` followed by `readelf --dyn-syms -W`.

    Versions are those of the section of needs, not the ones that the file itself defines. Python
    symbols are undefined names that begin as those of CPython's C API do, each counted once.
    """
    dynamic: dict[str, list[str]] = {"NEEDED": [], "RPATH": [], "RUNPATH": []}
    versions, symbols = [], set()
    in_needs = False
    for line in text.splitlines():
        if line.startswith("Version "):
            in_needs = line.startswith("Version needs")
        elif match := _DYNAMIC.match(line):
            dynamic[match[1]].append(match[2])
        elif in_needs and (match := _NEED.match(line)):
            versions.append(match[1])
        elif match := _UNDEFINED.match(line):
            symbols.add(match[2].split("@")[0].strip())
    return ReadElf(
        needed=tuple(dynamic["NEEDED"]),
        rpath=":".join(dynamic["RPATH"]),
        runpath=":".join(dynamic["RUNPATH"]),
        floors=_highest(versions),
        python_symbols=sum(1 for name in symbols if _PYTHON.match(name)),
    )


def parse_cuobjdump(lines: Iterable[str]) -> Counter[Heading]:
    """Count the images that `cuobjdump FILE` or `cuobjdump -elf FILE` has headings of.

    Each image has the lines `Fatbin elf code:`, `====` and `arch = sm_100f`, with the suffix; other
    lines are passed by. The target of PTX is printed as `sm_` too and is named `compute_` here.
    """
    found: Counter[Heading] = Counter()
    kind = ""
    for line in lines:
        if not line.startswith(("Fatbin ", "arch = ")):  # most lines of a dump
            continue
        if match := _HEADING.match(line):
            kind = match[1]
        elif kind and (match := _ARCH.match(line)):
            prefix = _PREFIXES.get(kind, kind)
            found["lto" if kind == "nvvm" else kind, f"{prefix}_{match[1]}"] += 1
            kind = ""
    return found
