"""SPIR-V modules: found by their header, walked to their end, entry points if asked.

Source: the SPIR-V specification, 2.3 (physical layout: five words, then instructions of which
the first word is word count and opcode) and 2.4 (logical layout: functions come last).
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass, field
from enum import IntEnum

from wheelgrid.inspect.stream import LOOKAHEAD, ByteStream, TruncatedError

__all__ = ["SPIRV_MAGICS", "SpirvModule", "is_spirv", "read_spirv"]

SPIRV_MAGICS = (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")
"""Little and big endian."""
_MAGIC = 0x07230203
_HEADER = 20
_MAX_MINOR = 6
_MAX_BOUND = 1 << 28
_MAX_INSTRUCTIONS = 1 << 25
_MAX_ENTRY_POINTS = 1 << 16
_FIRST = 4096
"""Bytes that are looked at first: most modules are a few thousand bytes, one after another."""
_LONGEST = 4 * 0xFFFF


class _Op(IntEnum):
    """Opcodes that the walk looks at."""

    LINE = 8
    ENTRY_POINT = 15
    CAPABILITY = 17
    FUNCTION = 54
    FUNCTION_END = 56
    NO_LINE = 317


_MARKS = frozenset(
    {int(_Op.ENTRY_POINT), int(_Op.FUNCTION), int(_Op.FUNCTION_END), _MAGIC & 0xFFFF}
)
"""Opcodes that change the walk or may end it; the last is that of a magic, read as a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpirvModule:
    """One module: version (1, 4), size in bytes, how many entry points and, if asked, their names.

    A module without entry points has no kernels: it is empty or a library. `compression` is
    "zstd" where the module lies in a zstd frame; `size` is the module's own.
    """

    offset: int
    version: tuple[int, int]
    size: int
    entries: int
    entry_points: tuple[str, ...] | None = None
    damage: str = ""
    compression: str = ""


@dataclass(slots=True)
class _Walk:
    """Where the walk stands: within a function, behind one, and what was found."""

    kernels: bool
    inside: bool = False
    behind: bool = False
    done: bool = False
    count: int = 0
    entries: int = 0
    names: list[str] = field(default_factory=list)


def _words(data: bytes) -> array[int]:
    """Whole words of little-endian bytes."""
    words = array("I", data[: len(data) & ~3])
    if sys.byteorder == "big":
        words.byteswap()
    return words


def _swapped(data: bytes) -> array[int]:
    words = _words(data)
    words.byteswap()
    return words


def is_spirv(head: bytes) -> bool:
    """Whether 24 bytes are the header of a module, of a version that exists, and a capability."""
    if len(head) < _HEADER + 4 or not head.startswith(SPIRV_MAGICS):
        return False
    words = _words(head) if head.startswith(SPIRV_MAGICS[0]) else _swapped(head)
    version, bound, schema, first = words[1], words[3], words[4], words[5]
    known = version & ~0xFF00 == 1 << 16 and version >> 8 & 0xFF <= _MAX_MINOR
    return known and bound < _MAX_BOUND and not schema and first & 0xFFFF == _Op.CAPABILITY


def _name(words: array[int]) -> str:
    """The literal string at the start of the words."""
    text = words.tobytes() if sys.byteorder == "little" else _swapped(words.tobytes()).tobytes()
    return text.split(b"\0", 1)[0].decode("utf-8", "replace")


def _ends(walk: _Walk, word: int, code: int) -> bool:
    """Whether the module ends before this word."""
    if word < 1 << 16 or (word == _MAGIC and not walk.inside):
        return True
    return walk.behind and code not in {_Op.FUNCTION, _Op.LINE, _Op.NO_LINE}


def _mark(walk: _Walk, code: int, words: array[int]) -> None:
    """Note an instruction, of which these are all words."""
    if code == _Op.FUNCTION:
        walk.inside, walk.behind = True, False
    elif code == _Op.FUNCTION_END:
        walk.inside, walk.behind = False, True
    elif code == _Op.ENTRY_POINT:
        walk.entries += 1
        if walk.kernels and walk.entries <= _MAX_ENTRY_POINTS:
            walk.names.append(_name(words[3:]))


def _step(walk: _Walk, words: array[int]) -> int:
    """Walk over instructions that are whole; how many words they have.

    Libraries hold millions of instructions: of most, only the length is looked at.
    """
    at, end, count, marks = 0, len(words), 0, _MARKS
    behind = walk.behind
    while at < end:
        word = words[at]
        after = at + (word >> 16)
        marked = behind or after == at or word & 0xFFFF in marks
        if marked and _ends(walk, word, word & 0xFFFF):
            walk.done = True
            break
        if after > end:
            break
        if marked:
            _mark(walk, word & 0xFFFF, words[at:after])
            behind = walk.behind
        count += 1
        at = after
    walk.count += count
    return at


def _run(stream: ByteStream, walk: _Walk, *, big: bool) -> str:
    """Take instructions to the end of the module; what is wrong."""
    much = _FIRST
    while not walk.done:
        data = stream.peek(much)
        taken = _step(walk, _swapped(data) if big else _words(data))
        stream.skip(4 * taken)
        if walk.count > _MAX_INSTRUCTIONS:
            return f"more than {_MAX_INSTRUCTIONS} instructions"
        stuck = not taken and (len(data) < much or much == _LONGEST)
        if stuck and not walk.done:
            return "cut off" if data.strip(b"\0") or walk.inside else ""
        more = LOOKAHEAD if much < LOOKAHEAD else _LONGEST
        much = min(4 * much, LOOKAHEAD) if taken else more
    return "cut off" if walk.inside else ""


def read_spirv(stream: ByteStream, *, kernels: bool = False) -> SpirvModule | None:
    """Read the module that the stream stands at; None, and nothing taken, if there is none."""
    head = stream.peek(_HEADER + 4)
    if not is_spirv(head):
        return None
    offset, big = stream.offset, head.startswith(SPIRV_MAGICS[1])
    minor = head[6] if big else head[5]
    walk = _Walk(kernels=kernels)
    try:
        stream.skip(_HEADER)
        damage = _run(stream, walk, big=big)
    except TruncatedError as error:
        damage = str(error)
    return SpirvModule(
        offset=offset,
        version=(1, minor),
        size=stream.offset - offset,
        entries=walk.entries,
        entry_points=tuple(walk.names) if kernels else None,
        damage=damage,
    )
