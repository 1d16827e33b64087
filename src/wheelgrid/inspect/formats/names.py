"""Names in the tables of native files, read in small blocks and counted.

Tables of a hostile file can point many times at the same bytes, or at names without end; what one
file may cost is therefore counted, whatever its tables claim.
"""

from __future__ import annotations

import sys

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.stream import Readable

__all__ = ["Budget", "Names"]

_STEPS = 1_000_000
_MEMORY = 20 << 20
_OVERHEAD = 100
"""Bytes that a name costs in the sets that hold it, besides itself."""
_BLOCK = 4096
_LONGEST = 64 * 1024


class Budget:
    """What reading one file may still cost: steps of work and bytes of memory for names."""

    def __init__(self, *, steps: int = _STEPS, memory: int = _MEMORY) -> None:
        """Begin with what a file may cost at most."""
        self.steps = steps
        self.memory = memory

    def step(self, count: int = 1) -> None:
        """Count work, about a microsecond each; NotReadableError once all is spent."""
        self.steps -= count
        if self.steps < 0:
            msg = "more entries in its tables than any library has"
            raise NotReadableError(msg)

    def text(self, raw: bytes) -> str:
        """A name as text that is kept; NotReadableError once the memory for names is spent."""
        name = raw.decode("utf-8", errors="replace")
        self.memory -= sys.getsizeof(name) + _OVERHEAD
        if self.memory < 0:
            msg = "more or longer names than any library has"
            raise NotReadableError(msg)
        return name


class Names:
    """Reads names that end with a zero byte; quick where they are asked for in file order."""

    def __init__(self, pages: Readable, budget: Budget) -> None:
        """Read from a file at the cost of a budget."""
        self._pages = pages
        self._budget = budget
        self._begin = 0
        self._block = b""

    def _fill(self, at: int, size: int) -> None:
        if not (self._begin <= at and at + size <= self._begin + len(self._block)):
            self._block = self._pages.read(at, size)
            self._begin = at

    def starts(self, at: int, end: int, prefix: bytes) -> bool:
        """Whether the bytes at `at`, in a table that ends at `end`, begin so."""
        self._budget.step()
        if at + len(prefix) > end:
            return False
        if not self._begin <= at <= self._begin + len(self._block) - len(prefix):
            self._fill(at, min(_BLOCK, end - at))
        return self._block.startswith(prefix, at - self._begin)

    def get(self, at: int, end: int) -> str:
        """The name at `at` in a table that ends at `end`; NotReadableError if it is cut off."""
        self._budget.step()
        if self._begin <= at < self._begin + len(self._block):
            stop = self._block.find(b"\0", at - self._begin, end - self._begin)
            if stop >= 0:
                return self._budget.text(self._block[at - self._begin : stop])
        for size in (_BLOCK, _LONGEST):
            self._fill(at, max(0, min(size, end - at)))
            first = at - self._begin
            stop = self._block.find(b"\0", first, end - self._begin)
            if stop >= 0:
                return self._budget.text(self._block[first:stop])
        msg = f"the name at {at} has no end"
        raise NotReadableError(msg)
