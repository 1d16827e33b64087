"""Reads a wheel once: the metadata, the native files and, where asked, every member's digest."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from email.message import Message
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from wheelgrid.inspect.archive import Archive, DamageError, Entry, open_archive
from wheelgrid.inspect.dist_info import MAX_TAGS, all_tags, headers, record_rows
from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.library import Library, read_library
from wheelgrid.inspect.native import kind_of
from wheelgrid.inspect.source import FileSource, Source

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = [
    "HEAD",
    "MAX_SOURCE",
    "Member",
    "Reading",
    "Wheel",
    "WheelName",
    "parse_name",
    "read_wheel",
    "required_names",
    "requirements",
    "take_source",
]

_MAX_METADATA = 8 << 20
_SMALL = 64 * 1024
HEAD = 1024
"""Bytes that tell the format of a native file."""
_THREADS = 2
R = TypeVar("R")
_BATCH = 256
MAX_SOURCE = 1 << 20
"""Bytes of the largest Python source that is searched for device code."""
_JIT = {
    "triton": (b"@triton.jit", b"@triton.autotune"),
    "cute-dsl": (b"@cute.jit",),
    "tilelang": (b"@tilelang.jit",),
    "numba": (b"@cuda.jit",),
    "cupy": (b"cupy.RawKernel(", b"cupy.RawModule(", b"cp.RawKernel("),
    "cpp_extension": (b"load_inline(",),
}
"""What marks a source of device code, by the compiler that takes it."""
_JIT_HINTS = (b".jit", b"Raw", b"load_inline(")
"""One of these is in every such source; most sources have none."""
_NATIVE_SUFFIXES = (".so", ".pyd", ".dylib", ".dll")


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelName:
    """A parsed file name; `version_text` is the version as written."""

    distribution: str
    version: Version
    version_text: str
    tags: frozenset[Tag]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file of the wheel. `sha256` is empty where the wheel was read without digests.

    `library` is what a native file holds; `unreadable` says why it could not be read.
    """

    path: str
    size: int
    crc: int = 0
    sha256: str = ""
    library: Library | None = None
    unreadable: str = ""


@dataclass(slots=True)
class Wheel:
    """What was read. `damage` lists members that cannot be read in full.

    `count` is the number of members; all of them are in `members` and `record` only if the wheel
    was read with digests, else those that matter: native files, and their rows.
    `jit` are Python sources that a compiler turns into device code at run time, by compiler.
    """

    file: str
    name: WheelName | None = None
    name_error: str = ""
    size: int = 0
    count: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    damage: list[tuple[str, str]] = field(default_factory=list)
    dist_info: str = ""
    dist_infos: set[str] = field(default_factory=set)
    about: Message | None = None
    metadata: Message | None = None
    wheel_tags: frozenset[Tag] = frozenset()
    record: dict[str, tuple[str, str]] = field(default_factory=dict)
    jit: dict[str, list[str]] = field(default_factory=dict)

    @property
    def native(self) -> list[Member]:
        """Members that hold machine code, or whose name says that they should."""
        return [
            m for m in self.members.values() if m.library or m.unreadable or _looks_native(m.path)
        ]

    @property
    def libraries(self) -> list[Library]:
        """What was read of native files, by path."""
        return [m.library for m in self.members.values() if m.library is not None]


