"""The zip archive of a wheel: its directory, and its members as streams.

Only what the format of wheels needs (APPNOTE.TXT; PEP 427): stored and deflated members, zip64.
The directory is bounded before it is read, members are read through a Source, so that a wheel may
lie on a server, and everything that two readers of the archive could see differently is damage.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from wheelgrid.inspect.inflate import InflateError, crc32, inflate, inflate_whole
from wheelgrid.inspect.source import Source

__all__ = ["Archive", "DamageError", "Entry", "open_archive"]

MAX_MEMBERS = 100_000
MAX_TOTAL = 64 << 30
_MAX_DIRECTORY = 24 << 20
_MAX_NAME = 4096
_EXTRA = 64
"""Bytes of extra fields in a local header that most archives stay below."""
_AT_ONCE = 1 << 20
_RAW = 128 * 1024
_SLACK = 512
"""The tables of a dynamic deflate block, which come before its first byte."""
_TAIL = 22 + 65_535
_EOCD = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_EOCD64 = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_ZIP64_EXTRA = 1
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _UTF8 = 0x1, 0x800
_FULL32 = 0xFFFFFFFF
_FULL16 = 0xFFFF


class DamageError(Exception):
    """The archive or a member cannot be read as the directory says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file in the directory; `header` is where its local header lies."""

    path: str
    method: int
    flags: int
    crc: int
    compressed: int
    size: int
    header: int


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive; `damage` are faults of the directory: path and what is wrong."""

    source: Source
    entries: tuple[Entry, ...]
    damage: tuple[tuple[str, str], ...] = ()

    def raw(self, entry: Entry) -> Iterator[bytes]:
        """The compressed bytes of a member; DamageError if its own header disagrees."""
        at = self._data(entry)
        end = at + entry.compressed
        while at < end:
            data = self.source.read_at(at, min(_RAW, end - at))
            if not data:
                msg = "the archive ends inside the member"
                raise DamageError(msg)
            at += len(data)
            yield data

    def _data(self, entry: Entry, head: bytes = b"") -> int:
        """Where the data of a member begins, after its local header, which `head` may hold."""
        head = head or self.source.read_at(entry.header, _LOCAL.size + _MAX_NAME)
        if len(head) < _LOCAL.size or head[:4] != b"PK\3\4":
            msg = "has no header where the directory says"
            raise DamageError(msg)
        fields = _LOCAL.unpack_from(head)
        name_size, extra_size = fields[9], fields[10]
        name = head[_LOCAL.size : _LOCAL.size + name_size]
        if _text(name, fields[2]) != entry.path or fields[3] != entry.method:
            msg = "has another name or method in its own header"
            raise DamageError(msg)
        return int(entry.header + _LOCAL.size + name_size + extra_size)

    def chunks(self, entry: Entry) -> Iterator[bytes]:
        """The bytes of a member in pieces; at its end size and CRC are checked (DamageError)."""
        if entry.flags & _ENCRYPTED:
            msg = "is encrypted"
            raise DamageError(msg)
        if entry.method == _DEFLATED:
            pieces = inflate(self.raw(entry))
        elif entry.method == _STORED:
            pieces = self.raw(entry)
        else:
            msg = f"has compression method {entry.method}; wheels are stored or deflated"
            raise DamageError(msg)
        size = value = 0
        try:
            for piece in pieces:
                size += len(piece)
                if size > entry.size:
                    msg = "holds more than the directory says"
                    raise DamageError(msg)
                value = crc32(piece, value)
                yield piece
        except InflateError as error:
            raise DamageError(str(error)) from error
        _check(entry, size, value)

    def head(self, entry: Entry, size: int) -> bytes:
        """At most the first `size` bytes of a member, unchecked: enough to tell what it is."""
        if entry.flags & _ENCRYPTED or entry.method not in {_STORED, _DEFLATED}:
            return b""
        raw = self._begin(entry, min(entry.compressed, size + _SLACK))
        if entry.method == _STORED:
            return raw[:size]
        try:
            return zlib.decompressobj(wbits=-15).decompress(raw, size)
        except zlib.error as error:
            raise DamageError(str(error)) from error

    def _begin(self, entry: Entry, size: int) -> bytes:
        """The first `size` compressed bytes of a member, in one read with its header."""
        if entry.header + size > self.source.size:
            msg = "the archive ends inside the member"
            raise DamageError(msg)
        guess = _LOCAL.size + len(entry.path.encode()) + _EXTRA
        head = self.source.read_at(entry.header, guess + size)
        start = self._data(entry, head) - entry.header
        if start + size <= len(head):
            return head[start : start + size]
        return self.source.read_at(entry.header + start, size)

    def read(self, entry: Entry, most: int) -> bytes:
        """A whole small member; DamageError if it is larger than `most`."""
        if entry.size > most:
            msg = f"is larger than {most} bytes"
            raise DamageError(msg)
        one_by_one = entry.size > _AT_ONCE or entry.compressed > entry.size + _AT_ONCE
        if entry.method != _DEFLATED or entry.flags & _ENCRYPTED or one_by_one:
            return b"".join(self.chunks(entry))
        raw = self._begin(entry, entry.compressed)
        try:
            data = inflate_whole(raw, entry.size)
        except InflateError as error:
            raise DamageError(str(error)) from error
        _check(entry, len(data), crc32(data))
        return data


