"""PE: headers, sections and the memory that the loader of Windows makes of them.

Source: Microsoft's "PE Format".
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.names import Budget, Names
from wheelgrid.inspect.stream import HoleError, Readable, TruncatedError

__all__ = ["Header", "Image", "Range", "Section", "read_header", "read_sections"]

_MACHINES = {0x8664: "x86_64", 0xAA64: "arm64", 0x014C: "i386", 0x01C4: "armv7", 0x0200: "ia64"}
_SUBSYSTEMS = {1: "native", 2: "windows", 3: "console", 9: "windows ce", 10: "efi"}
_DLL = 0x2000
_MOST_SECTIONS = 4096


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of the file; size 0 where it takes no bytes there."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Range:
    """Where bytes of the file appear in memory, relative to the image base."""

    address: int
    size: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Fields of the COFF and the optional header; directories are (address, size)."""

    machine: str
    section_count: int
    sections_at: int
    strings_at: int
    wide: bool
    is_dll: bool
    linker: tuple[int, int]
    base: int
    headers_size: int
    os: tuple[int, int]
    needs: tuple[int, int]
    subsystem: str
    directories: tuple[tuple[int, int], ...]

    def directory(self, index: int) -> int:
        """The address of a data directory; 0 where there is none."""
        return self.directories[index][0] if index < len(self.directories) else 0


class Image:
    """The file as the loader maps it: reads by relative address."""

    def __init__(self, pages: Readable, header: Header, ranges: list[Range]) -> None:
        """Map the given ranges of the file."""
        self.pages = pages
        self.header = header
        self.budget = Budget()
        self._ranges = sorted(ranges, key=lambda r: r.address)
        self._starts = [r.address for r in self._ranges]
        self._names = Names(pages, self.budget)

    def place(self, address: int) -> tuple[int, int]:
        """The offset in the file of an address, and where the bytes around it end."""
        found = self._ranges[bisect_right(self._starts, address) - 1]
        if not found.address <= address < found.address + found.size:
            msg = f"address {address:#x} lies in no section"
            raise NotReadableError(msg)
        return address - found.address + found.offset, found.offset + found.size

    def read(self, address: int, size: int) -> bytes:
        """Exactly `size` bytes of one section."""
        data = self.upto(address, size)
        if len(data) < size:
            msg = f"{size} bytes at address {address:#x} reach out of their section"
            raise NotReadableError(msg)
        return data

    def upto(self, address: int, size: int) -> bytes:
        """At most `size` bytes, fewer at the end of a section."""
        offset, end = self.place(address)
        return self.pages.read(offset, min(size, end - offset))

    def name(self, address: int) -> str:
        """The name at an address."""
        return self._names.get(*self.place(address))

    def starts(self, address: int, prefix: bytes) -> bool:
        """Whether the name at an address begins so."""
        return self._names.starts(*self.place(address), prefix)


def read_header(pages: Readable) -> Header:
    """Headers of the file; NotReadableError where it is no PE file."""
    if pages.read(0, 2) != b"MZ":
        msg = "no DOS header"
        raise NotReadableError(msg)
    (at,) = struct.unpack("<I", pages.read(0x3C, 4))
    signature, machine, count, _time, symbols, symbol_count, size, flags = struct.unpack(
        "<4s2H3I2H", pages.read(at, 24)
    )
    if signature != b"PE\0\0":
        msg = "a DOS program, not a PE file"
        raise NotReadableError(msg)
    data = pages.read(at + 24, size)
    wide = data[:2] == b"\x0b\x02"
    if not wide and data[:2] != b"\x0b\x01":
        msg = f"unknown optional header {data[:2].hex()}"
        raise NotReadableError(msg)
    first = 112 if wide else 96
    (stated,) = struct.unpack_from("<I", data, first - 4)
    listed = min(stated, 16, (len(data) - first) // 8)
    numbers = struct.unpack_from("<4H", data, 40)
    (kind,) = struct.unpack_from("<H", data, 68)
    return Header(
        machine=_MACHINES.get(machine, f"machine {machine:#x}"),
        section_count=count,
        sections_at=at + 24 + size,
        strings_at=symbols + 18 * symbol_count if symbols else 0,
        wide=wide,
        is_dll=bool(flags & _DLL),
        linker=(data[2], data[3]),
        base=struct.unpack_from("<Q" if wide else "<I", data, 24 if wide else 28)[0],
        headers_size=struct.unpack_from("<I", data, 60)[0],
        os=(numbers[0], numbers[1]),
        needs=struct.unpack_from("<2H", data, 48),
        subsystem=_SUBSYSTEMS.get(kind, f"subsystem {kind}"),
        directories=tuple(struct.iter_unpack("<2I", data[first : first + 8 * listed])),
    )


def _section_name(pages: Readable, header: Header, raw: bytes, names: Names) -> str:
    """The name of a section; GNU's linker keeps long ones in the table of symbol names."""
    name = raw.rstrip(b"\0").decode("utf-8", errors="replace")
    if header.strings_at and name.startswith("/") and name[1:].isascii() and name[1:].isdigit():
        try:
            return names.get(header.strings_at + int(name[1:]), pages.size)
        except (NotReadableError, TruncatedError, HoleError):
            return name
    return name


def read_sections(pages: Readable, header: Header) -> tuple[list[Section], list[Range]]:
    """Sections of the file, and where they and the headers appear in memory."""
    if header.section_count > _MOST_SECTIONS:
        msg = f"{header.section_count} sections"
        raise NotReadableError(msg)
    table = pages.read(header.sections_at, 40 * header.section_count)
    names = Names(pages, Budget())
    sections: list[Section] = []
    ranges = [Range(0, min(header.headers_size, pages.size), 0)]
    for raw, memory, address, size, offset in struct.iter_unpack("<8s4I16x", table):
        sections.append(Section(_section_name(pages, header, raw, names), offset, size))
        mapped = min(memory or size, size, max(0, pages.size - offset))
        if mapped:
            ranges.append(Range(address, mapped, offset))
    return sections, ranges
