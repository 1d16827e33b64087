"""Code for Intel GPUs compiled ahead of time: archives of `ocloc`, and single device binaries.

Sources: intel/compute-runtime's ocloc_fatbinary.cpp (an `ar` archive with one member per device,
"64.12.60.7", pads between them, and "generic_ir") and its zebin format (notes of a device binary).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.gpu.code_object import HEADER, Kind, header, parts, spool
from wheelgrid.inspect.gpu.compressed import DamagedError
from wheelgrid.inspect.gpu.intel import device_named, device_numbered
from wheelgrid.inspect.stream import ByteStream, HoleError, Readable, TruncatedError

__all__ = ["ARCHIVE_MAGIC", "OclocArchive", "read_archive", "read_binary"]

ARCHIVE_MAGIC = b"!<arch>\n"
_ROW = 60
_ROW_END = b"`\n"
_MAX_MEMBERS = 4096
_MEMBER = re.compile(r"(?:32|64)\.([0-9a-z][0-9a-z._-]*)")
_PAD = re.compile(r"pad_\d+")
_INTEL, _X86_64 = 205, 62
_PRODUCT_CONFIG = 6
_MAX_NOTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class OclocArchive:
    """Code compiled ahead of time: names of devices in the file's order, without duplicates.

    A single device binary outside an archive is one as well. `generic_ir` says that SPIR-V is
    included, which any device can compile.
    """

    offset: int
    devices: tuple[str, ...]
    generic_ir: bool = False
    damage: str = ""
    compression: str = ""


def _row(data: bytes) -> tuple[str, int] | None:
    """Name and size in the header of an archive's member."""
    if len(data) < _ROW or data[_ROW - 2 : _ROW] != _ROW_END:
        return None
    size = data[48:58].strip()
    if not size.isdigit():
        return None
    return data[:16].decode("latin-1").rstrip().removesuffix("/"), int(size)


def _is_ours(name: str) -> bool:
    return name == "generic_ir" or bool(_PAD.fullmatch(name) or _MEMBER.fullmatch(name))


def _rows(stream: ByteStream) -> Iterator[str]:
    """Names of members, each passed over when the next is asked for."""
    for _count in range(_MAX_MEMBERS):
        row = _row(stream.peek(_ROW))
        if row is None:
            return
        name, size = row
        stream.skip(_ROW)
        yield name
        stream.skip(size)
        if size & 1 and stream.peek(1):
            stream.skip(1)
    msg = f"more than {_MAX_MEMBERS} members"
    raise DamagedError(msg)


def read_archive(stream: ByteStream) -> OclocArchive | None:
    """Read ocloc's archive that the stream stands at; None, and nothing taken, if it is none."""
    head = stream.peek(len(ARCHIVE_MAGIC) + _ROW)
    row = _row(head[len(ARCHIVE_MAGIC) :])
    if not head.startswith(ARCHIVE_MAGIC) or row is None or not _is_ours(row[0]):
        return None
    offset = stream.offset
    stream.skip(len(ARCHIVE_MAGIC))
    names: dict[str, None] = {}
    damage = ""
    try:
        for name in _rows(stream):
            names[name] = None
    except (TruncatedError, DamagedError) as error:
        damage = str(error)
    unknown = [name for name in names if not _is_ours(name)]
    if unknown:
        damage = damage or f"{len(unknown)} members that are not known, such as {unknown[0]!r}"
    devices = (device_named(m[1]) for name in names if (m := _MEMBER.fullmatch(name)))
    return OclocArchive(
        offset=offset,
        devices=tuple(dict.fromkeys(devices)),
        generic_ir="generic_ir" in names,
        damage=damage,
    )


def _product(notes: bytes) -> str:
    """The device that the notes of a zebin name; empty if none does."""
    at = 0
    while at + 12 <= len(notes):
        name, size, kind = struct.unpack_from("<III", notes, at)
        body = at + 12 + (name + 3 & ~3)
        if kind == _PRODUCT_CONFIG and size == 4 and body + 4 <= len(notes):  # noqa: PLR2004
            return device_numbered(int.from_bytes(notes[body : body + 4], "little"))
        at = body + (size + 3 & ~3)
    return ""


def _device_of(pages: Readable) -> str:
    """The device of a zebin. NotReadableError, TruncatedError, HoleError."""
    for part in parts(pages):
        if part.kind == Kind.NOTE and part.size <= _MAX_NOTES:
            device = _product(pages.read(part.offset, part.size))
            if device:
                return device
    raise NotReadableError("a device binary that does not name its device")


def read_binary(stream: ByteStream) -> OclocArchive | None:
    """A device binary on its own: Intel's zebin, or code for the processor."""
    offset = stream.offset
    try:
        top = header(stream.peek(HEADER))
    except NotReadableError:
        return None
    if top.machine not in {_INTEL, _X86_64} or not top.end:
        return None
    try:
        with spool(stream, top.end) as pages:
            device = "x86_64" if top.machine == _X86_64 else _device_of(pages)
    except (NotReadableError, TruncatedError, HoleError) as error:
        return OclocArchive(offset=offset, devices=(), damage=str(error))
    return OclocArchive(offset=offset, devices=(device,))
