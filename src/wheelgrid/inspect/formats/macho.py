"""Mach-O: what dyld will see of each slice, and where sections lie.

A file is thin (one image) or universal (several, one after the other); each is read apart, so
that a damaged slice says so and the others stay known.

Sources: Apple's mach-o/loader.h, mach-o/fat.h, mach/machine.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.macho_image import Image, Place
from wheelgrid.inspect.formats.macho_symbols import Tables, read_symbols
from wheelgrid.inspect.formats.names import Budget
from wheelgrid.inspect.stream import HoleError, Readable, TruncatedError

__all__ = ["MachO", "Section", "Slice", "read_macho"]

_THIN = {
    b"\xce\xfa\xed\xfe": ("<", False),
    b"\xcf\xfa\xed\xfe": ("<", True),
    b"\xfe\xed\xfa\xce": (">", False),
    b"\xfe\xed\xfa\xcf": (">", True),
}
_FAT = {b"\xca\xfe\xba\xbe": ">4I4x", b"\xca\xfe\xba\xbf": ">2I2Q8x"}
_MOST_SLICES = 20
"""A Java class begins like a universal file; where the count stands it has a number above 40."""
_CPUS = {
    7: "i386", 12: "arm", 18: "ppc", 0x01000007: "x86_64", 0x0100000C: "arm64",
    0x01000012: "ppc64", 0x0200000C: "arm64_32",
}  # fmt: skip
_SUBTYPES = {(0x01000007, 8): "x86_64h", (0x0100000C, 2): "arm64e"}
_KINDS = {1: "object", 2: "executable", 6: "library", 8: "bundle", 9: "stub", 10: "debug"}
_PLATFORMS = {
    1: "macOS", 2: "iOS", 3: "tvOS", 4: "watchOS", 5: "bridgeOS", 6: "Mac Catalyst",
    7: "iOS simulator", 8: "tvOS simulator", 9: "watchOS simulator", 10: "DriverKit",
    11: "visionOS", 12: "visionOS simulator",
}  # fmt: skip
_MOST_COMMANDS = 1 << 20
_SEGMENT, _SYMTAB, _DYSYMTAB, _ID, _SEGMENT_64 = 0x1, 0x2, 0xB, 0xD, 0x19
_LOAD, _LOAD_WEAK, _REEXPORT, _LAZY, _UPWARD = 0xC, 0x80000018, 0x8000001F, 0x20, 0x80000023
_RPATH, _BUILD, _FIXUPS, _TRIE = 0x8000001C, 0x32, 0x80000034, 0x80000033
_INFO, _INFO_ONLY = 0x22, 0x80000022
_VERSION_MIN = {0x24: "macOS", 0x25: "iOS", 0x2F: "tvOS", 0x30: "watchOS"}
_USE_MARKER, _USE_WEAK = 0x1A741800, 1
"""dylib_use_command of ld since macOS 15: flags follow where the time stamp has this value."""
_ZERO_FILLED = {1, 12, 18}


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of the file; size 0 where it takes no bytes there."""

    segment: str
    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One image. `offset`, also of sections, counts from the start of the file.

    `minimum_os` reads like "macOS 14.0" and is empty where the image says nothing; `weak` are the
    names in `needed` that may be missing at run time; `undefined` are the names that other images
    must define, without the underscore that the C compiler puts before each; `damage` says what
    could not be read.
    """

    arch: str
    offset: int
    size: int
    kind: str = ""
    platform: str = ""
    minimum_version: tuple[int, int, int] | None = None
    sdk: str = ""
    install_name: str = ""
    needed: tuple[str, ...] = ()
    weak: frozenset[str] = frozenset()
    rpaths: tuple[str, ...] = ()
    undefined: frozenset[str] = frozenset()
    entry_points: frozenset[str] = frozenset()
    sections: tuple[Section, ...] = ()
    damage: tuple[str, ...] = ()

    @property
    def minimum_os(self) -> str:
        """The oldest system that dyld takes the image on, such as "macOS 14.0"."""
        if self.minimum_version is None:
            return ""
        return f"{self.platform} {_dotted(self.minimum_version)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachO:
    """One file; more than one slice where it is universal."""

    slices: tuple[Slice, ...]


@dataclass(slots=True)
class _Facts:
    """What load commands say, gathered."""

    systems: list[tuple[str, int, int]] = field(default_factory=list)
    install_name: str = ""
    needed: list[str] = field(default_factory=list)
    weak: set[str] = field(default_factory=set)
    rpaths: list[str] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    tables: Tables = field(default_factory=Tables)


def _version(packed: int) -> tuple[int, int, int]:
    """Loader versions are packed as xxxx.yy.zz."""
    return packed >> 16, packed >> 8 & 0xFF, packed & 0xFF


def _dotted(version: tuple[int, int, int]) -> str:
    parts = version if version[2] else version[:2]
    return ".".join(str(part) for part in parts)


def _arch(cpu: int, subtype: int) -> str:
    """The CPU as Apple's tools spell it; the high byte of the subtype holds flags."""
    name = _CPUS.get(cpu, f"CPU type {cpu:#x}")
    return _SUBTYPES.get((cpu, subtype & 0xFFFFFF), name)


