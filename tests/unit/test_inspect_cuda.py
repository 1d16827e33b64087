"""CUDA fat binaries: containers, images and kernels, as nvcc wrote them and as nobody should."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import lz4.block  # type: ignore[import-untyped]
import pytest
import zstandard

from wheelgrid.inspect.gpu import cubin, cuda, payload
from wheelgrid.inspect.gpu.coverage import Coverage, Group, cover
from wheelgrid.inspect.gpu.cuda import MAGIC, Container, Image, ImageKind, read_container
from wheelgrid.inspect.gpu.payload import Budget
from wheelgrid.inspect.stream import ByteStream

FIXTURES = Path(__file__).parent.parent / "fixtures" / "cuda"
KERNELS = ("_Z3addIdEvPT_S0_", "_Z3addIfEvPT_S0_", "_Z5callsPi", "plain")
PTX = b".version 9.5\n.target sm_120\n.visible .entry one(\n)\n{\nret;\n}\n"
MODES = ["plain.fatbin", "lz4.fatbin", "zstd.fatbin", "concat.fatbin"]


def open_stream(data: bytes, chunk: int = 1000) -> ByteStream:
    return ByteStream(data[at : at + chunk] for at in range(0, len(data), chunk))


def read(data: bytes, *, kernels: bool = True, budget: Budget | None = None) -> Container:
    found = read_container(open_stream(data), kernels=kernels, budget=budget)
    assert found is not None
    return found


def find_all(data: bytes) -> Iterator[Container]:
    at = data.find(MAGIC)
    while at >= 0:
        stream = open_stream(data[at:])
        found = read_container(stream, kernels=True)
        if found is not None:
            yield found
        at = data.find(MAGIC, at + max(stream.offset, 1))


def entry(
    body: bytes, *, kind: int = 1, sm: int = 120, flags: int = 0x11, size: int = 0, isa: int = 9
) -> bytes:
    """An entry as nvcc lays it out; with a size the body counts as compressed."""
    padded = body + bytes(-len(body) % 8)
    packed = len(body) if size else 0
    head = struct.pack("<HHIQIIHHI", kind, 0x0101, 64, len(padded), packed, 0, 5, isa, sm)
    return head + struct.pack("<8xQ8xQ", flags, size) + padded


def container(*entries: bytes, size: int | None = None) -> bytes:
    body = b"".join(entries)
    return MAGIC + struct.pack("<Q", len(body) if size is None else size) + body


def make_cubin(
    kernels: list[bytes],
    *,
    functions: tuple[bytes, ...] = (),
    lead: bytes = b"\0.shstrtab\0.strtab\0.symtab",
    again: bytes = b"\0.shstrtab\0.strtab\0.symtab",
    gap: int = 0,
    tables_last: bool = False,
    stripped: bool = False,
) -> bytes:
    """An ELF image with .shstrtab, .strtab and .symtab, in that order, before or after code."""
    code = bytes(range(1, 255)) * 8
    names = lead + b"".join(b"\0.text." + name for name in [*kernels, *functions]) + b"\0"
    strings = again + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 3, 0, 1, 0, 0)
    for name in [*kernels, *functions]:
        other = 0x10 if name in kernels else 0
        symbols += struct.pack("<IBBHQQ", len(strings), 0x12, other, 5, 0, 8)
        strings += name + b"\0"
    at = 64 + (len(code) if tables_last else 0)
    names_at, strings_at = at, at + len(names) + gap
    symbols_at = (strings_at + len(strings) + 7) // 8 * 8
    tables = names + bytes(gap) + strings
    tables += bytes(symbols_at - at - len(tables)) + symbols
    body = code + tables if tables_last else tables + b"\xff" * 8 + code
    sections = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 3, 0, 0, names_at, len(names), 0, 0, 1, 0),
        (1, 3, 0, 0, strings_at, len(strings), 0, 0, 1, 0),
        (1, 1 if stripped else 2, 0, 0, symbols_at, len(symbols), 2, 0, 8, 24),
    ]
    head = struct.pack("<4sBBB9x", b"\x7fELF", 2, 1, 1)
    place = 64 + len(body)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, place, 0, 64, 56, 0, 64, 4, 1)
    return head + body + b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections)


def kernels_of(image: bytes, budget: Budget | None = None) -> tuple[str, ...] | None:
    return read(container(entry(image, kind=2, isa=1)), budget=budget).images[0].kernels


@pytest.mark.parametrize("name", MODES)
def test_every_way_of_storing_reads_alike(name: str) -> None:
    """Targets, versions and kernels do not depend on compression."""
    (found,) = find_all((FIXTURES / name).read_bytes())
    images = {(image.kind, image.target): image for image in found.images}
    assert set(images) == {
        (ImageKind.ELF, "sm_75"),
        (ImageKind.ELF, "sm_90a"),
        (ImageKind.ELF, "sm_100f"),
        (ImageKind.ELF, "sm_120"),
        (ImageKind.PTX, "compute_120"),
    }
    assert {image.kernels for image in found.images} == {KERNELS}
    assert {image.isa for image in found.images if image.kind is ImageKind.ELF} == {(1, 8)}
    assert images[ImageKind.PTX, "compute_120"].isa == (9, 5)
    assert (found.damage, found.other) == ("", ())


def test_compression_and_sizes_are_reported() -> None:
    """Sizes are those of the decoded images, with padding where nothing is compressed."""
    sizes = {}
    for name, compression in zip(MODES, ["", "lz4", "zstd", "zstd"], strict=True):
        found = read((FIXTURES / name).read_bytes(), kernels=False)
        elf = [image for image in found.images if image.kind is ImageKind.ELF]
        assert {image.compression for image in elf} == {compression}
        assert {image.kernels for image in found.images} == {None}
        sizes[name] = sorted((image.size + 7) // 8 * 8 for image in elf)
    assert sizes["plain.fatbin"] == sizes["lz4.fatbin"] == sizes["zstd.fatbin"]
    assert sizes["concat.fatbin"] == sizes["plain.fatbin"]


def test_relocatable_code_has_lto_images_without_kernels() -> None:
    """LTO-IR is not looked into; that is None, not an empty list."""
    found = read((FIXTURES / "rdc.fatbin").read_bytes())
    assert {image.target: image.kernels for image in found.images} == {
        "sm_90a": KERNELS,
        "lto_90a": None,
        "compute_90a": KERNELS,
        "lto_100f": None,
    }


def test_library_by_another_toolkit() -> None:
    """Containers in a library: one of the linker's, without kernels, and one of the source."""
    data = (FIXTURES / "cuda130_sharedcudart_sm90_120_ptx.so").read_bytes()
    images = [image for found in find_all(data) for image in found.images]
    named = {image.target for image in images if image.kernels == ("_Z4axpyfPKfPfi",)}
    assert named == {"sm_90", "sm_120", "compute_120"}
    assert {image.target for image in images} == named


