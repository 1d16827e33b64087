"""PE files are read as the loader of Windows reads them; of damaged ones the damage is told."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.pe import Pe, read_pe
from wheelgrid.inspect.stream import Pages

NATIVE = Path(__file__).parent.parent / "fixtures" / "native"
NAMES = ["demo-x86_64.pyd", "demo-arm64.pyd", "demo-i386.pyd", "demo-mingw.pyd"]
IMPORTS, LOAD_CONFIG, DELAYED, MANAGED = 1, 10, 13, 14


def pages(data: bytes, *holes: tuple[int, int]) -> Pages:
    """A file of which the bytes in `holes` (begin, end) were not kept."""
    kept = Pages(len(data))
    at = 0
    for begin, end in (*holes, (len(data), len(data))):
        kept.write(at, data[at:begin])
        at = end
    return kept


def read(data: bytes) -> Pe:
    return read_pe(pages(data))


def fixture(name: str = "demo-x86_64.pyd") -> bytes:
    return (NATIVE / name).read_bytes()


def header_at(data: bytes) -> int:
    return int(struct.unpack_from("<I", data, 0x3C)[0])


def directory_at(data: bytes, index: int) -> int:
    """Where a data directory of a 64-bit file stands."""
    return header_at(data) + 24 + 112 + 8 * index


def changed(data: bytes, at: int, form: str, *values: int) -> bytes:
    copy = bytearray(data)
    struct.pack_into(form, copy, at, *values)
    return bytes(copy)


def place_of(data: bytes, address: int) -> int:
    """The offset in the file of an address, by the section table."""
    at = header_at(data)
    (count,) = struct.unpack_from("<H", data, at + 6)
    (size,) = struct.unpack_from("<H", data, at + 20)
    for index in range(count):
        fields = struct.unpack_from("<4I", data, at + 24 + size + 40 * index + 8)
        if fields[1] <= address < fields[1] + fields[2]:
            return int(address - fields[1] + fields[3])
    raise AssertionError(address)


def test_facts_of_a_module_for_x86_64() -> None:
    """Values as llvm-readobj prints them for the file."""
    found = read(fixture())
    assert (found.machine, found.is_dll, found.managed, found.hybrid) == (
        "x86_64", True, False, False,
    )  # fmt: skip
    assert found.subsystem == "windows"
    assert (found.subsystem_version, found.os_version) == ((6, 0), (6, 0))
    assert found.linker_version == (14, 0)
    assert found.needed == ("python313.dll", "torch_cpu.dll")
    assert found.delayed == ("optional.dll",)
    assert found.imported == {"PyModule_Create2", "aoti_torch_get_device_type", "optional_feature"}
    assert found.imported_from == {
        "python313.dll": {"PyModule_Create2"},
        "torch_cpu.dll": {"aoti_torch_get_device_type"},
        "optional.dll": {"optional_feature"},
    }
    assert found.entry_points == {"PyInit_demo"}
    assert [s.name for s in found.sections] == [".text", ".rdata", ".data", ".pdata", ".reloc"]
    assert (found.sections[0].offset, found.damage) == (1024, ())


@pytest.mark.parametrize(
    ("name", "machine"), [("demo-arm64.pyd", "arm64"), ("demo-i386.pyd", "i386")]
)
def test_other_machines(name: str, machine: str) -> None:
    """32-bit files have narrower tables; names have no underscore added."""
    found = read(fixture(name))
    assert found.machine == machine
    assert set(found.needed + found.delayed) == {"python313.dll", "torch_cpu.dll", "optional.dll"}
    assert found.imported_from["torch_cpu.dll"] == {"aoti_torch_get_device_type"}
    assert found.entry_points == {"PyInit_demo"}


def test_long_names_of_sections_are_looked_up() -> None:
    """GNU's linker keeps names of more than eight characters in the table of symbol names."""
    names = [s.name for s in read(fixture("demo-mingw.pyd")).sections]
    assert ".debug_info" in names
    assert ".debug_abbrev" in names


