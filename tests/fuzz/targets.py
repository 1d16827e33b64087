"""What is fuzzed: one function per parser, from the bytes of a file, and what it may raise.

A parser takes bytes of strangers. Whatever they are, it ends soon, takes little memory and raises
nothing but the error that its module names. Parsers are imported when their target is run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from wheelgrid.inspect.stream import ByteStream, Pages

__all__ = ["CORPUS", "TARGETS", "Target", "seeds"]

TESTS = Path(__file__).resolve().parent.parent
CORPUS = TESTS / "fuzz" / "corpus"
_CHUNK = 8 * 1024
"""Smaller than in real use, so that small inputs cross the edges of chunks."""
_MOST_READS = 10_000
_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One parser: `run` raises nothing but `allowed` (names of classes) for any bytes.

    `seeds` are files to start from, besides the corpus: patterns from the folder of tests.
    """

    name: str
    run: Callable[[bytes], object]
    allowed: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()


def _chunks(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK))


def _stream(data: bytes) -> ByteStream:
    from wheelgrid.inspect.stream import ByteStream

    return ByteStream(_chunks(data))


def _pages(data: bytes) -> Pages:
    from wheelgrid.inspect.stream import Pages

    pages = Pages(len(data))
    pages.write(0, data)
    return pages


def _each(data: bytes, read: Callable[[ByteStream], _Record | None]) -> list[_Record]:
    """Read one record after the other, as a scan of a file does; all of them must be bounded."""
    stream = _stream(data)
    found = []
    for _ in range(_MOST_READS):
        before = stream.offset
        record = read(stream)
        if record is None:
            assert stream.offset == before, "nothing was found, yet the stream moved"
            break
        assert stream.offset > before, "something was found, yet the stream stands still"
        found.append(record)
    return found


def _cuda(data: bytes) -> object:
    from wheelgrid.inspect.gpu import cuda

    return _each(data, cuda.read_container)


def _cuda_kernels(data: bytes) -> object:
    from wheelgrid.inspect.gpu import cuda
    from wheelgrid.inspect.gpu.coverage import cover

    found = _each(data, lambda stream: cuda.read_container(stream, kernels=True))
    return cover(found)


def _rocm(data: bytes) -> object:
    from wheelgrid.inspect.gpu import rocm

    rocm.has_kpack(data[:4096])
    return _each(data, rocm.read_bundle)


def _rocm_kernels(data: bytes) -> object:
    from wheelgrid.inspect.gpu import rocm

    return _each(data, lambda stream: rocm.read_bundle(stream, kernels=True))


def _kpack(data: bytes) -> object:
    from wheelgrid.inspect.gpu import kpack

    return _each(data, kpack.read_kpack)


def _spirv(data: bytes) -> object:
    from wheelgrid.inspect.gpu import sycl

    return _each(data, sycl.read_spirv)


def _ocloc(data: bytes) -> object:
    from wheelgrid.inspect.gpu import sycl

    return _each(data, sycl.read_archive)


def _sycl_sections(data: bytes) -> object:
    from wheelgrid.inspect.gpu import sycl

    part = ("__CLANG_OFFLOAD_BUNDLE__sycl-spir64", 0, len(data))
    return sycl.read_sections([part], _pages(data), kernels=True)


def _metal(data: bytes) -> object:
    from wheelgrid.inspect.gpu import metal

    return _each(data, lambda stream: metal.read_metallib(stream, kernels=True))


def _macho(data: bytes) -> object:
    from wheelgrid.inspect.formats.macho import read_macho

    return read_macho(_pages(data))


def _macho_defined(data: bytes) -> object:
    from wheelgrid.inspect.formats.macho_defined import iter_defined

    return list(iter_defined(_pages(data)))


def _pe(data: bytes) -> object:
    from wheelgrid.inspect.formats.pe import read_pe

    return read_pe(_pages(data))


def _elf(data: bytes) -> object:
    from wheelgrid.inspect.formats import elf

    return elf.read_elf(_pages(data), elf.read_header(data[: 64 * 1024]))


def _elf_defined(data: bytes) -> object:
    from wheelgrid.inspect.formats import elf

    return list(elf.iter_defined(_pages(data), elf.read_header(data[: 64 * 1024])))


def _native(data: bytes) -> object:
    from wheelgrid.inspect.library import read_library
    from wheelgrid.inspect.native import kind_of

    kind = kind_of(data[:4096])
    if not kind:
        return None
    return read_library("a/b.so", len(data), lambda: _chunks(data), kind, kernels=True)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where the wheel lies; gone when the process ends."""
    return tempfile.TemporaryDirectory(prefix="wheelgrid-fuzz-")


def _wheel(data: bytes) -> object:
    from wheelgrid.inspect.wheel import read_wheel

    file = Path(_folder().name, "demo-1.0-cp313-cp313-manylinux_2_28_x86_64.whl")
    file.write_bytes(data)
    return read_wheel(file)


_UNREADABLE = ("NotReadableError",)
_CUT_OFF = ("TruncatedError",)
_NATIVE = ("fixtures/native/*.so", "fixtures/native/*.pyd", "fuzz/corpus/elf/*")
TARGETS = {
    target.name: target
    for target in (
        Target(name="cuda", run=_cuda, allowed=_CUT_OFF),
        Target(
            name="cuda-kernels", run=_cuda_kernels, allowed=_CUT_OFF, seeds=("fuzz/corpus/cuda/*",)
        ),
        Target(name="rocm", run=_rocm, allowed=_CUT_OFF),
        Target(
            name="rocm-kernels", run=_rocm_kernels, allowed=_CUT_OFF, seeds=("fuzz/corpus/rocm/*",)
        ),
        Target(name="kpack", run=_kpack, allowed=_CUT_OFF),
        Target(name="spirv", run=_spirv, allowed=_CUT_OFF),
        Target(name="ocloc", run=_ocloc, allowed=_CUT_OFF),
        Target(
            name="sycl-sections",
            run=_sycl_sections,
            seeds=("fuzz/corpus/spirv/*", "fuzz/corpus/ocloc/*"),
        ),
        Target(name="metal", run=_metal, allowed=_CUT_OFF),
        Target(name="macho", run=_macho, allowed=_UNREADABLE, seeds=("fixtures/native/*.so",)),
        Target(
            name="macho-defined",
            run=_macho_defined,
            allowed=("NotReadableError", "HoleError", "TruncatedError"),
            seeds=("fixtures/native/*.so",),
        ),
        Target(name="pe", run=_pe, allowed=_UNREADABLE, seeds=("fixtures/native/*.pyd",)),
        Target(name="elf", run=_elf, allowed=_UNREADABLE),
        Target(
            name="elf-defined",
            run=_elf_defined,
            allowed=("NotReadableError", "HoleError", "TruncatedError"),
            seeds=("fuzz/corpus/elf/*",),
        ),
        Target(name="native", run=_native, allowed=_UNREADABLE, seeds=_NATIVE),
        Target(name="wheel", run=_wheel),
    )
}


def seeds(target: Target) -> list[bytes]:
    """Inputs to start from, in a fixed order; at least an empty one."""
    patterns = (f"fuzz/corpus/{target.name}/*", *target.seeds)
    files = [f for pattern in patterns for f in sorted(TESTS.glob(pattern)) if f.is_file()]
    return [f.read_bytes() for f in files] or [b""]
