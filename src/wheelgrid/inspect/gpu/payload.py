"""What is stored in an entry of a fat binary, decoded as a stream and within bounds.

The toolkits store plain bytes, zstd frames (12.8 and later) or one raw LZ4 block without a frame
(before). Decoded images reach hundreds of megabytes, so nothing here holds a whole one: the caller
reads from the front and stops when it knows enough.

Sources: RFC 8878 (zstd), lz4_Block_format.md of the LZ4 project.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import IO, Protocol, cast

import lz4.block  # type: ignore[import-untyped]
import zstandard

from wheelgrid.inspect.gpu.fatbin import Entry
from wheelgrid.inspect.stream import ByteStream

__all__ = ["MOST_KERNELS", "PIECE", "Budget", "Payload", "PayloadError", "open_payload"]

PIECE = 128 * 1024
"""Bytes that readers ask for at once."""
MOST_KERNELS = 100_000
"""Kernels, or other functions, that one image may have."""
_MOST_WINDOW = 16 << 20
_MOST_AT_ONCE = 16 << 20
_MOST_RUN = 8 << 20
_LZ4_WINDOW = 64 * 1024
_LZ4_PRICE = 64
_NAME_PRICE = 4096
_LONG = 15
_CONTINUED = 255
_LEAST_MATCH = 4


class PayloadError(Exception):
    """The payload is damaged, or decoding it would need more than is allowed."""


def _new_zstd() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)


@dataclass(slots=True)
class Budget:
    """What may still be spent on one file: decoded bytes (time), bytes of names kept (memory).

    Work that is slower than decoding counts as more bytes than it reads.
    """

    decoded: int = 16 << 30
    names: int = 24 << 20
    zstd: zstandard.ZstdDecompressor = field(default_factory=_new_zstd, repr=False)
    """The decoder, here because its window of some MiB is worth keeping."""

    def decode(self, size: int) -> None:
        """Spend decoded bytes; PayloadError when all are spent."""
        self.decoded -= size
        if self.decoded < 0:
            raise PayloadError("too many bytes of device code in this file")

    def keep(self, size: int) -> None:
        """Spend bytes of names; PayloadError when all are spent."""
        self.names -= size
        if self.names < 0:
            raise PayloadError("too many kernel names in this file")


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; none only at the end."""
        ...