def test_a_long_name_that_was_not_kept_stays_a_number() -> None:
    """Nothing else depends on it."""
    data = fixture("demo-mingw.pyd")
    symbols, count = struct.unpack_from("<2I", data, header_at(data) + 12)
    found = read_pe(pages(data, (symbols + 18 * count, len(data))))
    assert "/4" in [s.name for s in found.sections]
    assert found.entry_points == {"PyInit_demo"}


def test_what_is_imported_by_number_has_no_name() -> None:
    """The library is needed all the same."""
    data = fixture()
    (directory,) = struct.unpack_from("<I", data, directory_at(data, IMPORTS))
    (lookup,) = struct.unpack_from("<I", data, place_of(data, directory))
    found = read(changed(data, place_of(data, lookup), "<Q", 1 << 63 | 12))
    assert found.needed == ("python313.dll", "torch_cpu.dll")
    assert found.imported_from["python313.dll"] == frozenset()


def test_delay_load_entries_of_old_linkers_hold_whole_addresses() -> None:
    """Without the attribute 1 they count from zero, not from the image base."""
    data = fixture("demo-i386.pyd")
    optional = header_at(data)
    base = 0x400000
    data = changed(data, optional + 24 + 28, "<I", base)
    (directory,) = struct.unpack_from("<I", data, optional + 24 + 96 + 8)
    lookup, _time, _chain, name, table = struct.unpack_from("<5I", data, place_of(data, directory))
    # The unused end of the section of code takes the entry.
    (address, _size, start) = struct.unpack_from("<3I", data, optional + 24 + 224 + 12)
    entry = (0, name + base, 0, table + base, lookup + base)
    data = changed(data, start + 256, "<16I", *entry, *[0] * 11)
    data = changed(data, optional + 24 + 224 + 8, "<I", 512)
    data = changed(data, optional + 24 + 96 + 8 * DELAYED, "<I", address + 256)
    found = read(data)
    assert found.delayed == ("optional.dll",)
    assert found.damage == ()


def test_managed_code_is_marked() -> None:
    """Such a file may run on any CPU, whatever its header says."""
    data = fixture()
    assert read(changed(data, directory_at(data, MANAGED), "<2I", 0x2000, 72)).managed


@pytest.mark.parametrize(("pointer", "hybrid"), [(0, False), (0x1800DA8F8, True)])
def test_hybrid_code_is_marked(pointer: int, *, hybrid: bool) -> None:
    """The load configuration of an ARM64X file points at metadata of its x86_64 view."""
    data = fixture("demo-arm64.pyd")
    start = next(s.offset for s in read(data).sections if s.name == ".data")
    address = struct.unpack_from("<I", data, header_at(data) + 24 + 240 + 80 + 12)[0]
    section = header_at(data) + 24 + 240 + 80
    data = changed(data, section + 8, "<I", 512)
    data = changed(data, start + 128, "<I", 320)
    data = changed(data, start + 128 + 200, "<Q", pointer)
    found = read(changed(data, directory_at(data, LOAD_CONFIG), "<2I", address + 128, 320))
    assert (found.hybrid, found.damage) == (hybrid, ())


def test_code_need_not_be_kept() -> None:
    """The bytes of .text are a hole; all facts stay."""
    data = fixture()
    whole = read(data)
    text = whole.sections[0]
    assert read_pe(pages(data, (text.offset, text.offset + text.size))) == whole


