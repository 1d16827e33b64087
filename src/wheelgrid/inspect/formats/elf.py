"""ELF: what the dynamic loader will see, and where sections lie.

The loader goes by program headers, so this does too; section headers only give names to places.
Tables are read in blocks, names of symbols only where somebody asks for them.

Sources: the System V ABI (gABI), the GNU symbol versioning of the LSB, elf.h of glibc.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.stream import Readable, TruncatedError

__all__ = ["MACHINES", "Elf", "Header", "Section", "Segment", "VersionNeed", "read_elf"]
__all__ += ["iter_defined", "read_header"]

MACHINES = {
    3: "i686", 21: "ppc64", 22: "s390x", 40: "armv7l", 62: "x86_64", 183: "aarch64",
    190: "cuda", 224: "amdgpu", 243: "riscv64", 258: "loongarch64",
}  # fmt: skip
"""e_machine to the CPU as platform tags spell it; device code by its vendor's name."""
_TYPES = {1: "object", 2: "executable", 3: "library", 4: "core"}
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_NEEDED, _STRTAB, _SYMTAB, _STRSZ, _SONAME, _RPATH = 1, 5, 6, 10, 14, 15
_HASH, _RUNPATH, _GNU_HASH = 4, 29, 0x6FFFFEF5
_VERSYM, _VERNEED, _VERNEEDNUM = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
_FLAGS_1, _PIE = 0x6FFFFFFB, 0x08000000
_SHT_NOBITS = 8
_WEAK_VERSION = 2
_BLOCK = 1 << 20
_MAX_SEGMENTS = 4096
_MAX_SECTIONS = 65_536
_MAX_TAGS = 65_536
_MAX_VERSIONS = 65_536
_MAX_SYMBOLS = 8_000_000
_MAX_NAME = 64 * 1024
_MAX_UNDEFINED = 400_000


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header: where bytes of the file appear in memory; flags 1 is executable."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of the file; flags 2 is loaded, 4 executable."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class VersionNeed:
    """A symbol version that a library must define, and one symbol that asks for it."""

    library: str
    version: str
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The ELF header and the program headers."""

    bits: int
    order: str
    machine: str
    kind: str
    flags: int
    sections_at: int
    section_count: int
    section_size: int
    names_index: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """One ELF file. `undefined` are names that others must define; `damage` what was not read."""

    header: Header
    soname: str = ""
    interpreter: bool = False
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    versions: tuple[VersionNeed, ...] = ()
    undefined: frozenset[str] = frozenset()
    entry_points: frozenset[str] = frozenset()
    sections: tuple[Section, ...] = ()
    damage: tuple[str, ...] = ()


@dataclass(slots=True)
class _Symbols:
    """Places of undefined names with their version index, and of defined names."""

    undefined: dict[int, int] = field(default_factory=dict)
    defined: set[int] = field(default_factory=set)


def read_header(head: bytes) -> Header:
    """The headers at the start of a file; NotReadableError where they are damaged.

    `head` must reach to the end of the program headers, which linkers put first.
    """
    if head[:4] != b"\x7fELF" or len(head) < 64:  # noqa: PLR2004 - size of the header
        msg = "the ELF header is cut off"
        raise NotReadableError(msg)
    bits = {1: 32, 2: 64}.get(head[4])
    order = {1: "<", 2: ">"}.get(head[5])
    if bits is None or order is None:
        msg = f"unknown class {head[4]} or byte order {head[5]}"
        raise NotReadableError(msg)
    word = "Q" if bits == 64 else "I"  # noqa: PLR2004
    layout = struct.Struct(f"{order}HHI3{word}I6H")
    fields = layout.unpack_from(head, 16)
    kind, machine, _version, _entry, phoff, shoff, flags = fields[:7]
    _size, phsize, phnum, shsize, shnum, names = fields[7:]
    return Header(
        bits=bits,
        order=order,
        machine=MACHINES.get(machine, f"machine {machine}"),
        kind=_TYPES.get(kind, f"type {kind:#x}"),
        flags=flags,
        sections_at=shoff,
        section_count=shnum,
        section_size=shsize,
        names_index=names,
        segments=tuple(_segments(head, bits, order, (phoff, phsize, phnum))),
    )


def _segments(head: bytes, bits: int, order: str, table: tuple[int, int, int]) -> Iterator[Segment]:
    at, size, count = table
    layout = struct.Struct(order + ("2I6Q" if bits == 64 else "8I"))  # noqa: PLR2004
    if count and (size < layout.size or count > _MAX_SEGMENTS or at + count * size > len(head)):
        msg = "the program headers are damaged, or not at the start of the file"
        raise NotReadableError(msg)
    for index in range(count):
        fields = layout.unpack_from(head, at + index * size)
        if bits == 64:  # noqa: PLR2004
            kind, flags, offset, address, _paddr, filesz, *_ = fields
        else:
            kind, offset, address, _paddr, filesz, _memsz, flags, _align = fields
        yield Segment(kind, flags, offset, address, filesz)


class _Image:
    """The file as the loader maps it: reads by address."""

    def __init__(self, pages: Readable, header: Header) -> None:
        self.pages = pages
        self.header = header
        self.loads = [s for s in header.segments if s.kind == _PT_LOAD]

    def place(self, address: int) -> int:
        """The offset in the file of an address."""
        for load in self.loads:
            if load.address <= address < load.address + load.size:
                return address - load.address + load.offset
        msg = f"address {address:#x} lies in no segment"
        raise NotReadableError(msg)

    def blocks(self, address: int, size: int, step: int) -> Iterator[tuple[int, bytes]]:
        """Blocks of a table of entries of `step` bytes, each with its relative place."""
        start, block = self.place(address), _BLOCK - _BLOCK % step
        for at in range(0, size, block):
            yield at, self.pages.read(start + at, min(block, size - at))


def _dynamic(image: _Image) -> dict[int, list[int]]:
    """Values of the dynamic section by tag."""
    header = image.header
    word = "Q" if header.bits == 64 else "I"  # noqa: PLR2004
    pair = struct.Struct(f"{header.order}2{word}")
    found: dict[int, list[int]] = {}
    for segment in header.segments:
        if segment.kind != _PT_DYNAMIC:
            continue
        size = min(segment.size - segment.size % pair.size, _MAX_TAGS * pair.size)
        for tag, value in pair.iter_unpack(image.pages.read(segment.offset, size)):
            if tag == 0:
                break
            found.setdefault(tag, []).append(value)
    return found


class _Strings:
    """The dynamic string table; names are read in the order of the file."""

    def __init__(self, image: _Image, dynamic: dict[int, list[int]]) -> None:
        self.pages = image.pages
        self.size = dynamic.get(_STRSZ, [0])[0]
        self.start = image.place(dynamic[_STRTAB][0]) if _STRTAB in dynamic else 0
        if self.size and self.start + self.size > image.pages.size:
            msg = "the string table lies outside the file"
            raise NotReadableError(msg)

    def get(self, at: int) -> str:
        """One name."""
        return next((name for _at, name in self.many([at])), "")

    def many(self, places: Iterable[int]) -> Iterator[tuple[int, str]]:
        """Names with their places, each block read once; places outside the table are left out."""
        block, begin = b"", 0
        for at in sorted(places):
            if not 0 <= at < self.size:
                continue
            end = block.find(b"\0", at - begin) if begin <= at < begin + len(block) else -1
            if end < 0:
                begin = at
                block = self.pages.read(self.start + at, min(_BLOCK, self.size - at))
                end = block.find(b"\0")
                if not 0 <= end <= _MAX_NAME:
                    msg = "a symbol name has no end"
                    raise NotReadableError(msg)
            name = block[at - begin : end]
            if len(name) <= _MAX_NAME:
                yield at, name.decode("utf-8", errors="replace")


def _version_needs(
    image: _Image, dynamic: dict[int, list[int]]
) -> tuple[dict[int, tuple[int, int]], set[int]]:
    """Version index to (library, version) as places of names; and the weak indexes."""
    names: dict[int, tuple[int, int]] = {}
    weak: set[int] = set()
    if _VERNEED not in dynamic:
        return names, weak
    order = image.header.order
    need, aux = struct.Struct(order + "2H3I"), struct.Struct(order + "I2H2I")
    at = image.place(dynamic[_VERNEED][0])
    budget = _MAX_VERSIONS
    for _ in range(min(dynamic.get(_VERNEEDNUM, [0])[0], _MAX_VERSIONS)):
        _version, count, library, first, following = need.unpack(image.pages.read(at, need.size))
        place = at + first
        for _ in range(count):
            budget -= 1
            if budget < 0:
                msg = f"more than {_MAX_VERSIONS} version needs"
                raise NotReadableError(msg)
            _hash, flags, index, name, step = aux.unpack(image.pages.read(place, aux.size))
            names[index & 0x7FFF] = (library, name)
            if flags & _WEAK_VERSION:
                weak.add(index & 0x7FFF)
            if not step:
                break
            place += step
        if not following:
            break
        at += following
    return names, weak


def _symbol_count(image: _Image, dynamic: dict[int, list[int]]) -> int:
    """Entries of the symbol table, which only the hash tables tell."""
    order = image.header.order
    if _HASH in dynamic:
        at = image.place(dynamic[_HASH][0])
        return int(struct.unpack(order + "2I", image.pages.read(at, 8))[1])
    if _GNU_HASH not in dynamic:
        return 0
    at = image.place(dynamic[_GNU_HASH][0])
    buckets, first, bloom, _shift = struct.unpack(order + "4I", image.pages.read(at, 16))
    if buckets > _MAX_SYMBOLS or bloom > _MAX_SYMBOLS:
        msg = f"{buckets} hash buckets"
        raise NotReadableError(msg)
    table = at + 16 + bloom * image.header.bits // 8
    last = max(_words(image, table, buckets), default=0)
    if last < first:
        return int(first)
    chain = table + 4 * buckets + 4 * (last - first)
    begin = last
    while True:
        # Chains are short: what lies behind one may not have been kept.
        step = min(1024, max(1, last - begin), (image.pages.size - chain) // 4)
        for value in _words(image, chain, step):
            last += 1
            if value & 1:
                return last
        chain += 4 * step
        if not step or last > _MAX_SYMBOLS:
            msg = "the hash chain has no end"
            raise NotReadableError(msg)


def _words(image: _Image, at: int, count: int) -> array[int]:
    """32-bit numbers of the file."""
    values = array("I")
    for start in range(0, 4 * count, _BLOCK):
        values.frombytes(image.pages.read(at + start, min(_BLOCK, 4 * count - start)))
    if (image.header.order == ">") != (struct.pack("=H", 1) == b"\0\1"):
        values.byteswap()
    return values


def _versym(image: _Image, dynamic: dict[int, list[int]], count: int) -> array[int]:
    """The version index of each symbol; empty where there is no such table."""
    values = array("H")
    if _VERSYM in dynamic:
        for _at, data in image.blocks(dynamic[_VERSYM][0], 2 * count, 2):
            values.frombytes(data)
        if (image.header.order == ">") != (struct.pack("=H", 1) == b"\0\1"):
            values.byteswap()
    return values


def _symbols(image: _Image, dynamic: dict[int, list[int]], *, defined: bool) -> _Symbols:
    """Places of the names of undefined symbols; of defined ones where asked."""
    found = _Symbols()
    if _SYMTAB not in dynamic:
        return found
    count = _symbol_count(image, dynamic)
    if count > _MAX_SYMBOLS:
        msg = f"{count} dynamic symbols"
        raise NotReadableError(msg)
    wide = image.header.bits == 64  # noqa: PLR2004
    layout = struct.Struct(image.header.order + ("IBBHQQ" if wide else "IIIBBH"))
    versions = _versym(image, dynamic, count)
    index, section = 0, 3 if wide else 5
    for _at, data in image.blocks(dynamic[_SYMTAB][0], count * layout.size, layout.size):
        for entry in layout.iter_unpack(data):
            name = entry[0]
            if not name:
                pass
            elif entry[section] == 0:
                version = versions[index] & 0x7FFF if index < len(versions) else 0
                found.undefined[name] = version
                if len(found.undefined) > _MAX_UNDEFINED:
                    msg = f"more than {_MAX_UNDEFINED} undefined symbols"
                    raise NotReadableError(msg)
            elif defined:
                found.defined.add(name)
            index += 1
    return found


def _entry_points(
    image: _Image, strings: _Strings, dynamic: dict[int, list[int]]
) -> frozenset[str]:
    """Defined PyInit_ functions. Their names are searched first: most libraries have none."""
    needle, found, rest = b"\0PyInit_", set(), b""
    for at in range(0, strings.size, _BLOCK):
        data = rest + strings.pages.read(strings.start + at, min(_BLOCK, strings.size - at))
        begin = at - len(rest)
        hit = data.find(needle)
        while hit >= 0:
            found.add(begin + hit + 1)
            hit = data.find(needle, hit + 1)
        rest = data[-len(needle) + 1 :]
    if not found:
        return frozenset()
    defined = _symbols(image, dynamic, defined=True).defined & found
    return frozenset(name for _at, name in strings.many(defined))


def _sections(pages: Readable, header: Header) -> tuple[Section, ...]:
    """Named sections; empty where the file has no section headers."""
    wide = header.bits == 64  # noqa: PLR2004
    layout = struct.Struct(header.order + ("2I4Q2I2Q" if wide else "10I"))
    count, names_index = header.section_count, header.names_index
    if not header.sections_at or header.section_size < layout.size:
        return ()
    first = layout.unpack(pages.read(header.sections_at, layout.size))
    if count == 0:
        count = first[5]
    if names_index == 0xFFFF:  # noqa: PLR2004 - SHN_XINDEX
        names_index = first[6]
    if count > _MAX_SECTIONS or names_index >= count:
        msg = f"{count} sections, names in section {names_index}"
        raise NotReadableError(msg)
    table = pages.read(header.sections_at, count * header.section_size)
    rows = [layout.unpack_from(table, i * header.section_size) for i in range(count)]
    place, size = rows[names_index][4], min(rows[names_index][5], _BLOCK)
    names = pages.read(place, size)
    return tuple(
        Section(
            names[r[0] : max(r[0], names.find(b"\0", r[0]))].decode("utf-8", errors="replace"),
            r[1],
            r[2],
            r[3],
            r[4],
            0 if r[1] == _SHT_NOBITS else r[5],
        )
        for r in rows
    )


def _needs(
    names: dict[int, tuple[int, int]], symbols: _Symbols, strings: _Strings
) -> tuple[VersionNeed, ...]:
    """Each needed version with the first symbol, by place, that asks for it."""
    causes: dict[int, int] = {}
    for place, index in symbols.undefined.items():
        if index in names:
            causes[index] = min(place, causes.get(index, place))
    places = {p for pair in names.values() for p in pair} | set(causes.values())
    text = dict(strings.many(places))
    return tuple(
        sorted(
            (
                VersionNeed(
                    text.get(library, ""), text.get(version, ""), text.get(causes.get(i, -1), "")
                )
                for i, (library, version) in names.items()
            ),
            key=lambda n: (n.library, n.version),
        )
    )


def _split(strings: _Strings, places: list[int]) -> tuple[str, ...]:
    return tuple(part for place in places for part in strings.get(place).split(":"))


def read_elf(pages: Readable, header: Header) -> Elf:
    """Read one ELF file; NotReadableError says what is wrong with a damaged one.

    HoleError where a table lies in bytes that were not kept.
    """
    damage: list[str] = []
    try:
        sections = _sections(pages, header)
    except (TruncatedError, NotReadableError, struct.error) as error:
        sections = ()
        damage.append(f"section headers: {error}")
    try:
        return _read(pages, header, sections, damage)
    except (TruncatedError, struct.error) as error:
        raise NotReadableError(str(error)) from error


def _read(pages: Readable, header: Header, sections: tuple[Section, ...], damage: list[str]) -> Elf:
    image = _Image(pages, header)
    dynamic = _dynamic(image)
    strings = _Strings(image, dynamic)
    symbols = _symbols(image, dynamic, defined=False)
    names, _weak = _version_needs(image, dynamic)
    return Elf(
        header=header,
        soname="".join(strings.get(p) for p in dynamic.get(_SONAME, [])[:1]),
        interpreter=any(s.kind == _PT_INTERP for s in header.segments),
        needed=tuple(strings.get(p) for p in dynamic.get(_NEEDED, [])),
        rpath=_split(strings, dynamic.get(_RPATH, [])),
        runpath=_split(strings, dynamic.get(_RUNPATH, [])),
        versions=_needs(names, symbols, strings),
        undefined=frozenset(name for _at, name in strings.many(symbols.undefined)),
        entry_points=_entry_points(image, strings, dynamic),
        sections=sections,
        damage=tuple(damage),
    )


def iter_defined(pages: Readable, header: Header) -> Iterator[str]:
    """Names that the file defines for others, in the order of its string table."""
    image = _Image(pages, header)
    dynamic = _dynamic(image)
    strings = _Strings(image, dynamic)
    places = _symbols(image, dynamic, defined=True).defined
    yield from (name for _at, name in strings.many(places))
