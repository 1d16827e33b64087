"""Archives of kernels for ROCm (`.kpack`): which GPUs they are for.

Source: rocm-kpack's PackedKernelArchive: "KPAK", version (32 bits), place of the table (64 bits),
then kernels, then the table as one MessagePack map with the key "gfx_arches". MessagePack is
read after its specification, and only as far as that key.
"""

from __future__ import annotations

from dataclasses import dataclass

from wheelgrid.inspect.stream import LOOKAHEAD, ByteStream, TruncatedError

__all__ = ["MAGIC", "Kpack", "read_kpack"]

MAGIC = b"KPAK"
_HEADER = 16
_VERSION = 1
_MAX_KEYS = 64
_MAX_TARGETS = 256
_MAX_DEPTH = 8
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_FIXED |= {0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_TEXT = {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xC4: 1, 0xC5: 2, 0xC6: 4}
_LISTS = {0xDC: 2, 0xDD: 4}
_MAPS = {0xDE: 2, 0xDF: 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kpack:
    """One archive: the processors that its table names. `damage` says why there are none."""

    offset: int
    targets: tuple[str, ...]
    damage: str = ""


class _TableError(Exception):
    """The table is not what is expected, or is too large."""


class _Table:
    """A cursor over MessagePack."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _take(self, size: int) -> bytes:
        data = self._data[self._at : self._at + size]
        if len(data) < size:
            raise _TableError("the table is cut off or too long")
        self._at += size
        return data

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size))

    def _size(self, first: int, base: int, count: int, wide: dict[int, int]) -> int:
        """Length of a value whose short form begins at `base`; -1 if it is of another type."""
        if base <= first < base + count:
            return first - base
        return self._number(wide[first]) if first in wide else -1

    def text(self) -> str:
        """A string."""
        size = self._size(self._number(1), 0xA0, 32, _TEXT)
        if size < 0:
            raise _TableError("the table has no text where a name should be")
        return self._take(size).decode("utf-8", "replace")

    def keys(self) -> int:
        """The number of keys in the map that begins here."""
        size = self._size(self._number(1), 0x80, 16, _MAPS)
        if size < 0:
            raise _TableError("the table is no map")
        return size

    def texts(self) -> tuple[str, ...]:
        """A list of strings."""
        size = self._size(self._number(1), 0x90, 16, _LISTS)
        if not 0 <= size <= _MAX_TARGETS:
            raise _TableError("no list of processors")
        return tuple(self.text() for _item in range(size))

    def skip(self, depth: int = 0) -> None:
        """Pass over one value."""
        first = self._number(1)
        if first <= 0x7F or first >= 0xE0 or first in _FIXED:  # noqa: PLR2004 - small numbers
            self._take(_FIXED.get(first, 0))
            return
        size = self._size(first, 0xA0, 32, _TEXT)
        if size >= 0:
            self._take(size)
            return
        many = self._size(first, 0x90, 16, _LISTS)
        many = many if many >= 0 else 2 * self._size(first, 0x80, 16, _MAPS)
        if many < 0 or depth == _MAX_DEPTH:
            raise _TableError("the table has a value of an unknown kind")
        for _item in range(many):
            self.skip(depth + 1)


def _targets(data: bytes) -> tuple[str, ...]:
    table = _Table(data)
    for _key in range(min(table.keys(), _MAX_KEYS)):
        if table.text() == "gfx_arches":
            return tuple(dict.fromkeys(table.texts()))
        table.skip()
    raise _TableError("the table names no processors")


def read_kpack(stream: ByteStream) -> Kpack | None:
    """Read the archive that the stream stands at, to its end; None if there is none."""
    head = stream.peek(_HEADER)
    if len(head) < _HEADER or not head.startswith(MAGIC):
        return None
    offset, at = stream.offset, int.from_bytes(head[8:], "little")
    version = int.from_bytes(head[4:8], "little")
    targets: tuple[str, ...] = ()
    damage = "" if version == _VERSION else f"version {version} is not known"
    try:
        if not damage:
            stream.skip(max(at, _HEADER))
            targets = _targets(stream.peek(LOOKAHEAD))
    except (TruncatedError, _TableError) as error:
        damage = str(error)
    stream.drain()
    return Kpack(offset=offset, targets=targets, damage=damage)