def _looks_native(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(_NATIVE_SUFFIXES) or ".so." in name


def parse_name(wheel: Wheel) -> None:
    """Take the file name apart; `name_error` says why that cannot be done."""
    parts = wheel.file.removesuffix(".whl").split("-")[-3:]
    if prod(p.count(".") + 1 for p in parts) > MAX_TAGS:
        wheel.name_error = f"the compressed tag set stands for more than {MAX_TAGS} tags"
        return
    try:
        distribution, version, _, tags = parse_wheel_filename(wheel.file)
    except InvalidWheelFilename as error:
        wheel.name_error = str(error)
        return
    text = wheel.file.split("-")[1]
    wheel.name = WheelName(
        distribution=distribution, version=version, version_text=text, tags=frozenset(tags)
    )


def _take_metadata(wheel: Wheel, path: str, text: bytes, *, whole: bool) -> None:
    """Keep METADATA, WHEEL and RECORD of top-level .dist-info folders."""
    folder, _, name = path.rpartition("/")
    wheel.dist_infos.add(folder)
    if name == "METADATA":
        wheel.dist_info = folder
        wheel.metadata = headers(text)
    elif name == "WHEEL":
        wheel.about = headers(text)
        wheel.wheel_tags = all_tags(wheel.about.get_all("Tag") or [])
    elif name == "RECORD":
        wheel.record.update(record_rows(text, whole=whole))


def _is_metadata(path: str) -> bool:
    folder, _, _name = path.rpartition("/")
    return "/" not in folder and folder.endswith(".dist-info")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a wheel is read. `digests`: every member to its end, with SHA-256, as an audit needs.

    `kernels`: names of kernels in device code. `is_known` says of a native file and its digest in
    RECORD that it need not be read. Without `members` only the metadata is read.
    """

    members: bool = True
    digests: bool = False
    kernels: bool = False
    is_known: Callable[[Entry, str], bool] = lambda entry, digest: False  # noqa: ARG005


class _Bytes:
    """The bytes of a member; the first reader to its end also makes the digest."""

    def __init__(self, archive: Archive, entry: Entry, *, digests: bool) -> None:
        self.archive = archive
        self.entry = entry
        self._digests = digests
        self.sha256 = ""

    def chunks(self) -> Iterator[bytes]:
        """All pieces in order."""
        digest = hashlib.sha256() if self._digests and not self.sha256 else None
        for piece in self.archive.chunks(self.entry):
            if digest is not None:
                digest.update(piece)
            yield piece
        if digest is not None:
            self.sha256 = digest.hexdigest()


def _read_member(archive: Archive, entry: Entry, kind: str, how: Reading) -> Member:
    """One member: its digest where asked, and what is in it if it is native."""
    data = _Bytes(archive, entry, digests=how.digests)
    library, unreadable = None, ""
    if kind:
        try:
            library = read_library(entry.path, entry.size, data.chunks, kind, kernels=how.kernels)
        except NotReadableError as error:
            unreadable = f"is not a sound {kind} file: {error}"
    if how.digests and not data.sha256:
        for _piece in data.chunks():
            pass
    return Member(
        path=entry.path,
        size=entry.size,
        crc=entry.crc,
        sha256=data.sha256,
        library=library,
        unreadable=unreadable,
    )


def _read_text(wheel: Wheel, archive: Archive, *, whole: bool) -> None:
    wheel.count = len(archive.entries)
    for entry in archive.entries:
        if _is_metadata(entry.path):
            try:
                if entry.path.endswith(("/METADATA", "/WHEEL", "/RECORD")):
                    text = archive.read(entry, _MAX_METADATA)
                    _take_metadata(wheel, entry.path, text, whole=whole)
                wheel.dist_infos.add(entry.path.rpartition("/")[0])
            except (DamageError, csv.Error) as error:
                wheel.damage.append((entry.path, str(error)))


def take_source(wheel: Wheel, path: str, text: bytes) -> None:
    """Note which compilers a Python source gives device code to."""
    if not any(hint in text for hint in _JIT_HINTS):
        return
    for compiler, marks in _JIT.items():
        if any(mark in text for mark in marks):
            wheel.jit.setdefault(compiler, []).append(path)


def _work(archive: Archive, how: Reading, wheel: Wheel) -> Iterator[tuple[Entry, str]]:
    """Members that must be read, each with the format of a native file; the others are noted.

    The largest come first, so that threads end together; from a server in the order of the file.
    """
    in_order = (lambda e: -e.compressed) if archive.source.is_parallel else (lambda e: e.header)
    doubtful = {path for path, _problem in archive.damage}
    for entry in sorted(archive.entries, key=in_order):
        if entry.path in doubtful:
            continue  # shares its name or bytes with another: reported, and not read
        if how.digests or _looks_native(entry.path):
            wheel.members[entry.path] = Member(path=entry.path, size=entry.size)
        try:
            if entry.path.endswith(".py") and entry.size <= MAX_SOURCE:
                take_source(wheel, entry.path, archive.read(entry, MAX_SOURCE))
                kind = ""
            else:
                kind = kind_of(archive.head(entry, HEAD))
        except DamageError as error:
            wheel.damage.append((entry.path, str(error)))
            continue
        digest = wheel.record.get(entry.path, ("", ""))[0]
        if kind:
            wheel.members[entry.path] = Member(path=entry.path, size=entry.size)
        if how.digests or (kind and not how.is_known(entry, digest)):
            yield entry, kind


def _read_members(wheel: Wheel, archive: Archive, how: Reading) -> None:
    """Members, the largest first, two at a time: inflating and hashing leave Python's lock."""

    def read(item: tuple[Entry, str]) -> Member | tuple[str, str]:
        entry, kind = item
        try:
            return _read_member(archive, entry, kind, how)
        except DamageError as error:
            return entry.path, str(error)

    work = _work(archive, how, wheel)
    # Decoders of kernels take much memory: one at a time.
    parallel = archive.source.is_parallel and not how.kernels
    for result in _side_by_side(read, list(work)) if parallel else map(read, work):
        if isinstance(result, Member):
            wheel.members[result.path] = result
        else:
            wheel.damage.append(result)
            wheel.members.pop(result[0], None)
    found = wheel.members
    wheel.members = {e.path: found[e.path] for e in archive.entries if e.path in found}


def _side_by_side(
    read: Callable[[tuple[Entry, str]], R], work: list[tuple[Entry, str]]
) -> Iterator[R]:
    """Results in order: large members two at a time, in batches, small ones without threads."""
    large = sum(entry.compressed > _SMALL for entry, _kind in work)
    with ThreadPoolExecutor(_THREADS) as pool:
        for at in range(0, large, _BATCH):
            yield from pool.map(read, work[at : min(at + _BATCH, large)])
    yield from map(read, work[large:])


def read_wheel(file: Path | Source, how: Reading | None = None) -> Wheel:
    """Read a wheel; damage is recorded, never raised. By default as an audit does: every member.

    OSError if the file itself cannot be opened, SourceError if a server does not give it.
    """
    how = how or Reading(digests=True)
    with FileSource(file) if isinstance(file, Path) else file as source:
        wheel = Wheel(file=source.name, size=source.size)
        parse_name(wheel)
        try:
            archive = open_archive(source)
        except DamageError as error:
            wheel.damage.append((wheel.file, str(error)))
            return wheel
        wheel.damage += archive.damage
        _read_text(wheel, archive, whole=how.digests)
        if how.members:
            _read_members(wheel, archive, how)
    return wheel


def required_names(file: Path) -> frozenset[str]:
    """Normalised names of the distributions that a wheel requires, extras left out.

    A requirement that cannot be read is left out here; the audit reports it. DamageError for a
    file that is no archive.
    """
    with FileSource(file) as source:
        wheel = Wheel(file=source.name)
        _read_text(wheel, open_archive(source), whole=False)
    return frozenset(
        canonicalize_name(r.name)
        for r in requirements(wheel)[0]
        if r.marker is None or "extra" not in str(r.marker)
    )


def requirements(wheel: Wheel) -> tuple[list[Requirement], list[str]]:
    """Requires-Dist of a wheel: those that can be read, and the texts of those that cannot."""
    from packaging.requirements import InvalidRequirement, Requirement

    good: list[Requirement] = []
    bad: list[str] = []
    for text in (wheel.metadata.get_all("Requires-Dist") or []) if wheel.metadata else []:
        try:
            good.append(Requirement(str(text)))
        except InvalidRequirement:
            bad.append(str(text))
    return good, bad
