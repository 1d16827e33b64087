"""PE: what the loader of Windows will see, and where sections lie.

Source: Microsoft's "PE Format"; delay-load attributes from delayimp.h.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.pe_image import Image, Section, read_header, read_sections
from wheelgrid.inspect.stream import HoleError, Readable, TruncatedError

__all__ = ["Pe", "Section", "read_pe"]

_EXPORTS, _IMPORTS, _LOAD_CONFIG, _DELAYED, _MANAGED = 0, 1, 10, 13, 14
_HYBRID_AT = 200
"""Where the load configuration of a 64-bit file points at metadata of ARM64EC code."""
_RELATIVE = 1
"""Attribute of a delay-load entry: addresses count from the image base, as they do elsewhere."""
_MOST_LIBRARIES = 4096
_MOST_EXPORTS = 65_536
_BLOCK = 4096
_ENTRY = b"PyInit_"
_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pe:
    """One PE file.

    `needed` are libraries loaded with the file, `delayed` those loaded at first use; `imported`
    are names from both, `imported_from` the same by library. What is imported by number has no
    name. `subsystem_version` is the oldest NT version that the loader takes the file on. `managed`
    is .NET code, which may run on any CPU, whatever `machine` says. `hybrid` code is ARM64EC: an
    arm64 file then serves processes of both CPUs (ARM64X), an x86_64 file runs on arm64 natively.
    The names are those that the stated machine sees. `damage` says what could not be read.
    """

    machine: str
    is_dll: bool
    managed: bool
    hybrid: bool = False
    subsystem: str
    subsystem_version: tuple[int, int]
    os_version: tuple[int, int]
    linker_version: tuple[int, int]
    needed: tuple[str, ...] = ()
    delayed: tuple[str, ...] = ()
    imported: frozenset[str] = frozenset()
    imported_from: Mapping[str, frozenset[str]] = field(default_factory=dict)
    entry_points: frozenset[str] = frozenset()
    sections: tuple[Section, ...] = ()
    damage: tuple[str, ...] = ()


def _thunks(image: Image, address: int) -> Iterator[str]:
    """Names in an import lookup table, which ends with a zero; numbers are passed over."""
    form, step = ("<Q", 8) if image.header.wide else ("<I", 4)
    by_number = 1 << (8 * step - 1)
    while True:
        data = image.upto(address, _BLOCK)
        data = data[: len(data) - len(data) % step]
        if not data:
            msg = f"the import lookup table at {address:#x} has no end"
            raise NotReadableError(msg)
        for (value,) in struct.iter_unpack(form, data):
            image.budget.step()
            if not value:
                return
            if not value & by_number:
                yield image.name((value & 0x7FFFFFFF) + 2)
        address += len(data)


def _imports(image: Image) -> Iterator[tuple[str, Iterator[str]]]:
    """Libraries of the import directory, each with the names wanted from it."""
    directory = image.header.directory(_IMPORTS)
    for index in range(_MOST_LIBRARIES if directory else 0):
        lookup, _time, _chain, name, table = struct.unpack(
            "<5I", image.read(directory + 20 * index, 20)
        )
        if not (name and table):
            return
        yield image.name(name), _thunks(image, lookup or table)


def _delayed(image: Image) -> Iterator[tuple[str, Iterator[str]]]:
    """Libraries that are loaded at first use, each with the names wanted from it."""
    directory = image.header.directory(_DELAYED)
    for index in range(_MOST_LIBRARIES if directory else 0):
        attributes, name, _handle, _table, lookup = struct.unpack(
            "<5I12x", image.read(directory + 32 * index, 32)
        )
        if not name:
            return
        base = 0 if attributes & _RELATIVE else image.header.base
        yield image.name(name - base), _thunks(image, lookup - base) if lookup else iter(())


def _entry_points(image: Image) -> frozenset[str]:
    """Exported PyInit functions."""
    directory = image.header.directory(_EXPORTS)
    if not directory:
        return frozenset()
    count, _functions, names = struct.unpack("<24x3I4x", image.read(directory, 40))
    if count > _MOST_EXPORTS:
        msg = f"{count} exported names"
        raise NotReadableError(msg)
    table = image.read(names, 4 * count) if count else b""
    places = sorted(place for (place,) in struct.iter_unpack("<I", table))
    return frozenset(image.name(place) for place in places if image.starts(place, _ENTRY))


def _is_hybrid(image: Image) -> bool:
    """Whether the load configuration points at ARM64EC code."""
    directory = image.header.directory(_LOAD_CONFIG)
    if not (directory and image.header.wide):
        return False
    (size,) = struct.unpack("<I", image.read(directory, 4))
    if size < _HYBRID_AT + 8:
        return False
    return any(image.read(directory + _HYBRID_AT, 8))


def _gather(
    image: Image, what: str, found: dict[str, set[str]], damage: list[str]
) -> tuple[str, ...]:
    """Libraries of one directory, in its order; their names go to `found`."""
    libraries: dict[str, None] = {}
    try:
        for library, names in (_imports if what == "imports" else _delayed)(image):
            libraries[library] = None
            found.setdefault(library, set()).update(names)
    except (NotReadableError, TruncatedError, HoleError) as error:
        damage.append(f"{what}: {error}")
    return tuple(libraries)


def _attempt(
    image: Image, what: str, read: Callable[[Image], _Fact], absent: _Fact, damage: list[str]
) -> _Fact:
    """What `read` finds; where it cannot, `absent` and the damage."""
    try:
        return read(image)
    except (NotReadableError, TruncatedError, HoleError) as error:
        damage.append(f"{what}: {error}")
        return absent


def read_pe(pages: Readable) -> Pe:
    """Read one PE file; NotReadableError says what is wrong with a damaged one."""
    try:
        header = read_header(pages)
        sections, ranges = read_sections(pages, header)
    except (TruncatedError, HoleError, struct.error) as error:
        raise NotReadableError(str(error)) from error
    image = Image(pages, header, ranges)
    damage: list[str] = []
    found: dict[str, set[str]] = {}
    needed = _gather(image, "imports", found, damage)
    delayed = _gather(image, "delayed imports", found, damage)
    nothing: frozenset[str] = frozenset()
    entry_points = _attempt(image, "exports", _entry_points, nothing, damage)
    hybrid = _attempt(image, "load configuration", _is_hybrid, False, damage)
    return Pe(
        machine=header.machine,
        is_dll=header.is_dll,
        managed=bool(header.directory(_MANAGED)),
        hybrid=hybrid,
        subsystem=header.subsystem,
        subsystem_version=header.needs,
        os_version=(header.os[0], header.os[1]),
        linker_version=header.linker,
        needed=needed,
        delayed=delayed,
        imported=frozenset(name for names in found.values() for name in names),
        imported_from={library: frozenset(names) for library, names in found.items()},
        entry_points=entry_points,
        sections=tuple(sections),
        damage=tuple(damage),
    )