def _string(image: Image, command: bytes, at: int) -> str:
    """The name whose place in the command stands at `at`."""
    (offset,) = struct.unpack_from(image.order + "I", command, at)
    if offset >= len(command):
        msg = f"a name at {offset} of a load command of {len(command)} bytes"
        raise NotReadableError(msg)
    return image.budget.text(command[offset:].split(b"\0", 1)[0])


def _place(image: Image, command: bytes, at: int) -> Place | None:
    """A place in the image: offset and size; None where it is empty."""
    offset, size = struct.unpack_from(image.order + "2I", command, at)
    return Place(offset, size) if size else None


def _add_dylib(facts: _Facts, image: Image, kind: int, command: bytes) -> None:
    name = _string(image, command, 8)
    if kind == _ID:
        facts.install_name = name
        return
    facts.needed.append(name)
    offset, marker = struct.unpack_from(image.order + "2I", command, 8)
    uses = offset == 28 and marker == _USE_MARKER  # noqa: PLR2004 - its size, with flags at 24
    flags = struct.unpack_from(image.order + "I", command, 24)[0] if uses else 0
    if kind == _LOAD_WEAK or flags & _USE_WEAK:
        facts.weak.add(name)


def _add_sections(facts: _Facts, image: Image, kind: int, command: bytes) -> None:
    wide = kind == _SEGMENT_64
    (count,) = struct.unpack_from(image.order + "I", command, 64 if wide else 48)
    layout = struct.Struct(image.order + ("16s16sQQIIIII12x" if wide else "16s16sIIIIIII8x"))
    first = 72 if wide else 56
    if first + count * layout.size > len(command):
        msg = f"{count} sections do not fit into their segment command"
        raise NotReadableError(msg)
    for entry in layout.iter_unpack(command[first : first + count * layout.size]):
        name, segment, _address, size, offset = entry[:5]
        text = [image.budget.text(raw.rstrip(b"\0")) for raw in (segment, name)]
        size = 0 if entry[8] & 0xFF in _ZERO_FILLED else size
        facts.sections.append(Section(text[0], text[1], image.begin + offset, size))


def _add_tables(tables: Tables, image: Image, kind: int, command: bytes) -> None:
    """Where symbols are listed; commands of other kinds are of no interest here."""
    if kind == _SYMTAB:
        tables.symtab = struct.unpack_from(image.order + "4I", command, 8)
    elif kind == _DYSYMTAB:
        tables.dysymtab = struct.unpack_from(image.order + "4I", command, 16)
    elif kind == _FIXUPS:
        tables.fixups = _place(image, command, 8)
    elif kind == _TRIE:
        tables.trie = _place(image, command, 8)
    elif kind in {_INFO, _INFO_ONLY}:
        places = (_place(image, command, 16), _place(image, command, 32))
        tables.binds = tuple(place for place in places if place)
        tables.trie = tables.trie or _place(image, command, 40)


def _add(facts: _Facts, image: Image, kind: int, command: bytes) -> None:
    """Take what one load command says."""
    if kind in {_SEGMENT, _SEGMENT_64}:
        _add_sections(facts, image, kind, command)
    elif kind in {_LOAD, _LOAD_WEAK, _REEXPORT, _LAZY, _UPWARD, _ID}:
        _add_dylib(facts, image, kind, command)
    elif kind == _RPATH:
        facts.rpaths.append(_string(image, command, 8))
    elif kind == _BUILD:
        platform, minimum, sdk = struct.unpack_from(image.order + "3I", command, 8)
        name = _PLATFORMS.get(platform, f"platform {platform}")
        facts.systems.append((name, minimum, sdk))
    elif kind in _VERSION_MIN:
        facts.systems.append(
            (_VERSION_MIN[kind], *struct.unpack_from(image.order + "2I", command, 8))
        )
    else:
        _add_tables(facts.tables, image, kind, command)


