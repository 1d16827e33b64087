"""Compressed payloads of device code: zstd frames and zlib streams, decoded piece by piece.

Sources: RFC 8878 for the frames and blocks of zstd, RFC 1950 for zlib.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from enum import StrEnum
from typing import Protocol

import zstandard

from wheelgrid.inspect.stream import LOOKAHEAD, ByteStream

__all__ = ["ZSTD_MAGIC", "DamagedError", "Method", "decoded", "head", "looks_like", "pass_over"]

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PIECE = 256 * 1024
_WINDOW = 32 << 20
"""Bytes of the largest window that is decoded whole; the process stays below 64 MiB."""
_HEAD_WINDOW = 1 << 27
"""Only what is decoded of a window is ever touched, so a head may declare a large one."""
_RATIO, _FREE = 256, 4 << 20
"""Code for 25 processors is seen to expand 20 times."""
_MAX_BLOCK = 128 * 1024
_ID_SIZES = (0, 1, 2, 4)
_RAW, _RLE, _CODED = 0, 1, 2


class Method(StrEnum):
    """How a payload is compressed."""

    ZLIB = "zlib"
    ZSTD = "zstd"


class DamagedError(Exception):
    """The payload is not what its method says, or is larger than allowed."""


class _Decompress(Protocol):
    """What zlib gives for a stream; its class has no public name."""

    @property
    def unconsumed_tail(self) -> bytes:
        """Input that was left because enough was decoded."""
        ...

    @property
    def unused_data(self) -> bytes:
        """Input behind the end of the stream."""
        ...

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""
        ...

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        """At most `max_length` decoded bytes."""
        ...


def looks_like(data: bytes, method: Method) -> bool:
    """Whether the bytes begin as a payload of the method does."""
    if method is Method.ZSTD:
        return data.startswith(ZSTD_MAGIC)
    return len(data) > 1 and data[0] & 15 == zlib.DEFLATED and not (data[0] << 8 | data[1]) % 31


def head(data: bytes, method: Method, size: int) -> bytes:
    """At most the first `size` decoded bytes; fewer if `data` holds fewer. DamagedError."""
    try:
        if method is Method.ZLIB:
            return zlib.decompressobj().decompress(data, size)
        reader = zstandard.ZstdDecompressor(max_window_size=_HEAD_WINDOW).stream_reader(
            io.BytesIO(data)
        )
        return reader.read(size)
    except (zlib.error, zstandard.ZstdError, MemoryError) as error:
        raise DamagedError(str(error)) from error


def _frame_header(stream: ByteStream) -> tuple[bytes, bool]:
    """The header of a frame, and whether a checksum ends the frame. RFC 8878, 3.1.1.1."""
    start = stream.peek(5)
    if len(start) < 5 or start[:4] != ZSTD_MAGIC:  # noqa: PLR2004 - magic and descriptor
        raise DamagedError("no zstd frame")
    flags = start[4]
    single = flags >> 5 & 1
    content = (single, 2, 4, 8)[flags >> 6]
    size = 5 + (1 - single) + _ID_SIZES[flags & 3] + content
    return stream.read(size), bool(flags & 4)


def _frame(stream: ByteStream, limit: int) -> Iterator[bytes]:
    """The bytes of one frame, and not one more; at most `limit`."""
    begin = stream.offset
    start, checked = _frame_header(stream)
    yield start
    last = False
    while not last:
        header = stream.read(3)
        word = int.from_bytes(header, "little")
        last, kind, size = bool(word & 1), word >> 1 & 3, word >> 3
        size = 1 if kind == _RLE else size
        if kind not in {_RAW, _RLE, _CODED} or size > _MAX_BLOCK:
            raise DamagedError("not a zstd block")
        if stream.offset - begin + size > limit:
            raise DamagedError("longer than its container")
        yield header + stream.read(size)
    if checked:
        yield stream.read(4)


class _Source:
    """The bytes of a frame as a file, which is what the decoder reads from."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._left = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; empty at the end of the frame."""
        if not self._left:
            self._left = next(self._parts, b"")
        data, self._left = self._left[:size], self._left[size:]
        return data


def _unzstd(stream: ByteStream, limit: int) -> Iterator[bytes]:
    parts = _frame(stream, limit)
    decoder = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        reader = decoder.stream_reader(_Source(parts), read_size=_PIECE)  # type: ignore[arg-type]
        while piece := reader.read(_PIECE):
            yield piece
        for _rest in parts:
            pass
    except (zstandard.ZstdError, MemoryError) as error:
        reason = "needs more memory than allowed" if "memory" in str(error) else str(error)
        raise DamagedError(reason) from error


def _inflated(stream: ByteStream, limit: int) -> Iterator[bytes]:
    decoder: _Decompress = zlib.decompressobj()
    begin = stream.offset
    while not decoder.eof:
        data = stream.peek(LOOKAHEAD)[: limit - (stream.offset - begin)]
        if not data:
            raise DamagedError("ends too early")
        try:
            piece = decoder.decompress(data, _PIECE)
        except zlib.error as error:
            raise DamagedError(str(error)) from error
        stream.skip(len(data) - len(decoder.unconsumed_tail) - len(decoder.unused_data))
        yield piece


def decoded(stream: ByteStream, method: Method, *, limit: int, most: int) -> Iterator[bytes]:
    """The decoded payload in pieces; at the end the stream stands behind the payload.

    `limit` bounds the compressed, `most` the decoded bytes. DamagedError, TruncatedError.
    """
    begin, total = stream.offset, 0
    parts = _unzstd if method is Method.ZSTD else _inflated
    for piece in parts(stream, limit):
        total += len(piece)
        if total > most:
            raise DamagedError("larger than it says")
        if total > _FREE + _RATIO * (stream.offset - begin):
            raise DamagedError("expands more than device code does")
        yield piece


def pass_over(stream: ByteStream, method: Method, *, limit: int, most: int) -> None:
    """Pass over a payload whose size is not written anywhere. DamagedError, TruncatedError."""
    parts = _frame(stream, limit) if method is Method.ZSTD else None
    for _piece in parts or decoded(stream, method, limit=limit, most=most):
        pass
