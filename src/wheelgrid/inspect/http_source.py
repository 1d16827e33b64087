"""A wheel on a server that is asked for parts (RFC 9110).

Of a remote wheel only the parts that are looked at travel: its end with the directory of the
archive, then members in order. A server that knows no ranges sends the whole file, once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator
from types import TracebackType
from typing import IO, Self
from urllib.parse import unquote, urlsplit

from wheelgrid.inspect.remote import Remote
from wheelgrid.inspect.source import SourceError, disk_problem, read_part
from wheelgrid.inspect.web import Client, Pause

__all__ = ["MAX_DOWNLOAD", "HttpSource"]

MAX_DOWNLOAD = 8 << 30
"""Bytes of a file that is fetched whole because its server knows no ranges."""
_MAX_METADATA = 4 << 20
_FIRST_SPAN, _LAST_SPAN = 256 * 1024, 32 << 20
"""Bytes asked for at once: few after a jump, more and more while reads go on in order."""
_GAP = 256 * 1024
"""Bytes that are read and dropped rather than asked for anew."""
_TIMEOUT = 30.0


class HttpSource:
    """A wheel on a server."""

    is_parallel = False

    def __init__(
        self,
        url: str,
        *,
        most: int = MAX_DOWNLOAD,
        timeout: float = _TIMEOUT,
        pause: Pause = time.sleep,
    ) -> None:
        """Ask for the end of the file; SourceError if that fails.

        `most` bounds a file that must be fetched whole, `timeout` (seconds) each silence of the
        server; `pause` waits between attempts.
        """
        client = Client(url, timeout=timeout, pause=pause)
        self.place = client.place
        self.name = unquote(urlsplit(self.place).path.rpartition("/")[2])
        self.notes: tuple[str, ...] = ()
        self._remote = Remote(client)
        self._stream: Generator[bytes] | None = None
        self._file: IO[bytes] | None = None
        self._buffer, self._at = b"", 0
        self._end = self._span = 0
        self.size = self._remote.size or 0
        if not self._remote.ranges:
            self._fetch(most)

    @property
    def transferred(self) -> int:
        """Bytes that came over the network until now."""
        return self._remote.transferred

    def __enter__(self) -> Self:
        """Open until the block ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close connection and temporary file."""
        self._jump(0)
        self._remote.close()
        if self._file is not None:
            self._file.close()

    def _fetch(self, most: int) -> None:
        """The whole file, into a temporary one."""
        self.notes = ("The server knows no ranges: the whole file was fetched.",)
        self.size = 0
        self._file = file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the source
        try:
            self._bound(self._remote.size or 0, most)
            for piece in self._remote.body(0, self._remote.size):
                self.size += len(piece)
                self._bound(self.size, most)
                file.write(piece)
        except BaseException as error:
            file.close()
            self._remote.close()
            if isinstance(error, OSError):
                raise SourceError(self.place, disk_problem(error)) from error
            raise

    def _bound(self, size: int, most: int) -> None:
        if size > most:
            reason = f"the server knows no ranges, and the whole has more than {most} bytes"
            raise SourceError(self.place, reason)

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes there, fewer only at the end of the file; SourceError if none can be had."""
        size = min(size, self.size - offset)
        if size <= 0:
            return b""
        if self._file is not None:
            return read_part(self._file, offset, size)
        start = self.size - len(self._remote.tail)
        if offset >= start:
            return self._remote.tail[offset - start : offset - start + size]
        if not self._at <= offset <= self._at + len(self._buffer) + _GAP:
            self._jump(offset)
        return self._take(offset, size)

    def _jump(self, offset: int) -> None:
        """Go on elsewhere: what runs is dropped, and little is asked for at first."""
        if self._stream is not None:
            self._stream.close()  # the connection with it
        self._stream = None
        self._buffer, self._at = b"", offset
        self._end, self._span = offset, 0

    def _take(self, offset: int, size: int) -> bytes:
        """Bytes in or shortly after the buffer; what lies before them is forgotten."""
        parts, end = [self._buffer], self._at + len(self._buffer)
        while end < offset + size:
            parts.append(self._next(offset + size))
            end += len(parts[-1])
        self._buffer = b"".join(parts)[offset - self._at :]
        self._at = offset
        return self._buffer[:size]

    def _next(self, wanted: int) -> bytes:
        """The next bytes in order; asks for more than is `wanted`, the longer it goes on."""
        while True:
            if self._stream is None:
                self._span = min(max(_FIRST_SPAN, 2 * self._span), _LAST_SPAN)
                start, self._end = self._end, min(self.size, max(self._end + self._span, wanted))
                self._stream = self._remote.body(start, self._end)
            piece = next(self._stream, b"")
            if piece:
                return piece
            self._stream = None

    def metadata(self) -> bytes | None:
        """The wheel's METADATA where the server offers it beside the wheel, else None (PEP 658).

        It is what the server says, not what the wheel holds.
        """
        return self._remote.beside(".metadata", _MAX_METADATA)
