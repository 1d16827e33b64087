"""Native files: recognised by their first bytes, read in one pass, never held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wheelgrid.inspect.formats import NotReadableError, elf
from wheelgrid.inspect.gpu import amdgpu, kpack, metal, rocm, sycl
from wheelgrid.inspect.gpu.cuda import MAGIC, ImageKind
from wheelgrid.inspect.gpu.groups import CudaGroup, Place, group
from wheelgrid.inspect.scan import Found, Keep, Ranges, scan
from wheelgrid.inspect.stream import LOOKAHEAD, ByteStream, HoleError, Pages, TruncatedError

if TYPE_CHECKING:
    from wheelgrid.inspect.formats.macho import MachO
    from wheelgrid.inspect.formats.pe import Pe

__all__ = ["CudaGroup", "DeviceCode", "Native", "kind_of", "read_native"]

_HEAD = 48 << 20
"""Bytes at the start that are kept of a file whose tables lie in the segment of its code."""
_TAIL = 1 << 20
_SMALL = 8 << 20
_MOST_PASSES = 4
_EXECUTABLE, _LOAD, _DYNAMIC = 1, 1, 2
_MAX_JAVA = 20
_MAX_FAULTS = 3
_NEW_CUBIN = 0x6000000
"""In the flags of cubins since CUDA 13, whose next byte is the SM; before, the lowest was."""
_SYCL_RUNTIME = b"libsycl.so"
_SYCL_SECTIONS = ("__CLANG_OFFLOAD_BUNDLE__sycl", "OFFLOAD_DEVICE_CODE", ".tgtimg")

Chunks = Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """Device code of one file by vendor."""

    cuda: tuple[CudaGroup, ...] = ()
    bundles: tuple[rocm.Bundle, ...] = ()
    kpack: bool = False
    sycl: sycl.SyclCode | None = None
    metallib: metal.Metallib | None = None

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.cuda or self.bundles or self.kpack or self.sycl or self.metallib)


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """One native file. `format` is ELF, Mach-O, PE or the name of a device-code format.

    `damage` are parts that could not be read; the file is then not fully known.
    """

    path: str
    size: int
    format: str
    elf: elf.Elf | None = None
    macho: MachO | None = None
    pe: Pe | None = None
    device: DeviceCode = field(default_factory=DeviceCode)
    damage: tuple[str, ...] = ()


_MACH = {b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xfe\xed\xfa\xce"}
_FAT = {b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"}


def kind_of(head: bytes) -> str:
    """The format that the first bytes tell; empty for a file that is not native.

    A Java class begins like a universal Mach-O file, but its next number is a large version.
    """
    magic = head[:4]
    if magic == b"\x7fELF":
        return "ELF"
    if magic in _MACH or (magic in _FAT and 0 < int.from_bytes(head[4:8]) <= _MAX_JAVA):
        return "Mach-O"
    if magic[:2] == b"MZ":
        at = int.from_bytes(head[0x3C:0x40], "little")
        return "PE" if head[at : at + 4] == b"PE\0\0" else ""
    if magic == MAGIC[:4]:
        return "fatbin"
    if magic == rocm.CCOB_MAGIC or head.startswith(rocm.BUNDLE_MAGIC):
        return "offload bundle"
    if magic in {metal.MAGIC, kpack.MAGIC}:
        return "metallib" if magic == metal.MAGIC else "kpack"
    return "SPIR-V" if magic in {b"\x03\x02\x23\x07", b"\x07\x23\x02\x03"} else ""


def _merged(ranges: list[tuple[int, int]], size: int) -> Ranges:
    """Sorted and disjoint, within the file."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted((max(0, b), min(e, size)) for b, e in ranges):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif begin < end:
            found.append((begin, end))
    return found


def _kept(header: elf.Header, size: int, more: list[tuple[int, int]]) -> Keep:
    """What the loader's tables and the section headers may lie in.

    Linkers put the tables first, in a segment of their own or before the code; patchelf adds small
    segments at the end. Device code of SYCL is read after the pass, so all that is not machine code
    is kept of a file that needs its runtime.
    """
    if size <= _SMALL:
        return Keep([(0, size)])
    ranges = [(0, LOOKAHEAD), (header.sections_at - _TAIL, size), *more]
    data = []
    for segment in header.segments:
        end = segment.offset + segment.size
        if segment.kind == _DYNAMIC or (segment.kind == _LOAD and segment.size <= _SMALL):
            ranges.append((segment.offset, end))
        elif segment.kind == _LOAD and segment.offset == 0:
            ranges.append((0, min(end, _HEAD)))
        if segment.kind == _LOAD and not segment.flags & _EXECUTABLE:
            data.append((segment.offset, end))
    return Keep(_merged(ranges, size), _merged([*ranges, *data], size), _SYCL_RUNTIME)


def _cubin(header: elf.Header) -> tuple[CudaGroup, ...]:
    """A file that is one cubin. Its flags name the SM, but not whether it is an `a` or `f` form."""
    if header.machine != "cuda":
        return ()
    number = header.flags >> 8 & 0xFFFF if header.flags & _NEW_CUBIN else header.flags & 0xFF
    image = (ImageKind.ELF, f"sm_{number & 0xFFF}", (0, 0))
    return (CudaGroup("", frozenset({image}), 1),)


def _code_object(pages: Pages, header: elf.Header) -> tuple[rocm.Bundle, ...]:
    """A file that is one AMDGPU code object."""
    if header.machine != "amdgpu":
        return ()
    return (rocm.Bundle(offset=0, targets=(amdgpu.target_of(pages),)),)


