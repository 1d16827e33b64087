"""CUDA fat binaries: containers of PTX, ELF images (cubins) and LTO-IR.

nvcc writes one container per translation unit into `.nv_fatbin`; libraries keep them elsewhere,
too. A container: u32 magic 0xBA55ED50, u16 version 1, u16 size of this header 16, u64 size of what
follows, then entries back to back (see `fatbin`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from wheelgrid.inspect.gpu.cubin import list_cubin_kernels
from wheelgrid.inspect.gpu.fatbin import ENTRY_SIZE, Entry, parse_entry, parse_members
from wheelgrid.inspect.gpu.payload import Budget, Payload, PayloadError, open_payload
from wheelgrid.inspect.gpu.ptx import list_ptx_kernels
from wheelgrid.inspect.stream import ByteStream, TruncatedError

__all__ = ["MAGIC", "Container", "Image", "ImageKind", "read_container"]

MAGIC = bytes.fromhex("50ed55ba 0100 1000")
"""How a container begins: magic, version and header size."""
_CONTAINER = struct.Struct("<8sQ")
_MOST_ENTRIES = 4096
_MOST_SM = 9999
_MOST_FAULTS = 3
_BITS = 64


class ImageKind(StrEnum):
    """What an image is: machine code, PTX that the driver compiles, or input of a device linker."""

    ELF = "elf"
    PTX = "ptx"
    LTO = "lto"


_KINDS = {1: (ImageKind.PTX, "compute"), 2: (ImageKind.ELF, "sm"), 8: (ImageKind.LTO, "lto")}
_PTX = 1
_LISTED = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """Code for one target: "sm_90a", "compute_120f" or "lto_90a".

    `isa` is the version (major, minor) of the PTX ISA or the cubin ABI; `size` are bytes when
    decoded; `kernels` are sorted, None if they were not or could not be looked for.
    """

    kind: ImageKind
    target: str
    isa: tuple[int, int]
    compression: str = ""
    size: int = 0
    kernels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One fat binary, in most cases of one translation unit; `offset` is where it begins.

    `other` are entries that are no loadable 64-bit image of a known kind; `damage` says what could
    not be read, "" if nothing.
    """

    offset: int
    images: tuple[Image, ...]
    other: tuple[str, ...] = ()
    damage: str = ""


@dataclass(slots=True)
class _Walk:
    """What was found in a container so far."""

    names: dict[bytes, str] = field(default_factory=dict)
    lists: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    images: list[Image] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def share(self, names: Iterable[bytes], budget: Budget) -> tuple[str, ...]:
        """The names as text, sorted; names and lists that came before are not stored again."""
        for name in names:
            if name not in self.names:
                budget.keep(len(name))
                self.names[name] = name.decode("ascii", "backslashreplace")
        result = tuple(sorted({self.names[name] for name in names}))
        return self.lists.setdefault(result, result)

    def damage(self) -> str:
        more = len(self.faults) - _MOST_FAULTS
        tail = [f"{more} more"] if more > 0 else []
        return "; ".join(self.faults[:_MOST_FAULTS] + tail)


@lru_cache(maxsize=1024)
def _target(prefix: str, sm: int, suffix: str) -> str:
    """One string per target, however many images name it."""
    return f"{prefix}_{sm}{suffix}"


def _is_image(entry: Entry) -> bool:
    """Whether the fields are those of a 64-bit image of a known kind."""
    known = entry.kind in _KINDS and entry.compression != "unknown"
    return known and entry.bits == _BITS and entry.suffix != "af" and entry.sm <= _MOST_SM


def _describe(entry: Entry) -> str:
    """What is said of an entry that is no image as we know them."""
    kind = _KINDS[entry.kind][0].value if entry.kind in _KINDS else f"kind {entry.kind}"
    return f"{kind}, SM {entry.sm}{entry.suffix}, {entry.bits}-bit, flags {entry.flags:#x}"


def _list_kernels(
    payload: Payload, entry: Entry, walk: _Walk, budget: Budget
) -> tuple[str, ...] | None:
    """Names of the kernels of an image; None if they cannot be listed."""
    if entry.kind not in _LISTED:
        return None
    payload.skip(entry.place - payload.taken)
    part = payload.part(entry.size)
    names = list_ptx_kernels(part) if entry.kind == _PTX else list_cubin_kernels(part)
    return walk.share(names, budget)


def _image(entry: Entry, kernels: tuple[str, ...] | None) -> Image:
    kind, prefix = _KINDS[entry.kind]
    return Image(
        kind=kind, target=_target(prefix, entry.sm, entry.suffix), isa=entry.isa,
        compression=entry.compression, size=entry.size, kernels=kernels,
    )  # fmt: skip


def _read_entry(stream: ByteStream, entry: Entry, walk: _Walk, budget: Budget | None) -> None:
    """Take one entry off the stream; with a budget its kernels are listed."""
    end = stream.offset + entry.header + entry.payload
    members = parse_members(stream.read(entry.header), entry)
    at = stream.offset
    payload = open_payload(stream, entry, budget) if budget else None
    for member in members:
        kernels = None
        if not _is_image(member):
            walk.other.append(_describe(member))
            continue
        try:
            if payload and budget:
                kernels = _list_kernels(payload, member, walk, budget)
        except (PayloadError, TruncatedError) as error:
            target = f"{_KINDS[member.kind][1]}_{member.sm}{member.suffix}"
            walk.faults.append(f"kernels of {target} at {at} not listed: {error}")
        walk.images.append(_image(member, kernels))
    if not members:
        walk.other.append(_describe(entry))
    stream.skip(end - stream.offset)


def _walk(stream: ByteStream, end: int, walk: _Walk, budget: Budget | None) -> None:
    """Take all entries up to `end`; stop where one cannot be read."""
    while (left := end - stream.offset) > 0:
        data = stream.peek(min(left, ENTRY_SIZE))
        if not any(data) and left < ENTRY_SIZE:
            stream.skip(left)
            return
        entry = parse_entry(data, left)
        if entry is None:
            short = len(data) < min(left, ENTRY_SIZE)
            walk.faults.append("ends early" if short else f"no entry at {stream.offset}")
            return
        if len(walk.images) + len(walk.other) >= _MOST_ENTRIES:
            walk.faults.append(f"more than {_MOST_ENTRIES} entries")
            stream.skip(left)
            return
        _read_entry(stream, entry, walk, budget)


def read_container(
    stream: ByteStream, *, kernels: bool = False, budget: Budget | None = None
) -> Container | None:
    """Take the container at the stream's place; None, and nothing taken, if there is none.

    With `kernels` the names of kernels are listed, within `budget`, which may be shared by the
    containers of a file. After an entry that cannot be read the stream stays there, so that what
    follows is still searched; the record says so in `damage`.
    """
    head = stream.peek(_CONTAINER.size + ENTRY_SIZE)
    if len(head) < _CONTAINER.size:
        return None
    magic, size = _CONTAINER.unpack_from(head)
    if magic != MAGIC or (size and parse_entry(head[_CONTAINER.size :], size) is None):
        return None
    offset = stream.offset
    walk = _Walk()
    stream.skip(_CONTAINER.size)
    try:
        _walk(stream, stream.offset + size, walk, (budget or Budget()) if kernels else None)
    except TruncatedError as error:
        walk.faults.append(f"ends early: {error}")
    return Container(
        offset=offset, images=tuple(walk.images), other=tuple(walk.other), damage=walk.damage()
    )
