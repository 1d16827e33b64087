"""Names of the kernels in a CUDA ELF image (cubin).

A kernel is a defined function whose symbol carries STO_CUDA_ENTRY. Its code is in a section
`.text.<name>`. An image may be hundreds of megabytes large, while the toolkits put the tables
first: .shstrtab, .strtab and .symtab follow the header, and only the section headers that say so
are at the end. So the tables are recognised where they are expected, and believed only if they
agree: each `.text.*` section has its function, and each kernel its section. An image
that is laid out otherwise is spooled to disk and read by its section headers.

Sources: System V ABI (gABI) for ELF; `cuobjdump -elf` and elf.h of CUDA-GDB for STO_CUDA_ENTRY.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from wheelgrid.inspect.gpu.payload import MOST_KERNELS, PIECE, Payload, PayloadError
from wheelgrid.inspect.stream import HoleError, Pages, TruncatedError

__all__ = ["list_cubin_kernels"]

_HEADER = struct.Struct("<4sBBB9xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NAME = struct.Struct("<I2xH")
_EM_CUDA = 190
_ENTRY = 0x10
_SHT_SYMTAB = 2
_FUNCTION = re.compile(rb"[\x02\x12\x22\xa2]")
"""st_info of functions: local, global, weak, and unique as CUDA has it."""
_NO_FUNCTION = bytes(set(range(256)) - set(b"\x02\x12\x22\xa2"))
_TEXT = b"\0.text."
_FILLED = re.compile(rb"[^\0]")
_FIRST_NAME = b"\0.shstrtab\0"
_NOTE_NAME = b"\0.note.nv.tkinfo\0"
_NOTE_WITHIN = 256
_MOST_HEAD = 8 << 20
_MOST_WHOLE = 512 << 20
_MOST_NAMES = 16 << 20
_NAME_PART = 4096
_SYMBOLS_AT_ONCE = 40_000 * 24
_MOST_SECTIONS = 1 << 20


def _spend(payload: Payload, kinds: bytes | bytearray) -> None:
    """Pay for looking at the functions among symbols of these kinds."""
    payload.spend(len(kinds.translate(None, _NO_FUNCTION)))


class _Head:
    """The front of an image, decoded as far as it was needed."""

    def __init__(self, payload: Payload) -> None:
        self.data = bytearray()
        self.payload = payload

    def has(self, size: int) -> bool:
        """Whether there are `size` bytes, within what a head may be large."""
        while len(self.data) < size:
            piece = self.payload.read(PIECE) if size <= _MOST_HEAD else b""
            if not piece:
                return False
            self.data += piece
        return True

    def search(self, pattern: re.Pattern[bytes], start: int) -> int:
        """The place of the first matching byte at or after `start`; -1 if it is not in the head."""
        while (match := pattern.search(self.data, start)) is None:
            start = len(self.data)
            if not self.has(len(self.data) + 1):
                return -1
        return match.start()

    def find(self, wanted: bytes, start: int) -> int:
        """The place of these bytes at or after `start`; -1 if they are not in the head."""
        while (at := self.data.find(wanted, start)) < 0:
            start = max(start, len(self.data) - len(wanted) + 1)
            if not self.has(len(self.data) + 1):
                return -1
        return at


class _Functions:
    """Functions, gathered from symbols: names of kernels, places of the names of others.

    The table of names is the part of the head from `start` to `end`.
    """

    def __init__(self, head: _Head, start: int, end: int) -> None:
        self.kernels: set[bytes] = set()
        self._head = head
        self._data = head.data
        self._start = start
        self._end = end
        self._kernels: set[int] = set()
        self._others: set[int] = set()

    def add(self, records: bytearray) -> bool:
        """Take the functions among the symbols; False if one of them cannot be a symbol."""
        marks = records[5 :: _SYMBOL.size]
        kinds = records[4 :: _SYMBOL.size]
        _spend(self._head.payload, kinds)
        for match in _FUNCTION.finditer(kinds):
            index = match.start()
            name, section = _NAME.unpack_from(records, index * _SYMBOL.size)
            at = self._start + name
            # Names that share their end would let a small file claim long names without limit.
            if at >= self._end or self._data[at - 1]:
                return False
            if not marks[index] & _ENTRY:
                self._others.add(at)
            elif section and at not in self._kernels:
                self._kernels.add(at)
                self.kernels.add(self._name(at))
        if len(self._kernels) + len(self._others) > MOST_KERNELS:
            raise PayloadError("too many functions")
        return True

    def cover(self, texts: set[bytes]) -> bool:
        """Whether all these are functions."""
        left = texts - self.kernels
        if len(left) > len(self._others):
            return False
        if left:
            self._head.payload.spend(len(self._others))
            left.difference_update(self._name(at) for at in self._others)
        return not left

    def _name(self, at: int) -> bytes:
        return bytes(self._data[at : self._data.find(0, at, self._end)])


def _find_names(head: _Head) -> int:
    """Where the names of symbols begin, after those of sections; 0 if not found.

    Both tables hold the names of sections, since these have symbols, too: in the second one from
    .shstrtab on, or with newer toolkits from the notes on. Signatures, "#...", may come before.
    """
    if not head.data.startswith(_FIRST_NAME, _HEADER.size):
        return 0
    note = head.data.find(_NOTE_NAME, _HEADER.size, _HEADER.size + _NOTE_WITHIN)
    first, wanted = (note, _NOTE_NAME) if note > 0 else (_HEADER.size, _FIRST_NAME)
    again = head.find(wanted, first + 1)
    return head.data.rfind(b"\0\0", first, again + 1) + 1 if again > 0 else 0


def _find_symbols(head: _Head, start: int) -> int:
    """Where the symbol table begins after the names at `start`; 0 if none is there.

    Its first symbol is blank, as is what aligns it; the second one begins with its name's place.
    """
    blank = head.find(bytes(1 + _SYMBOL.size), start)
    at = head.search(_FILLED, blank) if blank > 0 else -1
    return at // 8 * 8 - _SYMBOL.size if at > 0 else 0


def _list_texts(head: _Head, end: int) -> set[bytes]:
    """What code sections are called after, by the names of sections before `end`."""
    data = head.data
    count = data.count(_TEXT, _HEADER.size, end)
    if count > MOST_KERNELS:
        raise PayloadError("too many sections")
    head.payload.spend(count)
    texts = set()
    at = data.find(_TEXT, _HEADER.size, end)
    while at >= 0:
        last = data.find(0, at + len(_TEXT), end)
        texts.add(bytes(data[at + len(_TEXT) : last]))
        at = data.find(_TEXT, last, end)
    return texts


def _from_head(head: _Head) -> set[bytes] | None:
    """Kernels by the tables at the front; None if these are not as expected."""
    start = _find_names(head)
    if not start:
        return None
    texts = _list_texts(head, start)
    if not texts:  # as a rule a small image; that it has no kernels is worth a second look
        return None
    at = _find_symbols(head, start)
    functions = _Functions(head, start, at)
    while at and head.has(at + _SYMBOL.size):
        size = (len(head.data) - at) // _SYMBOL.size * _SYMBOL.size
        over = not functions.add(head.data[at : at + size])
        if functions.cover(texts):
            return functions.kernels if functions.kernels <= texts else None
        at = 0 if over else at + size
    return None


def _section(pages: Pages, start: int, index: int) -> tuple[int, ...]:
    """One section header of the table at `start`."""
    return _SECTION.unpack(pages.read(start + index * _SECTION.size, _SECTION.size))


def _read_name(pages: Pages, at: int, end: int) -> bytes:
    """The name at this place in a table that ends at `end`."""
    name = b""
    while at < end and b"\0" not in name:
        part = pages.read(at, min(end - at, _NAME_PART))
        at += len(part)
        name += part
    return name.partition(b"\0")[0]


def _kernels_at(pages: Pages, table: tuple[int, ...], payload: Payload) -> Iterator[int]:
    """Where the names of kernels begin in the table of names, by a table of symbols."""
    for start in range(0, table[5], _SYMBOLS_AT_ONCE):
        size = min(table[5] - start, _SYMBOLS_AT_ONCE) // _SYMBOL.size * _SYMBOL.size
        records = pages.read(table[4] + start, size)
        kinds = records[4 :: _SYMBOL.size]
        _spend(payload, kinds)
        for match in _FUNCTION.finditer(kinds):
            name, section = _NAME.unpack_from(records, match.start() * _SYMBOL.size)
            if section and records[match.start() * _SYMBOL.size + 5] & _ENTRY:
                yield name


def _find_tables(pages: Pages, start: int, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The section headers of the symbols and of their names; an image has one such pair."""
    if start and not count:  # more than 65,279: the first section says how many
        count = _section(pages, start, 0)[5]
    for index in range(min(count, _MOST_SECTIONS) if start else 0):
        section = _section(pages, start, index)
        if section[1] == _SHT_SYMTAB and section[6] < count:
            return section, _section(pages, start, section[6])
    raise PayloadError("no symbols in the image")


