"""Metal libraries (`.metallib`): for which system, and the versions of AIR and of the language.

Apple has not published the format. What is read here is what two independent readers agree on,
and a library of a known wheel bears out: metallib-dis of libfloor's LLVM and Metal.jl. Fields
that they do not explain are left alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from wheelgrid.inspect.stream import ByteStream, TruncatedError

__all__ = ["MAGIC", "Metallib", "read_metallib"]

MAGIC = b"MTLB"
_HEADER = struct.Struct("<4x7xBHBBQQQ")
_HEADER_SIZE = 88
_PLATFORMS = {
    1: "macOS",
    2: "iOS",
    3: "tvOS",
    4: "watchOS",
    5: "bridgeOS",
    6: "Mac Catalyst",
    7: "iOS simulator",
    8: "tvOS simulator",
    9: "watchOS simulator",
}
_64_BIT = 0x80
_MAX_TABLE = 64 << 20
_MAX_FUNCTIONS = 1 << 18
_MAX_FUNCTION = 1 << 16
_TAG = struct.Struct("<4sH")
_VERSIONS = struct.Struct("<HHHH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metallib:
    """One library. `air` and `language` are the highest that any function needs; None: not said.

    `functions` is their number and `names` are theirs if asked. `platform` and `os_version` are
    what the library was built for; the platform is empty if its number is not known.
    """

    offset: int
    size: int
    platform: str
    os_version: tuple[int, int, int]
    air: tuple[int, int] | None = None
    language: tuple[int, int] | None = None
    functions: int = 0
    names: tuple[str, ...] | None = None
    damage: str = ""


@dataclass(slots=True)
class _Seen:
    """What the functions say."""

    kernels: bool
    functions: int = 0
    air: tuple[int, int] | None = None
    language: tuple[int, int] | None = None
    names: list[str] = field(default_factory=list)


def _tags(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Tags of one function with their bytes, up to the tag that ends them."""
    at = 0
    while at + _TAG.size <= len(data):
        tag, size = _TAG.unpack_from(data, at)
        if tag == b"ENDT":
            return
        yield tag, data[at + _TAG.size : at + _TAG.size + size]
        at += _TAG.size + size


def _take(seen: _Seen, data: bytes) -> None:
    """Take what one function says."""
    for tag, value in _tags(data):
        if tag == b"VERS" and len(value) == _VERSIONS.size:
            air, air_minor, language, minor = _VERSIONS.unpack(value)
            seen.air = max(seen.air or (0, 0), (air, air_minor))
            seen.language = max(seen.language or (0, 0), (language, minor))
        elif tag == b"NAME" and seen.kernels:
            seen.names.append(value.rstrip(b"\0").decode("utf-8", "replace"))


def _functions(stream: ByteStream, size: int, seen: _Seen) -> str:
    """Read the list of functions that the stream stands at; what is wrong with it.

    The size in the header does not count the number of functions, which comes first.
    """
    count = int.from_bytes(stream.read(4), "little")
    end = stream.offset + size
    if count > _MAX_FUNCTIONS or size > _MAX_TABLE:
        return "more functions than any library has"
    for _function in range(count):
        length = int.from_bytes(stream.read(4), "little") - 4
        if not 0 < length <= _MAX_FUNCTION or stream.offset + length > end:
            return "the list of functions cannot be read"
        _take(seen, stream.read(length))
        seen.functions += 1
    return ""


def read_metallib(stream: ByteStream, *, kernels: bool = False) -> Metallib | None:
    """Read the library that the stream stands at; None, and nothing taken, if there is none."""
    head = stream.peek(_HEADER_SIZE)
    if len(head) < _HEADER_SIZE or not head.startswith(MAGIC):
        return None
    platform, major, minor, patch, size, at, length = _HEADER.unpack_from(head)
    if size < _HEADER_SIZE or at < _HEADER_SIZE:
        return None
    begin, seen, damage = stream.offset, _Seen(kernels), ""
    try:
        stream.skip(at)
        damage = _functions(stream, length, seen)
        stream.skip(max(0, begin + size - stream.offset))
    except TruncatedError as error:
        damage = damage or f"cut off: {error}"
    return Metallib(
        offset=begin,
        size=size,
        platform=_PLATFORMS.get(platform & ~_64_BIT, ""),
        os_version=(major, minor, patch),
        air=seen.air,
        language=seen.language,
        functions=seen.functions,
        names=tuple(seen.names) if kernels else None,
        damage=damage,
    )
