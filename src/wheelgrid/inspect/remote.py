"""A file on a web server, read by ranges (RFC 9110, 14) where the server knows them.

A body that ends early is truncated: it is said so, and it is resumed where it ended, as long as
the server still has the same file.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import NoReturn

from wheelgrid.inspect.source import SourceError
from wheelgrid.inspect.web import PROTOCOL_ERRORS, Client, Response, failure_text

__all__ = ["Remote"]

_TAIL = 66 * 1024
"""Enough for the end record of a zip archive with the longest comment, and its zip64 locator."""
_PIECE = 128 * 1024
_OK, _PARTIAL, _NOT_SATISFIABLE = 200, 206, 416
_NO_SUFFIX = frozenset({400, 416, 501})
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Identity:
    """What tells one state of a file on a server from the next; servers may say nothing."""

    etag: str
    modified: str

    @classmethod
    def of(cls, response: Response) -> _Identity:
        headers = response.headers
        return cls(etag=headers.get("ETag", ""), modified=headers.get("Last-Modified", ""))

    def condition(self) -> dict[str, str]:
        """If-Range takes a strong tag or a date; of a changed file the server then sends all."""
        value = self.modified if self.etag.startswith("W/") else self.etag or self.modified
        return {"If-Range": value} if value else {}

    def differs(self, other: _Identity) -> bool:
        if self.etag and other.etag:
            return self.etag != other.etag
        return bool(self.modified and other.modified and self.modified != other.modified)


class Remote:
    """One file on a server. `size` is None where the server does not say it.

    `ranges` says whether parts can be had, `tail` holds the last bytes that came with the first
    answer, `transferred` counts the bytes of all bodies.
    """

    def __init__(self, client: Client) -> None:
        """Ask for the end of the file, where archives have their directory."""
        self.client = client
        self.transferred = 0
        self.size: int | None
        self.tail = b""
        self._broken = ""
        response = self._first()
        self._identity = _Identity.of(response)
        self._pending: Response | None = None
        self.ranges = response.status == _PARTIAL
        if not self.ranges:
            self.size = response.length
            self._pending = response
            return
        with response:
            start, end, self.size = self._content_range(response)
            tail = b"".join(self._pieces(response, _TAIL))
        if len(tail) == end - start and end == self.size:
            self.tail = tail

    def _first(self) -> Response:
        try:
            return self._ask(f"bytes=-{_TAIL}", {})
        except SourceError as error:
            # Some servers know ranges, but none that count from the end.
            if error.status not in _NO_SUFFIX:
                raise
            return self._ask(f"bytes=0-{_TAIL - 1}", {})

    def close(self) -> None:
        """Drop an answer that nobody read."""
        if self._pending is not None:
            self._pending.close()

    def body(self, start: int, end: int | None) -> Generator[bytes]:
        """The bytes from `start` up to `end` (None: until the server ends), resumed if it breaks.

        SourceError says how much of it came when it stays truncated, or that the file changed.
        """
        at = start
        while end is None or at < end:
            with self._open(at, end) as response:
                skip = at if response.status == _OK else 0
                for piece in self._pieces(response, None if end is None else end - at + skip):
                    fresh = piece[skip:]
                    skip -= len(piece) - len(fresh)
                    if fresh:
                        at += len(fresh)
                        self.client.progress()
                        yield fresh
            if end is None and not self._broken:
                return
            if end is None or at < end:
                of = "an unknown number of" if end is None else end - start
                cause = f" ({self._broken})" if self._broken else ""
                self.client.failed(f"truncated: {at - start} of {of} bytes came{cause}")

    def beside(self, suffix: str, most: int) -> bytes | None:
        """A small file whose address has a suffix more; None where there is none."""
        response = self.client.find({}, suffix=suffix)
        if response is None:
            return None
        with response:
            data = b"".join(self._pieces(response, most + 1))
        if len(data) > most:
            self.client.fail(f"the file {suffix} beside it is larger than {most} bytes")
        if self._broken or response.length:
            self.client.fail(f"the file {suffix} beside it is truncated")
        return data

    def _open(self, at: int, end: int | None) -> Response:
        """An answer that holds the bytes from `at` on; SourceError if the file is another one."""
        pending, self._pending = self._pending, None
        if pending is not None:
            return pending
        last = "" if end is None else end - 1
        try:
            response = self._ask(f"bytes={at}-{last}", self._identity.condition())
        except SourceError as error:
            if error.status == _NOT_SATISFIABLE:
                self._changed("is shorter now")
            raise
        try:
            self._check(response, at)
        except SourceError:
            response.close()
            raise
        return response

    def _check(self, response: Response, at: int) -> None:
        if self._identity.differs(_Identity.of(response)):
            self._changed("has another ETag or date now")
        if response.status == _PARTIAL:
            start, _end, size = self._content_range(response)
            if size != self.size and self.size is not None:
                self._changed(f"had {self.size} bytes and has {size} now")
            if start != at:
                self.client.fail(f"the server sends bytes from {start}, not from {at}")
        elif response.length != self.size:
            self._changed(f"had {self.size} bytes and has {response.length} now")
        elif self.ranges and at:
            self.client.fail("the server sent ranges and now sends the whole file")

    def _changed(self, how: str) -> NoReturn:
        self.client.fail(f"the file changed on the server while it was read: it {how}")

    def _ask(self, span: str, condition: dict[str, str]) -> Response:
        """Only a whole file (200) or a part (206), not compressed once more, is an answer."""
        response = self.client.get({"Range": span, **condition})
        encoding = response.headers.get("Content-Encoding", "identity")
        if response.status not in {_OK, _PARTIAL} or encoding != "identity":
            response.close()
            self.client.fail(f"the server answers {response.status}, encoding {encoding[:40]}")
        return response

    def _content_range(self, response: Response) -> tuple[int, int, int]:
        """First byte, the one after the last, and the size of the file (RFC 9110, 14.4)."""
        text = response.headers.get("Content-Range", "")
        found = _RANGE.match(text)
        start, last, size = map(int, found.groups()) if found else (1, 0, 0)
        if not start <= last < size:
            self.client.fail(f"the server sends the range {text[:80]!r}")
        return start, last + 1, size

    def _pieces(self, response: Response, most: int | None) -> Iterator[bytes]:
        """The body, at most `most` bytes, until it ends or breaks off; then `_broken` says why."""
        self._broken = ""
        while most is None or most > 0:
            try:
                piece = response.read1(_PIECE if most is None else min(_PIECE, most))
            except PROTOCOL_ERRORS as error:
                self._broken = failure_text(error)
                return
            if not piece:
                return
            self.transferred += len(piece)
            most = None if most is None else most - len(piece)
            yield piece
