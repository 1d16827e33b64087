"""Mach-O files are read as dyld reads them; of damaged ones the damage is told."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.macho import MachO, Slice, read_macho
from wheelgrid.inspect.stream import Pages

NATIVE = Path(__file__).parent.parent / "fixtures" / "native"
WANTED = {"PyModule_Create2", "aoti_torch_get_device_type", "optional_feature", "dyld_stub_binder"}
SEGMENT, SYMTAB, DYSYMTAB, INFO_ONLY = 0x19, 0x2, 0xB, 0x80000022
LOAD, WEAK, RPATH, BUILD, MIN_MACOS = 0xC, 0x80000018, 0x8000001C, 0x32, 0x24
FIXUPS, TRIE = 0x80000034, 0x80000033
X86_64, ARM64, I386, PPC = 0x01000007, 0x0100000C, 7, 18


def pages(data: bytes, *holes: tuple[int, int]) -> Pages:
    """A file of which the bytes in `holes` (begin, end) were not kept."""
    kept = Pages(len(data))
    at = 0
    for begin, end in (*holes, (len(data), len(data))):
        kept.write(at, data[at:begin])
        at = end
    return kept


def read(data: bytes) -> MachO:
    return read_macho(pages(data))


def read_one(data: bytes) -> Slice:
    (found,) = read(data).slices
    return found


@pytest.fixture(name="arm64")
def _arm64() -> bytes:
    return (NATIVE / "demo-arm64.so").read_bytes()


@pytest.fixture(name="x86_64")
def _x86_64() -> bytes:
    return (NATIVE / "demo-x86_64.so").read_bytes()


def commands(data: bytes) -> list[tuple[int, int]]:
    """Kind and place of the load commands of a thin 64-bit little-endian file."""
    (count,) = struct.unpack_from("<I", data, 16)
    found, at = [], 32
    for _ in range(count):
        kind, size = struct.unpack_from("<2I", data, at)
        found.append((kind, at))
        at += size
    return found


def without(data: bytes, *kinds: int) -> bytes:
    """The file with load commands of these kinds made unknown ones."""
    changed = bytearray(data)
    for kind, at in commands(data):
        if kind in kinds:
            struct.pack_into("<I", changed, at, 0x7FFF)
    return bytes(changed)


def stripped(data: bytes) -> bytes:
    """The file without a single symbol in its symbol table."""
    changed = bytearray(data)
    for kind, at in commands(data):
        if kind == SYMTAB:
            struct.pack_into("<4I", changed, at + 8, 0, 0, 0, 0)
        elif kind == DYSYMTAB:
            struct.pack_into("<18I", changed, at + 8, *[0] * 18)
    return bytes(changed)


def universal(*images: tuple[int, int, bytes], wide: bool = False) -> bytes:
    """A universal file of images for (CPU type, subtype)."""
    head = struct.pack(">2I", 0xCAFEBABF if wide else 0xCAFEBABE, len(images))
    body, begin = b"", 0x4000
    for cpu, subtype, image in images:
        entry = (cpu, subtype, begin + len(body), len(image), 14)
        head += struct.pack(">2I2QI4x" if wide else ">5I", *entry)
        body += image + bytes(-len(image) % 0x4000)
    return head.ljust(begin, b"\0") + body


def command(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack(order + "2I", kind, 8 + len(body)) + body


def dylib(order: str, kind: int, name: bytes) -> bytes:
    return command(order, kind, struct.pack(order + "4I", 24, 2, 0, 0) + name + b"\0")


def build(
    symbols: list[tuple[bytes, int, int, int]],
    *extra: bytes,
    order: str = "<",
    wide: bool = True,
    cpu: int = X86_64,
) -> bytes:
    """A library with load commands `extra` and symbols of (name, type, section, value)."""
    names, entries = b"\0", b""
    for name, kind, section, value in symbols:
        layout = order + ("I2BHQ" if wide else "I2BHI")
        entries += struct.pack(layout, len(names), kind, section, 0, value)
        names += name + b"\0"
    start = (32 if wide else 28) + sum(map(len, extra)) + 24
    table = command(
        order,
        SYMTAB,
        struct.pack(order + "4I", start, len(symbols), start + len(entries), len(names)),
    )
    magic = 0xFEEDFACF if wide else 0xFEEDFACE
    size = sum(map(len, extra)) + len(table)
    head = struct.pack(order + "7I", magic, cpu, 3, 6, len(extra) + 1, size, 0)
    return head + bytes(4 if wide else 0) + b"".join(extra) + table + entries + names


def test_facts_of_a_library_with_chained_fixups(arm64: bytes) -> None:
    """Values as llvm-objdump prints them for the file."""
    found = read_one(arm64)
    assert (found.arch, found.kind, found.platform) == ("arm64", "library", "macOS")
    assert (found.minimum_os, found.sdk) == ("macOS 14.0", "14.4")
    assert found.install_name == "@rpath/demo.so"
    assert found.needed == ("/usr/lib/libSystem.B.dylib", "/usr/lib/liboptional.dylib")
    assert found.weak == {"/usr/lib/liboptional.dylib"}
    assert found.rpaths == ("@loader_path/lib",)
    assert found.undefined == WANTED
    assert found.entry_points == {"PyInit_demo"}
    assert {(s.segment, s.name): s.size for s in found.sections}["__TEXT", "__text"] == 48
    assert found.damage == ()


def test_facts_of_a_library_with_bind_opcodes(x86_64: bytes) -> None:
    """Older files say the minimum version in a command of its own."""
    found = read_one(x86_64)
    assert (found.arch, found.minimum_version, found.sdk) == ("x86_64", (10, 13, 0), "14.4")
    assert found.undefined == WANTED
    assert found.entry_points == {"PyInit_demo"}
    assert found.weak == {"/usr/lib/liboptional.dylib"}


def test_without_symbols_the_names_are_in_chained_fixups_and_the_trie(arm64: bytes) -> None:
    """The stub binder is only in the symbol table; nothing binds to it."""
    found = read_one(stripped(arm64))
    assert found.undefined == WANTED - {"dyld_stub_binder"}
    assert found.entry_points == {"PyInit_demo"}
    assert found.damage == ()


def test_without_symbols_the_names_are_in_bind_opcodes_and_the_trie(x86_64: bytes) -> None:
    """Names of functions are bound lazily, those of data at once."""
    found = read_one(stripped(x86_64))
    assert found.undefined == WANTED
    assert found.entry_points == {"PyInit_demo"}


def test_without_any_table_it_says_that_symbols_are_not_readable(arm64: bytes) -> None:
    """An empty set of symbols would be a guess."""
    found = read_one(without(arm64, SYMTAB, DYSYMTAB, FIXUPS, TRIE))
    assert found.undefined == frozenset()
    assert found.damage == (
        "symbols: not readable, as there are no symbol table, fixups or bindings",
    )


@pytest.mark.parametrize("wide", [False, True])
def test_slices_of_a_universal_file_are_read_apart(
    arm64: bytes, x86_64: bytes, *, wide: bool
) -> None:
    """Offsets count from the start of the file; all else is as in the thin files."""
    data = universal((X86_64, 3, x86_64), (ARM64, 0, arm64), wide=wide)
    first, second = read(data).slices
    for found, thin in ((first, x86_64), (second, arm64)):
        alone = read_one(thin)
        moved = tuple(replace(s, offset=s.offset + found.offset) for s in alone.sections)
        assert found == replace(alone, offset=found.offset, sections=moved)


def test_a_damaged_slice_leaves_the_others_known(arm64: bytes, x86_64: bytes) -> None:
    """Its CPU is known from the list of slices."""
    first, second = read(universal((X86_64, 3, x86_64[:40]), (ARM64, 0, arm64))).slices
    assert first.arch == "x86_64"
    assert "bytes 32 to" in first.damage[0]
    assert second.entry_points == {"PyInit_demo"}


def test_a_slice_for_another_cpu_than_listed_is_damage(arm64: bytes) -> None:
    """The kernel goes by the list, dyld by the image."""
    (found,) = read(universal((X86_64, 3, arm64))).slices
    assert found.damage == ("an image for arm64 that is listed as x86_64",)


def test_slices_that_overlap_are_damage(arm64: bytes) -> None:
    """Else a small file could claim twenty large images."""
    data = bytearray(universal((ARM64, 0, arm64), (ARM64, 2, arm64)))
    struct.pack_into(">I", data, 8 + 20 + 8, 0x4000)
    assert "in another slice" in read(bytes(data)).slices[1].damage[0]


def test_a_java_class_is_not_a_universal_file() -> None:
    """Both begin with 0xCAFEBABE; the class goes on with its version (here that of Java 21)."""
    with pytest.raises(NotReadableError, match="Java class"):
        read(bytes.fromhex("cafebabe 0000 0041") + bytes(100))


@pytest.mark.parametrize(
    ("order", "wide", "cpu", "arch"),
    [
        ("<", True, ARM64, "arm64"),
        ("<", False, I386, "i386"),
        (">", False, PPC, "ppc"),
        (">", True, 0x01000012, "ppc64"),
        ("<", True, 0x01000063, "CPU type 0x1000063"),
    ],
)
def test_both_widths_and_byte_orders(order: str, cpu: int, arch: str, *, wide: bool) -> None:
    """Fields are in the byte order of the image."""
    extra = [
        dylib(order, LOAD, b"/usr/lib/libc++.1.dylib"),
        command(order, MIN_MACOS, struct.pack(order + "2I", 0x000A0901, 0x000B0000)),
    ]
    symbols = [(b"_PyErr_Clear", 1, 0, 0), (b"_PyInit_old", 0x0F, 1, 64)]
    found = read_one(build(symbols, *extra, order=order, wide=wide, cpu=cpu))
    assert (found.arch, found.needed) == (arch, ("/usr/lib/libc++.1.dylib",))
    assert (found.minimum_os, found.sdk) == ("macOS 10.9.1", "11.0")
    assert found.undefined == {"PyErr_Clear"}
    assert found.entry_points == {"PyInit_old"}


def test_only_undefined_external_symbols_are_undefined() -> None:
    """Debug entries have section 0 too; LIEF 1.0 takes those of data for imports."""
    found = read_one(
        build(
            [
                (b"_debug_entry", 0x20, 0, 0),
                (b"_common", 1, 0, 16),
                (b"_local", 0x0E, 1, 4),
                (b"_prebound", 0x0D, 0, 0),
                (b"__ZN3fooE", 1, 0, 0),
                (b"dyld_stub_binder", 1, 0, 0),
            ]
        )
    )
    assert found.undefined == {"prebound", "_ZN3fooE", "dyld_stub_binder"}


def test_only_a_defined_external_function_is_an_entry_point() -> None:
    """A private one cannot be found by the interpreter, an undefined one is another module's."""
    found = read_one(
        build([(b"_PyInit_a", 0x1F, 1, 4), (b"_PyInit_b", 1, 0, 0), (b"_PyInit_c", 0x0F, 1, 4)])
    )
    assert found.entry_points == {"PyInit_c"}


