"""METADATA of a wheel alone, for lists of files: no member is inflated but that one."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

__all__ = ["Metadata", "read_metadata"]

_MAX_METADATA = 8 << 20
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError,
    NotImplementedError, RuntimeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What METADATA says; `folder` is the dist-info folder that holds it."""

    folder: str
    version: str
    requires_python: str
    requires: tuple[str, ...]


def read_metadata(file: Path) -> Metadata | None:
    """METADATA of a wheel; None where the archive or that member cannot be read."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = (
                n
                for n in archive.namelist()
                if n.count("/") == 1 and n.endswith(".dist-info/METADATA")
            )
            name = next(names, "")
            if not name:
                return None
            with archive.open(name) as stream:
                text = stream.read(_MAX_METADATA).decode("utf-8", errors="replace")
    except _DAMAGE:
        return None
    message = HeaderParser().parsestr(text)
    return Metadata(
        folder=name.partition("/")[0],
        version=str(message.get("Version", "")),
        requires_python=str(message.get("Requires-Python", "")),
        requires=tuple(map(str, message.get_all("Requires-Dist") or [])),
    )
