"""Reads a wheel once, whole: every member's checksum, the metadata, the native files."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import lzma
import struct
import tempfile
import zipfile
import zlib
from dataclasses import dataclass, field
from email.message import Message
from email.parser import HeaderParser
from math import prod
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag, parse_tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from wheelgrid.inspect.elf import ElfFacts, NotReadableError, read_elf
from wheelgrid.inspect.machines import machines

__all__ = [
    "Member",
    "Wheel",
    "WheelName",
    "read_wheel",
    "record_hash",
    "required_names",
    "requirements",
]

_CHUNK = 1 << 20
_MAX_MEMBERS = 100_000
_MAX_METADATA = 8 << 20
_MAX_TOTAL = 32 << 30
_MAX_NATIVE = 4 << 30
_MAX_TAGS = 1000
# Everything that a damaged or hostile archive makes zipfile and its decompressors raise.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    csv.Error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
_IN_MEMORY = 16 << 20
_ELF_MAGIC = b"\x7fELF"
_OTHER_NATIVE = {
    b"MZ": "PE",
    b"\xcf\xfa\xed\xfe": "Mach-O",
    b"\xca\xfe\xba\xbe": "Mach-O universal",
}
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
    """One file of the wheel; `native` is ELF, PE, Mach-O or empty.

    `machines` are the CPUs that the head of a PE or Mach-O file names, as tags spell them.
    """

    path: str
    size: int
    sha256: str
    native: str = ""
    elf: ElfFacts | None = None
    unreadable: str = ""
    machines: frozenset[str] = frozenset()


@dataclass(slots=True)
class Wheel:
    """What was read. `damage` lists members that cannot be read in full."""

    file: Path
    name: WheelName | None = None
    name_error: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    damage: list[tuple[str, str]] = field(default_factory=list)
    dist_info: str = ""
    dist_infos: set[str] = field(default_factory=set)
    about: Message | None = None
    metadata: Message | None = None
    wheel_tags: frozenset[Tag] = frozenset()
    record: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def native(self) -> list[Member]:
        """Members that hold machine code, or whose name says that they should."""
        return [m for m in self.members.values() if m.native or _looks_native(m.path)]


def _looks_native(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith(_NATIVE_SUFFIXES) or ".so." in name


def _parse_name(wheel: Wheel) -> None:
    parts = wheel.file.stem.split("-")[-3:]
    if prod(p.count(".") + 1 for p in parts) > _MAX_TAGS:
        wheel.name_error = f"the compressed tag set stands for more than {_MAX_TAGS} tags"
        return
    try:
        distribution, version, _, tags = parse_wheel_filename(wheel.file.name)
    except InvalidWheelFilename as error:
        wheel.name_error = str(error)
        return
    text = wheel.file.name.split("-")[1]
    wheel.name = WheelName(
        distribution=distribution, version=version, version_text=text, tags=frozenset(tags)
    )


def _native_kind(head: bytes) -> str:
    if head.startswith(_ELF_MAGIC):
        return "ELF"
    return next((kind for magic, kind in _OTHER_NATIVE.items() if head.startswith(magic)), "")


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[Member, bytes]:
    """Read one member to its end (zipfile checks the CRC); small text members are returned."""
    digest = hashlib.sha256()
    size = 0
    with archive.open(info) as stream, tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        head = stream.read(_CHUNK)
        native = _native_kind(head)
        keep = native == "ELF" or ".dist-info/" in info.filename
        chunk = head
        while chunk:
            digest.update(chunk)
            size += len(chunk)
            if size > info.file_size:
                msg = "holds more than the directory says"
                raise zipfile.BadZipFile(msg)
            if keep and size <= _MAX_NATIVE:
                copy.write(chunk)
            chunk = stream.read(_CHUNK)
        elf, unreadable, text = None, "", b""
        copy.seek(0)
        if native == "ELF" and size > _MAX_NATIVE:
            unreadable = f"is larger than {_MAX_NATIVE} bytes"
        elif native == "ELF":
            try:
                elf = read_elf(copy)
            except NotReadableError as error:
                unreadable = f"is not a sound ELF file: {error}"
        elif keep and size <= _MAX_METADATA:
            text = copy.read()
    member = Member(
        path=info.filename,
        size=size,
        sha256=digest.hexdigest(),
        native=native,
        elf=elf,
        unreadable=unreadable,
        machines=machines(head),
    )
    return member, text


def _take_metadata(wheel: Wheel, path: str, text: bytes) -> None:
    """Keep METADATA, WHEEL and RECORD of top-level .dist-info folders."""
    folder, _, name = path.rpartition("/")
    if "/" in folder or not folder.endswith(".dist-info"):
        return
    wheel.dist_infos.add(folder)
    decoded = text.decode("utf-8", errors="replace")
    if name == "METADATA":
        wheel.dist_info = folder
        wheel.metadata = HeaderParser().parsestr(decoded)
    elif name == "WHEEL":
        wheel.about = HeaderParser().parsestr(decoded)
        tags = wheel.about.get_all("Tag") or []
        wheel.wheel_tags = frozenset(t for tag in tags[:_MAX_TAGS] for t in _tags(str(tag)))
    elif name == "RECORD":
        for row in csv.reader(io.StringIO(decoded)):
            if len(row) == 3:  # noqa: PLR2004 - path, hash, size
                wheel.record[row[0]] = (row[1], row[2])


def _tags(text: str) -> frozenset[Tag]:
    """The tags of a compressed set; nothing for one that is malformed or explodes."""
    parts = text.split("-")
    if len(parts) != 3 or prod(p.count(".") + 1 for p in parts) > _MAX_TAGS:  # noqa: PLR2004
        return frozenset()
    try:
        return frozenset(parse_tag(text))
    except ValueError:
        return frozenset()


def record_hash(sha256: str) -> str:
    """A digest as RECORD spells it (urlsafe base64 without padding)."""
    return "sha256=" + base64.urlsafe_b64encode(bytes.fromhex(sha256)).rstrip(b"=").decode()


def _read_members(wheel: Wheel, archive: zipfile.ZipFile) -> None:
    infos = archive.infolist()
    total = sum(info.file_size for info in infos)
    if len(infos) > _MAX_MEMBERS or total > _MAX_TOTAL:
        wheel.damage.append((wheel.file.name, f"has {len(infos)} members of {total} bytes"))
        return
    for info in infos:
        if info.is_dir():
            continue
        try:
            member, text = _read_member(archive, info)
            if text:
                _take_metadata(wheel, info.filename, text)
        except _DAMAGE as error:
            wheel.damage.append((info.filename, str(error) or type(error).__name__))
            continue
        if info.filename in wheel.members:
            wheel.damage.append((info.filename, "is in the archive twice"))
        wheel.members[info.filename] = member


def read_wheel(file: Path) -> Wheel:
    """Read every member of a wheel; damage is recorded, never raised.

    OSError if the file itself cannot be opened.
    """
    wheel = Wheel(file)
    _parse_name(wheel)
    with file.open("rb") as handle:
        try:
            with zipfile.ZipFile(handle) as archive:
                _read_members(wheel, archive)
        except _DAMAGE as error:
            wheel.damage.append((file.name, f"is not a sound zip archive: {error}"))
    return wheel


def required_names(file: Path) -> frozenset[str]:
    """Normalised names of the distributions that a wheel requires, extras left out.

    A requirement that cannot be read is left out here; the audit reports it.
    """
    wheel = Wheel(file)
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            if name.count("/") == 1 and name.endswith(".dist-info/METADATA"):
                _take_metadata(wheel, name, archive.read(name)[:_MAX_METADATA])
    return frozenset(
        canonicalize_name(r.name)
        for r in requirements(wheel)[0]
        if r.marker is None or "extra" not in str(r.marker)
    )


def requirements(wheel: Wheel) -> tuple[list[Requirement], list[str]]:
    """Requires-Dist of a wheel: those that can be read, and the texts of those that cannot."""
    good: list[Requirement] = []
    bad: list[str] = []
    for text in (wheel.metadata.get_all("Requires-Dist") or []) if wheel.metadata else []:
        try:
            good.append(Requirement(str(text)))
        except InvalidRequirement:
            bad.append(str(text))
    return good, bad
