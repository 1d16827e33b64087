"""What dyld goes by to find symbols of a Mach-O image: fixups, bind opcodes and the exports trie.

Sources: Apple's mach-o/fixup-chains.h and mach-o/loader.h; dyld's trie and bind code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.macho_image import Image, Place, check_count, names_at, plain

__all__ = ["bound_names", "chained_names", "exported_names"]

_BLOCK = 60 * 1024
_ENTRY = b"_PyInit_"
_NODE = 64 * 1024
_MOST_BINDS = 4 << 20
_IMPORTS = {1: (4, "<I", 9), 2: (8, "<I", 9), 3: (16, "<Q", 32)}
"""Format of chained imports: bytes of an entry, its number, bits below the place of the name."""
_SET_NAME = 0x40
_BIND_NUMBERS = {
    0x00: 0, 0x10: 0, 0x20: 1, 0x30: 0, 0x50: 0, 0x60: 1, 0x70: 1, 0x80: 1, 0x90: 0, 0xA0: 1,
    0xB0: 0, 0xC0: 2,
}  # fmt: skip
"""Bind opcode to how many LEB128 numbers follow it; 0xD0 has one in its first form only."""


def chained_names(image: Image, place: Place) -> Iterator[str]:
    """Names in the imports table of chained fixups."""
    image.check(place)
    header = image.order + "7I"
    size = struct.calcsize(header)
    _version, _starts, imports, names, count, kind, packed = struct.unpack(
        header, image.read(place.offset, size)
    )
    if kind not in _IMPORTS or packed:
        msg = f"chained imports of format {kind}, names of format {packed}"
        raise NotReadableError(msg)
    step, number, shift = _IMPORTS[kind]
    number = number.replace("<", image.order)
    if names > place.size or imports + count * step > place.size:
        msg = f"{count} chained imports do not fit into {place.size} bytes"
        raise NotReadableError(msg)
    image.budget.step(count)
    places: set[int] = set()
    begin, end = place.offset + imports, place.offset + imports + count * step
    for at in range(begin, end, _BLOCK):
        data = image.read(at, min(_BLOCK, end - at))
        values = (
            struct.unpack_from(number, data, i)[0] >> shift for i in range(0, len(data), step)
        )
        places.update(value & 0xFFFFFFFF for value in values)
        check_count(places)
    yield from names_at(image, Place(place.offset + names, place.size - names), places)


def _leb(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128 number and the place after it."""
    value = shift = 0
    while shift < 70:  # noqa: PLR2004 - ten bytes hold 64 bits
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the last byte has no high bit
            return value, at
    msg = "a number of more than 64 bits"
    raise NotReadableError(msg)


def bound_names(image: Image, place: Place) -> Iterator[str]:
    """Names that bind opcodes set. Where lazy ones end, more may follow."""
    if place.size > _MOST_BINDS:
        msg = f"{place.size} bytes of bind opcodes"
        raise NotReadableError(msg)
    data, at = image.read(place.offset, place.size), 0
    while at < len(data):
        image.budget.step()
        opcode, form = data[at] & 0xF0, data[at] & 0x0F
        at += 1
        if opcode == _SET_NAME:
            end = data.index(b"\0", at)
            yield plain(image.budget.text(data[at:end]))
            at = end + 1
            continue
        numbers = (form == 0) if opcode == 0xD0 else _BIND_NUMBERS.get(opcode)  # noqa: PLR2004
        if numbers is None:
            msg = f"unknown bind opcode {opcode:#x}"
            raise NotReadableError(msg)
        for _ in range(numbers):
            at = _leb(data, at)[1]


def exported_names(image: Image, place: Place) -> Iterator[str]:
    """Names in the exports trie that begin like an entry point. Other branches are not followed."""
    image.check(place)
    todo, seen = [(0, b"")], {0}
    while todo:
        at, name = todo.pop()
        image.budget.step(50)
        if at >= place.size:
            msg = f"node {at} of an exports trie of {place.size} bytes"
            raise NotReadableError(msg)
        node = image.read(place.offset + at, min(_NODE, place.size - at))
        ends_here, at = _leb(node, 0)
        if ends_here and name.startswith(_ENTRY):
            yield plain(image.budget.text(name))
        at += ends_here + 1
        for _ in range(node[at - 1]):
            image.budget.step()
            end = node.index(b"\0", at)
            label = name + node[at:end]
            child, at = _leb(node, end + 1)
            wanted = label.startswith(_ENTRY) or _ENTRY.startswith(label)
            if wanted and child not in seen:
                image.budget.text(label)
                seen.add(child)
                todo.append((child, label))