def test_stream_is_left_after_the_container() -> None:
    """What follows a container is the next thing to read."""
    data = container(entry(PTX))
    stream = open_stream(b"before" + data + b"after")
    stream.skip(6)
    found = read_container(stream)
    assert found is not None
    assert found.offset == 6
    assert stream.peek(100) == b"after"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        MAGIC,
        MAGIC[:6] + bytes(100),
        bytes(8) + container(entry(PTX)),
        MAGIC + struct.pack("<Q", 500) + bytes(500),
        MAGIC + struct.pack("<Q", 40) + bytes(40),
        container(entry(PTX))[:60],
    ],
)
def test_what_is_no_container_is_not_taken(data: bytes) -> None:
    """The bytes stay, so that others can look at them."""
    stream = open_stream(data)
    assert read_container(stream) is None
    assert stream.offset == 0


def test_empty_container_and_zero_padding() -> None:
    """A container may be empty, and padded with less than an entry."""
    assert read(container()) == Container(offset=0, images=())
    assert read(container(entry(PTX), bytes(8))).damage == ""


@pytest.mark.parametrize(
    ("kind", "sm", "flags", "target"),
    [
        (2, 90, 0x11, "sm_90"),
        (2, 90, 0x100011, "sm_90a"),
        (2, 103, 0x200011, "sm_103f"),
        (1, 121, 0x200011, "compute_121f"),
        (8, 100, 0x110011, "lto_100a"),
    ],
)
def test_suffixes_come_from_flags(kind: int, sm: int, flags: int, target: str) -> None:
    """The number of an SM says nothing of "a" or "f"."""
    found = read(container(entry(PTX, kind=kind, sm=sm, flags=flags)), kernels=False)
    assert [image.target for image in found.images] == [target]


