"""Where the bytes of a wheel come from: a file here, or a server (http_source.py)."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, Protocol, Self

from wheelgrid.core.errors import CouldNotCheckError

__all__ = ["FileSource", "Source", "SourceError", "disk_problem", "read_part"]


class SourceError(CouldNotCheckError):
    """The bytes of a wheel could not be had: from where, and why."""

    def __init__(self, place: str, reason: str, *, status: int = 0) -> None:
        """Keep place and reason apart; the place holds no credentials. `status` is of HTTP."""
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason
        self.status = status


class Source(Protocol):
    """Bytes of one wheel; `name` is its file name, `place` where it lies, without credentials."""

    @property
    def name(self) -> str:
        """The last part of path or address."""
        ...

    @property
    def place(self) -> str:
        """Path or address."""
        ...

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        ...

    @property
    def transferred(self) -> int:
        """Bytes that came over the network until now."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of how the bytes came, in sentences."""
        ...

    @property
    def is_parallel(self) -> bool:
        """Whether threads may read side by side; else reads should come in order."""
        ...

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes there, fewer only at the end of the file; SourceError if none can be had."""
        ...

    def __enter__(self) -> Self:
        """Open until the block ends."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close files and connections."""
        ...


class FileSource:
    """A wheel on disk."""

    is_parallel = True
    transferred = 0
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        """Open the file; SourceError if it is none or cannot be read."""
        self.name = path.name
        self.place = str(path)
        try:
            if not path.is_file():
                raise SourceError(self.place, "is not a file")
            self._file = path.open("rb", buffering=0)
            self._lock = Lock()
            self.size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise SourceError(self.place, disk_problem(error)) from error

    def read_at(self, offset: int, size: int) -> bytes:
        """The bytes there, fewer only at the end of the file."""
        try:
            with self._lock:  # threads read members side by side
                return read_part(self._file, offset, size)
        except OSError as error:
            raise SourceError(self.place, disk_problem(error)) from error

    def __enter__(self) -> Self:
        """Open until the block ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._file.close()


def disk_problem(error: OSError) -> str:
    """Why a file on disk cannot be read, in words."""
    return f"cannot be read: {error.strerror or type(error).__name__}"


def read_part(file: IO[bytes], offset: int, size: int) -> bytes:
    """Bytes of an open file, fewer only at its end."""
    file.seek(offset)
    data = file.read(size)
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data