def test_a_hole_in_the_tables_is_damage() -> None:
    """The headers are still known."""
    data = fixture()
    part = read(data).sections[1]
    found = read_pe(pages(data, (part.offset, part.offset + part.size)))
    assert (found.machine, found.needed) == ("x86_64", ())
    assert [d.split(":")[0] for d in found.damage] == ["imports", "delayed imports", "exports"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"MZ" + bytes(58) + b"\x40\0\0\0" + bytes(64), "a DOS program"),
        (b"MZ" + bytes(20), "bytes 60 to 64 of 22"),
        (b"ZM" + bytes(80), "no DOS header"),
        (changed(fixture(), header_at(fixture()) + 24, "<H", 0x107), "unknown optional header"),
        (changed(fixture(), header_at(fixture()) + 6, "<H", 65_535), "65535 sections"),
    ],
)
def test_what_is_no_pe_file_is_told(data: bytes, message: str) -> None:
    """The message says what is wrong."""
    with pytest.raises(NotReadableError, match=message):
        read(data)


def test_a_directory_outside_the_sections_is_damage() -> None:
    """The other tables are read."""
    data = fixture()
    found = read(changed(data, directory_at(data, IMPORTS), "<I", 0x7000_0000))
    assert found.damage == ("imports: address 0x70000000 lies in no section",)
    assert found.delayed == ("optional.dll",)
    assert found.entry_points == {"PyInit_demo"}


def test_names_cost_no_more_time_and_memory_than_allowed() -> None:
    """Four thousand libraries whose lists of names are one and the same long one."""
    data = fixture()
    (directory,) = struct.unpack_from("<I", data, directory_at(data, IMPORTS))
    first = struct.unpack_from("<5I", data, place_of(data, directory))
    body = bytearray(1 << 20)
    address, start = 0x10_0000, len(data)
    for index in range(4000):
        struct.pack_into("<5I", body, 20 * index, address + 200_000, 0, 0, first[3], first[4])
    for index in range(100_000):
        struct.pack_into("<Q", body, 200_000 + 8 * index, first[3] - 2)
    section = header_at(data) + 24 + 240
    data = changed(data, section + 8, "<4I", len(body), address, len(body), start) + bytes(body)
    found = read(changed(data, directory_at(data, IMPORTS), "<I", address))
    assert found.damage[0] == "imports: more or longer names than any library has"


@pytest.mark.parametrize("name", NAMES)
def test_a_file_cut_off_anywhere_is_told(name: str) -> None:
    """Only the error of this package leaves."""
    data = fixture(name)
    told = 0
    for size in range(0, len(data), 13):
        try:
            told += bool(read(data[:size]).damage)
        except NotReadableError:
            told += 1
    assert told > 80


@pytest.mark.parametrize("name", NAMES)
def test_flipped_bits_do_no_harm(name: str) -> None:
    """Only the error of this package leaves."""
    original = fixture(name)
    places = [i for i, byte in enumerate(original) if byte]
    chance = random.Random(20)
    for _ in range(2000):
        data = bytearray(original)
        for _ in range(chance.choice((1, 1, 3))):
            data[chance.choice(places)] ^= 1 << chance.randrange(8)
        try:
            assert read(bytes(data)).machine
        except NotReadableError as error:
            assert str(error)  # noqa: PT017 - it says something


@pytest.mark.parametrize("name", NAMES)
def test_another_reader_agrees(name: str) -> None:
    """LIEF reads the same facts, where it is installed."""
    lief = pytest.importorskip("lief")
    path = NATIVE / name
    ours, theirs = read(path.read_bytes()), lief.PE.parse(str(path))
    imports = [*theirs.imports, *theirs.delay_imports]
    assert ours.needed == tuple(i.name for i in theirs.imports)
    assert ours.delayed == tuple(i.name for i in theirs.delay_imports)
    assert ours.imported_from == {
        i.name: {e.name for e in i.entries if not e.is_ordinal} for i in imports
    }
    exported = {e.name for e in theirs.get_export().entries}
    assert ours.entry_points == {name for name in exported if name.startswith("PyInit_")}
    assert [(s.offset, s.size) for s in ours.sections] == [
        (s.pointerto_raw_data, s.sizeof_raw_data) for s in theirs.sections
    ]
