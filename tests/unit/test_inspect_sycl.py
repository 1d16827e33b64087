"""SYCL device code: SPIR-V modules, archives of ocloc, device binaries, zstd around them."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from wheelgrid.inspect.gpu import intel, sycl
from wheelgrid.inspect.stream import ByteStream, Pages, TruncatedError

MODULE = (Path(__file__).parent.parent / "fixtures" / "gpu" / "sy23.spv").read_bytes()
GEN = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen"


def stream_of(data: bytes, step: int = 1000) -> ByteStream:
    return ByteStream(data[at : at + step] for at in range(0, len(data), step))


def pages_of(data: bytes) -> Pages:
    pages = Pages(len(data))
    pages.write(0, data)
    return pages


def swapped(module: bytes) -> bytes:
    """The module in the other byte order."""
    return struct.pack(f">{len(module) // 4}I", *struct.unpack(f"<{len(module) // 4}I", module))


def member(name: str, data: bytes) -> bytes:
    row = f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n"
    assert len(row) == 60
    return row.encode() + data + b"\n" * (len(data) & 1)


def archive_of(*names: str) -> bytes:
    """As ocloc writes it: a pad before each device."""
    parts = [b"!<arch>\n"]
    for count, name in enumerate(names):
        parts += [member(f"pad_{count}", b" " * 8), member(name, b"\x7fELF" + b"\0" * 997)]
    return b"".join(parts)


def zebin(config: int, machine: int = 205) -> bytes:
    """A device binary of Intel with the note of its product configuration."""
    notes = struct.pack("<III8sI", 8, 4, 1, b"IntelGT\0", 0x4F7)
    notes += struct.pack("<III8sI", 8, 4, 6, b"IntelGT\0", config)
    table = struct.pack("<IIQQQQIIQQ", 0, 7, 0, 0, 64, len(notes), 0, 0, 4, 0)
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    sizes = struct.pack("<HHHHHH", 64, 56, 0, 64, 1, 0)
    rest = struct.pack("<HHIQQQI", 1, machine, 1, 0, 0, 64 + len(notes), 0)
    return head + rest + sizes + notes + table


def sections_of(data: bytes, name: str = GEN, *, kernels: bool = False) -> sycl.SyclCode:
    found = sycl.read_sections([(name, 0, len(data))], pages_of(data), kernels=kernels)
    assert found is not None
    return found


def test_a_module_that_a_compiler_made() -> None:
    """Version and name are what the file says; the end is where the last function ends."""
    stream = stream_of(b"ab" + MODULE + b"\0\0\0\0")
    stream.skip(2)
    found = sycl.read_spirv(stream, kernels=True)
    assert found == sycl.SpirvModule(
        offset=2, version=(1, 4), size=len(MODULE), entries=1, entry_points=("axpy",)
    )
    assert stream.offset == 2 + len(MODULE)


def test_names_only_if_asked() -> None:
    """That there are entry points is known without."""
    found = sycl.read_spirv(stream_of(MODULE))
    assert found is not None
    assert (found.entries, found.entry_points) == (1, None)


def test_the_other_byte_order() -> None:
    """A module may have either."""
    found = sycl.read_spirv(stream_of(swapped(MODULE)), kernels=True)
    assert found is not None
    assert (found.version, found.size, found.entry_points) == ((1, 4), len(MODULE), ("axpy",))


@pytest.mark.parametrize("after", [MODULE, swapped(MODULE)[:400], b"\xff" * 40, b""])
def test_the_end_does_not_depend_on_what_follows(after: bytes) -> None:
    """Functions come last, so another instruction is not the module's."""
    found = sycl.read_spirv(stream_of(MODULE + after))
    assert found is not None
    assert (found.size, found.damage) == (len(MODULE), "")


def test_a_module_without_kernels() -> None:
    """Compilers leave one where a file has no device code: 88 bytes, no function."""
    empty = MODULE[:20] + struct.pack("<2I", 2 << 16 | 17, 6)
    stream = stream_of(empty + MODULE)
    found = [sycl.read_spirv(stream, kernels=True) for _count in range(2)]
    assert [m and (m.size, m.entry_points) for m in found] == [(28, ()), (len(MODULE), ("axpy",))]