def test_a_library_is_weak_by_its_command_or_by_a_flag() -> None:
    """Since macOS 15 the linker writes flags where the time stamp was."""
    uses = struct.pack("<5I", 28, 0x1A741800, 0, 0, 1) + b"/a\0"
    found = read_one(
        build([], command("<", LOAD, uses), dylib("<", WEAK, b"/b"), dylib("<", LOAD, b"/c"))
    )
    assert found.needed == ("/a", "/b", "/c")
    assert found.weak == {"/a", "/b"}


def test_of_several_systems_macos_is_the_one_that_counts() -> None:
    """Libraries of the system itself are for macOS and Mac Catalyst at once."""
    catalyst = command("<", BUILD, struct.pack("<4I", 6, 0x000E0000, 0, 0))
    macos = command("<", BUILD, struct.pack("<4I", 1, 0x000B0302, 0x000C0000, 0))
    found = read_one(build([], catalyst, macos))
    assert (found.minimum_os, found.minimum_version) == ("macOS 11.3.2", (11, 3, 2))
    assert read_one(build([], catalyst)).minimum_os == "Mac Catalyst 14.0"


def test_without_a_command_the_minimum_system_is_not_known() -> None:
    """It is not guessed from the CPU."""
    assert read_one(build([])).minimum_os == ""