def _from_pages(pages: Pages, payload: Payload, start: int, count: int) -> set[bytes]:
    """Kernels by the section headers."""
    symbols, names = _find_tables(pages, start, count)
    kernels: set[bytes] = set()
    size = 0
    for at in _kernels_at(pages, symbols, payload):
        kernel = _read_name(pages, names[4] + at, names[4] + names[5])
        kernels.add(kernel)
        size += len(kernel) + _SYMBOL.size
        if size > _MOST_NAMES or len(kernels) > MOST_KERNELS:
            raise PayloadError("too many names")
    return kernels


def _from_whole(head: _Head, payload: Payload, start: int, count: int) -> set[bytes]:
    """Kernels of an image with another layout, by way of a copy on disk."""
    if payload.size > _MOST_WHOLE:
        raise PayloadError("too large for its layout")
    with Pages(payload.size) as pages:
        at = len(head.data)
        for start_of_part in range(0, at, PIECE):
            pages.write(start_of_part, bytes(head.data[start_of_part : start_of_part + PIECE]))
        head.data = bytearray()
        while piece := payload.read(PIECE):
            pages.write(at, piece)
            at += len(piece)
        try:
            return _from_pages(pages, payload, start, count)
        except (TruncatedError, HoleError) as error:
            msg = f"damaged ELF image: {error}"
            raise PayloadError(msg) from error


def list_cubin_kernels(payload: Payload) -> set[bytes]:
    """Names of the kernels; PayloadError if it is no CUDA image or cannot be decoded."""
    head = _Head(payload)
    if not head.has(_HEADER.size):
        raise PayloadError("no ELF image")
    header = _HEADER.unpack_from(head.data)
    if header[:4] != (b"\x7fELF", 2, 1, 1) or header[5] != _EM_CUDA:
        raise PayloadError("no 64-bit CUDA ELF image")
    sections_at, count = header[9], header[15]
    kernels = _from_head(head)
    if kernels is None:
        kernels = _from_whole(head, payload, sections_at, count)
    return kernels
