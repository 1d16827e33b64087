"""Names that a Mach-O library defines for others, of its symbol table (mach-o/loader.h, nlist.h).

For libraries whose exports are the question (libtorch_cpu.dylib): thin 64-bit little-endian images,
which is all that macOS runs today. `macho.py` reads everything else of an image.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.macho_image import plain
from wheelgrid.inspect.stream import Readable

__all__ = ["MAGIC", "iter_defined", "link_data"]

MAGIC = b"\xcf\xfa\xed\xfe"
_HEADER = 32
_MOST_COMMANDS = 60 * 1024
_SYMTAB, _SEGMENT = 0x2, 0x19
_SIZES = {_SYMTAB: 24, _SEGMENT: 72}
"""Bytes that a load command has at least; others hold kind and length."""
_STAB, _PRIVATE, _KIND, _EXTERNAL, _UNDEFINED = 0xE0, 0x10, 0x0E, 0x01, 0x0
_SYMBOL = struct.Struct("<I2BHQ")
_MOST_SYMBOLS = 2_000_000
_MOST_NAMES = 256 << 20
_BLOCK = 1 << 20
_LONGEST = 64 * 1024


def _commands(head: bytes) -> Iterator[tuple[int, bytes]]:
    """Load commands with their kinds; `head` must hold them all."""
    if head[:4] != MAGIC or len(head) < _HEADER:
        msg = "is no thin 64-bit Mach-O image"
        raise NotReadableError(msg)
    count, size = struct.unpack_from("<2I", head, 16)
    if size > min(_MOST_COMMANDS, len(head) - _HEADER):
        msg = f"{size} bytes of load commands"
        raise NotReadableError(msg)
    at, end = _HEADER, _HEADER + size
    for _ in range(count):
        kind, length = struct.unpack_from("<2I", head, at) if at + 8 <= end else (0, 0)
        if length < _SIZES.get(kind, 8) or at + length > end:
            msg = f"a load command of {length} bytes at {at}"
            raise NotReadableError(msg)
        yield kind, head[at : at + length]
        at += length


def link_data(head: bytes) -> tuple[int, int]:
    """Begin and end of __LINKEDIT, in which symbols and their names lie."""
    for kind, data in _commands(head):
        if kind == _SEGMENT and data[8:24].rstrip(b"\0") == b"__LINKEDIT":
            offset, size = struct.unpack_from("<2Q", data, 40)
            return offset, offset + size
    msg = "has no segment __LINKEDIT"
    raise NotReadableError(msg)


def _symtab(pages: Readable) -> tuple[int, int, int, int]:
    """Place and count of symbols, place and size of their names."""
    head = pages.read(0, min(_HEADER + _MOST_COMMANDS, pages.size))
    table = next((data for kind, data in _commands(head) if kind == _SYMTAB), None)
    if table is None:
        msg = "has no symbol table"
        raise NotReadableError(msg)
    symbols, count, names, size = struct.unpack_from("<4I", table, 8)
    if count > _MOST_SYMBOLS or size > _MOST_NAMES:
        msg = f"{count} symbols with {size} bytes of names"
        raise NotReadableError(msg)
    return symbols, count, names, size


def _places(pages: Readable, symbols: int, count: int) -> Iterator[int]:
    """Places of the names of external symbols that are defined here."""
    step, end = _BLOCK - _BLOCK % _SYMBOL.size, symbols + count * _SYMBOL.size
    for at in range(symbols, end, step):
        for name, kind, *_ in _SYMBOL.iter_unpack(pages.read(at, min(step, end - at))):
            if kind & _EXTERNAL and not kind & (_STAB | _PRIVATE) and kind & _KIND != _UNDEFINED:
                yield name


def iter_defined(pages: Readable) -> Iterator[str]:
    """Names defined for others, without the underscore of the C compiler; in file order.

    Raises NotReadableError, or what reading outside of the kept bytes raises.
    """
    symbols, count, names, size = _symtab(pages)
    begin, block = 0, b""
    for at in sorted(set(_places(pages, symbols, count))):
        if at >= size:
            msg = f"a name at {at} of a table of {size} bytes"
            raise NotReadableError(msg)
        stop = block.find(b"\0", at - begin) if at < begin + len(block) else -1
        if stop < 0:
            begin, block = at, pages.read(names + at, min(_BLOCK, size - at))
            stop = block.find(b"\0")
        if not 0 <= stop - (at - begin) <= _LONGEST:
            msg = f"the name at {at} has no end"
            raise NotReadableError(msg)
        yield plain(block[at - begin : stop].decode("utf-8", errors="replace"))
