"""Metal libraries: system, versions, functions."""

from __future__ import annotations

import random
import struct

import pytest

from wheelgrid.inspect.gpu import metal
from wheelgrid.inspect.stream import ByteStream, TruncatedError


def stream_of(data: bytes, step: int = 100) -> ByteStream:
    return ByteStream(data[at : at + step] for at in range(0, len(data), step))


def function(name: str, air: tuple[int, int], language: tuple[int, int]) -> bytes:
    """One row of the list, with the tags that Apple's compiler writes."""
    text = name.encode() + b"\0"
    tags = b"NAME" + struct.pack("<H", len(text)) + text
    tags += b"TYPE" + struct.pack("<HB", 1, 2)
    tags += b"HASH" + struct.pack("<H", 32) + bytes(32)
    tags += b"VERS" + struct.pack("<HHHHH", 8, *air, *language)
    tags += b"ENDT"
    return struct.pack("<I", 4 + len(tags)) + tags


def library(
    *functions: bytes, platform: int = 0x81, os: tuple[int, int, int] = (14, 0, 0)
) -> bytes:
    """The header that the library of mlx 0.32.4 begins with, and a list of functions."""
    rows = b"".join(functions)
    body = struct.pack("<I", len(functions)) + rows + b"ENDT" + b"bitcode" * 50
    head = b"MTLB" + bytes.fromhex("018002000700") + bytes([0, platform]) + struct.pack("<HBB", *os)
    head += struct.pack("<QQQ", 88 + len(body), 88, len(rows))
    return head.ljust(88, b"\0") + body


LIBRARY = library(
    function("add", (2, 6), (3, 1)),
    function("matmul", (2, 7), (3, 2)),
    function("old", (2, 6), (3, 1)),
)


def test_what_a_library_needs() -> None:
    """The highest versions of any function, and the system of the header."""
    stream = stream_of(LIBRARY + b"after")
    found = metal.read_metallib(stream)
    assert found == metal.Metallib(
        offset=0,
        size=len(LIBRARY),
        platform="macOS",
        os_version=(14, 0, 0),
        air=(2, 7),
        language=(3, 2),
        functions=3,
    )
    assert stream.read(5) == b"after"


def test_names_if_asked() -> None:
    """Functions are Metal's kernels."""
    found = metal.read_metallib(stream_of(LIBRARY), kernels=True)
    assert found is not None
    assert found.names == ("add", "matmul", "old")


@pytest.mark.parametrize(("number", "name"), [(0x82, "iOS"), (0x86, "Mac Catalyst"), (0x99, "")])
def test_platforms(number: int, name: str) -> None:
    """A number that is not known is not guessed."""
    found = metal.read_metallib(stream_of(library(platform=number, os=(17, 4, 1))))
    assert found is not None
    assert (found.platform, found.os_version) == (name, (17, 4, 1))
    assert (found.air, found.language, found.functions) == (None, None, 0)


@pytest.mark.parametrize("data", [b"", b"MTLB", b"MTLB" + b"\0" * 99, b"CTLB" + LIBRARY[4:]])
def test_what_is_no_library(data: bytes) -> None:
    """Nothing is taken."""
    stream = stream_of(data)
    assert metal.read_metallib(stream) is None
    assert stream.offset == 0


def test_a_library_cut_off_says_so() -> None:
    """The header comes first."""
    found = metal.read_metallib(stream_of(LIBRARY[:-9]))
    assert found is not None
    assert (found.platform, found.functions) == ("macOS", 3)
    assert found.damage.startswith("cut off: ")


def test_a_list_that_lies_is_bounded() -> None:
    """Counts and lengths are checked against the list."""
    many = bytearray(LIBRARY)
    many[88:92] = struct.pack("<I", 1 << 31)
    found = metal.read_metallib(stream_of(bytes(many)))
    assert found is not None
    assert found.damage == "more functions than any library has"
    long = bytearray(LIBRARY)
    long[92:96] = struct.pack("<I", 60000)
    found = metal.read_metallib(stream_of(bytes(long)))
    assert found is not None
    assert found.damage == "the list of functions cannot be read"


def test_broken_libraries_never_crash() -> None:
    """Only TruncatedError may leave the reader."""
    draw = random.Random(7)
    for _round in range(2000):
        broken = bytearray(LIBRARY)
        broken[draw.randrange(len(broken))] ^= 1 << draw.randrange(8)
        cut = draw.choice([len(broken), draw.randrange(len(broken))])
        try:
            metal.read_metallib(stream_of(bytes(broken[:cut])), kernels=True)
        except TruncatedError:
            continue
