"""SYCL device code: SPIR-V modules, and archives of the offline compiler for named devices.

Compilers of intel/llvm put images into sections named `__CLANG_OFFLOAD_BUNDLE__sycl-*` or, since
2026, `OFFLOAD_DEVICE_CODE`: one after another with padding, each maybe in a zstd frame. The table
of pointers to them, `.tgtimg`, is not needed (and has their sizes without the frame).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wheelgrid.inspect.gpu import compressed
from wheelgrid.inspect.gpu.compressed import ZSTD_MAGIC, DamagedError, Method
from wheelgrid.inspect.gpu.intel import aot_options
from wheelgrid.inspect.gpu.ocloc import ARCHIVE_MAGIC, OclocArchive, read_archive, read_binary
from wheelgrid.inspect.gpu.spirv import SPIRV_MAGICS, SpirvModule, is_spirv, read_spirv
from wheelgrid.inspect.stream import LOOKAHEAD, ByteStream, HoleError, Readable, TruncatedError

__all__ = ["ARCHIVE_MAGIC", "SPIRV_MAGICS", "OclocArchive", "SpirvModule", "SyclCode"]
__all__ += ["aot_options", "read_archive", "read_sections", "read_spirv", "read_wrapped"]

_MAX_IMAGES = 1 << 14
_MAX_DECODED = 1 << 30
_BLOCK = 64 * 1024
_PADDING = 64
"""Bytes of padding that are looked for first; images are aligned to fewer."""
_ELF = b"\x7fELF"
_SPIR_SECTIONS = ("__CLANG_OFFLOAD_BUNDLE__sycl-spir64", "OFFLOAD_DEVICE_CODE")
_TABLE = ".tgtimg"

Image = SpirvModule | OclocArchive


@dataclass(frozen=True, slots=True, kw_only=True)
class SyclCode:
    """All device code of SYCL in one file; `damage` is what could not be read, each image's too."""

    modules: tuple[SpirvModule, ...] = ()
    archives: tuple[OclocArchive, ...] = ()
    damage: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that there is code for, compiled ahead of time, in the file's order."""
        return tuple(dict.fromkeys(name for a in self.archives for name in a.devices))

    @property
    def spirv(self) -> bool:
        """Whether there are kernels, or may be, that are compiled when they are loaded."""
        mine = any(m.entries or m.damage for m in self.modules)
        return mine or any(a.generic_ir for a in self.archives)


def _read_image(stream: ByteStream, *, kernels: bool) -> Image | None:
    """The image that the stream stands at, by its first bytes; None if it is not known."""
    head = stream.peek(4)
    if head in SPIRV_MAGICS:
        return read_spirv(stream, kernels=kernels)
    if head == ARCHIVE_MAGIC[:4]:
        return read_archive(stream)
    if head == _ELF:
        return read_binary(stream)
    return read_wrapped(stream, kernels=kernels) if head == ZSTD_MAGIC else None


def _start(stream: ByteStream) -> bytes:
    """The first decoded bytes of a frame; empty if it has none. Most blocks are small."""
    start = b""
    for much in (LOOKAHEAD // 16, 4 * LOOKAHEAD):
        try:
            start = compressed.head(stream.peek(much), Method.ZSTD, 64)
        except DamagedError:
            return b""
        if start:
            break
    return start


def _is_image(start: bytes) -> bool:
    return is_spirv(start) or start.startswith((ARCHIVE_MAGIC, _ELF))


def read_wrapped(stream: ByteStream, *, kernels: bool = False) -> Image | None:
    """Read the image in the zstd frame that the stream stands at.

    None, and nothing taken, if the frame does not begin as an image does. The offset of the
    record is the frame's.
    """
    offset = stream.offset
    if not _is_image(_start(stream)):
        return None
    damage, image = "", None
    pieces = compressed.decoded(stream, Method.ZSTD, limit=1 << 40, most=_MAX_DECODED)
    try:
        inner = ByteStream(pieces)
        image = _read_image(inner, kernels=kernels)
        inner.drain()
    except (DamagedError, TruncatedError) as error:
        damage = f"in a zstd frame: {error}"
    if image is None:
        damage = damage or "in a zstd frame: an image that is not known"
        image = OclocArchive(offset=offset, devices=(), damage=damage)
    damage = image.damage or damage
    return replace(image, offset=offset, compression=Method.ZSTD.value, damage=damage)


class _Region(ByteStream):
    """A part of kept bytes as a stream, of which `skip` reads nothing."""

    def __init__(self, pages: Readable, begin: int, end: int) -> None:
        super().__init__(self._blocks())
        self._pages, self._next, self._end = pages, begin, end
        self.offset = begin

    def _blocks(self) -> Iterator[bytes]:
        while self._next < self._end:
            size = min(_BLOCK, self._end - self._next)
            self._next += size
            yield self._pages.read(self._next - size, size)

    def skip(self, size: int) -> None:
        """Pass over `size` bytes; TruncatedError if the part ends before."""
        ahead = len(self._buffer) - self._at
        jump = min(size - ahead, self._end - self._next)
        if jump > 0:
            super().skip(ahead)
            self._next += jump
            self.offset += jump
            size -= ahead + jump
        super().skip(size)


def _skip_zeros(stream: ByteStream) -> bool:
    """Pass over padding; whether anything is left."""
    much = _PADDING
    while data := stream.peek(much):
        zeros = len(data) - len(data.lstrip(b"\0"))
        stream.skip(zeros)
        if zeros < len(data):
            return True
        much = LOOKAHEAD
    return False


def _read_section(
    name: str, stream: ByteStream, images: list[Image], *, kernels: bool
) -> Iterator[str]:
    """Collect the images of one section; what is wrong with it."""
    while _skip_zeros(stream):
        at = stream.offset
        image = _read_image(stream, kernels=kernels)
        if image is None:
            yield f"{name}: an image at {at} that is not known"
            return
        images.append(image)
        if image.damage:
            yield f"{name}: image at {at}: {image.damage}"
        if len(images) > _MAX_IMAGES:
            yield f"{name}: more than {_MAX_IMAGES} images"
            return


def read_sections(
    sections: Sequence[tuple[str, int, int]], pages: Readable, *, kernels: bool = False
) -> SyclCode | None:
    """Read the images in sections (name, offset, size in bytes); None if there are none at all."""
    images: list[Image] = []
    damage: list[str] = []
    for name, offset, size in sections:
        if name == _TABLE:
            continue
        if not name.startswith(_SPIR_SECTIONS):
            damage.append(f"{name}: code of another vendor, not looked into")
            continue
        region = _Region(pages, offset, offset + size)
        try:
            damage.extend(_read_section(name, region, images, kernels=kernels))
        except (TruncatedError, HoleError, DamagedError) as error:
            damage.append(f"{name}: {error}")
    if not images and not damage:
        return None
    return SyclCode(
        modules=tuple(i for i in images if isinstance(i, SpirvModule)),
        archives=tuple(i for i in images if isinstance(i, OclocArchive)),
        damage=tuple(damage),
    )
