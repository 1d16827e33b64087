"""What the dynamic loader sees of an ELF file: the dynamic section, names, version needs.

Sources: the System V ABI (gABI), the GNU symbol versioning of the LSB.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.elf_headers import Header
from wheelgrid.inspect.formats.names import Budget
from wheelgrid.inspect.stream import Readable

__all__ = ["Image", "Strings", "Tag", "read_dynamic", "version_needs"]

_PT_LOAD, _PT_DYNAMIC = 1, 2
_BLOCK = 1 << 20
_MAX_TAGS = 65_536
_MAX_VERSIONS = 65_536
_MAX_NAME = 64 * 1024


class Tag(IntEnum):
    """Tags of the dynamic section that matter here."""

    NEEDED = 1
    HASH = 4
    STRTAB = 5
    SYMTAB = 6
    STRSZ = 10
    SONAME = 14
    RPATH = 15
    RUNPATH = 29
    GNU_HASH = 0x6FFFFEF5
    VERSYM = 0x6FFFFFF0
    VERNEED = 0x6FFFFFFE
    VERNEEDNUM = 0x6FFFFFFF


class Image:
    """The file as the loader maps it: reads by address."""

    def __init__(self, pages: Readable, header: Header) -> None:
        """Take the segments that are loaded."""
        self.pages = pages
        self.header = header
        self.loads = [s for s in header.segments if s.kind == _PT_LOAD]

    def place(self, address: int) -> int:
        """The offset in the file of an address."""
        for load in self.loads:
            if load.address <= address < load.address + load.size:
                return address - load.address + load.offset
        msg = f"address {address:#x} lies in no segment"
        raise NotReadableError(msg)

    def blocks(self, address: int, size: int, step: int) -> Iterator[tuple[int, bytes]]:
        """Blocks of a table of entries of `step` bytes, each with its relative place."""
        start, block = self.place(address), _BLOCK - _BLOCK % step
        for at in range(0, size, block):
            yield at, self.pages.read(start + at, min(block, size - at))


def read_dynamic(image: Image) -> dict[int, list[int]]:
    """Values of the dynamic section by tag."""
    header = image.header
    word = "Q" if header.bits == 64 else "I"  # noqa: PLR2004
    pair = struct.Struct(f"{header.order}2{word}")
    found: dict[int, list[int]] = {}
    for segment in header.segments:
        if segment.kind != _PT_DYNAMIC:
            continue
        size = min(segment.size - segment.size % pair.size, _MAX_TAGS * pair.size)
        for tag, value in pair.iter_unpack(image.pages.read(segment.offset, size)):
            if tag == 0:
                break
            found.setdefault(tag, []).append(value)
    return found


class Strings:
    """The dynamic string table; names are read in the order of the file."""

    def __init__(
        self, image: Image, dynamic: dict[int, list[int]], budget: Budget | None = None
    ) -> None:
        """Find the table; NotReadableError where it lies outside the file.

        Names are charged to a budget, unless the caller keeps none of them.
        """
        self.pages = image.pages
        self.budget = budget
        self.size = dynamic.get(Tag.STRSZ, [0])[0]
        self.start = image.place(dynamic[Tag.STRTAB][0]) if Tag.STRTAB in dynamic else 0
        if self.size and self.start + self.size > image.pages.size:
            msg = "the string table lies outside the file"
            raise NotReadableError(msg)

    def get(self, at: int) -> str:
        """One name."""
        return next((name for _at, name in self.many([at])), "")

    def many(self, places: Iterable[int]) -> Iterator[tuple[int, str]]:
        """Names with their places, each block read once; places outside the table are left out."""
        block, begin = b"", 0
        for at in sorted(places):
            if not 0 <= at < self.size:
                continue
            end = block.find(b"\0", at - begin) if begin <= at < begin + len(block) else -1
            if end < 0:
                begin = at
                block = self.pages.read(self.start + at, min(_BLOCK, self.size - at))
                end = block.find(b"\0")
                if not 0 <= end <= _MAX_NAME:
                    msg = "a symbol name has no end"
                    raise NotReadableError(msg)
            name = block[at - begin : end]
            if len(name) <= _MAX_NAME:
                if self.budget is None:
                    yield at, name.decode("utf-8", errors="replace")
                else:
                    yield at, self.budget.text(name)


def version_needs(image: Image, dynamic: dict[int, list[int]]) -> dict[int, tuple[int, int]]:
    """Version index to (library, version) as places of names."""
    names: dict[int, tuple[int, int]] = {}
    if Tag.VERNEED not in dynamic:
        return names
    order = image.header.order
    need, aux = struct.Struct(order + "2H3I"), struct.Struct(order + "I2H2I")
    at = image.place(dynamic[Tag.VERNEED][0])
    budget = _MAX_VERSIONS
    for _ in range(min(dynamic.get(Tag.VERNEEDNUM, [0])[0], _MAX_VERSIONS)):
        _version, count, library, first, following = need.unpack(image.pages.read(at, need.size))
        place = at + first
        for _ in range(count):
            budget -= 1
            if budget < 0:
                msg = f"more than {_MAX_VERSIONS} version needs"
                raise NotReadableError(msg)
            _hash, _flags, index, name, step = aux.unpack(image.pages.read(place, aux.size))
            names[index & 0x7FFF] = (library, name)
            if not step:
                break
            place += step
        if not following:
            break
        at += following
    return names
