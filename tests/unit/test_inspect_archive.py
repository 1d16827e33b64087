"""Archives of wheels: members as streams, and everything that two readers could see differently."""

from __future__ import annotations

import os
import random
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from wheelgrid.inspect.archive import Archive, DamageError, Entry, open_archive
from wheelgrid.inspect.inflate import CHUNK, InflateError, inflate
from wheelgrid.inspect.stream import ByteStream, HoleError, Pages, TruncatedError


def write(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


class InMemory:
    """A source that needs no closing."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.size = len(self.data)

    def read_at(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]


def opened(path: Path) -> Archive:
    return open_archive(InMemory(path))  # type: ignore[arg-type]


def whole(archive: Archive, entry: Entry) -> bytes:
    return b"".join(archive.chunks(entry))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_what_zipfile_says(tmp_path: Path, method: int) -> None:
    members = {
        "a/empty": b"",
        "a/text.py": b"x = 1\n" * 1000,
        "b/zeros.so": bytes(3 * CHUNK + 17),
        "ü.bin": random.Random(1).randbytes(700_000),
    }
    archive = opened(write(tmp_path / "x.whl", members, method))
    assert [e.path for e in archive.entries] == list(members)
    assert {e.path: whole(archive, e) for e in archive.entries} == members
    assert archive.damage == ()


def test_pieces_are_small_even_of_a_bomb(tmp_path: Path) -> None:
    archive = opened(write(tmp_path / "x.whl", {"bomb": bytes(50 << 20)}))
    sizes = [len(piece) for piece in archive.chunks(archive.entries[0])]
    assert sum(sizes) == 50 << 20
    assert max(sizes) <= CHUNK


def test_a_zip64_archive_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for index in range(66_000):
            archive.writestr(f"f{index}", b"")
        with archive.open("last", "w", force_zip64=True) as member:
            member.write(b"data")
    found = opened(path)
    assert len(found.entries) == 66_001
    assert whole(found, found.entries[-1]) == b"data"


def test_a_bit_flip_in_a_member_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "x.whl", {"a": os.urandom(5000)}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    archive = opened(path)
    with pytest.raises(DamageError, match="CRC-32"):
        whole(archive, archive.entries[0])


def test_a_member_that_holds_more_than_said_is_stopped(tmp_path: Path) -> None:
    path = write(tmp_path / "x.whl", {"a": bytes(10_000)})
    data = path.read_bytes()
    at = data.rfind(b"PK\1\2")
    path.write_bytes(data[: at + 24] + struct.pack("<L", 50) + data[at + 28 :])
    archive = opened(path)
    with pytest.raises(DamageError, match="more than the directory says"):
        whole(archive, archive.entries[0])


def test_another_name_in_the_local_header_is_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "x.whl", {"good.py": b"x"})
    data = path.read_bytes()
    path.write_bytes(data.replace(b"good.py", b"evil.py", 1))
    archive = opened(path)
    with pytest.raises(DamageError, match="another name"):
        whole(archive, archive.entries[0])


def test_a_name_that_occurs_twice_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", b"2")
    assert opened(path).damage == (("a", "is in the archive twice"),)


def test_overlapping_members_are_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "x.whl", {"a": b"1" * 100, "b": b"2" * 100}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    second = data.rfind(b"PK\1\2")
    data[second + 42 : second + 46] = struct.pack("<L", 10)
    path.write_bytes(data)
    assert ("b", "overlaps another member or the directory") in opened(path).damage


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no end-of-directory"),
        (b"not a zip" * 100, "no end-of-directory"),
        (b"PK\5\6" + bytes(16) + b"\xff\xff", None),
        (b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 9, 9, 1 << 30, 0, 0), "beyond all measure"),
        (b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 9, 9, 500, 0, 0), "outside the file"),
    ],
)
def test_no_directory_is_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(content)
    if message is None:
        assert opened(path).entries == ()
        return
    with pytest.raises(DamageError, match=message):
        opened(path)


def test_a_count_beyond_all_measure_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(
        struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 10**12, 10**12, 46, 0)
        + struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
        + b"PK\5\6"
        + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    )
    with pytest.raises(DamageError, match="beyond all measure"):
        opened(path)


def test_encrypted_and_unknown_methods_are_said(tmp_path: Path) -> None:
    path = write(tmp_path / "x.whl", {"a": b"x" * 100}, zipfile.ZIP_LZMA)
    archive = opened(path)
    with pytest.raises(DamageError, match="method 14; wheels are stored or deflated"):
        whole(archive, archive.entries[0])
    data = bytearray(write(path, {"a": b"x"}).read_bytes())
    data[data.rfind(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    archive = opened(path)
    with pytest.raises(DamageError, match="encrypted"):
        whole(archive, archive.entries[0])


def test_random_damage_ends_in_damage_or_the_same_bytes(tmp_path: Path) -> None:
    rng = random.Random(20261201)
    members = {f"m{i}": rng.randbytes(300) * 3 for i in range(5)}
    good = write(tmp_path / "good.whl", members).read_bytes()
    path = tmp_path / "x.whl"
    for _ in range(400):
        data = bytearray(good)
        for _flip in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.randint(0, len(data))] if rng.random() < 0.3 else data)
        try:
            archive = opened(path)
            for entry in archive.entries:
                whole(archive, entry)
        except DamageError:
            continue


def test_inflate_agrees_with_zlib_and_names_damage() -> None:
    data = random.Random(3).randbytes(1000) * 2000
    packed = zlib.compressobj(wbits=-15)
    raw = packed.compress(data) + packed.flush()
    pieces = [raw[i : i + 1000] for i in range(0, len(raw), 1000)]
    assert b"".join(inflate(iter(pieces))) == data
    with pytest.raises(InflateError, match="too early"):
        list(inflate(iter(pieces[:-1])))
    with pytest.raises(InflateError):
        list(inflate(iter([b"\xff" * 100])))


def test_a_stream_peeks_reads_skips_and_ends() -> None:
    stream = ByteStream(iter([b"abc", b"", b"defg", b"hi"]))
    assert stream.peek(5) == b"abcde"
    assert stream.read(4) == b"abcd"
    stream.skip(2)
    assert (stream.offset, stream.window()) == (6, b"ghi")
    assert b"".join(stream.pieces(2)) == b"gh"
    with pytest.raises(TruncatedError, match="ends at 9"):
        stream.read(2)
    stream.drain()
    assert (stream.offset, stream.window()) == (9, b"")


@pytest.mark.parametrize("size", [1000, 6 << 20])
def test_pages_give_back_what_was_kept_and_only_that(size: int) -> None:
    with Pages(size) as pages:
        pages.write(0, b"head")
        pages.write(4, b"more")
        pages.write(size - 4, b"tail")
        assert pages.read(0, 8) == b"headmore"
        assert pages.read(size - 4, 4) == b"tail"
        for offset, length in ((7, 2), (500, 1), (size - 5, 5)):
            with pytest.raises(HoleError):
                pages.read(offset, length)
        for offset, length in ((-1, 2), (size - 1, 2), (0, size + 1)):
            with pytest.raises(TruncatedError):
                pages.read(offset, length)
