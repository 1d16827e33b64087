"""Facts of one ELF file: needs, versions, symbols and sections."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import IO

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection, DynamicTag
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

__all__ = ["ElfFacts", "NotReadableError", "read_elf"]

_GLIBC = re.compile(r"GLIBC_(\d+(?:\.\d+)+)\Z")
_MAX_SYMBOLS = 5_000_000
_MAX_NAME = 64 * 1024
_MAX_NAMES = 512 << 20
_MAX_VERSIONS = 65_536


class NotReadableError(Exception):
    """The file starts like ELF but cannot be read as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElfFacts:
    """What the dynamic loader will see, and which GPU sections there are."""

    machine: str
    needed: tuple[str, ...]
    runpath: tuple[str, ...]
    glibc: tuple[int, ...]
    glibc_symbol: str
    version_files: tuple[str, ...]
    undefined: frozenset[str]
    entry_points: frozenset[str]
    sections: frozenset[str]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _versions(elf: ELFFile) -> tuple[dict[int, str], tuple[str, ...]]:
    """Version names by index, and the libraries that they are asked of."""
    names: dict[int, str] = {}
    files: list[str] = []
    count = 0
    for section in elf.iter_sections():
        if not isinstance(section, GNUVerNeedSection):
            continue
        for need, auxiliaries in section.iter_versions():
            files.append(str(need.name))
            count += 1
            for aux in auxiliaries:
                names[aux["vna_other"]] = aux.name
                count += 1
                if count > _MAX_VERSIONS:
                    break
            if count > _MAX_VERSIONS:
                msg = f"more than {_MAX_VERSIONS} version needs"
                raise NotReadableError(msg)
    return names, tuple(files)


def _symbols(
    elf: ELFFile, versions: dict[int, str]
) -> tuple[set[str], set[str], tuple[int, ...], str]:
    """Undefined symbols, defined module entry points, the glibc floor and what causes it.

    Of the defined symbols only PyInit_* are kept: a large library has millions of others.
    """
    undefined: set[str] = set()
    entry_points: set[str] = set()
    floor: tuple[int, ...] = ()
    cause, read = "", 0
    table = elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return undefined, entry_points, floor, cause
    if table.num_symbols() > _MAX_SYMBOLS:
        msg = f"{table.num_symbols()} dynamic symbols"
        raise NotReadableError(msg)
    versym = elf.get_section_by_name(".gnu.version")
    version_of = versym.get_symbol if isinstance(versym, GNUVerSymSection) else None
    for index, symbol in enumerate(table.iter_symbols()):
        name = symbol.name
        read += len(name)
        if len(name) > _MAX_NAME or read > _MAX_NAMES:
            msg = "symbol names beyond all measure"
            raise NotReadableError(msg)
        if not name:
            continue
        if symbol["st_shndx"] != "SHN_UNDEF":
            if name.startswith("PyInit_"):
                entry_points.add(name)
            continue
        undefined.add(name)
        number = version_of(index)["ndx"] if version_of is not None else 0
        match = _GLIBC.match(versions.get(number, "")) if isinstance(number, int) else None
        if match and _number(match[1]) > floor:
            floor, cause = _number(match[1]), name
    return undefined, entry_points, floor, cause


def _dynamic(elf: ELFFile) -> list[DynamicTag]:
    """The dynamic tags. The loader goes by program headers: a file that has those, but no
    sections to read symbols from, cannot be judged here.
    """
    section = elf.get_section_by_name(".dynamic")
    if isinstance(section, DynamicSection):
        return list(islice(section.iter_tags(), _MAX_VERSIONS))
    if any(s["p_type"] == "PT_DYNAMIC" for s in elf.iter_segments()):
        msg = "it is linked dynamically, but has no section headers"
        raise NotReadableError(msg)
    return []


def _runpath(tags: list[DynamicTag]) -> tuple[str, ...]:
    """Search paths in DT_RPATH and DT_RUNPATH, split at the colons."""
    found: list[str] = []
    for tag in tags:
        if tag.entry.d_tag in {"DT_RPATH", "DT_RUNPATH"}:
            name = tag.entry.d_tag.removeprefix("DT_").lower()
            found += str(getattr(tag, name)).split(":")
    return tuple(found)


def read_elf(stream: IO[bytes]) -> ElfFacts:
    """Read one ELF file; NotReadableError says what is wrong with a damaged one."""
    try:
        elf = ELFFile(stream)
        tags = _dynamic(elf)
        versions, files = _versions(elf)
        undefined, entry_points, floor, cause = _symbols(elf, versions)
        return ElfFacts(
            machine=str(elf["e_machine"]),
            needed=tuple(str(t.needed) for t in tags if t.entry.d_tag == "DT_NEEDED"),  # type: ignore[attr-defined]
            runpath=_runpath(tags),
            glibc=floor,
            glibc_symbol=cause,
            version_files=files,
            undefined=frozenset(undefined),
            entry_points=frozenset(entry_points),
            sections=frozenset(s.name for s in elf.iter_sections()),
        )
    except NotReadableError:
        raise
    except (
        ELFError,
        OSError,
        ValueError,
        KeyError,
        AttributeError,
        TypeError,
        IndexError,
    ) as error:
        raise NotReadableError(str(error) or type(error).__name__) from error
    except (AssertionError, MemoryError, OverflowError, RecursionError) as error:
        raise NotReadableError(type(error).__name__) from error
