"""The headers of an ELF file: machine, segments, sections.

Sources: the System V ABI (gABI), elf.h of glibc.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.stream import Readable

__all__ = ["MACHINES", "Header", "Section", "Segment", "read_header", "read_sections"]

MACHINES = {
    3: "i686", 21: "ppc64", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64",
    190: "cuda", 224: "amdgpu", 243: "riscv64", 258: "loongarch64",
}  # fmt: skip
"""e_machine to the CPU as platform tags spell it; device code by its vendor's name."""
_TYPES = {1: "object", 2: "executable", 3: "library", 4: "core"}
_SHT_NOBITS = 8
_BLOCK = 1 << 20
_MAX_SEGMENTS = 4096
_MAX_SECTIONS = 65_536


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header: where bytes of the file appear in memory; flags 1 is executable."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of the file; flags 2 is loaded, 4 executable."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The ELF header and the program headers."""

    bits: int
    order: str
    machine: str
    kind: str
    flags: int
    sections_at: int
    section_count: int
    section_size: int
    names_index: int
    segments: tuple[Segment, ...]


def read_header(head: bytes) -> Header:
    """The headers at the start of a file; NotReadableError where they are damaged.

    `head` must reach to the end of the program headers, which linkers put first.
    """
    if head[:4] != b"\x7fELF" or len(head) < 64:  # noqa: PLR2004 - size of the header
        msg = "the ELF header is cut off"
        raise NotReadableError(msg)
    bits = {1: 32, 2: 64}.get(head[4])
    order = {1: "<", 2: ">"}.get(head[5])
    if bits is None or order is None:
        msg = f"unknown class {head[4]} or byte order {head[5]}"
        raise NotReadableError(msg)
    word = "Q" if bits == 64 else "I"  # noqa: PLR2004
    layout = struct.Struct(f"{order}HHI3{word}I6H")
    fields = layout.unpack_from(head, 16)
    kind, machine, _version, _entry, phoff, shoff, flags = fields[:7]
    _size, phsize, phnum, shsize, shnum, names = fields[7:]
    return Header(
        bits=bits,
        order=order,
        machine=MACHINES.get(machine, f"machine {machine}"),
        kind=_TYPES.get(kind, f"type {kind:#x}"),
        flags=flags,
        sections_at=shoff,
        section_count=shnum,
        section_size=shsize,
        names_index=names,
        segments=tuple(_segments(head, bits, order, (phoff, phsize, phnum))),
    )


def _segments(head: bytes, bits: int, order: str, table: tuple[int, int, int]) -> Iterator[Segment]:
    at, size, count = table
    layout = struct.Struct(order + ("2I6Q" if bits == 64 else "8I"))  # noqa: PLR2004
    if count and (size < layout.size or count > _MAX_SEGMENTS or at + count * size > len(head)):
        msg = "the program headers are damaged, or not at the start of the file"
        raise NotReadableError(msg)
    for index in range(count):
        fields = layout.unpack_from(head, at + index * size)
        if bits == 64:  # noqa: PLR2004
            kind, flags, offset, address, _paddr, filesz, *_ = fields
        else:
            kind, offset, address, _paddr, filesz, _memsz, flags, _align = fields
        yield Segment(kind, flags, offset, address, filesz)


def read_sections(pages: Readable, header: Header) -> tuple[Section, ...]:
    """Named sections; empty where the file has no section headers."""
    wide = header.bits == 64  # noqa: PLR2004
    layout = struct.Struct(header.order + ("2I4Q2I2Q" if wide else "10I"))
    count, names_index = header.section_count, header.names_index
    if not header.sections_at or header.section_size < layout.size:
        return ()
    first = layout.unpack(pages.read(header.sections_at, layout.size))
    if count == 0:
        count = first[5]
    if names_index == 0xFFFF:  # noqa: PLR2004 - SHN_XINDEX
        names_index = first[6]
    if count > _MAX_SECTIONS or names_index >= count:
        msg = f"{count} sections, names in section {names_index}"
        raise NotReadableError(msg)
    table = pages.read(header.sections_at, count * header.section_size)
    rows = [layout.unpack_from(table, i * header.section_size) for i in range(count)]
    place, size = rows[names_index][4], min(rows[names_index][5], _BLOCK)
    names = pages.read(place, size)
    return tuple(
        Section(
            names[r[0] : max(r[0], names.find(b"\0", r[0]))].decode("utf-8", errors="replace"),
            r[1],
            r[2],
            r[3],
            r[4],
            0 if r[1] == _SHT_NOBITS else r[5],
        )
        for r in rows
    )
