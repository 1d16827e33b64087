"""Symbols of a Mach-O image: from its symbol table, else from what dyld itself goes by.

The symbol table can be stripped; dyld needs the chained fixups or the bind opcodes for names that
other images define, and the exports trie for those defined here.

Sources: Apple's mach-o/nlist.h and mach-o/loader.h.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.macho_dyld import bound_names, chained_names, exported_names
from wheelgrid.inspect.formats.macho_image import Image, Place, check_count, names_at
from wheelgrid.inspect.stream import HoleError, TruncatedError

__all__ = ["Symbols", "Tables", "read_symbols"]

_DEBUG, _PRIVATE, _KIND, _EXTERNAL = 0xE0, 0x10, 0x0E, 0x01
_UNDEFINED, _PREBOUND = 0, 0xC
_BLOCK = 60 * 1024
"""A multiple of the 12 and the 16 bytes of a symbol."""
_ENTRY = b"_PyInit_"


@dataclass(slots=True)
class Tables:
    """Where an image lists symbols.

    `symtab`: offset and count of symbols, offset and size of their names; `dysymtab`: first and
    count of the symbols defined for others, first and count of the undefined ones.
    """

    symtab: tuple[int, ...] = ()
    dysymtab: tuple[int, ...] = ()
    fixups: Place | None = None
    binds: tuple[Place, ...] = ()
    trie: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """Names that others must define and PyInit functions; damage of what was not readable."""

    undefined: frozenset[str] = frozenset()
    entry_points: frozenset[str] = frozenset()
    damage: tuple[str, ...] = ()


def _symbols(image: Image, tables: Tables, first: int) -> Iterator[tuple[int, ...]]:
    """Name, type, section, description, value of the symbols in a range of LC_DYSYMTAB."""
    offset, total = tables.symtab[:2]
    begin, count = tables.dysymtab[first : first + 2] if tables.dysymtab else (0, total)
    if begin + count > total:
        msg = f"symbols {begin} to {begin + count} of {total}"
        raise NotReadableError(msg)
    layout = struct.Struct(image.order + ("I2BHQ" if image.wide else "I2BHI"))
    image.check(Place(offset, total * layout.size))
    image.budget.step(count)
    at, end = offset + begin * layout.size, offset + (begin + count) * layout.size
    for place in range(at, end, _BLOCK):
        yield from layout.iter_unpack(image.read(place, min(_BLOCK, end - place)))


def _undefined(image: Image, tables: Tables) -> frozenset[str]:
    """Undefined external symbols of the symbol table; a value makes one a common symbol."""
    if not tables.symtab:
        return frozenset()
    places: set[int] = set()
    for name, kind, _section, _description, value in _symbols(image, tables, 2):
        if kind & _DEBUG or not kind & _EXTERNAL:
            continue
        if kind & _KIND == _PREBOUND or (kind & _KIND == _UNDEFINED and not value):
            places.add(name)
            check_count(places)
    return frozenset(names_at(image, Place(*tables.symtab[2:]), places))


def _entry_places(image: Image, table: Place) -> set[int]:
    """Places of names that begin like an entry point; most libraries have none."""
    image.check(table)
    needle, rest, found = b"\0" + _ENTRY, b"", set()
    for at in range(0, table.size, _BLOCK):
        image.budget.step()
        data = rest + image.read(table.offset + at, min(_BLOCK, table.size - at))
        hit = data.find(needle)
        while hit >= 0:
            image.budget.step()
            found.add(at - len(rest) + hit + 1)
            check_count(found)
            hit = data.find(needle, hit + 1)
        rest = data[-len(needle) + 1 :]
    return found


def _entry_points(image: Image, tables: Tables) -> frozenset[str]:
    """PyInit functions that the symbol table defines for others."""
    if not tables.symtab:
        return frozenset()
    table = Place(*tables.symtab[2:])
    found = _entry_places(image, table)
    if not found:
        return frozenset()
    defined = {
        symbol[0]
        for symbol in _symbols(image, tables, 0)
        if symbol[0] in found
        and symbol[1] & _EXTERNAL
        and not symbol[1] & (_DEBUG | _PRIVATE)
        and symbol[1] & _KIND not in {_UNDEFINED, _PREBOUND}
    }
    return frozenset(names_at(image, table, defined))


def _undefined_by_dyld(image: Image, tables: Tables) -> frozenset[str]:
    if tables.fixups:
        return frozenset(chained_names(image, tables.fixups))
    return frozenset(name for place in tables.binds for name in bound_names(image, place))


def _exported_to_dyld(image: Image, tables: Tables) -> frozenset[str]:
    return frozenset(exported_names(image, tables.trie)) if tables.trie else frozenset()


_Source = Callable[[Image, Tables], frozenset[str]]


def _first(
    image: Image, tables: Tables, sources: Mapping[str, _Source], damage: list[str]
) -> frozenset[str]:
    """Names from the first source that has any."""
    for what, source in sources.items():
        try:
            if found := source(image, tables):
                return found
        except (NotReadableError, TruncatedError, HoleError, struct.error) as error:
            damage.append(f"{what}: {error}")
        except (IndexError, ValueError):
            damage.append(f"{what}: cut off")
    return frozenset()


def read_symbols(image: Image, tables: Tables) -> Symbols:
    """Symbols of an image. It never fails: `damage` says what could not be read.

    Of a stripped image, `undefined` also has names that it defines itself but lets others replace
    (weak definitions of C++), as fixups list both alike.
    """
    damage: list[str] = []
    if not (tables.symtab or tables.fixups or tables.binds):
        damage.append("symbols: not readable, as there are no symbol table, fixups or bindings")
    imports = {"symbol table": _undefined, "bindings": _undefined_by_dyld}
    exports = {"symbol table": _entry_points, "exports trie": _exported_to_dyld}
    undefined = _first(image, tables, imports, damage)
    entry_points = _first(image, tables, exports, damage)
    return Symbols(
        undefined=undefined,
        entry_points=entry_points,
        damage=tuple(dict.fromkeys(damage)),
    )
