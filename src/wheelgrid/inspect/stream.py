"""Bytes that pass by once: what parsers of members read from, and what they keep.

A member of a wheel may hold gigabytes. It is inflated once, in order; a parser looks at what is
buffered, takes what it needs and skips the rest. Memory is bounded by the window.
"""

from __future__ import annotations

import bisect
import os
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Protocol, Self

__all__ = ["LOOKAHEAD", "ByteStream", "HoleError", "Pages", "Readable", "TruncatedError"]

LOOKAHEAD = 64 * 1024
"""Bytes that `peek` may ask for, and that are buffered ahead unless the stream ends."""
_IN_MEMORY = 4 << 20
_MOST_READ = 64 << 20


class TruncatedError(Exception):
    """The stream or file ends before the bytes that were asked for."""


class HoleError(Exception):
    """Bytes were asked for that were not kept: from `begin` to `end`."""

    def __init__(self, begin: int, end: int) -> None:
        """Remember the place, so that it can be kept in another pass."""
        super().__init__(f"bytes {begin} to {end} were not kept")
        self.begin = begin
        self.end = end


class Readable(Protocol):
    """Random access to the bytes of a file, of which some may not have been kept."""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        ...

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes; TruncatedError beyond the end, HoleError where none were kept."""
        ...


class ByteStream:
    """A window that moves over chunks of bytes. `offset` is the place of the next byte."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        """Begin at the first chunk."""
        self._chunks = chunks
        self._buffer = b""
        self._at = 0
        self.offset = 0

    def _fill(self, size: int) -> int:
        """Buffer at least `size` bytes if there are so many; how many are buffered."""
        have = len(self._buffer) - self._at
        if have >= size:
            return have
        parts = [self._buffer[self._at :]] if have else []
        for chunk in self._chunks:
            parts.append(chunk)
            have += len(chunk)
            if have >= size:
                break
        self._buffer = parts[0] if len(parts) == 1 else b"".join(parts)
        self._at = 0
        return have

    def peek(self, size: int) -> bytes:
        """The next `size` bytes without taking them; fewer only at the end."""
        self._fill(size)
        return self._buffer[self._at : self._at + size]

    def window(self) -> bytes:
        """All that is buffered: at least LOOKAHEAD bytes, fewer only at the end."""
        self._fill(LOOKAHEAD)
        if self._at:
            self._buffer = self._buffer[self._at :]
            self._at = 0
        return self._buffer

    def read(self, size: int) -> bytes:
        """Take exactly `size` bytes; TruncatedError if the stream ends before."""
        if size > _MOST_READ:
            msg = f"{size} bytes at once"
            raise TruncatedError(msg)
        data = self.peek(size)
        if len(data) < size:
            msg = f"ends at {self.offset + len(data)}, {self.offset + size} was expected"
            raise TruncatedError(msg)
        self._at += size
        self.offset += size
        return data

    def pieces(self, size: int) -> Iterator[bytes]:
        """Take `size` bytes in pieces; TruncatedError if the stream ends before."""
        while size > 0:
            have = self._fill(1)
            if not have:
                msg = f"ends at {self.offset}, {size} more bytes were expected"
                raise TruncatedError(msg)
            taken = min(have, size)
            piece = self._buffer[self._at : self._at + taken]
            self._at += taken
            self.offset += taken
            size -= taken
            yield piece

    def skip(self, size: int) -> None:
        """Pass over `size` bytes; TruncatedError if the stream ends before."""
        while size > 0:
            have = self._fill(1)
            if not have:
                msg = f"ends at {self.offset}, {size} more bytes were expected"
                raise TruncatedError(msg)
            taken = min(have, size)
            self._at += taken
            self.offset += taken
            size -= taken

    def drain(self) -> None:
        """Pass over all that is left."""
        while have := self._fill(1):
            self._at += have
            self.offset += have


class Pages:
    """What was kept of a file: a sparse copy, in memory while small, else in a temporary file."""

    def __init__(self, size: int) -> None:
        """Begin with nothing kept of a file of `size` bytes."""
        self.size = size
        self._memory = bytearray(size) if size <= _IN_MEMORY else None
        self._file = None if self._memory is not None else tempfile.TemporaryFile()  # noqa: SIM115
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __enter__(self) -> Self:
        """Open until the block ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the temporary file, which is removed."""
        if self._file is not None:
            self._file.close()

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Keep bytes; calls come in the order of the file."""
        if self._memory is not None:
            self._memory[offset : offset + len(data)] = data
        elif self._file is not None:
            os.pwrite(self._file.fileno(), data, offset)
        if self._ends and self._ends[-1] == offset:
            self._ends[-1] = offset + len(data)
        else:
            self._starts.append(offset)
            self._ends.append(offset + len(data))

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes; TruncatedError beyond the end, HoleError where none were kept."""
        if offset < 0 or size < 0 or offset + size > self.size:
            msg = f"bytes {offset} to {offset + size} of {self.size}"
            raise TruncatedError(msg)
        if not size:
            return b""
        if size > _MOST_READ:
            msg = f"{size} bytes at once"
            raise TruncatedError(msg)
        self.require(offset, size)
        if self._memory is not None:
            return bytes(self._memory[offset : offset + size])
        assert self._file is not None  # noqa: S101 - one of both is always there
        return os.pread(self._file.fileno(), size, offset)

    def require(self, offset: int, size: int) -> None:
        """HoleError unless all of these bytes were kept."""
        at = bisect.bisect_right(self._starts, offset) - 1
        if at < 0 or self._ends[at] < offset + size:
            raise HoleError(offset, offset + size)