@pytest.mark.parametrize(
    ("kind", "flags", "text"),
    [
        (16, 0x11, "kind 16, SM 120, 64-bit, flags 0x11"),
        (2, 0x10, "elf, SM 120, 32-bit, flags 0x10"),
        (2, 0x300011, "elf, SM 120af, 64-bit, flags 0x300011"),
        (256, 0x11, "kind 256, SM 120, 64-bit, flags 0x11"),
    ],
)
def test_unknown_entries_are_told_not_guessed(kind: int, flags: int, text: str) -> None:
    """They are no images, and the images after them are still read."""
    found = read(container(entry(PTX, kind=kind, flags=flags), entry(PTX)))
    assert found.other == (text,)
    assert [image.kernels for image in found.images] == [("one",)]


def test_unknown_compression_is_told() -> None:
    """A compressed size without a known method is no image."""
    found = read(container(entry(PTX, size=100)))
    assert (found.images, found.other) == ((), ("ptx, SM 120, 64-bit, flags 0x11",))


def test_concatenated_images_must_fill_the_payload() -> None:
    """If headers and payload do not agree, nothing is guessed."""
    data = bytearray((FIXTURES / "concat.fatbin").read_bytes())
    at = data.index(struct.pack("<HH", 0x100, 0x0101))
    data[at + 64] += 1  # the number of images
    found = read(bytes(data))
    assert [text[:8] for text in found.other] == ["kind 256"]


def test_entry_beyond_the_container_ends_it() -> None:
    """The stream stays there, so a container that follows is still found."""
    good = entry(PTX)
    data = container(good, entry(PTX)[:-8], size=len(good) * 2 - 8)
    stream = open_stream(data + container(good))
    found = read_container(stream)
    assert found is not None
    assert len(found.images) == 1
    assert found.damage == f"no entry at {16 + len(good)}"
    assert stream.offset == 16 + len(good)


def test_too_many_entries_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is said to be there, and is skipped."""
    monkeypatch.setattr(cuda, "_MOST_ENTRIES", 3)
    stream = open_stream(container(*[entry(PTX)] * 5))
    found = read_container(stream)
    assert found is not None
    assert (len(found.images), found.damage) == (3, "more than 3 entries")
    assert stream.peek(1) == b""


def test_container_that_ends_early_keeps_what_was_read() -> None:
    """The images before are told, and that something is missing."""
    found = read(container(entry(PTX), entry(PTX))[:-50])
    assert len(found.images) == 2
    assert "ends early" in found.damage


def zstd(data: bytes, level: int = 3, window: int = 0) -> bytes:
    options = zstandard.ZstdCompressionParameters.from_level(level, window_log=window)
    work = zstandard.ZstdCompressor(compression_params=options).compressobj()
    return work.compress(data) + work.flush()


@pytest.mark.parametrize(
    ("body", "flags", "size", "fault"),
    [
        (b"nonsense", 0x8011, len(PTX), "zstd"),
        (zstd(PTX), 0x8011, len(PTX) + 1, f"{len(PTX)} bytes decoded, {len(PTX) + 1}"),
        (zstd(PTX, window=27), 0x8011, len(PTX), "zstd"),
        (b"nonsense", 0x2011, len(PTX), "lz4"),
        (lz4.block.compress(PTX, store_size=False), 0x2011, len(PTX) - 1, "lz4"),
        (b"no such text" * 9, 0x11, 0, "no PTX text"),
    ],
)
def test_damaged_payload_leaves_kernels_unknown(
    body: bytes, flags: int, size: int, fault: str
) -> None:
    """The image is told without kernels; images after it are read."""
    found = read(container(entry(body, flags=flags, size=size), entry(PTX)))
    assert [image.kernels for image in found.images] == [None, ("one",)]
    assert found.damage.startswith(f"kernels of compute_120 at 80 not listed: {fault}")


def test_budget_bounds_decoding_and_names() -> None:
    """What is spent for one container is not there for the next."""
    data = container(entry(PTX))
    assert "too many bytes" in read(data, budget=Budget(decoded=10)).damage
    assert "too many kernel names" in read(data, budget=Budget(names=2)).damage
    shared = Budget(decoded=5000)
    assert read(data, budget=shared).damage == ""
    assert "too many bytes" in read(data, budget=shared).damage


def test_many_faults_are_counted() -> None:
    """The text about damage stays short."""
    found = read(container(*[entry(b"no such text")] * 9))
    assert found.damage.endswith("; 6 more")
    assert found.damage.count("compute_120") == 3


@pytest.mark.parametrize("seed", range(6))
def test_large_lz4_blocks_decode_like_small_ones(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks that do not fit into memory are decoded through a window."""
    dice = random.Random(seed)
    words = [dice.randbytes(dice.randrange(1, 300)) for _ in range(40)]
    data = b"".join(dice.choice(words) * dice.choice([1, 1, 700]) for _ in range(200))
    text = PTX + b"// " + data.replace(b"\n", b"").replace(b".entry", b"")[: 1 << 18] + b"\n" + PTX
    text = text.replace(b"one", b"two", 1)
    packed = lz4.block.compress(text, store_size=False)
    monkeypatch.setattr(payload, "_MOST_AT_ONCE", 0)
    found = read(container(entry(packed, flags=0x2011, size=len(text))))
    assert (found.images[0].kernels, found.damage) == (("one", "two"), "")


