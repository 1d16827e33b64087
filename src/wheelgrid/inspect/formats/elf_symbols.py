"""The dynamic symbols of an ELF file: what it needs of others, and what it defines.

How many there are, only the hash tables tell: section headers may be stripped.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.elf_dynamic import Image, Strings, Tag

__all__ = ["Symbols", "entry_points", "read_symbols"]

_BLOCK = 1 << 20
_MAX_SYMBOLS = 8_000_000
_MAX_UNDEFINED = 150_000
_TABLES = (Tag.STRTAB, Tag.HASH, Tag.GNU_HASH, Tag.VERSYM, Tag.VERNEED)


@dataclass(slots=True)
class Symbols:
    """Places of undefined names with their version index, and of defined names."""

    undefined: dict[int, int] = field(default_factory=dict)
    defined: set[int] = field(default_factory=set)


def _symbol_count(image: Image, dynamic: dict[int, list[int]]) -> int:
    """Entries of the symbol table, which the hash tables tell, unless nothing is exported."""
    order = image.header.order
    if Tag.HASH in dynamic:
        at = image.place(dynamic[Tag.HASH][0])
        return int(struct.unpack(order + "2I", image.pages.read(at, 8))[1])
    if Tag.GNU_HASH not in dynamic:
        return _room(image, dynamic)
    at = image.place(dynamic[Tag.GNU_HASH][0])
    buckets, first, bloom, _shift = struct.unpack(order + "4I", image.pages.read(at, 16))
    if buckets > _MAX_SYMBOLS or bloom > _MAX_SYMBOLS:
        msg = f"{buckets} hash buckets"
        raise NotReadableError(msg)
    table = at + 16 + bloom * image.header.bits // 8
    last = max(_words(image, table, buckets), default=0)
    if last < first:
        return _room(image, dynamic)
    chain = table + 4 * buckets + 4 * (last - first)
    begin = last
    while True:
        # Chains are short: what lies behind one may not have been kept.
        step = min(1024, max(1, last - begin), (image.pages.size - chain) // 4)
        for value in _words(image, chain, step):
            last += 1
            if value & 1:
                return last
        chain += 4 * step
        if not step or last > _MAX_SYMBOLS:
            msg = "the hash chain has no end"
            raise NotReadableError(msg)


def _room(image: Image, dynamic: dict[int, list[int]]) -> int:
    """How many symbols fit before the table that follows.

    Of a library that exports nothing the hash table is empty and counts none (GNU ld writes one
    bucket and the offset 1, however many undefined symbols there are).
    """
    tables = sorted(dynamic[tag][0] for tag in _TABLES if tag in dynamic)
    symbols, size = dynamic[Tag.SYMTAB][0], 24 if image.header.bits == 64 else 16  # noqa: PLR2004
    after = next((address for address in tables if address > symbols), symbols)
    counts = [(after - symbols) // size]
    if Tag.VERSYM in dynamic:
        versions = dynamic[Tag.VERSYM][0]
        after = next((address for address in tables if address > versions), 0)
        counts += [(after - versions) // 2] if after else []
    return min(counts)


def _words(image: Image, at: int, count: int) -> array[int]:
    """32-bit numbers of the file."""
    values = array("I")
    for start in range(0, 4 * count, _BLOCK):
        values.frombytes(image.pages.read(at + start, min(_BLOCK, 4 * count - start)))
    if (image.header.order == ">") != (struct.pack("=H", 1) == b"\0\1"):
        values.byteswap()
    return values


def _versym(image: Image, dynamic: dict[int, list[int]], count: int) -> array[int]:
    """The version index of each symbol; empty where there is no such table."""
    values = array("H")
    if Tag.VERSYM in dynamic:
        for _at, data in image.blocks(dynamic[Tag.VERSYM][0], 2 * count, 2):
            values.frombytes(data)
        if (image.header.order == ">") != (struct.pack("=H", 1) == b"\0\1"):
            values.byteswap()
    return values


def read_symbols(image: Image, dynamic: dict[int, list[int]], *, defined: bool) -> Symbols:
    """Places of the names of undefined symbols; of defined ones where asked."""
    found = Symbols()
    if Tag.SYMTAB not in dynamic:
        return found
    count = _symbol_count(image, dynamic)
    if count > _MAX_SYMBOLS:
        msg = f"{count} dynamic symbols"
        raise NotReadableError(msg)
    wide = image.header.bits == 64  # noqa: PLR2004
    layout = struct.Struct(image.header.order + ("IBBHQQ" if wide else "IIIBBH"))
    versions = _versym(image, dynamic, count)
    index, section = 0, 3 if wide else 5
    for _at, data in image.blocks(dynamic[Tag.SYMTAB][0], count * layout.size, layout.size):
        for entry in layout.iter_unpack(data):
            name = entry[0]
            if not name:
                pass
            elif entry[section] == 0:
                version = versions[index] & 0x7FFF if index < len(versions) else 0
                found.undefined[name] = version
                if len(found.undefined) > _MAX_UNDEFINED:
                    msg = f"more than {_MAX_UNDEFINED} undefined symbols"
                    raise NotReadableError(msg)
            elif defined:
                found.defined.add(name)
            index += 1
    return found


def entry_points(image: Image, strings: Strings, dynamic: dict[int, list[int]]) -> frozenset[str]:
    """Defined PyInit_ functions. Their names are searched first: most libraries have none."""
    needle, found, rest = b"\0PyInit_", set(), b""
    for at in range(0, strings.size, _BLOCK):
        data = rest + strings.pages.read(strings.start + at, min(_BLOCK, strings.size - at))
        begin = at - len(rest)
        hit = data.find(needle)
        while hit >= 0:
            found.add(begin + hit + 1)
            hit = data.find(needle, hit + 1)
        rest = data[-len(needle) + 1 :]
    if not found:
        return frozenset()
    defined = read_symbols(image, dynamic, defined=True).defined & found
    return frozenset(name for _at, name in strings.many(defined))
