"""What was seen in wheels before, so that it costs nothing to see it again.

Two kinds of memory. A whole wheel on disk is known by its place, size and times of change. A native
file is known, in whatever wheel, by the SHA-256 in RECORD; it is kept only from a wheel whose
digests were computed, as a RECORD may lie. Imports nothing heavy: a known wheel takes 0.1 s.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wheelgrid import __version__
from wheelgrid.engines.atomic import write_atomically

__all__ = ["SCHEMA_VERSION", "Document", "InspectionCache", "cache_folder"]

SCHEMA_VERSION = 1
"""Of what `wheelgrid inspect --json` prints."""
_REVISION = 1
"""Raised when what is read of a file changes; part of every key."""
Document = dict[str, Any]


def cache_folder(env: Mapping[str, str]) -> Path:
    """Where inspections are kept: WHEELGRID_CACHE_DIR, or the user's cache (XDG)."""
    if own := env.get("WHEELGRID_CACHE_DIR"):
        return Path(own) / "inspect"
    base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".cache")
    return Path(base) / "wheelgrid" / "inspect"


def _identity(path: Path) -> str:
    """Place, size and times of a file: another content has another time of change."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return (
        f"{path.resolve()} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectionCache:
    """Documents by key. `salt` is what else they depend on; without a folder nothing is kept."""

    folder: Path | None
    salt: str = ""

    def _path(self, kind: str, what: str) -> Path | None:
        if self.folder is None or not what:
            return None
        parts = (__version__, str(_REVISION), str(SCHEMA_VERSION), self.salt, kind, what)
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        return self.folder / key[:2] / f"{key}.json"

    def _load(self, path: Path | None) -> Document | None:
        try:
            found = json.loads(path.read_bytes()) if path is not None else None
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _save(self, path: Path | None, document: Document) -> None:
        if path is not None:
            with suppress(OSError):  # a cache that cannot be written is none
                write_atomically(path, json.dumps(document).encode())

    def wheel(self, path: Path) -> Document | None:
        """The document of a wheel on disk that has not changed since; None if it is not known."""
        return self._load(self._path("wheel", _identity(path)))

    def keep_wheel(self, path: Path, document: Document) -> None:
        """Keep the document of a wheel on disk."""
        self._save(self._path("wheel", _identity(path)), document)

    def file(self, digest: str, size: int, crc: int) -> Document | None:
        """The document of a native file with this digest, as RECORD spells it, size and CRC-32."""
        return self._load(self._path("file", f"{digest} {size} {crc}" if digest else ""))

    def keep_file(self, digest: str, size: int, crc: int, document: Document) -> None:
        """Keep the document of a native file whose digest was computed."""
        self._save(self._path("file", f"{digest} {size} {crc}"), document)