class Payload:
    """The decoded bytes of an entry, in order; `size` is how many the entry says there are."""

    def __init__(self, reader: _Reader, size: int, *, budget: Budget, price: int = 1) -> None:
        """Decode with `reader`; each byte takes `price` off the budget."""
        self.size = size
        self.taken = 0
        self._reader = reader
        self._budget = budget
        self._price = price

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, none only at the end; PayloadError if they cannot be decoded."""
        try:
            data = self._reader.read(size)
        except (zstandard.ZstdError, MemoryError) as error:
            msg = f"zstd: {error}"
            raise PayloadError(msg) from error
        self.taken += len(data)
        if self.taken > self.size or (not data and self.taken < self.size):
            msg = f"{self.taken} bytes decoded, {self.size} were expected"
            raise PayloadError(msg)
        self._budget.decode(len(data) * self._price)
        return data

    def spend(self, names: int) -> None:
        """Pay for names that are looked at, which costs time as decoding does."""
        self._budget.decode(names * _NAME_PRICE)

    def skip(self, size: int) -> None:
        """Pass over `size` bytes, which may have to be decoded."""
        while size > 0:
            size -= len(self.read(min(size, PIECE)))

    def part(self, size: int) -> Payload:
        """The next `size` bytes as a payload of its own."""
        return Payload(_Limited(self, size), size, budget=self._budget, price=0)


class _Limited:
    """The next bytes of a payload, and no more."""

    def __init__(self, payload: Payload, size: int) -> None:
        self._payload = payload
        self._left = size

    def read(self, size: int, /) -> bytes:
        data = self._payload.read(min(size, self._left)) if self._left else b""
        self._left -= len(data)
        return data


class _Stored:
    """The next bytes of the stream as they are."""

    def __init__(self, stream: ByteStream, size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int = -1, /) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        piece = next(self._stream.pieces(wanted), b"")
        self._left -= len(piece)
        return piece


class _Lz4:
    """A raw LZ4 block of any size through a window of 64 KiB.

    Slow, as it is Python; the library decodes whole blocks only, and those can be too large.
    """

    def __init__(self, source: _Stored) -> None:
        self._source = source
        self._packed = bytearray()
        self._at = 0
        self._out = bytearray()
        self._given = 0

    def _take(self, size: int) -> bytes:
        while len(self._packed) - self._at < size:
            piece = self._source.read(PIECE)
            if not piece:
                raise PayloadError("lz4: ends early")
            self._packed = self._packed[self._at :] + piece
            self._at = 0
        taken = bytes(self._packed[self._at : self._at + size])
        self._at += size
        return taken

    def _length(self, nibble: int) -> int:
        if nibble < _LONG:
            return nibble
        length = _LONG
        while (more := self._take(1)[0]) == _CONTINUED:
            length += more
            if length > _MOST_RUN:
                raise PayloadError("lz4: run too long")
        return length + more

    def _is_over(self) -> bool:
        if self._at < len(self._packed):
            return False
        self._packed, self._at = bytearray(self._source.read(PIECE)), 0
        return not self._packed

    def _copy(self, distance: int, length: int) -> None:
        start = len(self._out) - distance
        if not distance or start < 0:
            raise PayloadError("lz4: match before the start")
        if distance >= length:
            self._out += self._out[start : start + length]
        else:  # the match overlaps what it writes: its period repeats
            period = bytes(self._out[start:])
            self._out += (period * (length // distance + 1))[:length]

    def read(self, size: int, /) -> bytes:
        while len(self._out) - self._given < size and not self._is_over():
            token = self._take(1)[0]
            self._out += self._take(self._length(token >> 4))
            if self._is_over():  # the last sequence has no match
                break
            distance = int.from_bytes(self._take(2), "little")
            self._copy(distance, self._length(token & 15) + _LEAST_MATCH)
        data = bytes(self._out[self._given : self._given + size])
        self._given += len(data)
        if self._given > PIECE + _LZ4_WINDOW:
            old = self._given - _LZ4_WINDOW
            del self._out[:old]
            self._given -= old
        return data


class _WholeLz4:
    """A raw LZ4 block that fits into memory, decoded by the library at the first read."""

    def __init__(self, source: _Stored, packed: int, size: int) -> None:
        self._source = source
        self._packed = packed
        self._size = size
        self._decoded: io.BytesIO | None = None

    def read(self, size: int, /) -> bytes:
        if self._decoded is None:
            block = b"".join(iter(lambda: self._source.read(self._packed), b""))
            try:
                data = lz4.block.decompress(block, uncompressed_size=self._size)
            except (lz4.block.LZ4BlockError, ValueError, MemoryError) as error:
                msg = f"lz4: {error}"
                raise PayloadError(msg) from error
            self._decoded = io.BytesIO(data)
        return self._decoded.read(size)


def open_payload(stream: ByteStream, entry: Entry, budget: Budget) -> Payload:
    """Decode the payload at the stream's place, as far as it will be read.

    The stream moves by as many bytes as that takes, at most to the end of the payload.
    """
    source = _Stored(stream, entry.packed)
    reader: _Reader = source
    price = 1
    if entry.compression == "zstd":
        # It only reads, whatever its annotation says.
        reader = budget.zstd.stream_reader(cast("IO[bytes]", source), read_size=PIECE)
    elif entry.compression == "lz4" and entry.packed + entry.size <= _MOST_AT_ONCE:
        reader = _WholeLz4(source, entry.packed, entry.size)
    elif entry.compression == "lz4":
        reader, price = _Lz4(source), _LZ4_PRICE
    return Payload(reader, entry.size, budget=budget, price=price)