def test_code_need_not_be_kept(arm64: bytes) -> None:
    """The bytes of __text are a hole; all facts stay."""
    whole = read_one(arm64)
    text = next(s for s in whole.sections if s.name == "__text")
    assert read_macho(pages(arm64, (text.offset, text.offset + text.size))).slices == (whole,)


def test_a_hole_in_the_symbols_is_damage(arm64: bytes) -> None:
    """The load commands are still known."""
    at = next(place for kind, place in commands(arm64) if kind == SYMTAB)
    start, count = struct.unpack_from("<2I", arm64, at + 8)
    (found,) = read_macho(pages(arm64, (start, start + 16 * count))).slices
    assert found.arch == "arm64"
    assert "were not kept" in found.damage[0]
    assert found.undefined == WANTED - {"dyld_stub_binder"}


def test_a_hole_in_the_load_commands_is_an_error(arm64: bytes) -> None:
    """Nothing is known then."""
    with pytest.raises(NotReadableError, match="were not kept"):
        read_macho(pages(arm64, (64, 72)))


def trie_library(trie: bytes) -> bytes:
    """A library whose exports are only in the given trie."""
    start = 32 + 24 + 16
    place = command("<", TRIE, struct.pack("<2I", start + 1, len(trie)))
    return build([], place) + trie


