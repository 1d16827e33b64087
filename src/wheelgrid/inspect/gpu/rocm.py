"""ROCm device code: bundles of code objects, compressed or not, and their targets.

Sources: clang/docs/ClangOffloadBundler.rst (the binary layout of bundles, bundle entry ids and
target ids, the header of compressed bundles up to version 2), LLVM's OffloadBundle.cpp (version
3) and the HIP runtime's hip_code_object.hpp (wrappers and their magic numbers).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.gpu import compressed
from wheelgrid.inspect.gpu.amdgpu import kernels_of, target_of
from wheelgrid.inspect.gpu.code_object import spool
from wheelgrid.inspect.gpu.compressed import DamagedError, Method
from wheelgrid.inspect.stream import LOOKAHEAD, ByteStream, HoleError, TruncatedError

__all__ = ["BUNDLE_MAGIC", "CCOB_MAGIC", "Bundle", "has_kpack", "read_bundle", "target_in"]

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
CCOB_MAGIC = b"CCOB"
_KPACK_MAGIC = b"HIPK"
_WRAPPER = 24
_MAX_ENTRIES = 1024
_MAX_ID = 256
_MAX_NAMES = 16 << 20
"""Bytes of all names of kernels in one bundle; the largest seen has less than a tenth."""
_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")
_TABLE_AT = len(BUNDLE_MAGIC) + _COUNT.size
_HEADERS = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
_COMMON = struct.Struct("<4sHH")
_METHODS = {0: Method.ZLIB, 1: Method.ZSTD}
_DEVICE_ID = re.compile(
    r"(?:hip|hipv4|hcc)-(?:amdgcn|spirv64)-amd-amdhsa-(?:[a-z]*-)?"
    r"((?:gfx[0-9a-f]+(?:-[0-9]+)?(?:-generic)?|amdgcnspirv)(?::[a-z]+[+-])*)"
)
_GOOD_ID = re.compile(r"[a-z0-9]+-[!-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One bundle. `targets` are target ids of HIP code without duplicates, in the file's order.

    `others` are ids of code that is not HIP's (OpenMP, SYCL); the host's are left out. `kernels`
    has the names per target, and only targets whose code object could be read; None if not asked.
    """

    offset: int
    targets: tuple[str, ...]
    compression: str = ""
    kpack: bool = False
    others: tuple[str, ...] = ()
    damage: str = ""
    kernels: Mapping[str, tuple[str, ...]] | None = None


class _Entry(NamedTuple):
    """One row of a bundle's table: place in the bundle, size in bytes, id."""

    offset: int
    size: int
    name: str


class _Header(NamedTuple):
    """The header of a compressed bundle: sizes in bytes, `total` is 0 where it is not written."""

    version: int
    method: Method
    size: int
    total: int
    decoded: int


@lru_cache(maxsize=4096)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same tuple for the same names: a library has thousands of bundles with one set."""
    return names


def target_in(name: str) -> str:
    """The target id in a bundle entry id of HIP; empty for the host and for other languages."""
    found = _DEVICE_ID.fullmatch(name)
    return found[1] if found else ""


def has_kpack(section: bytes) -> bool:
    """Whether a wrapper in `.hipFatBinSegment` says that its kernels are in a .kpack file."""
    steps = range(0, len(section) - len(_KPACK_MAGIC) + 1, _WRAPPER)
    return any(section.startswith(_KPACK_MAGIC, at) for at in steps)


def _table(data: bytes) -> tuple[list[_Entry], str]:
    """Entries of the table at the start of a bundle, and what is wrong with it."""
    if len(data) < _TABLE_AT or not data.startswith(BUNDLE_MAGIC):
        return [], "no bundle where one should be"
    (count,) = _COUNT.unpack_from(data, len(BUNDLE_MAGIC))
    entries: list[_Entry] = []
    at = _TABLE_AT
    while len(entries) < count:
        if len(entries) == _MAX_ENTRIES:
            return entries, f"more than {_MAX_ENTRIES} entries"
        if at + _ENTRY.size > len(data):
            return entries, "the table of entries is cut off"
        offset, size, length = _ENTRY.unpack_from(data, at)
        name = data[at + _ENTRY.size : at + _ENTRY.size + min(length, _MAX_ID)]
        text = name.decode("latin-1")
        if len(name) != length or not _GOOD_ID.fullmatch(text):
            return entries, "an entry without a readable id"
        entries.append(_Entry(offset, size, text))
        at += _ENTRY.size + length
    early = any(entry.size and entry.offset < at for entry in entries)
    return entries, "an entry that overlaps the table" if early else ""


def _named(entries: list[_Entry]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Target ids and other ids."""
    targets = dict.fromkeys(t for e in entries if (t := target_in(e.name)))
    rest = (e.name for e in entries if not e.name.startswith("host-") and not target_in(e.name))
    return _shared(tuple(targets)), _shared(tuple(dict.fromkeys(rest)))


def _processor(target: str) -> str:
    """A target id without its features."""
    return target.partition(":")[0]


def _kernels_in(body: ByteStream, entry: _Entry, target: str) -> tuple[tuple[str, ...], str]:
    """Kernels of the code object that the stream stands at, and a doubt about its target."""
    with spool(body, entry.size) as pages:
        try:
            held = target_of(pages)
            names = kernels_of(pages)
        except (NotReadableError, TruncatedError, HoleError) as error:
            return (), f"{target}: {error}"
    fits = _processor(held) == _processor(target)
    return names, "" if fits else f"{target}: holds code for {held}"


