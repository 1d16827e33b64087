"""ELF: what the dynamic loader will see, and where sections lie.

The loader goes by program headers, so this does too; section headers only give names to places.
Tables are read in blocks, names of symbols only where somebody asks for them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.elf_dynamic import Image, Strings, Tag, read_dynamic, version_needs
from wheelgrid.inspect.formats.elf_headers import (
    MACHINES,
    Header,
    Section,
    read_header,
    read_sections,
)
from wheelgrid.inspect.formats.elf_symbols import Symbols, entry_points, read_symbols
from wheelgrid.inspect.formats.names import Budget
from wheelgrid.inspect.stream import Readable, TruncatedError

__all__ = ["MACHINES", "Elf", "Header", "Section", "VersionNeed"]
__all__ += ["iter_defined", "read_elf", "read_header"]

_PT_INTERP = 3
_MAX_NAMES = 4096


@dataclass(frozen=True, slots=True)
class VersionNeed:
    """A symbol version that a library must define, and one symbol that asks for it."""

    library: str
    version: str
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """One ELF file. `undefined` are names that others must define; `damage` what was not read."""

    header: Header
    soname: str = ""
    interpreter: bool = False
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    versions: tuple[VersionNeed, ...] = ()
    undefined: frozenset[str] = frozenset()
    entry_points: frozenset[str] = frozenset()
    sections: tuple[Section, ...] = ()
    damage: tuple[str, ...] = ()


def _needs(
    names: dict[int, tuple[int, int]], symbols: Symbols, strings: Strings
) -> tuple[VersionNeed, ...]:
    """Each needed version with the first symbol, by place, that asks for it."""
    causes: dict[int, int] = {}
    for place, index in symbols.undefined.items():
        if index in names:
            causes[index] = min(place, causes.get(index, place))
    places = {p for pair in names.values() for p in pair} | set(causes.values())
    text = dict(strings.many(places))
    return tuple(
        sorted(
            (
                VersionNeed(
                    text.get(library, ""), text.get(version, ""), text.get(causes.get(i, -1), "")
                )
                for i, (library, version) in names.items()
            ),
            key=lambda n: (n.library, n.version),
        )
    )


def _texts(strings: Strings, places: list[int]) -> tuple[str, ...]:
    """Names in the order of the places; NotReadableError for more than a file can need."""
    if len(places) > _MAX_NAMES:
        msg = f"{len(places)} names in the dynamic section"
        raise NotReadableError(msg)
    found = dict(strings.many(set(places)))
    return tuple(found.get(place, "") for place in places)


def _split(strings: Strings, places: list[int]) -> tuple[str, ...]:
    parts = [part for text in _texts(strings, places) for part in text.split(":", _MAX_NAMES)]
    if len(parts) > _MAX_NAMES:
        msg = f"more than {_MAX_NAMES} search paths"
        raise NotReadableError(msg)
    return tuple(parts)


def read_elf(pages: Readable, header: Header) -> Elf:
    """Read one ELF file; NotReadableError says what is wrong with a damaged one.

    HoleError where a table lies in bytes that were not kept.
    """
    damage: list[str] = []
    try:
        sections = read_sections(pages, header)
    except (TruncatedError, NotReadableError, struct.error) as error:
        sections = ()
        damage.append(f"section headers: {error}")
    try:
        return _read(pages, header, sections, damage)
    except (TruncatedError, struct.error) as error:
        raise NotReadableError(str(error)) from error


def _read(pages: Readable, header: Header, sections: tuple[Section, ...], damage: list[str]) -> Elf:
    image = Image(pages, header)
    dynamic = read_dynamic(image)
    strings = Strings(image, dynamic, Budget())
    symbols = read_symbols(image, dynamic, defined=False)
    names = version_needs(image, dynamic)
    return Elf(
        header=header,
        soname="".join(strings.get(p) for p in dynamic.get(Tag.SONAME, [])[:1]),
        interpreter=any(s.kind == _PT_INTERP for s in header.segments),
        needed=_texts(strings, dynamic.get(Tag.NEEDED, [])),
        rpath=_split(strings, dynamic.get(Tag.RPATH, [])),
        runpath=_split(strings, dynamic.get(Tag.RUNPATH, [])),
        versions=_needs(names, symbols, strings),
        undefined=frozenset(name for _at, name in strings.many(symbols.undefined)),
        entry_points=entry_points(image, strings, dynamic),
        sections=sections,
        damage=tuple(damage),
    )


def iter_defined(pages: Readable, header: Header) -> Iterator[str]:
    """Names that the file defines for others, in the order of its string table."""
    image = Image(pages, header)
    dynamic = read_dynamic(image)
    strings = Strings(image, dynamic)
    places = read_symbols(image, dynamic, defined=True).defined
    yield from (name for _at, name in strings.many(places))