def test_a_trie_that_leads_back_to_its_root_ends() -> None:
    """Each node is visited once."""
    root = b"\0\x02_PyInit_a\0\x00_PyInit_b\0\x18"
    assert read_one(trie_library(root + b"\x02\0\0\0")).entry_points == {"PyInit_b"}


@pytest.mark.parametrize(
    "trie",
    [b"\0\x01_Py\0\x7f", b"\0\x01_PyInit", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"],
)
def test_a_damaged_trie_is_damage(trie: bytes) -> None:
    """A node outside, a name that is cut off, a number without end."""
    assert read_one(trie_library(trie)).damage[0].startswith("exports trie: ")


def many_names(count: int) -> bytes:
    """Names that overlap: each a suffix of one string of 60 kB."""
    start = 32 + 24
    table = command("<", SYMTAB, struct.pack("<4I", start, count, start + 16 * count, 60_001))
    head = struct.pack("<7I", 0xFEEDFACF, X86_64, 3, 6, 1, len(table), 0) + bytes(4)
    entries = b"".join(struct.pack("<I2BHQ", i, 1, 0, 0, 0) for i in range(count))
    return head + table + entries + b"a" * 60_000 + b"\0"


def test_names_cost_no_more_memory_than_allowed() -> None:
    """Twenty thousand names of up to 60 kB would take 600 MB."""
    found = read_one(many_names(20_000))
    assert found.damage == ("symbol table: more or longer names than any library has",)
    assert found.undefined == frozenset()


def test_a_huge_count_of_symbols_ends_at_once(arm64: bytes) -> None:
    """It is compared with the size of the image before anything is read."""
    changed = bytearray(arm64)
    at = next(place for kind, place in commands(arm64) if kind == SYMTAB)
    struct.pack_into("<I", changed, at + 12, 0xFFFFFFFF)
    assert "bytes" in read_one(bytes(changed)).damage[0]


@pytest.mark.parametrize("name", ["demo-arm64.so", "demo-x86_64.so"])
@pytest.mark.parametrize("change", [bytes, stripped])
def test_a_file_cut_off_anywhere_is_told(name: str, change: Callable[[bytes], bytes]) -> None:
    """Only the error of this package leaves."""
    data = change((NATIVE / name).read_bytes())
    told = 0
    for size in (*range(0, 1400, 7), *range(1400, len(data), 501)):
        try:
            told += any(found.damage for found in read(data[:size]).slices)
        except NotReadableError:
            told += 1
    assert told > 100


@pytest.mark.parametrize("name", ["demo-arm64.so", "demo-x86_64.so"])
@pytest.mark.parametrize("change", [bytes, stripped, lambda data: universal((ARM64, 0, data))])
def test_flipped_bits_do_no_harm(name: str, change: Callable[[bytes], bytes]) -> None:
    """Only the error of this package leaves."""
    original = change((NATIVE / name).read_bytes())
    places = [i for i, byte in enumerate(original) if byte]
    chance = random.Random(20)
    for _ in range(1500):
        data = bytearray(original)
        for _ in range(chance.choice((1, 1, 3))):
            data[chance.choice(places)] ^= 1 << chance.randrange(8)
        try:
            assert read(bytes(data)).slices
        except NotReadableError as error:
            assert str(error)  # noqa: PT017 - it says something


@pytest.mark.parametrize("name", ["demo-arm64.so", "demo-x86_64.so"])
def test_another_reader_agrees(name: str) -> None:
    """LIEF reads the same facts, where it is installed."""
    lief = pytest.importorskip("lief")
    path = NATIVE / name
    ours = read_one(path.read_bytes())
    theirs = lief.MachO.parse(str(path)).at(0)
    names = {s.name.removeprefix("_") for s in theirs.imported_symbols}
    assert ours.undefined == names
    libraries = [c for c in theirs.libraries if c.command.name != "ID_DYLIB"]
    assert ours.needed == tuple(c.name for c in libraries)
    assert ours.weak == {c.name for c in libraries if c.command.name == "LOAD_WEAK_DYLIB"}
    assert ours.rpaths == tuple(r.path for r in theirs.rpaths)
    assert {(s.segment, s.name, s.offset, s.size) for s in ours.sections} == {
        (s.segment_name, s.name, s.offset, s.size) for s in theirs.sections
    }
