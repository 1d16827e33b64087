"""ROCm device code: bundles, compressed or not, code objects, and .kpack archives."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.gpu import amdgpu, code_object, compressed, kpack, rocm
from wheelgrid.inspect.stream import ByteStream, Pages, TruncatedError

FIXTURES = Path(__file__).parent.parent / "fixtures" / "gpu"
BUNDLES = {
    "hip_gfx942.so": (4096, ("gfx942",)),
    "hip_gfx1201.so": (4096, ("gfx1201",)),
    "hip_hipcc_gfx942_950_1201.so": (12288, ("gfx1201", "gfx942", "gfx950")),
    "hipdemo.abi3.so": (28672, ("gfx1201", "gfx942")),
}
HOST = "host-x86_64-unknown-linux-gnu-"


def stream_of(data: bytes, step: int = 1000) -> ByteStream:
    return ByteStream(data[at : at + step] for at in range(0, len(data), step))


def pages_of(data: bytes) -> Pages:
    pages = Pages(len(data))
    pages.write(0, data)
    return pages


def bundle_of(entries: dict[str, bytes]) -> bytes:
    """A plain bundle after ClangOffloadBundler.rst, code objects at multiples of 4096."""
    table, body = b"", b""
    first = 4096
    for name, code in entries.items():
        table += struct.pack("<QQQ", first + len(body), len(code), len(name)) + name.encode()
        body += code.ljust(-(-len(code) // 4096) * 4096, b"\0")
    return (rocm.BUNDLE_MAGIC + struct.pack("<Q", len(entries)) + table).ljust(first, b"\0") + body


def ccob_of(bundle: bytes, version: int, method: str = "zstd") -> bytes:
    """A compressed bundle: magic, version, method, sizes, hash."""
    payload = zlib.compress(bundle) if method == "zlib" else zstandard.compress(bundle)
    layout = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}[version]
    total = struct.calcsize(layout) + len(payload)
    sizes = (len(bundle),) if version == 1 else (total, len(bundle))
    head = struct.pack(layout, b"CCOB", version, int(method == "zstd"), *sizes, 0x1234)
    return head + payload


def plain_bundle(name: str = "hipdemo.abi3.so") -> bytes:
    return (FIXTURES / name).read_bytes()[BUNDLES[name][0] :]


def code_of(target: str) -> bytes:
    """A real code object out of a fixture."""
    data = plain_bundle("hip_hipcc_gfx942_950_1201.so")
    at = data.index(f"hipv4-amdgcn-amd-amdhsa--{target}".encode())
    offset, size, _length = struct.unpack_from("<QQQ", data, at - 24)
    return data[offset : offset + size]


def read(data: bytes, *, kernels: bool = False) -> rocm.Bundle:
    found = rocm.read_bundle(stream_of(data), kernels=kernels)
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(BUNDLES))
def test_targets_of_libraries_that_compilers_made(name: str) -> None:
    """Offsets and targets are what the compiler was asked for."""
    offset, targets = BUNDLES[name]
    stream = stream_of((FIXTURES / name).read_bytes())
    stream.skip(offset)
    found = rocm.read_bundle(stream)
    assert found == rocm.Bundle(offset=offset, targets=targets)


@pytest.mark.parametrize("name", sorted(BUNDLES))
def test_kernels_are_the_descriptors_of_each_code_object(name: str) -> None:
    """The one kernel of each source is there for each target."""
    found = read(plain_bundle(name), kernels=True)
    kernel = "_Z4axpyfPKfPfl" if name.startswith("hipdemo") else "_Z4axpyfPKfPfi"
    assert found.kernels == dict.fromkeys(BUNDLES[name][1], (kernel,))
    assert found.damage == ""


@pytest.mark.parametrize("version", [2, 3])
def test_bundles_that_llvm_compressed(version: int) -> None:
    """The same as plain, and the stream stands at the end."""
    data = (FIXTURES / f"hipdemo.ccob{version}").read_bytes()
    stream = stream_of(data + b"after")
    found = rocm.read_bundle(stream, kernels=True)
    assert found is not None
    assert (found.targets, found.compression) == (("gfx942", "gfx1201"), f"ccob{version}")
    assert found.kernels == {"gfx942": ("_Z4axpyfPKfPfl",), "gfx1201": ("_Z4axpyfPKfPfl",)}
    assert found.damage == ""
    assert stream.read(5) == b"after"


@pytest.mark.parametrize("kernels", [False, True])
@pytest.mark.parametrize("method", ["zlib", "zstd"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_and_method(version: int, method: str, *, kernels: bool) -> None:
    """Version 1 does not say where it ends; the blocks do."""
    bundle = bundle_of({HOST: b"", "hipv4-amdgcn-amd-amdhsa--gfx942": code_of("gfx942")})
    stream = stream_of(ccob_of(bundle, version, method) + b"\0after")
    found = rocm.read_bundle(stream, kernels=kernels)
    assert found == rocm.Bundle(
        offset=0,
        targets=("gfx942",),
        compression=f"ccob{version}",
        kernels={"gfx942": ("_Z4axpyfPKfPfi",)} if kernels else None,
    )
    assert stream.read(6) == b"\0after"


def test_one_after_another() -> None:
    """Each call leaves the stream behind its bundle."""
    bundle = bundle_of({HOST: b"", "hipv4-amdgcn-amd-amdhsa--gfx90a": b"x" * 4096})
    stream = stream_of(bundle + ccob_of(bundle, 2) + bundle)
    found = [rocm.read_bundle(stream) for _count in range(3)]
    assert [b.targets for b in found if b] == [("gfx90a",)] * 3
    assert [b.offset for b in found if b][:2] == [0, 2 * 4096]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        ("hip-amdgcn-amd-amdhsa-gfx906", "gfx906"),
        ("hipv4-amdgcn-amd-amdhsa-unknown-gfx1100", "gfx1100"),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        ("hipv4-amdgcn-amd-amdhsa--gfx12-generic", "gfx12-generic"),
        ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+", "gfx9-4-generic:xnack+"),
        ("hip-spirv64-amd-amdhsa--amdgcnspirv", "amdgcnspirv"),
        (HOST, ""),
        ("openmp-amdgcn-amd-amdhsa--gfx906", ""),
        ("hipv4-amdgcn-amd-amdhsa--", ""),
    ],
)
def test_target_ids(name: str, target: str) -> None:
    """The grammar of bundle entry ids, with and without the environment of the triple."""
    assert rocm.target_in(name) == target


def test_ids_that_are_not_hip_are_kept_as_they_are() -> None:
    """OpenMP and SYCL share the container; the host's entry is no device code."""
    ids = [HOST, "openmp-amdgcn-amd-amdhsa--gfx906", "sycl-spir64_gen-unknown-unknown"]
    found = read(bundle_of(dict.fromkeys(ids, b"x")))
    assert (found.targets, found.others) == ((), tuple(ids[1:]))


