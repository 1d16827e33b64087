"""What the libraries of a torch wheel, or of an installed torch, export.

Two questions: which C functions of the stable ABI there are (the shims, for the record in compat/),
and which of some wanted names are there (one extension against one torch). ELF and Mach-O are read,
DLLs are not.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from wheelgrid.core.errors import CouldNotCheckError
from wheelgrid.core.shim import SHIM_PREFIXES, Seen, StringAbi
from wheelgrid.inspect.archive import Archive, DamageError, Entry, open_archive
from wheelgrid.inspect.formats import NotReadableError, elf, macho_defined
from wheelgrid.inspect.source import Source
from wheelgrid.inspect.stream import (
    LOOKAHEAD,
    ByteStream,
    HoleError,
    Pages,
    Readable,
    TruncatedError,
)
from wheelgrid.inspect.torch_abi import string_abi

__all__ = ["Exports", "NoTorchError", "installed_exports", "seen_shims", "stated_digest"]
__all__ += ["wheel_exports"]

_LIBRARY = re.compile(r"lib((?:torch|c10)(?:_[a-z0-9_]+)?)\.(?:so|dylib)\Z")
_IN_WHEEL = re.compile(r"torch/lib/([^/]+)\Z")
_SHIM_LIBRARIES = frozenset({"c10", "torch_cpu", "torch_cuda", "torch_hip", "torch_xpu"})
_PIECE = 256 * 1024
_DEPTH = 128 << 20
"""Bytes kept of each segment: linkers put the tables of the loader before code and data."""
_MOST_LIBRARIES = 64
_MOST_NAMES = 400_000
_ENOUGH = 1000
_LOAD, _DYNAMIC = 1, 2
_UNREADABLE = (NotReadableError, HoleError, TruncatedError, struct.error)

Wanted = Callable[[str], bool]


class NoTorchError(CouldNotCheckError):
    """The wheel or folder holds no torch whose exports can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Exported names that were asked for, by library (`torch_cpu`); `name` of wheel or folder.

    `torch` is None where the version is not known. `string_abi` comes from all names of libc10.
    """

    name: str
    torch: Version | None
    libraries: Mapping[str, frozenset[str]]
    string_abi: StringAbi | None = None

    @property
    def names(self) -> frozenset[str]:
        """All names, whichever library has them."""
        return frozenset().union(*self.libraries.values())


class _File:
    """A file on disk as the parsers read it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes; TruncatedError beyond the end."""
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        data = os.read(self._descriptor, size) if offset + size <= self.size else b""
        if len(data) < size:
            msg = f"bytes {offset} to {offset + size} of {self.size}"
            raise TruncatedError(msg)
        return data


def _kept(head: bytes) -> list[tuple[int, int]]:
    """Sorted, disjoint ranges in which the tables of the loader lie; `head` begins the file."""
    ranges = [(0, LOOKAHEAD)]
    if head[:4] == macho_defined.MAGIC:
        ranges.append(macho_defined.link_data(head))
    else:
        parts = [s for s in elf.read_header(head).segments if s.kind in {_LOAD, _DYNAMIC}]
        ranges += [(part.offset, part.offset + min(part.size, _DEPTH)) for part in parts]
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


@contextmanager
def _member(archive: Archive, entry: Entry) -> Iterator[Readable]:
    """The parts of a member that hold its symbols, in a temporary file where they are large."""
    stream = ByteStream(archive.chunks(entry))
    with Pages(entry.size) as pages:
        for begin, end in _kept(stream.peek(LOOKAHEAD)):
            stream.skip(min(begin, entry.size) - stream.offset)
            at = stream.offset
            for piece in stream.pieces(min(end, entry.size) - at):
                pages.write(at, piece)
                at += len(piece)
        yield pages


def _defined(pages: Readable) -> Iterator[str]:
    head = pages.read(0, min(LOOKAHEAD, pages.size))
    if head[:4] == macho_defined.MAGIC:
        return macho_defined.iter_defined(pages)
    return elf.iter_defined(pages, elf.read_header(head))


def _names(pages: Readable, wanted: Wanted) -> tuple[frozenset[str], list[str]]:
    """Wanted names, and some names of torch, which tell its string ABI."""
    found: set[str] = set()
    strings: list[str] = []
    for name in _defined(pages):
        if len(strings) < _ENOUGH and ("cxx11" in name or "Ss" in name):
            strings.append(name)
        if wanted(name):
            found.add(name)
            if len(found) > _MOST_NAMES:
                msg = f"more than {_MOST_NAMES} symbols"
                raise NotReadableError(msg)
    return frozenset(found), strings


def _add(
    name: str, pages: Readable, wanted: Wanted, found: dict[str, frozenset[str]]
) -> StringAbi | None:
    """Read one library into `found`; the string ABI if it is libc10."""
    found[name], strings = _names(pages, wanted)
    return string_abi(strings) if name == "c10" else None


def wheel_exports(
    source: Source, wanted: Wanted, libraries: frozenset[str] | None = None
) -> Exports:
    """Exports of a torch wheel, of some libraries (`torch_cpu`) or all; NoTorchError if unreadable.

    Members are read only as far as their tables reach, so their checksums are not compared.
    """
    try:
        version = parse_wheel_filename(source.name)[1]
    except InvalidWheelFilename:
        version = None
    found: dict[str, frozenset[str]] = {}
    abi = None
    try:
        archive = open_archive(source)
        for entry in archive.entries:
            inside = _IN_WHEEL.match(entry.path)
            library = _LIBRARY.match(inside[1]) if inside else None
            if library and _is_asked(library[1], libraries, found):
                with _member(archive, entry) as pages:
                    abi = _add(library[1], pages, wanted, found) or abi
    except (DamageError, *_UNREADABLE) as error:
        msg = f"{source.place}: cannot be read as a torch wheel: {error}"
        raise NoTorchError(msg) from error
    if not found:
        msg = (
            f"{source.place}: holds no library of torch that can be read (torch/lib/*.so, *.dylib)"
        )
        raise NoTorchError(msg)
    return Exports(name=source.name, torch=version, libraries=found, string_abi=abi)


def _is_asked(
    name: str, libraries: frozenset[str] | None, found: Mapping[str, frozenset[str]]
) -> bool:
    asked = libraries is None or name in libraries
    return asked and name not in found and len(found) < _MOST_LIBRARIES


def installed_exports(
    folder: Path, wanted: Wanted, libraries: frozenset[str] | None = None
) -> Exports:
    """Exports of an installed torch: `folder` is its package, or the place that holds it."""
    package = folder / "torch" if (folder / "torch" / "lib").is_dir() else folder
    found: dict[str, frozenset[str]] = {}
    abi = None
    try:
        for path in sorted((package / "lib").glob("lib*")):
            library = _LIBRARY.match(path.name)
            if library and _is_asked(library[1], libraries, found):
                with path.open("rb", buffering=0) as file:
                    pages = _File(file.fileno())
                    abi = _add(library[1], pages, wanted, found) or abi
    except (OSError, *_UNREADABLE) as error:
        msg = f"{folder}: cannot be read as an installed torch: {error}"
        raise NoTorchError(msg) from error
    if not found:
        msg = f"{folder}: holds no library of torch that can be read (lib/*.so, *.dylib)"
        raise NoTorchError(msg)
    version = _installed_version(package)
    return Exports(name=folder.name, torch=version, libraries=found, string_abi=abi)


_VERSION = re.compile(r"^__version__ *(?::[^=]*)?= *['\"]([^'\"]{1,60})['\"]", re.MULTILINE)


def _installed_version(package: Path) -> Version | None:
    """What torch/version.py says; it is read, not run."""
    try:
        text = (package / "version.py").read_bytes()[:_PIECE].decode("utf-8", errors="replace")
        found = _VERSION.search(text)
        return Version(found[1]) if found else None
    except (OSError, ValueError):
        return None


def seen_shims(source: Source, *, sha256: str = "") -> tuple[Seen, ...]:
    """What a torch wheel is recorded with in compat/: its shims by library, and its string ABI.

    `sha256` is what the index says of the wheel; a file on disk is hashed here where none is given.
    """
    exports = wheel_exports(source, lambda name: name.startswith(SHIM_PREFIXES), _SHIM_LIBRARIES)
    if exports.torch is None:
        msg = f"{source.place}: the name of the wheel does not say which torch it is"
        raise NoTorchError(msg)
    digest = sha256 or (_digest(source) if not source.transferred else "")
    of = "index" if sha256 else "file"
    return tuple(
        Seen(
            torch=exports.torch,
            library=library,
            wheel=exports.name,
            sha256=digest,
            sha256_of=of if digest else "",
            names=names,
            string_abi=exports.string_abi,
        )
        for library, names in sorted(exports.libraries.items())
    )


def stated_digest(place: str) -> str:
    """The sha256 of a wheel that its address states, as pages of an index do (PEP 503)."""
    found = re.search(r"#(?:.*&)?sha256=([0-9a-f]{64})(?:&|\Z)", place)
    return found[1] if found else ""


def _digest(source: Source) -> str:
    value = hashlib.sha256()
    for at in range(0, source.size, _PIECE):
        value.update(source.read_at(at, _PIECE))
    return value.hexdigest()
