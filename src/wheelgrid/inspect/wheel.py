"""Reads a wheel once, whole: every member's checksum, the metadata, the native files."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import tempfile
import zipfile
import zlib
from dataclasses import dataclass, field
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.tags import Tag, parse_tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from wheelgrid.inspect.elf import ElfFacts, NotReadableError, read_elf

__all__ = ["Member", "Wheel", "WheelName", "read_wheel", "record_hash", "required_names"]

_CHUNK = 1 << 20
_MAX_MEMBERS = 100_000
_MAX_METADATA = 8 << 20
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
    """One file of the wheel; `native` is ELF, PE, Mach-O or empty."""

    path: str
    size: int
    sha256: str
    native: str = ""
    elf: ElfFacts | None = None
    unreadable: str = ""


@dataclass(slots=True)
class Wheel:
    """What was read. `damage` lists members that cannot be read in full."""

    file: Path
    name: WheelName | None = None
    name_error: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    damage: list[tuple[str, str]] = field(default_factory=list)
    dist_info: str = ""
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
            if keep:
                copy.write(chunk)
            chunk = stream.read(_CHUNK)
        elf, unreadable, text = None, "", b""
        copy.seek(0)
        if native == "ELF":
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
    )
    return member, text


def _take_metadata(wheel: Wheel, path: str, text: bytes) -> None:
    folder, _, name = path.rpartition("/")
    if "/" in folder or not folder.endswith(".dist-info"):
        return
    decoded = text.decode("utf-8", errors="replace")
    if name == "METADATA":
        wheel.dist_info = folder
        wheel.metadata = HeaderParser().parsestr(decoded)
    elif name == "WHEEL":
        tags = HeaderParser().parsestr(decoded).get_all("Tag") or []
        wheel.wheel_tags = frozenset(t for tag in tags for t in _tags(str(tag)))
    elif name == "RECORD":
        for row in csv.reader(io.StringIO(decoded)):
            if len(row) == 3:  # noqa: PLR2004 - path, hash, size
                wheel.record[row[0]] = (row[1], row[2])


def _tags(text: str) -> frozenset[Tag]:
    try:
        return frozenset(parse_tag(text))
    except ValueError:
        return frozenset()


def record_hash(sha256: str) -> str:
    """A digest as RECORD spells it (urlsafe base64 without padding)."""
    return "sha256=" + base64.urlsafe_b64encode(bytes.fromhex(sha256)).rstrip(b"=").decode()


def read_wheel(file: Path) -> Wheel:
    """Read every member of a wheel; damage is recorded, never raised.

    OSError if the file itself cannot be opened.
    """
    wheel = Wheel(file)
    _parse_name(wheel)
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            if len(infos) > _MAX_MEMBERS:
                wheel.damage.append((file.name, f"has {len(infos)} members"))
                return wheel
            for info in infos:
                if info.is_dir():
                    continue
                try:
                    member, text = _read_member(archive, info)
                except (
                    zipfile.BadZipFile,
                    zlib.error,
                    EOFError,
                    NotImplementedError,
                    RuntimeError,
                ) as error:
                    wheel.damage.append((info.filename, str(error) or type(error).__name__))
                    continue
                if info.filename in wheel.members:
                    wheel.damage.append((info.filename, "is in the archive twice"))
                wheel.members[info.filename] = member
                if text:
                    _take_metadata(wheel, info.filename, text)
    except (zipfile.BadZipFile, EOFError) as error:
        wheel.damage.append((file.name, f"is not a zip archive: {error}"))
    return wheel


def required_names(file: Path) -> frozenset[str]:
    """Normalised names of the distributions that a wheel requires, extras left out."""
    with zipfile.ZipFile(file) as archive:
        paths = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        text = archive.read(paths[0]).decode("utf-8", errors="replace") if paths else ""
    found: set[str] = set()
    for line in HeaderParser().parsestr(text).get_all("Requires-Dist") or []:
        requirement = Requirement(str(line))
        if requirement.marker is None or "extra" not in str(requirement.marker):
            found.add(canonicalize_name(requirement.name))
    return frozenset(found)