def test_code_for_another_processor_than_the_id_says_is_told() -> None:
    """The flags of the code object decide what the runtime will load."""
    found = read(bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx90a": code_of("gfx942")}), kernels=True)
    assert found.targets == ("gfx90a",)
    assert found.damage == "gfx90a: holds code for gfx942"


@pytest.mark.parametrize(
    "data",
    [
        rocm.BUNDLE_MAGIC,
        rocm.BUNDLE_MAGIC + b"\0" * 100,
        rocm.BUNDLE_MAGIC + b"__START__ hip-amdgcn-amd-amdhsa--gfx906 is a text bundle of a .s",
        rocm.BUNDLE_MAGIC + struct.pack("<QQQQ", 1, 64, 8, 1 << 40) + b"x" * 100,
        b"CCOB is a magic number in the text of a program, not a bundle at all, is it?",
        b"CCOB" + struct.pack("<HHQQQ", 3, 1, 5000, 9000, 0) + b"not a frame" * 9,
        b"CCOB" + struct.pack("<HHQQQ", 4, 1, 5000, 9000, 0) + compressed.ZSTD_MAGIC * 9,
        b"CCOB",
        b"",
    ],
)
def test_magic_numbers_that_begin_no_bundle(data: bytes) -> None:
    """They occur in tools that know the format; nothing is taken."""
    stream = stream_of(data)
    assert rocm.read_bundle(stream, kernels=True) is None
    assert stream.offset == 0


def test_a_bundle_cut_off_says_so() -> None:
    """Its targets are still known: the table comes first."""
    whole = ccob_of(bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx942": bytes(range(256)) * 999}), 2)
    found = read(whole[:-10])
    assert found.targets == ("gfx942",)
    assert found.damage.startswith("cut off: ")


def test_a_table_that_never_ends_is_bounded() -> None:
    """More entries than there are targets in the world."""
    found = read(bundle_of({f"hip-amdgcn-amd-amdhsa--gfx{n:x}": b"" for n in range(1500)}))
    assert found.damage == "more than 1024 entries"
    assert len(found.targets) == 1024


def test_a_bomb_is_not_decoded() -> None:
    """What says to be small must be small; what says to be large is looked at only in part."""
    code = code_of("gfx942") + b"\0" * (8 << 20)
    honest = ccob_of(bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx942": code}), 2)
    liar = honest[:12] + struct.pack("<I", 10000) + honest[16:]
    assert "larger than it says" in read(liar, kernels=True).damage
    assert "expands more than device code does" in read(honest, kernels=True).damage
    assert read(liar).targets == ("gfx942",)


def test_kernels_that_cannot_be_read_are_no_empty_list() -> None:
    """Absent from the mapping, with the reason."""
    found = read(bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx942": b"junk" * 100}), kernels=True)
    assert found.kernels == {}
    assert found.damage == "gfx942: not a 64-bit little-endian ELF file"


def test_entries_that_overlap_are_told() -> None:
    """No linker writes them; the first is read."""
    code = code_of("gfx942")
    ids = ["hip-amdgcn-amd-amdhsa--gfx942", "hip-amdgcn-amd-amdhsa--gfx950"]
    data = bytearray(bundle_of(dict.fromkeys(ids, code)))
    second = data.index(b"gfx942") + len("gfx942")
    data[second : second + 8] = struct.pack("<Q", 4100)
    found = read(bytes(data), kernels=True)
    assert found.kernels == {"gfx942": ("_Z4axpyfPKfPfi",)}
    assert found.damage == "gfx950: overlaps another entry"


def test_wrappers_say_where_the_kernels_are() -> None:
    """HIPF on disk is FPIH, HIPK is HIPK; wrappers have 24 bytes."""
    data = (FIXTURES / "hip_gfx942.so").read_bytes()
    here = b"FPIH" + struct.pack("<IQQ", 1, 0x1000, 0)
    away = b"HIPK" + here[4:]
    assert data.count(b"FPIH\1\0\0\0") == 1
    assert [rocm.has_kpack(x) for x in (here, here + away, away, b"", b"HIP")] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert not rocm.has_kpack(here[:8] + b"HIPK" + here[12:])


def flagged(flags: int, abi_version: int = 2) -> Pages:
    """A real code object with other flags in its header."""
    data = bytearray(code_of("gfx942"))
    data[8] = abi_version
    data[48:52] = struct.pack("<I", flags)
    return pages_of(bytes(data))


@pytest.mark.parametrize(
    ("flags", "abi_version", "target"),
    [
        (0x54C, 4, "gfx942"),  # any, any: what LLVM writes without features
        (0x4E, 4, "gfx1201"),
        (0x63F, 3, "gfx90a:xnack-"),
        (0xB3F, 2, "gfx90a:sramecc-:xnack+"),
        (0xE3F, 4, "gfx90a:sramecc+:xnack-"),
        (0x0100055F, 4, "gfx9-4-generic"),  # generic version 1
        (0x02000059, 4, "gfx12-generic"),
        (0x2C, 1, "gfx900:xnack-"),  # ABI version 3 has on and off only
        (0x12C, 1, "gfx900:xnack+"),
        (0x32F, 1, "gfx906:sramecc+:xnack+"),
        (0x36, 1, "gfx1030"),
        (0xFE, 4, "mach-0xfe"),
    ],
)
def test_targets_by_the_flags_of_the_header(flags: int, abi_version: int, target: str) -> None:
    """EF_AMDGPU_MACH and the bits of features, by ABI version."""
    assert amdgpu.target_of(flagged(flags, abi_version)) == target


def test_the_code_object_of_a_fixture() -> None:
    """Target and kernels of a file on its own, as .hsaco members are."""
    pages = pages_of(code_of("gfx950"))
    assert amdgpu.target_of(pages) == "gfx950"
    assert amdgpu.kernels_of(pages) == ("_Z4axpyfPKfPfi",)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", (FIXTURES / "hip_gfx942.so").read_bytes()])
def test_other_files_have_no_target(data: bytes) -> None:
    """An ELF file of the host neither."""
    with pytest.raises(NotReadableError):
        amdgpu.target_of(pages_of(data))


def test_only_what_is_no_machine_code_is_kept() -> None:
    """Code objects are large because of their code."""
    data = code_of("gfx942")
    stream = stream_of(data + b"after")
    pages = code_object.spool(stream, len(data))
    assert amdgpu.kernels_of(pages) == ("_Z4axpyfPKfPfi",)
    assert stream.read(5) == b"after"


def msgpack(value: object) -> bytes:
    """As much of MessagePack as a table of kernels uses, in its short forms."""
    if isinstance(value, dict):
        inner = b"".join(msgpack(x) for pair in value.items() for x in pair)
        return b"\xde" + struct.pack(">H", len(value)) + inner
    if isinstance(value, (list, tuple)):
        return bytes([0x90 + len(value)]) + b"".join(map(msgpack, value))
    if isinstance(value, str):
        data = value.encode()
        short = len(data) < 32
        return (bytes([0xA0 + len(data)]) if short else b"\xd9" + bytes([len(data)])) + data
    assert isinstance(value, int)
    return b"\xcf" + struct.pack(">Q", value)


def kpack_of(table: object) -> bytes:
    blobs = b"\0" * 48 + b"kernels" * 5000
    head = b"KPAK" + struct.pack("<IQ", 1, 16 + len(blobs))
    return head + blobs + msgpack(table)


TABLE = {
    "format_version": 1,
    "group_name": "a group with a name that is longer than thirty-one bytes",
    "blobs": [{"offset": 64, "size": 7472}],
    "gfx_arches": ["gfx1100", "gfx1101"],
    "toc": {"lib/x.so": {"gfx1100": {"ordinal": 0}}},
}


def test_processors_of_a_kpack_archive() -> None:
    """The table is at the end; values before the list are passed over."""
    found = kpack.read_kpack(stream_of(kpack_of(TABLE)))
    assert found == kpack.Kpack(offset=0, targets=("gfx1100", "gfx1101"))


@pytest.mark.parametrize(
    "data",
    [
        kpack_of({"toc": {}}),
        kpack_of({"gfx_arches": 7}),
        kpack_of([1, 2]),
        kpack_of(TABLE)[:30000],
        kpack_of(TABLE)[:-120],
        b"KPAK" + struct.pack("<IQ", 9, 16) + b"\0" * 99,
        b"KPAK" + struct.pack("<IQ", 1, 1 << 62) + b"\0" * 99,
        b"KPAK" + struct.pack("<IQ", 1, 16) + b"\x81" + b"\x91" * 999,
    ],
)
def test_kpack_archives_that_cannot_be_read_say_so(data: bytes) -> None:
    """No processors without a reason."""
    found = kpack.read_kpack(stream_of(data))
    assert found is not None
    assert found.targets == ()
    assert found.damage


def test_no_kpack_archive() -> None:
    """Another file."""
    assert kpack.read_kpack(stream_of(b"KPAC" + b"\0" * 60)) is None


def hostile(data: bytes, seed: int, rounds: int) -> Iterator[bytes]:
    """Truncations and flipped bits, the same in each run; mostly near the start."""
    draw = random.Random(seed)
    for _round in range(rounds):
        broken = bytearray(data)
        reach = draw.choice([64, 400, len(data)])
        for _flip in range(draw.randrange(1, 4)):
            broken[draw.randrange(min(reach, len(data)))] ^= 1 << draw.randrange(8)
        cut = draw.choice([len(data), draw.randrange(len(data))])
        yield bytes(broken[:cut])


@pytest.mark.parametrize(
    "name", ["hipdemo.ccob2", "hipdemo.ccob3", "hip_gfx942.so", "hip_hipcc_gfx942_950_1201.so"]
)
def test_broken_bundles_never_crash(name: str) -> None:
    """A record with damage, no record, or TruncatedError; nothing else."""
    data = plain_bundle(name) if name in BUNDLES else (FIXTURES / name).read_bytes()
    for broken in hostile(data, 1, 400):
        for kernels in (False, True):
            try:
                rocm.read_bundle(stream_of(broken, 4096), kernels=kernels)
            except TruncatedError:
                continue


@pytest.mark.parametrize(("version", "method"), [(1, "zlib"), (1, "zstd"), (2, "zlib")])
def test_broken_bundles_of_other_forms_never_crash(version: int, method: str) -> None:
    """The same for version 1 and for zlib."""
    data = ccob_of(plain_bundle("hip_gfx942.so"), version, method)
    for broken in hostile(data, 2, 300):
        for kernels in (False, True):
            try:
                rocm.read_bundle(stream_of(broken, 4096), kernels=kernels)
            except TruncatedError:
                continue


def test_broken_code_objects_never_crash() -> None:
    """Only the errors that are named leave the reader."""
    for broken in hostile(code_of("gfx942"), 3, 600):
        for ask in (amdgpu.target_of, amdgpu.kernels_of):
            try:
                ask(pages_of(broken))
            except (NotReadableError, TruncatedError):
                continue


def test_broken_kpack_archives_never_crash() -> None:
    """The same for the table of kernels."""
    data = b"KPAK" + struct.pack("<IQ", 1, 16) + msgpack(TABLE)
    for broken in hostile(data, 4, 1000):
        kpack.read_kpack(stream_of(broken))


def test_a_window_larger_than_the_memory_allowed() -> None:
    """The targets are read all the same, the kernels are not, and it says why."""
    draw = random.Random(6)
    code = code_of("gfx942") + draw.randbytes(1 << 20)
    bundle = bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx942": code})
    packer = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=27)
    ).compressobj()
    payload = packer.compress(bundle) + packer.flush()
    head = struct.pack("<4sHHIIQ", b"CCOB", 2, 1, 24 + len(payload), len(bundle), 0)
    found = read(head + payload, kernels=True)
    assert (found.targets, found.kernels) == (("gfx942",), {})
    assert "memory" in found.damage
