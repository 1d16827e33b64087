"""Small ELF files inside device code: their sections and symbols, read from a sparse copy.

Only 64-bit little-endian files are read; AMD's code objects and Intel's zebin are such files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.stream import LOOKAHEAD, ByteStream, Pages, Readable

__all__ = ["HEADER", "Header", "Kind", "Part", "header", "parts", "spool", "symbols"]

HEADER = 64
_ELF64_LE = b"\x7fELF\x02\x01"
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_MAX_SYMBOLS = 1 << 20
_MAX_NAMES = 16 << 20
_MAX_NAME = 1 << 16
_BLOCK = _SYMBOL.size * 4096


class Kind(IntEnum):
    """Types of sections that are read."""

    SYMTAB = 2
    NOTE = 7
    DYNSYM = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the ELF header says; offsets in bytes from the start of the file."""

    abi: int
    abi_version: int
    machine: int
    flags: int
    segments_at: int
    segments: int
    sections_at: int
    sections: int

    @property
    def end(self) -> int:
        """Where the section headers end, which linkers write last; 0 without them."""
        return self.sections_at + self.sections * _SECTION.size if self.sections_at else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A section: its type, place and size in bytes, and the section it refers to."""

    kind: int
    offset: int
    size: int
    link: int


def header(data: bytes) -> Header:
    """Read the first 64 bytes; NotReadableError if they are no 64-bit little-endian ELF."""
    if len(data) < HEADER or not data.startswith(_ELF64_LE):
        raise NotReadableError("not a 64-bit little-endian ELF file")
    machine, _version, _entry, segments_at, sections_at, flags = struct.unpack_from(
        "<HIQQQI", data, 18
    )
    segment_size, segments, section_size, sections = struct.unpack_from("<HHHH", data, 54)
    if (segments and segment_size != _SEGMENT.size) or (sections and section_size != _SECTION.size):
        raise NotReadableError("headers of an unknown size")
    return Header(
        abi=data[7],
        abi_version=data[8],
        machine=machine,
        flags=flags,
        segments_at=segments_at,
        segments=segments,
        sections_at=sections_at,
        sections=sections,
    )


def parts(pages: Readable) -> tuple[Part, ...]:
    """The sections in their order; empty without section headers."""
    top = header(pages.read(0, min(HEADER, pages.size)))
    if not top.sections_at:
        return ()
    table = pages.read(top.sections_at, top.sections * _SECTION.size)
    rows = _SECTION.iter_unpack(table)
    return tuple(Part(kind=r[1], offset=r[4], size=r[5], link=r[6]) for r in rows)


def symbols(pages: Readable, part: Part, names: Part) -> Iterator[tuple[bytes, int]]:
    """Name and type of each symbol of a table; NotReadableError where it is too large."""
    if part.size > _MAX_SYMBOLS * _SYMBOL.size or names.size > _MAX_NAMES:
        raise NotReadableError("a table of symbols larger than any code object has")
    strings = pages.read(names.offset, names.size)
    left = _MAX_NAMES
    for at in range(0, part.size, _BLOCK):
        size = min(_BLOCK, part.size - at) // _SYMBOL.size * _SYMBOL.size
        for name, info, *_rest in _SYMBOL.iter_unpack(pages.read(part.offset + at, size)):
            end = strings.find(b"\0", name, name + _MAX_NAME)
            left -= max(end - name, 0)
            if left < 0:
                raise NotReadableError("names of symbols overlap without end")
            if end > name:
                yield strings[name:end], info & 15


def _executable(start: bytes, size: int) -> list[tuple[int, int]]:
    """Sorted ranges of machine code, which are not kept. Any fault gives no range."""
    try:
        top = header(start)
    except NotReadableError:
        return []
    end = top.segments_at + top.segments * _SEGMENT.size
    if end > len(start):
        return []
    rows = _SEGMENT.iter_unpack(start[top.segments_at : end])
    return sorted((min(r[2], size), min(r[2] + r[5], size)) for r in rows if r[0] == 1 and r[1] & 1)


def spool(stream: ByteStream, size: int) -> Pages:
    """Take a file of `size` bytes and keep what is not machine code. TruncatedError."""
    pages = Pages(size)
    begin = stream.offset
    ranges = _executable(stream.peek(LOOKAHEAD)[:size], size)
    try:
        for low, high in [*ranges, (size, size)]:
            at = stream.offset - begin
            for piece in stream.pieces(max(0, low - at)):
                pages.write(at, piece)
                at += len(piece)
            stream.skip(max(0, high - (stream.offset - begin)))
    except BaseException:
        pages.__exit__(None, None, None)
        raise
    return pages