def _code_objects(entries: list[_Entry]) -> list[tuple[_Entry, str]]:
    """Entries that hold machine code of a GPU, in the order of their places, with their targets."""
    pairs = [(entry, target_in(entry.name)) for entry in sorted(entries) if entry.size]
    return [(entry, target) for entry, target in pairs if target.startswith("gfx")]


def _read_kernels(
    body: ByteStream, entries: list[_Entry]
) -> tuple[dict[str, tuple[str, ...]], str]:
    """Kernels by target from the bundle that the stream stands at, and what went wrong."""
    begin, left = body.offset, _MAX_NAMES
    found: dict[str, tuple[str, ...]] = {}
    same: dict[tuple[str, ...], tuple[str, ...]] = {}
    doubts: list[str] = []
    for entry, target in _code_objects(entries):
        gap = begin + entry.offset - body.offset
        if gap < 0:
            doubts.append(f"{target}: overlaps another entry")
            continue
        try:
            body.skip(gap)
            names, doubt = _kernels_in(body, entry, target)
        except (TruncatedError, DamagedError) as error:
            return found, "; ".join([*doubts, f"{target}: {error}"])
        left -= 0 if names in same else sum(map(len, names))
        if left < 0:
            return found, "names of kernels longer than any library has"
        if doubt:
            doubts.append(doubt)
        if names or not doubt:
            found[target] = same.setdefault(names, names)
    return found, "; ".join(doubts)


def _read_plain(stream: ByteStream, *, kernels: bool) -> Bundle | None:
    offset = stream.offset
    entries, damage = _table(stream.peek(LOOKAHEAD))
    if not entries:
        return None
    targets, others = _named(entries)
    found: dict[str, tuple[str, ...]] | None = None
    try:
        if kernels:
            found, fault = _read_kernels(stream, entries)
            damage = damage or fault
        size = max(_TABLE_AT, *(entry.offset + entry.size for entry in entries))
        stream.skip(max(0, offset + size - stream.offset))
    except TruncatedError as error:
        damage = damage or f"cut off: {error}"
    return Bundle(offset=offset, targets=targets, others=others, damage=damage, kernels=found)


def _read_header(data: bytes) -> _Header | None:
    """The header of a compressed bundle, None if these bytes are none."""
    if len(data) < _COMMON.size + _HEADERS[3].size:
        return None
    _magic, version, method = _COMMON.unpack_from(data)
    if version not in _HEADERS or method not in _METHODS:
        return None
    layout = _HEADERS[version]
    *sizes, _hash = layout.unpack_from(data, _COMMON.size)
    size = _COMMON.size + layout.size
    total = sizes[0] if len(sizes) > 1 else 0
    if (version > 1 and total <= size) or not compressed.looks_like(data[size:], _METHODS[method]):
        return None
    return _Header(version, _METHODS[method], size, total, sizes[-1])


def _head(stream: ByteStream, header: _Header) -> tuple[list[_Entry], str]:
    """The table of a compressed bundle from its first block, without taking anything."""
    end = header.total or (1 << 62)
    start = b""
    for much in (LOOKAHEAD, 4 * LOOKAHEAD):
        payload = stream.peek(min(much, end))[header.size :]
        try:
            start = compressed.head(payload, header.method, LOOKAHEAD)
        except DamagedError as error:
            return [], str(error)
        if len(start) >= min(LOOKAHEAD, header.decoded):
            break
    return _table(start)


def _pass_over(stream: ByteStream, header: _Header, begin: int) -> None:
    """Leave the stream behind the bundle. Version 1 does not say its size: walk its blocks."""
    if header.total:
        stream.skip(max(0, begin + header.total - stream.offset))
    elif stream.offset == begin:
        stream.skip(header.size)
        compressed.pass_over(stream, header.method, limit=1 << 32, most=header.decoded)


def _decode(stream: ByteStream, header: _Header) -> ByteStream:
    """The bundle inside a compressed one."""
    stream.skip(header.size)
    limit = header.total - header.size if header.total else 1 << 32
    return ByteStream(compressed.decoded(stream, header.method, limit=limit, most=header.decoded))


def _read_compressed(stream: ByteStream, *, kernels: bool) -> Bundle | None:
    offset = stream.offset
    header = _read_header(stream.peek(64))
    if header is None:
        return None
    entries, damage = _head(stream, header)
    targets, others = _named(entries)
    found: dict[str, tuple[str, ...]] | None = None
    try:
        if kernels and entries:
            body = _decode(stream, header)
            found, fault = _read_kernels(body, entries)
            damage = damage or fault
            body.drain()
        _pass_over(stream, header, offset)
    except (TruncatedError, DamagedError) as error:
        damage = damage or f"cut off: {error}"
    return Bundle(
        offset=offset,
        targets=targets,
        others=others,
        compression=f"ccob{header.version}",
        damage=damage,
        kernels=found,
    )


def read_bundle(stream: ByteStream, *, kernels: bool = False) -> Bundle | None:
    """Read the bundle that the stream stands at; None, and nothing taken, if there is none.

    The stream is left behind the bundle. A damaged bundle is a record that says so.
    """
    if stream.peek(len(BUNDLE_MAGIC)) == BUNDLE_MAGIC:
        return _read_plain(stream, kernels=kernels)
    if stream.peek(len(CCOB_MAGIC)) == CCOB_MAGIC:
        return _read_compressed(stream, kernels=kernels)
    return None