def _check(entry: Entry, size: int, crc: int) -> None:
    """DamageError unless a member that was read to its end is what the directory says."""
    if size != entry.size:
        msg = f"holds {size} bytes, the directory says {entry.size}"
        raise DamageError(msg)
    if crc != entry.crc:
        msg = "has a bad CRC-32"
        raise DamageError(msg)


def _text(name: bytes, flags: int) -> str:
    if name.isascii():
        return name.decode("ascii")
    return name.decode("utf-8" if flags & _UTF8 else "cp437", errors="replace")


def _zip64(extra: bytes, wanted: list[int]) -> list[int]:
    """Values of the zip64 field for those that are full (APPNOTE 4.5.3)."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == _ZIP64_EXTRA:
            field = extra[at + 4 : at + 4 + size]
            found = []
            for value in wanted:
                full = value == _FULL32
                if full and len(field) < 8:  # noqa: PLR2004 - one 64-bit value
                    msg = "a zip64 field is too short"
                    raise DamageError(msg)
                found.append(struct.unpack_from("<Q", field)[0] if full else value)
                field = field[8:] if full else field
            return found
        at += 4 + size
    return wanted


def _end(source: Source) -> tuple[int, int, int, int]:
    """Number of entries, size and offset of the directory, and where it should end."""
    tail_at = max(0, source.size - _TAIL)
    tail = source.read_at(tail_at, source.size - tail_at)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _EOCD.size:
        msg = "has no end-of-directory record: not a zip archive, or cut off"
        raise DamageError(msg)
    fields = _EOCD.unpack_from(tail, at)
    count, size, offset, end = fields[4], fields[5], fields[6], tail_at + at
    if count == _FULL16 or _FULL32 in {size, offset}:
        locator = source.read_at(max(0, end - _LOCATOR.size), _LOCATOR.size)
        if len(locator) == _LOCATOR.size and locator[:4] == b"PK\6\7":
            place = _LOCATOR.unpack(locator)[2]
            record = source.read_at(place, _EOCD64.size)
            if len(record) < _EOCD64.size or record[:4] != b"PK\6\6":
                msg = "has no zip64 record where it should be"
                raise DamageError(msg)
            wide = _EOCD64.unpack(record)
            count, size, offset, end = wide[7], wide[8], wide[9], place
    return count, size, offset, end


def _entries(directory: bytes, count: int, shift: int) -> Iterator[Entry]:
    at = 0
    for _ in range(count):
        if at + _CENTRAL.size > len(directory) or directory[at : at + 4] != b"PK\1\2":
            msg = "the directory is cut off or damaged"
            raise DamageError(msg)
        fields = _CENTRAL.unpack_from(directory, at)
        flags, method, crc = fields[3], fields[4], fields[7]
        name_size, extra_size, comment = fields[10], fields[11], fields[12]
        name = directory[at + _CENTRAL.size : at + _CENTRAL.size + name_size]
        start = at + _CENTRAL.size + name_size
        size, packed, header = _zip64(
            directory[start : start + extra_size], [fields[9], fields[8], fields[16]]
        )
        yield Entry(
            path=_text(name, flags),
            method=method,
            flags=flags,
            crc=crc,
            compressed=packed,
            size=size,
            header=header + shift,
        )
        at = start + extra_size + comment


def _faults(entries: list[Entry], end: int) -> Iterator[tuple[str, str]]:
    """Names that occur twice, and members that share bytes (David Fifield's zip bomb)."""
    seen: set[str] = set()
    last = 0
    for entry in sorted(entries, key=lambda e: e.header):
        if entry.path in seen:
            yield entry.path, "is in the archive twice"
        seen.add(entry.path)
        stop = entry.header + _LOCAL.size + entry.compressed
        if entry.header < last or stop > end:
            yield entry.path, "overlaps another member or the directory"
        last = max(last, stop)


def open_archive(source: Source) -> Archive:
    """Read the directory of an archive; DamageError if there is none that can be read."""
    count, size, offset, end = _end(source)
    if count > MAX_MEMBERS or size > _MAX_DIRECTORY:
        msg = f"has {count} members in a directory of {size} bytes: beyond all measure"
        raise DamageError(msg)
    shift = end - size - offset
    if shift < 0:
        msg = "the directory lies outside the file"
        raise DamageError(msg)
    directory = source.read_at(offset + shift, size)
    entries = list(_entries(directory, count, shift))
    total = sum(e.size for e in entries)
    if total > MAX_TOTAL:
        msg = f"has {count} members of {total} bytes: beyond all measure"
        raise DamageError(msg)
    files = tuple(e for e in entries if not e.path.endswith("/"))
    damage = tuple(_faults(list(files), offset + shift))
    return Archive(source, files, damage)