def _commands(image: Image, at: int, count: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Load commands with their kind."""
    if size > _MOST_COMMANDS:
        msg = f"{size} bytes of load commands"
        raise NotReadableError(msg)
    data = image.read(at, size)
    place = 0
    for _ in range(count):
        image.budget.step()
        kind, length = struct.unpack_from(image.order + "2I", data, place)
        if length < 8 or place + length > size:  # noqa: PLR2004 - kind and length
            msg = f"a load command of {length} bytes at {at + place}"
            raise NotReadableError(msg)
        yield kind, data[place : place + length]
        place += length


def _slice(pages: Readable, begin: int, size: int, budget: Budget) -> Slice:
    """Read one image; NotReadableError where its header or load commands are damaged."""
    magic = pages.read(begin, 4)
    if magic not in _THIN:
        msg = f"no Mach-O image at {begin}"
        raise NotReadableError(msg)
    order, wide = _THIN[magic]
    image = Image(pages, begin=begin, size=size, order=order, wide=wide, budget=budget)
    header = struct.unpack(order + "5I", image.read(4, 20))
    cpu, subtype, kind, count, length = header
    facts = _Facts()
    for command, data in _commands(image, 32 if wide else 28, count, length):
        _add(facts, image, command, data)
    # An image for macOS and Mac Catalyst names both; wheels are installed on macOS.
    facts.systems.sort(key=lambda system: system[0] != "macOS")
    platform, minimum, sdk = facts.systems[0] if facts.systems else ("", None, 0)
    symbols = read_symbols(image, facts.tables)
    return Slice(
        arch=_arch(cpu, subtype),
        offset=begin,
        size=size,
        kind=_KINDS.get(kind, f"file type {kind}"),
        platform=platform,
        minimum_version=None if minimum is None else _version(minimum),
        sdk=_dotted(_version(sdk)) if sdk else "",
        install_name=facts.install_name,
        needed=tuple(facts.needed),
        weak=frozenset(facts.weak),
        rpaths=tuple(facts.rpaths),
        undefined=symbols.undefined,
        entry_points=symbols.entry_points,
        sections=tuple(facts.sections),
        damage=symbols.damage,
    )


def _slices(pages: Readable, budget: Budget) -> Iterator[Slice]:
    """The slices of a universal file, a damaged one with its damage."""
    layout = struct.Struct(_FAT[pages.read(0, 4)])
    (count,) = struct.unpack(">I", pages.read(4, 4))
    if not 0 < count <= _MOST_SLICES:
        msg = f"a universal file of {count} slices, or a Java class"
        raise NotReadableError(msg)
    taken: list[tuple[int, int]] = []
    for cpu, subtype, offset, size in layout.iter_unpack(pages.read(8, count * layout.size)):
        arch, end = _arch(cpu, subtype), offset + size
        try:
            if end > pages.size or any(offset < e and b < end for b, e in taken):
                msg = f"bytes {offset} to {end} lie outside the file or in another slice"
                raise NotReadableError(msg)  # noqa: TRY301 - damage of this slice
            found = _slice(pages, offset, size, budget)
            if found.arch != arch:
                msg = f"an image for {found.arch} that is listed as {arch}"
                raise NotReadableError(msg)  # noqa: TRY301 - as above
            yield found
        except (NotReadableError, TruncatedError, HoleError, struct.error) as error:
            yield Slice(arch=arch, offset=offset, size=size, damage=(str(error),))
        taken.append((offset, end))


def read_macho(pages: Readable) -> MachO:
    """Read one Mach-O file; NotReadableError says what is wrong with a damaged one."""
    budget = Budget()
    try:
        if pages.read(0, 4) in _FAT:
            return MachO(slices=tuple(_slices(pages, budget)))
        return MachO(slices=(_slice(pages, 0, pages.size, budget),))
    except (TruncatedError, HoleError, struct.error) as error:
        raise NotReadableError(str(error)) from error