def test_a_module_cut_off_says_so() -> None:
    """The entry points are near the start."""
    found = sycl.read_spirv(stream_of(MODULE[:-8]), kernels=True)
    assert found is not None
    assert found.entry_points == ("axpy",)
    assert found.damage == "cut off"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        MODULE[:20],
        b"\x03\x02\x23\x07" + b"\0" * 40,
        MODULE[:4] + struct.pack("<I", 0x10700) + MODULE[8:40],  # no such version
        MODULE[:4] + struct.pack("<I", 0x20000) + MODULE[8:40],
        MODULE[:16] + b"\1" + MODULE[17:40],  # schema
        MODULE[:20] + struct.pack("<I", 2 << 16 | 54) + MODULE[24:40],  # no capability first
    ],
)
def test_what_is_no_module(head: bytes) -> None:
    """Nothing is taken."""
    stream = stream_of(head)
    assert sycl.read_spirv(stream) is None
    assert stream.offset == 0


def test_long_instructions_cross_the_window() -> None:
    """An instruction has up to 65535 words; names of kernels in C++ are long as well."""
    name = b"x" * 200_000 + b"\0" * 4
    entry = struct.pack("<3I", (3 + len(name) // 4) << 16 | 15, 6, 17) + name
    found = sycl.read_spirv(stream_of(MODULE[:28] + entry + MODULE[28:], 5000), kernels=True)
    assert found is not None
    assert found.damage == ""
    assert [len(n) for n in found.entry_points or ()] == [200_000, 4]


def test_devices_of_an_archive() -> None:
    """IP versions are named where Intel's table has them, else shown as they are."""
    names = ["64.12.60.7", "64.12.55.8", "64.bmg", "64.20.2.0", "64.99.1.2", "generic_ir"]
    stream = stream_of(archive_of(*names) + b"\0after")
    found = sycl.read_archive(stream)
    assert found == sycl.OclocArchive(
        offset=0, devices=("pvc", "dg2-g10", "bmg", "bmg-g31", "99.1.2"), generic_ir=True
    )
    assert stream.read(6) == b"\0after"


@pytest.mark.parametrize("head", [b"", b"!<arch>\n", b"!<arch>\n" + member("x.o", b"abc")])
def test_archives_of_objects_are_not_ours(head: bytes) -> None:
    """A static library has the same magic number."""
    stream = stream_of(head)
    assert sycl.read_archive(stream) is None
    assert stream.offset == 0


def test_damage_of_an_archive() -> None:
    """What came before is known."""
    whole = archive_of("64.12.60.7", "64.cri")
    found = sycl.read_archive(stream_of(whole[:-5]))
    assert found is not None
    assert (found.devices, bool(found.damage)) == (("pvc", "cri"), True)
    odd = sycl.read_archive(stream_of(whole + member("notes.txt", b"?")))
    assert odd is not None
    assert odd.damage == "1 members that are not known, such as 'notes.txt'"


@pytest.mark.parametrize(
    "image", [MODULE, archive_of("64.12.60.7", "generic_ir"), zebin(0x30F0007)]
)
def test_images_in_a_zstd_frame(image: bytes) -> None:
    """The offset is the frame's, the rest is the image's."""
    stream = stream_of(b"\0" * 8 + zstandard.compress(image) + b"after")
    stream.skip(8)
    found = sycl.read_wrapped(stream)
    assert found is not None
    assert (found.offset, found.compression, found.damage) == (8, "zstd", "")
    if isinstance(found, sycl.SpirvModule):
        assert (found.version, found.size, found.entries) == ((1, 4), len(MODULE), 1)
    else:
        assert found.devices == ("pvc",)
    assert stream.read(5) == b"after"


def test_frames_of_something_else_are_left() -> None:
    """Data may be compressed as well."""
    stream = stream_of(zstandard.compress(b"a table of numbers" * 99))
    assert sycl.read_wrapped(stream) is None
    assert stream.offset == 0


def test_all_images_of_sections() -> None:
    """Padding between images is passed over; the table of pointers holds no code."""
    first = archive_of("64.12.60.7", "64.12.70.4")
    data = b"\0" * 8 + first + b"\0" * 8 + zstandard.compress(MODULE) + b"\0" * 3 + zebin(0x5004000)
    parts = [(".tgtimg", 0, 8), (GEN, 0, len(data)), ("OFFLOAD_DEVICE_CODE", 8, len(first))]
    found = sycl.read_sections(parts, pages_of(data), kernels=True)
    assert found is not None
    assert found.damage == ()
    assert found.devices == ("pvc", "mtl-u", "bmg-g21")
    assert [m.entry_points for m in found.modules] == [("axpy",)]
    assert [a.offset for a in found.archives] == [8, len(data) - len(zebin(0)), 8]
    assert found.spirv


def test_code_that_runs_anywhere() -> None:
    """SPIR-V with kernels, in an archive or alone; a library without kernels is none."""
    empty = MODULE[:20] + struct.pack("<2I", 2 << 16 | 17, 6)
    assert sections_of(archive_of("64.pvc", "generic_ir")).spirv
    assert not sections_of(archive_of("64.pvc")).spirv
    assert sections_of(MODULE).spirv
    assert not sections_of(empty).spirv


def test_code_for_the_processor() -> None:
    """SYCL for the host's processor is an ELF file of it."""
    assert sections_of(zebin(0, machine=62)).devices == ("x86_64",)


def test_device_binaries_without_a_name_say_so() -> None:
    """Older compilers wrote other notes."""
    data = zebin(0x30F0007).replace(struct.pack("<III", 8, 4, 6), struct.pack("<III", 8, 4, 3))
    found = sections_of(data)
    assert found.devices == ()
    assert found.archives[0].damage == "a device binary that does not name its device"
    assert found.damage == (f"{GEN}: image at 0: {found.archives[0].damage}",)


def test_what_is_not_known_is_said() -> None:
    """Images of other vendors and unknown ones are damage, not silence."""
    assert sections_of(b"BC\xc0\xde" * 9).damage == (f"{GEN}: an image at 0 that is not known",)
    other = "__CLANG_OFFLOAD_BUNDLE__sycl-nvptx64"
    assert sections_of(b"x", other).damage == (f"{other}: code of another vendor, not looked into",)
    assert sycl.read_sections([(GEN, 0, 64)], pages_of(b"\0" * 64)) is None
    assert sycl.read_sections([], pages_of(b"")) is None


def test_bytes_that_were_not_kept() -> None:
    """They are damage as well."""
    pages = Pages(5000)
    pages.write(0, MODULE)
    found = sycl.read_sections([(GEN, 0, 5000)], pages)
    assert found is not None
    assert "were not kept" in found.damage[0]


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"\0-O2 -device pvc,xe-lpg,ats-m150 -options -x\0", ("pvc", "xe-lpg", "ats-m150")),
        (b"\0-device 12.60.7\0-device bmg\0-device bmg\0", ("12.60.7", "bmg")),
        (b"\0-device=lnl-m\0", ("lnl-m",)),
        (b"Usage: -device <name>, or -device to list", ()),
        (b"sycl-devicelib-host", ()),
    ],
)
def test_options_of_the_offline_compiler(data: bytes, names: tuple[str, ...]) -> None:
    """Only names that Intel's table has make it an option, so help texts are none."""
    assert sycl.aot_options(data) == names


