"""Headers of entries in CUDA fat binaries.

NVIDIA does not document the format: it was read from the output of nvcc 11.8 to 13.5 and is
checked against `cuobjdump`. Little endian.

An entry: u16 kind, u16 version 0x0101, u32 header size, u64 payload size with padding, u32 size
when compressed (else 0), u32 place of options, u16 minor and u16 major version of the PTX ISA or
cubin ABI, u32 SM, 8 bytes of identity, u64 flags, 8 bytes, u64 size when not compressed, options.
The suffixes "a" and "f" of a target are flags only.

Kind 0x100, from `nvcc --concat` (CUDA 13.5), holds several images that are compressed together.
Its options are u32 count, u32 size of all options, and for each image a header as above, in which
the u32 before the size is the place of the image in the decoded payload.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["ENTRY_SIZE", "Entry", "parse_entry", "parse_members"]

_ENTRY = struct.Struct("<HHIQIIHHI8xQ8xQ")
ENTRY_SIZE = _ENTRY.size
"""Bytes of a header without options."""
_VERSION = 0x0101
_CONCAT = 0x100
_CONCAT_VERSION = (0, 1)
_OPTIONS = struct.Struct("<II")
_MOST_HEADER = 32 * 1024
_MOST_MEMBERS = 256
_MOST_GAP = 64
_BITS64, _LZ4, _ZSTD = 0x1, 0x2000, 0x8000
_EXACT, _FAMILY = 0x100000, 0x200000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry, or one image in an entry of several.

    `header` and `payload` are bytes of the container, the payload with padding; `packed` are bytes
    of the payload without, `size` bytes when decoded; `place` is where the image begins then.
    """

    kind: int
    isa: tuple[int, int]
    sm: int
    flags: int
    compression: str
    size: int
    header: int = 0
    payload: int = 0
    packed: int = 0
    place: int = 0

    @property
    def suffix(self) -> str:
        """What follows the SM in the name of the target; "af" cannot be."""
        return ("a" if self.flags & _EXACT else "") + ("f" if self.flags & _FAMILY else "")

    @property
    def bits(self) -> int:
        """Width of pointers."""
        return 64 if self.flags & _BITS64 else 32


@lru_cache(maxsize=1024)
def _isa(major: int, minor: int) -> tuple[int, int]:
    """One tuple per version, however many images have it."""
    return major, minor


def _compression(flags: int, packed: int) -> str:
    if not packed:
        return ""
    return {_LZ4: "lz4", _ZSTD: "zstd"}.get(flags & (_LZ4 | _ZSTD), "unknown")


def parse_entry(data: bytes, left: int) -> Entry | None:
    """The entry whose header starts with `data`; None if it cannot be one.

    `left` are the bytes of the container from here on.
    """
    if len(data) < ENTRY_SIZE:
        return None
    kind, version, header, payload, packed, _, minor, major, sm, flags, size = _ENTRY.unpack(data)
    if version != _VERSION or not ENTRY_SIZE <= header <= _MOST_HEADER:
        return None
    if header + payload > left or packed > payload:
        return None
    return Entry(
        kind=kind, isa=_isa(major, minor), sm=sm, flags=flags,
        compression=_compression(flags, packed), size=size if packed else payload,
        header=header, payload=payload, packed=packed or payload,
    )  # fmt: skip


def _parse_member(header: bytes, at: int, entry: Entry) -> Entry | None:
    """The image whose header is at this place; None if there is none."""
    kind, version, place, size, packed, _, minor, major, sm, flags, _ = _ENTRY.unpack_from(
        header, at
    )
    if version != _VERSION or packed or not size or place + size > entry.size:
        return None
    return Entry(
        kind=kind, isa=_isa(major, minor), sm=sm, flags=flags,
        compression=entry.compression, size=size, place=place,
    )  # fmt: skip


def parse_members(header: bytes, entry: Entry) -> tuple[Entry, ...]:
    """The images of an entry, whose whole header this is; none if they cannot be told.

    How long the options of an image are is not understood, so the headers are searched for. They
    are believed if there are as many as announced and their images fill the payload in order.
    """
    if entry.kind != _CONCAT:
        return (entry,)
    if entry.isa != _CONCAT_VERSION or entry.header < ENTRY_SIZE + _OPTIONS.size:
        return ()
    count, size = _OPTIONS.unpack_from(header, ENTRY_SIZE)
    if ENTRY_SIZE + size != entry.header or count > _MOST_MEMBERS:
        return ()
    members: list[Entry] = []
    filled = 0
    at = ENTRY_SIZE + _OPTIONS.size
    while at + ENTRY_SIZE <= len(header):
        member = _parse_member(header, at, entry)
        if member and filled <= member.place < filled + _MOST_GAP:
            members.append(member)
            filled = member.place + member.size
            at += ENTRY_SIZE
        else:
            at += _OPTIONS.size
    is_whole = len(members) == count and 0 <= entry.size - filled < _MOST_GAP
    return tuple(members) if is_whole else ()
