"""The stable ABI of libtorch: symbols taken apart, kinds of use, oldest torch, missing symbols."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.compat_abi import encode_shims, merged_shims, read_shims
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.shim import Seen, Shim, ShimKnowledge, StringAbi, known_shims
from wheelgrid.inspect.against import Cause, compare, torch_names, wanted_exports, with_string_abi
from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.macho_defined import iter_defined, link_data
from wheelgrid.inspect.mangled import is_torch_symbol, read_mangled
from wheelgrid.inspect.stream import HoleError, Pages, TruncatedError
from wheelgrid.inspect.torch_abi import TorchAbiKind, string_abi, torch_abi
from wheelgrid.inspect.torch_exports import Exports, stated_digest

ERROR_NEW = (
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
)
ERROR_OLD = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
SET_DEVICE_CHAR, SET_DEVICE_INT = "_ZN3c104cuda9SetDeviceEa", "_ZN3c104cuda9SetDeviceEib"

# Names and what c++filt (binutils) makes of them, where this module spells parameters.
SPELLED = {
    SET_DEVICE_CHAR: "c10::cuda::SetDevice(signed char)",
    SET_DEVICE_INT: "c10::cuda::SetDevice(int, bool)",
    "_ZN2at14for_blob_dummyEPKvRSt8functionIFvPvEE": (
        "at::for_blob_dummy(void const*, std::function<void(void*)>&)"
    ),
    "_ZNK3c1010TensorImpl3dimEv": "c10::TensorImpl::dim() const",
    "_ZN3c1010TensorImplD1Ev": "c10::TensorImpl::~TensorImpl()",
    "_ZN3c104impl8Fn_arrayERA4_iM3FooFivE": "c10::impl::Fn_array(int[4]&, Foo::*int())",
    "_ZN2at4numpILi4ELb1EEEvi": "at::nump<(int)4, (bool)1>(int)",
    "_ZN3c10plERKNS_6SymIntEi": None,
    "_Z16THPVariable_WrapN2at10TensorBaseE": "THPVariable_Wrap(at::TensorBase)",
}


@pytest.mark.parametrize(("symbol", "text"), SPELLED.items())
def test_symbols_are_spelled_as_people_write_them(symbol: str, text: str | None) -> None:
    found = read_mangled(symbol)
    assert found is not None
    assert (None if found.parameters is None else found.name + found.parameters) == text
    assert is_torch_symbol(symbol)


def test_overloads_share_a_key_and_other_functions_do_not() -> None:
    char, both = read_mangled(SET_DEVICE_CHAR), read_mangled(SET_DEVICE_INT)
    other = read_mangled("_ZN3c104cuda9GetDeviceEv")
    assert char is not None
    assert both is not None
    assert other is not None
    assert char.key == both.key != other.key


@pytest.mark.parametrize(
    ("symbol", "abi"),
    [
        (ERROR_NEW, StringAbi.NEW),
        (ERROR_OLD, StringAbi.OLD),
        ("_ZNK3c105Error4whatB5cxx11Ev", StringAbi.NEW),
        ("_ZN3c107ClassSs3fooEv", None),
        ("_ZN3c109SsInANameEi", None),
        (SET_DEVICE_CHAR, None),
    ],
)
def test_the_string_abi_of_one_symbol(symbol: str, abi: StringAbi | None) -> None:
    found = read_mangled(symbol)
    assert found is None or found.string is abi


def test_the_string_abi_of_many_symbols() -> None:
    assert string_abi([SET_DEVICE_INT, ERROR_OLD]) is StringAbi.OLD
    assert string_abi([ERROR_OLD, ERROR_NEW]) is StringAbi.NEW
    assert string_abi(["_ZNSs6assignEPKc", SET_DEVICE_INT]) is None


@pytest.mark.parametrize(
    "symbol",
    ["", "printf", "_Z", "_ZN", "_ZN3c10", "_ZN99999999c10E", "_ZN3c10" + "I" * 5000, "_ZTVN3c10E"],
)
def test_what_is_no_function_is_not_taken_apart(symbol: str) -> None:
    assert read_mangled(symbol) is None


@pytest.mark.parametrize("part", ["3fooI", "P", "Dp", "A1_", "J", "L", "FM", "3fooIJ"])
def test_a_name_without_end_is_given_up(part: str) -> None:
    assert read_mangled("_ZN1aI" + part * 4000) is None
    assert read_mangled("_Z1f" + part * 4000) is None


@given(st.text(alphabet="NEISTKPRFMAJLZDUB_tsacvi0123456789", max_size=60))
def test_any_text_ends_in_an_answer(text: str) -> None:
    read_mangled("_Z" + text)
    read_mangled("_ZN3c10" + text)


@pytest.mark.parametrize("symbol", ["_ZNSt6vectorIN3c1010ScalarTypeEE", "_ZN10torchaudio1fEv"])
def test_names_outside_the_namespaces_of_torch(symbol: str) -> None:
    assert not is_torch_symbol(symbol)


def shim(first: str, *, gone: str = "", or_older: bool = False) -> Shim:
    return Shim(
        library="torch_cpu",
        first=Version(first),
        gone=Version(gone) if gone else None,
        or_older=or_older,
    )


SHIMS = {
    "aoti_torch_empty_strided": shim("2.4.0", or_older=True),
    "aoti_torch_library_impl": shim("2.7.0"),
    "torch_call_dispatcher": shim("2.10.0"),
    "aoti_torch_old": shim("2.4.0", gone="2.8.0", or_older=True),
}


def test_the_newest_shim_decides_which_torch_is_the_oldest() -> None:
    names = {
        "aoti_torch_empty_strided", "aoti_torch_library_impl", "torch_call_dispatcher", "PyInit_x",
        "malloc", "_ZNSt6vectorIiE", "cudaMalloc",
    }  # fmt: skip
    found = torch_abi(names, ["libtorch.so", "libtorch_cpu.so", "libc.so.6"], SHIMS)
    assert found is not None
    assert found.kind is TorchAbiKind.STABLE
    assert found.oldest == Version("2.10.0")
    assert not found.or_older
    assert found.newest_shims == ("torch_call_dispatcher",)
    assert len(found.shims) == 3
    assert (found.cxx, found.unknown, found.below) == (0, (), None)
    assert found.registers == {TorchAbiKind.STABLE}
    assert found.libraries == ("torch", "torch_cpu")
    assert not found.needs_c10
    assert not found.needs_python


def test_where_no_older_torch_was_looked_at_it_is_said() -> None:
    found = torch_abi(["aoti_torch_empty_strided"], [], SHIMS)
    assert found is not None
    assert (found.oldest, found.or_older) == (Version("2.4.0"), True)


def test_a_shim_that_went_bounds_from_above() -> None:
    found = torch_abi(["aoti_torch_old", "aoti_torch_library_impl"], [], SHIMS)
    assert found is not None
    assert (found.oldest, found.below) == (Version("2.7.0"), Version("2.8.0"))


def test_an_unknown_shim_is_listed_and_gives_no_version() -> None:
    found = torch_abi(["torch_of_tomorrow"], [], SHIMS)
    assert found is not None
    assert found.kind is TorchAbiKind.STABLE
    assert (found.unknown, found.oldest, found.or_older) == (("torch_of_tomorrow",), None, False)


def test_cxx_symbols_make_it_unstable_and_both_make_it_mixed() -> None:
    names = [ERROR_NEW, "_ZN5torch7LibraryC1ENS0_4KindE", "_ZTVN2at6TensorE"]
    found = torch_abi(names, ["libc10.so", "libtorch_python.so"], SHIMS)
    assert found is not None
    assert (found.kind, found.cxx, found.string_abi) == (TorchAbiKind.UNSTABLE, 3, StringAbi.NEW)
    assert found.cxx_first == tuple(sorted(names))
    assert found.registers == {TorchAbiKind.UNSTABLE}
    assert found.needs_c10
    assert found.needs_python
    mixed = torch_abi([*names, "aoti_torch_library_impl"], [], SHIMS)
    assert mixed is not None
    assert mixed.kind is TorchAbiKind.MIXED


def test_names_of_other_systems() -> None:
    mac = torch_abi(["_aoti_torch_library_impl"], ["@rpath/libtorch_cpu.dylib"], SHIMS)
    assert mac is not None
    assert (mac.kind, mac.oldest) == (TorchAbiKind.STABLE, Version("2.7.0"))
    assert mac.libraries == ("torch_cpu",)
    cxx = torch_abi(["__ZN3c104cuda9SetDeviceEa"], [], SHIMS)
    assert cxx is not None
    assert cxx.kind is TorchAbiKind.UNSTABLE
    windows = torch_abi(["?sizes@Tensor@at@@QEBA?AV?$ArrayRef@_J@c10@@XZ"], ["c10.dll"], SHIMS)
    assert windows is not None
    assert (windows.kind, windows.libraries) == (TorchAbiKind.UNSTABLE, ("c10",))


def test_a_file_that_only_links_to_torch_and_one_that_does_not() -> None:
    found = torch_abi(["malloc"], ["libtorch.so"], SHIMS)
    assert found is not None
    assert found.kind is TorchAbiKind.NONE
    assert torch_abi(["malloc"], ["libtorchaudio.so", "libc.so.6"], SHIMS) is None
    assert found.document()["oldest_torch"] is None


def exports(*names: str, abi: StringAbi | None = None) -> Exports:
    return Exports(
        name="torch.whl",
        torch=Version("2.6.0"),
        libraries={"c10": frozenset(names)},
        string_abi=abi,
    )


def test_w01_another_string_abi() -> None:
    """The extension has the new std::string, the torch the old one (flash-attention#1717)."""
    (found,) = compare([ERROR_NEW, "cudaMalloc"], exports(ERROR_OLD, abi=StringAbi.OLD))
    assert found.cause is Cause.STRING_ABI
    assert found.text == "c10::Error::Error: the C++11 string ABI differs: wheel new, torch old"
    assert found.exported == (ERROR_OLD,)


def test_w01_the_other_way_round() -> None:
    (found,) = compare([ERROR_OLD], exports(ERROR_NEW))
    assert found.text.endswith("the C++11 string ABI differs: wheel old, torch new")


def test_w01_names_the_torch_that_fits() -> None:
    releases = {Version("2.6.0"): StringAbi.OLD, Version("2.7.0"): StringAbi.NEW}
    assert with_string_abi(StringAbi.NEW, releases) == (Version("2.7.0"),)


def test_w02_another_signature() -> None:
    """The same function of another torch, nothing to do with strings (flash-attention#1832)."""
    (found,) = compare([SET_DEVICE_CHAR], exports(SET_DEVICE_INT, ERROR_OLD, abi=StringAbi.OLD))
    assert found.cause is Cause.SIGNATURE
    assert found.text == (
        "another signature: torch exports c10::cuda::SetDevice(int, bool), "
        "the wheel wants c10::cuda::SetDevice(signed char)"
    )


def test_w02_both_causes_in_one_wheel_stay_apart() -> None:
    there = exports(SET_DEVICE_INT, ERROR_OLD, abi=StringAbi.OLD)
    causes = {m.symbol: m.cause for m in compare([SET_DEVICE_CHAR, ERROR_NEW], there)}
    assert causes == {SET_DEVICE_CHAR: Cause.SIGNATURE, ERROR_NEW: Cause.STRING_ABI}


def test_what_is_not_there_at_all() -> None:
    found = compare(["_ZN3c104cuda9newthing1Ev", "torch_has_storage"], exports(SET_DEVICE_INT))
    assert {m.cause for m in found} == {Cause.NOT_EXPORTED}
    assert found[1].text == "torch exports no torch_has_storage"


def test_a_torch_without_the_vendor_is_another_build() -> None:
    names = ["_ZN3c104cuda12device_countEv", "_ZN3c104impl3newEv", "aoti_torch_cuda_new"]
    found = compare(names, exports(SET_DEVICE_INT), ["libc10_cuda.so", "libc10.so", "libc.so.6"])
    assert [m.cause for m in found] == [Cause.BUILD, Cause.NOT_EXPORTED, Cause.BUILD]
    assert found[0].text == (
        "torch exports no c10::cuda::device_count(): this build of torch has no c10_cuda"
    )
    assert {m.cause for m in compare(names, exports(SET_DEVICE_INT))} == {Cause.NOT_EXPORTED}


def test_an_old_string_is_no_cause_where_the_torch_is_old_too() -> None:
    other = "_ZN3c105ErrorC2ENS_14SourceLocationESsPKv"
    (found,) = compare([ERROR_OLD], exports(other, abi=StringAbi.OLD))
    assert found.cause is Cause.SIGNATURE


def test_only_exports_that_matter_are_asked_for() -> None:
    names = torch_names([SET_DEVICE_CHAR, "cudaMalloc", "torch_has_storage"])
    wanted = wanted_exports(names)
    there = [SET_DEVICE_CHAR, SET_DEVICE_INT, "torch_has_storage", "_ZN3c104cuda9SetDevicesEi"]
    assert [wanted(name) for name in there] == [True, True, True, False]


def mach(names: list[tuple[bytes, int]]) -> bytes:
    """A thin image of one symbol table; each name with its n_type (mach-o/nlist.h)."""
    strings, symbols = b"\0", b""
    for name, kind in names:
        symbols += struct.pack("<I2BHQ", len(strings), kind, 1, 0, 0)
        strings += name + b"\0"
    at = 32 + 72 + 24
    size = len(symbols) + len(strings)
    link = struct.pack("<2I16s4Q4I", 0x19, 72, b"__LINKEDIT", 0, size, at, size, 7, 5, 0, 0)
    table = struct.pack("<6I", 2, 24, at, len(names), at + len(symbols), len(strings))
    head = b"\xcf\xfa\xed\xfe" + struct.pack("<7I", 0x0100000C, 0, 6, 2, 96, 0, 0)
    return head + link + table + symbols + strings


def pages_of(data: bytes) -> Pages:
    pages = Pages(len(data))
    pages.write(0, data)
    return pages


def test_names_that_a_mach_o_library_defines() -> None:
    """External and in a section (0x0F); not undefined, private, local or of the debugger."""
    kinds = {b"_torch_a": 0x0F, b"_torch_u": 0x01, b"_torch_p": 0x1F, b"_torch_l": 0x0E}
    data = mach([*kinds.items(), (b"_torch_d", 0x2F), (b"__ZN3c103fooEv", 0x0F)])
    assert list(iter_defined(pages_of(data))) == ["torch_a", "_ZN3c103fooEv"]
    assert link_data(data)[1] == len(data)


@given(st.data())
def test_a_damaged_mach_o_library_ends_in_an_error_of_its_own(data: st.DataObject) -> None:
    image = bytearray(mach([(b"_torch_a", 0x0F)]))
    for _ in range(data.draw(st.integers(1, 6))):
        image[data.draw(st.integers(0, len(image) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(NotReadableError, TruncatedError, HoleError):
        list(iter_defined(pages_of(bytes(image))))
    with contextlib.suppress(NotReadableError):
        link_data(bytes(image))


def seen(torch: str, *names: str, wheel: str = "manylinux_2_28_x86_64") -> Seen:
    return Seen(
        torch=Version(torch),
        library="torch_cpu",
        wheel=f"torch-{torch}-cp311-cp311-{wheel}.whl",
        sha256="0" * 64,
        sha256_of="index",
        names=frozenset(names),
        string_abi=StringAbi.NEW if "linux" in wheel else None,
    )


RECORD = (
    seen("2.5.0", "torch_a", "torch_b"),
    seen("2.6.0", "torch_a", "torch_c", wheel="manylinux1_x86_64"),
    seen("2.6.0", "torch_a", "torch_m", wheel="macosx_14_0_arm64"),
    seen("2.10.0", "torch_a", "torch_b", "torch_c"),
)


def test_first_and_last_releases_of_shims() -> None:
    known = known_shims(RECORD)
    assert known.looked_at == tuple(map(Version, ("2.5.0", "2.6.0", "2.10.0")))
    assert known.shims["torch_a"] == shim("2.5.0", or_older=True)
    assert known.shims["torch_b"] == shim("2.10.0")
    assert known.shims["torch_c"] == shim("2.6.0")
    assert known.shims["torch_m"] == shim("2.6.0", or_older=True)
    assert known.string_abi[Version("2.10.0")] is StringAbi.NEW


def test_a_shim_that_came_later_to_one_system() -> None:
    mac = [seen(v, "torch_a", wheel="macosx_14_0_arm64") for v in ("2.5.0", "2.6.0")]
    known = known_shims([*mac, seen("2.5.0"), seen("2.6.0", "torch_a")])
    assert known.shims["torch_a"] == shim("2.6.0")


def test_a_shim_that_is_gone() -> None:
    known = known_shims([seen("2.5.0", "torch_a"), seen("2.6.0")])
    assert known.shims["torch_a"] == shim("2.5.0", gone="2.6.0", or_older=True)


def test_the_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path, faults = tmp_path / "torch.json", Faults()
    path.write_text(encode_shims(RECORD, observed="2026-12-01T00:00:00+00:00"), encoding="utf-8")
    assert read_shims(path, "torch.json", faults) == merged_shims((), RECORD)
    assert encode_shims(reversed(RECORD), observed="2026-12-01T00:00:00+00:00") == path.read_text(
        encoding="utf-8"
    )
    faults.check()


def test_what_is_seen_again_replaces_what_was() -> None:
    merged = merged_shims(RECORD, [seen("2.5.0", "torch_z")])
    assert len(merged) == len(RECORD)
    assert next(s for s in merged if s.torch == Version("2.5.0")).names == {"torch_z"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"libraries": {"torch_cpu/linux": [{"wheel": "x"}]}}',
        '{"libraries": {"torch_cpu/linux": [{"wheel": "torch-2-a-b-c", "string_abi": null,'
        ' "sha256": "", "sha256_of": "", "added": [], "removed": ["torch_a"]}]}}',
        "[" * 100_000,
    ],
)
def test_a_damaged_record_is_a_fault(tmp_path: Path, text: str) -> None:
    path, faults = tmp_path / "torch.json", Faults()
    path.write_text(text, encoding="utf-8")
    assert read_shims(path, "torch.json", faults) == ()
    assert len(faults.found) == 1


def test_the_shipped_record(repository: Path) -> None:
    """Facts that were checked by running extensions, and by release notes."""
    faults = Faults()
    known = load_knowledge(Project(repository), faults, abi=True).torch_abi
    faults.check()
    first = {name: str(shim.first) for name, shim in known.shims.items()}
    assert first["torch_has_storage"] == "2.14.0"
    assert first["torch_call_dispatcher"] == "2.10.0"
    assert first["torch_tensor_to_pyobject"] == "2.14.0"
    assert known.shims["aoti_torch_cuda_mm_out"].library == "torch_cuda"
    assert {a for v, a in known.string_abi.items() if v < Version("2.7")} == {StringAbi.OLD}
    assert {a for v, a in known.string_abi.items() if v >= Version("2.7")} == {StringAbi.NEW}
    assert {f"{v.major}.{v.minor}" for v in known.looked_at} >= {f"2.{n}" for n in range(5, 16)}


def test_the_record_is_read_only_where_it_is_asked_for(repository: Path) -> None:
    assert load_knowledge(Project(repository), Faults()).torch_abi == ShimKnowledge()


def test_the_sha256_of_an_address() -> None:
    digest = "ab" * 32
    assert stated_digest(f"https://host/torch.whl#sha256={digest}") == digest
    assert stated_digest(f"https://host/torch.whl#egg=x&sha256={digest}") == digest
    assert not stated_digest("https://host/torch.whl#sha256=xyz")
