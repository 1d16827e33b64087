"""Inflates members in pieces: with ISA-L where it is installed, else with zlib.

ISA-L is 1.4 to 2.3 times faster on wheels; the answers are the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

_engine: Any = zlib
with suppress(ImportError):  # no wheel of isal for this platform
    from isal import isal_zlib

    _engine = isal_zlib

__all__ = ["BACKEND", "CHUNK", "InflateError", "crc32", "inflate", "inflate_whole"]

CHUNK = 256 * 1024
"""Most bytes of one inflated piece."""
BACKEND = "zlib" if _engine is zlib else "isal"
_ERRORS: tuple[type[Exception], ...] = (zlib.error, _engine.error)


_WORTH_IT = 8 * 1024
"""Bytes from which on the faster engine makes up for its larger state."""


class InflateError(Exception):
    """The compressed data is damaged."""


def crc32(data: bytes, value: int = 0) -> int:
    """CRC-32 as zip archives use it."""
    return int(_engine.crc32(data, value))


def inflate(raw: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of a raw deflate stream, at most CHUNK bytes each; InflateError if it is damaged."""
    state = _engine.decompressobj(wbits=-15)
    try:
        for data in raw:
            rest = data
            while rest and not state.eof:
                piece = state.decompress(rest, CHUNK)
                rest = state.unconsumed_tail
                if piece:
                    yield piece
            if state.eof:
                break
        while not state.eof and (piece := state.decompress(b"", CHUNK)):
            yield piece
    except _ERRORS as error:
        raise InflateError(str(error)) from error
    if not state.eof:
        msg = "the compressed data ends too early"
        raise InflateError(msg)


def inflate_whole(raw: bytes, size: int) -> bytes:
    """A small raw deflate stream at once; InflateError if damaged or longer than `size`."""
    engine = _engine if size > _WORTH_IT else zlib
    state = engine.decompressobj(wbits=-15)
    try:
        data: bytes = state.decompress(raw, size + 1)
    except _ERRORS as error:
        raise InflateError(str(error)) from error
    if len(data) > size:
        msg = "holds more than the directory says"
        raise InflateError(msg)
    if not state.eof:
        msg = "the compressed data ends too early"
        raise InflateError(msg)
    return data