@pytest.mark.parametrize(
    ("packed", "fault"),
    [
        (b"\x10a\x00\x00", "match before the start"),
        (b"\x10a\x02\x00", "match before the start"),
        (b"\x90abc", "ends early"),
        (b"\xf0" + b"\xff" * 40_000, "run too long"),
    ],
)
def test_damaged_large_lz4_block(
    packed: bytes, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but its own error leaves the decoder."""
    monkeypatch.setattr(payload, "_MOST_AT_ONCE", 0)
    found = read(container(entry(packed, flags=0x2011, size=1 << 20)))
    assert fault in found.damage


def test_ptx_entries_in_comments_and_strings_do_not_count() -> None:
    """A name may stand in the next line; what only looks like a directive is none."""
    text = (
        b".version 9.0\n// .entry comment(\n"
        b'.file 1 "x.entry string("\n.weak .entry\n\tnext_line(\n)\n{}\n'
        b".visible.entry $tight{}\n.global .b8 a.entry no;\n.entry %odd_name .maxntid 1 {}\n"
        b".entryish five(\n/* .entry six( */\n.entry one()\n.entry one()\n"
    )
    found = read(container(entry(text)))
    assert found.images[0].kernels == ("%odd_name", "next_line", "one")


def test_ptx_names_across_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is lost or cut where pieces end."""
    monkeypatch.setattr("wheelgrid.inspect.gpu.ptx.PIECE", 37)
    names = [f"kernel_{number}" for number in range(200)]
    text = b".version 9.0\n" + b"".join(
        b".visible .entry %b(\n.param .u64 a)\n{\nret;\n}\n" % name.encode() for name in names
    )
    assert read(container(entry(text))).images[0].kernels == tuple(sorted(names))


def test_ptx_with_an_endless_line() -> None:
    """Memory stays bounded, and the fault is told."""
    text = b".version 9.0\n" + b"x" * (2 << 20)
    assert "too long a line" in read(container(entry(text))).damage


LAYOUTS: dict[str, dict[str, Any]] = {
    "cuda 13": {
        "lead": b"\0.shstrtab\0.strtab\0.symtab\0.note.nv.tkinfo",
        "again": b"\0.shstrtab\0.strtab\0.symtab\0.note.nv.tkinfo",
    },
    "notes first": {
        "lead": b"\0.shstrtab\0.strtab\0.symtab\0.note.nv.tkinfo",
        "again": b"\0.note.nv.tkinfo\0.nv.info",
    },
    "cuda 12": {},
    "signatures": {"again": b"\0#v\0#ii\0.shstrtab\0.strtab"},
    "unused names": {"lead": b"\0.shstrtab\0.strtab\0\0\0\0.symtab\0\0\0"},
    "names are not repeated": {"again": b"\0.something"},
}


@pytest.mark.parametrize("gap", [0, 5, 24, 1000])
@pytest.mark.parametrize("tables_last", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_kernels_do_not_depend_on_the_layout(layout: str, *, tables_last: bool, gap: int) -> None:
    """Functions that are no kernels have code, too, and are left out."""
    names = [b"first", b"second", b"_Z5thirdPf"]
    image = make_cubin(
        names, functions=(b"helper",), gap=gap, tables_last=tables_last, **LAYOUTS[layout]
    )
    assert kernels_of(image) == ("_Z5thirdPf", "first", "second")


@pytest.mark.parametrize("layout", ["cuda 13", "cuda 12", "notes first", "signatures"])
def test_known_layouts_are_read_from_the_front(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code behind the tables is neither decoded nor kept."""
    monkeypatch.setattr(cubin, "_from_whole", None)
    image = make_cubin([b"one", b"two"], gap=40, **LAYOUTS[layout])
    budget = Budget()
    before = budget.decoded
    assert kernels_of(image + bytes(1 << 20), budget) == ("one", "two")
    assert before - budget.decoded <= payload.PIECE


def test_large_tables_are_read_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are larger than what is held give the same kernels."""
    names = [b"kernel_%d" % number * 20 for number in range(3000)]
    image = make_cubin(names)
    assert len(image) > payload.PIECE * 3
    monkeypatch.setattr(cubin, "_MOST_HEAD", 100_000)
    assert kernels_of(image) == tuple(sorted(name.decode() for name in names))


@pytest.mark.parametrize("tables_last", [False, True])
def test_long_names_and_large_gaps(*, tables_last: bool) -> None:
    """Templates have names of many kilobytes, tables may lie far apart."""
    names = [b"long" * 5000, b"longer" * 9000]
    image = make_cubin(names, gap=400_000, tables_last=tables_last)
    assert kernels_of(image) == tuple(sorted(name.decode() for name in names))


def test_zeros_that_fill_more_than_a_piece() -> None:
    """The search for the table of symbols goes on where they end."""
    image = make_cubin([b"one"], again=b"\0.shstrtab\0.strtab" + bytes(300_000))
    assert kernels_of(image) == ("one",)


def test_number_of_sections_in_the_first_section() -> None:
    """More than 65,279 sections do not fit into the header, which then says 0."""
    image = bytearray(make_cubin([b"one"], tables_last=True))
    (place,) = struct.unpack_from("<Q", image, 40)
    struct.pack_into("<Q", image, place + 32, struct.unpack_from("<H", image, 60)[0])
    struct.pack_into("<H", image, 60, 0)
    assert kernels_of(bytes(image)) == ("one",)


@pytest.mark.parametrize("tables_last", [False, True])
def test_too_many_kernels(*, tables_last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for the names of one image is bounded, and so is time for all of them."""
    image = make_cubin([b"one", b"two", b"three"], tables_last=tables_last)
    budget = Budget(decoded=12_000)
    assert "too many bytes" in read(container(entry(image, kind=2)), budget=budget).damage
    for module in ("cubin", "ptx"):
        monkeypatch.setattr(f"wheelgrid.inspect.gpu.{module}.MOST_KERNELS", 2)
    assert "too many" in read(container(entry(image, kind=2))).damage
    text = PTX + PTX.replace(b"one", b"two") + PTX.replace(b"one", b"three")
    assert "too many kernels" in read(container(entry(text))).damage


def test_too_many_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that are no kernels are bounded, too."""
    monkeypatch.setattr(cubin, "MOST_KERNELS", 2)
    image = make_cubin([b"one"]) + make_cubin([])
    local = image.replace(b"\x01\0\0\0\x03\0", b"\x01\0\0\0\x02\0")
    assert kernels_of(local) == ("one",)
    names = make_cubin([b"one", b"two"])
    names = names.replace(b"\x01\0\0\0\x03\0", b"\x01\0\0\0\x02\0")
    assert "too many functions" in read(container(entry(names, kind=2))).damage


def test_image_without_code_has_no_kernels() -> None:
    """That is known, unlike kernels that could not be listed."""
    assert kernels_of(make_cubin([])) == ()


@pytest.mark.parametrize(
    ("image", "fault"),
    [
        (b"\x7fELF", "no ELF image"),
        (b"no ELF at all" * 10, "no 64-bit CUDA ELF image"),
        (make_cubin([b"one"]).replace(b"\x7fELF\x02", b"\x7fELF\x01"), "no 64-bit CUDA ELF image"),
        (make_cubin([b"one"], stripped=True, tables_last=True), "no symbols in the image"),
        (make_cubin([b"one"], tables_last=True)[:-80], "damaged ELF image"),
        (make_cubin([b"one"]).partition(b"one")[0] + b"one\0\0.shstrtab\0" + bytes(9999), ""),
    ],
)
def test_damaged_image_leaves_kernels_unknown(image: bytes, fault: str) -> None:
    """The fault is told with the target."""
    found = read(container(entry(image, kind=2)))
    assert found.images[0].kernels is None
    assert f"kernels of sm_120 at 80 not listed: {fault}" in found.damage


def test_image_too_large_for_its_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would have to be copied is bounded."""
    monkeypatch.setattr(cubin, "_MOST_WHOLE", 1000)
    found = read(container(entry(make_cubin([b"one"], tables_last=True), kind=2)))
    assert "too large for its layout" in found.damage


def test_lists_of_kernels_are_shared() -> None:
    """Images of one container name the same kernels: memory is spent once."""
    first, second = read(container(entry(PTX), entry(PTX, sm=90))).images
    assert first.kernels is second.kernels


@pytest.mark.parametrize("name", [*MODES, "rdc.fatbin"])
def test_truncated_containers_never_crash(name: str) -> None:
    """Wherever the file ends, a record or nothing comes back."""
    data = (FIXTURES / name).read_bytes()
    dice = random.Random(name)
    whole = read(data)
    for _ in range(150):
        size = dice.randrange(len(data))
        found = read_container(open_stream(data[:size]), kernels=True)
        if found is not None:
            assert found.damage
            pairs = zip(found.images, whole.images, strict=False)
            assert all(one == replace(other, kernels=one.kernels) for one, other in pairs)


@pytest.mark.parametrize("name", [*MODES, "rdc.fatbin"])
def test_flipped_bits_never_crash(name: str) -> None:
    """A damaged file gives a record, which may be wrong, or nothing; in bounded steps."""
    original = (FIXTURES / name).read_bytes()
    dice = random.Random(name)
    for _ in range(400):
        data = bytearray(original)
        for _ in range(dice.choice([1, 1, 1, 8])):
            at = dice.randrange(dice.choice([len(data), 400]))
            data[at] ^= 1 << dice.randrange(8)
        stream = open_stream(bytes(data))
        found = read_container(stream, kernels=True)
        assert found is not None or stream.offset == 0


def test_flipped_bits_in_tables_never_crash() -> None:
    """Tables of plain images, too, where no checksum of a compressor helps."""
    dice = random.Random(1)
    for layout in LAYOUTS.values():
        for last in (False, True):
            image = make_cubin([b"one", b"two"], tables_last=last, **layout)
            for _ in range(200):
                data = bytearray(image)
                for _ in range(dice.choice([1, 4])):
                    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
                kernels_of(bytes(data))


def make_image(target: str, *kernels: str, kind: ImageKind = ImageKind.ELF) -> Image:
    return Image(kind=kind, target=target, isa=(1, 8), kernels=tuple(kernels))


def key(target: str, kind: ImageKind = ImageKind.ELF) -> tuple[ImageKind, str, tuple[int, int]]:
    return kind, target, (1, 8)


def make_container(*images: Image) -> Container:
    return Container(offset=0, images=images)


def test_kernels_are_grouped_by_their_images() -> None:
    """A kernel that one image lacks is in a group of its own."""
    found = cover([make_container(make_image("sm_80", "a", "b"), make_image("sm_90", "a"))])
    assert found == Coverage(
        groups=(
            Group(images=frozenset({key("sm_80")}), kernels=frozenset("b"), containers=1),
            Group(
                images=frozenset({key("sm_80"), key("sm_90")}), kernels=frozenset("a"), containers=1
            ),
        )
    )


def test_an_image_does_not_help_another_container() -> None:
    """The same name in two containers counts once for each set of images."""
    one, two = make_image("sm_80", "a"), make_image("sm_90", "a")
    found = cover([make_container(one), make_container(two), make_container(two)])
    assert [(group.images, group.containers) for group in found.groups] == [
        (frozenset({key("sm_80")}), 1),
        (frozenset({key("sm_90")}), 2),
    ]
    assert all(group.kernels == {"a"} for group in found.groups)


def test_linker_input_covers_nothing_and_unknown_kernels_are_counted() -> None:
    """LTO-IR cannot be loaded; an image that was not listed leaves its container open."""
    lto = Image(kind=ImageKind.LTO, target="lto_90", isa=(1, 8))
    unknown = Image(kind=ImageKind.ELF, target="sm_90", isa=(1, 8))
    found = cover([make_container(lto, make_image("sm_80", "a")), make_container(unknown)])
    assert [group.images for group in found.groups] == [frozenset({key("sm_80")})]
    assert found.unlisted == 1


def test_containers_without_kernels_make_no_group() -> None:
    """The linker adds such containers to libraries with relocatable code."""
    assert cover([make_container(make_image("sm_80")), make_container()]) == Coverage(groups=())