def _sycl(
    pages: Pages, sections: tuple[elf.Section, ...], *, kernels: bool
) -> sycl.SyclCode | None:
    """Device code of SYCL in the sections where compilers put it."""
    parts = [s for s in sections if s.name.startswith(_SYCL_SECTIONS) and s.size]
    for part in parts:
        pages.require(part.offset, part.size)
    if not parts:
        return None
    return sycl.read_sections([(s.name, s.offset, s.size) for s in parts], pages, kernels=kernels)


def _spans(sections: Iterable[elf.Section]) -> list[Place]:
    return [(s.name, s.offset, s.offset + s.size) for s in sections if s.size]


def _read_elf(path: str, size: int, chunks: Chunks, *, kernels: bool) -> Native:
    """Read an ELF file; once more, with other bytes kept, where tables lie at unusual places."""
    more: list[tuple[int, int]] = []
    for _ in range(_MOST_PASSES):
        try:
            return _pass_elf(path, size, chunks, more, kernels=kernels)
        except HoleError as error:
            more.append((error.begin - _TAIL, error.end + _TAIL))
    msg = f"its tables lie at {len(more)} unusual places"
    raise NotReadableError(msg)


def _pass_elf(
    path: str, size: int, chunks: Chunks, more: list[tuple[int, int]], *, kernels: bool
) -> Native:
    stream = ByteStream(chunks())
    header = elf.read_header(stream.peek(LOOKAHEAD))
    with Pages(size) as pages:
        found = scan(stream, pages, _kept(header, size, more), kernels=kernels)
        facts = elf.read_elf(pages, header)
        code = DeviceCode(
            cuda=(
                *group(_spans(facts.sections), found.containers, kernels=kernels),
                *_cubin(header),
            ),
            bundles=(*found.bundles, *_code_object(pages, header)),
            kpack=_has_kpack(pages, facts.sections),
            sycl=_sycl(pages, facts.sections, kernels=kernels),
        )
    damage = (*_faults(found), *facts.damage, *(code.sycl.damage if code.sycl else ()))
    return Native(path=path, size=size, format="ELF", elf=facts, device=code, damage=damage)


def _faults(found: Found) -> list[str]:
    """What is wrong with device code, the first few containers by name."""
    bad = [f"device code at {c.offset}: {c.damage}" for c in found.containers if c.damage]
    bad += [f"device code at {b.offset}: {b.damage}" for b in found.bundles if b.damage]
    more = (
        [f"{len(bad) - _MAX_FAULTS} more containers are damaged"] if len(bad) > _MAX_FAULTS else []
    )
    return [*found.damage, *bad[:_MAX_FAULTS], *more]


def _read_other(path: str, size: int, kind: str, chunks: Chunks, *, kernels: bool) -> Native:
    """Mach-O and PE: the whole file is kept but for device code."""
    whole = Keep([(0, size)])
    with Pages(size) as pages:
        found = scan(ByteStream(chunks()), pages, whole, kernels=kernels)
        if kind == "PE":
            from wheelgrid.inspect.formats.pe import read_pe

            facts = read_pe(pages)
            spans = [(s.name, s.offset, s.offset + s.size) for s in facts.sections if s.size]
            code = DeviceCode(
                cuda=tuple(group(spans, found.containers, kernels=kernels)),
                bundles=tuple(found.bundles),
            )
            damage = (*_faults(found), *facts.damage)
            return Native(path=path, size=size, format=kind, pe=facts, device=code, damage=damage)
        from wheelgrid.inspect.formats.macho import read_macho

        image = read_macho(pages)
        damage = (*_faults(found), *(t for s in image.slices for t in s.damage))
        return Native(path=path, size=size, format=kind, macho=image, damage=damage)


def _read_device_file(path: str, size: int, kind: str, chunks: Chunks, *, kernels: bool) -> Native:
    """A member that is device code and nothing else."""
    stream = ByteStream(chunks())
    damage: list[str] = []
    code = DeviceCode()
    if kind == "metallib":
        library = metal.read_metallib(stream)
        code = DeviceCode(metallib=library)
        damage += [library.damage] if library is not None and library.damage else []
    elif kind == "SPIR-V":
        module = sycl.read_spirv(stream)
        code = DeviceCode(sycl=sycl.SyclCode(modules=(module,)) if module else None)
        damage += [module.damage] if module is not None and module.damage else []
    elif kind == "kpack":
        pack = kpack.read_kpack(stream)
        if pack is not None:
            code = DeviceCode(bundles=(rocm.Bundle(offset=pack.offset, targets=pack.targets),))
            damage += [pack.damage] if pack.damage else []
    else:
        with Pages(size) as pages:
            found = scan(stream, pages, Keep([]), kernels=kernels)
        code = DeviceCode(
            cuda=tuple(group([], found.containers, kernels=kernels)), bundles=tuple(found.bundles)
        )
        damage += _faults(found)
    stream.drain()
    return Native(path=path, size=size, format=kind, device=code, damage=tuple(damage))


def read_native(path: str, size: int, chunks: Chunks, kind: str, *, kernels: bool) -> Native:
    """Read a file of a known kind. NotReadableError where it is not what its first bytes say."""
    try:
        if kind == "ELF":
            return _read_elf(path, size, chunks, kernels=kernels)
        if kind in {"PE", "Mach-O"}:
            return _read_other(path, size, kind, chunks, kernels=kernels)
        return _read_device_file(path, size, kind, chunks, kernels=kernels)
    except (HoleError, TruncatedError) as error:
        raise NotReadableError(str(error)) from error


def _has_kpack(pages: Pages, sections: tuple[elf.Section, ...]) -> bool:
    part = next((s for s in sections if s.name == ".hipFatBinSegment"), None)
    return part is not None and rocm.has_kpack(pages.read(part.offset, min(part.size, _TAIL)))