@pytest.mark.parametrize(
    ("config", "name"), [(0x030DC008, "dg2-g10"), (0x08C2C000, "cri"), (0x19000004, "100.0.4")]
)
def test_product_configurations(config: int, name: str) -> None:
    """Ten bits, eight bits and the revision."""
    assert intel.device_numbered(config) == name


def hostile(data: bytes, seed: int, rounds: int) -> Iterator[bytes]:
    """Truncations and flipped bits, the same in each run."""
    draw = random.Random(seed)
    for _round in range(rounds):
        broken = bytearray(data)
        for _flip in range(draw.randrange(1, 4)):
            broken[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        cut = draw.choice([len(data), draw.randrange(len(data))])
        yield bytes(broken[:cut])


@pytest.mark.parametrize(
    "image", [MODULE, archive_of("64.12.60.7", "64.bmg"), zebin(0x30F0007), swapped(MODULE)]
)
def test_broken_images_never_crash(image: bytes) -> None:
    """Damage or nothing, with and without a frame; only TruncatedError may leave."""
    readers = (sycl.read_spirv, sycl.read_wrapped)
    for data in (image, zstandard.compress(image)):
        for broken in hostile(data, 5, 300):
            sycl.read_sections([(GEN, 0, len(broken))], pages_of(broken), kernels=True)
            for reader in readers:
                try:
                    reader(stream_of(broken), kernels=True)
                except TruncatedError:
                    continue
