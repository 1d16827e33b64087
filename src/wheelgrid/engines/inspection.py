"""Inspects wheels and keeps what it saw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wheelgrid.core.shim import SHIM_PREFIXES, Shim
from wheelgrid.engines.inspection_cache import Document, InspectionCache
from wheelgrid.inspect.archive import Entry
from wheelgrid.inspect.dist_info import record_hash
from wheelgrid.inspect.document import library_document, wheel_document
from wheelgrid.inspect.folder import is_native, read_folder
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.place import open_source
from wheelgrid.inspect.source import Source
from wheelgrid.inspect.torch_abi import plain_name, torch_abi
from wheelgrid.inspect.wheel import Reading, Wheel, read_wheel

__all__ = ["Inspector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspector:
    """How to inspect. `shims` gives what is known of torch's stable ABI, to files that use it.

    `metadata`: only that, no native files. `digests` and `kernels` as in `Reading`.
    """

    cache: InspectionCache
    shims: Callable[[], Mapping[str, Shim]] = dict
    kernels: bool = False
    digests: bool = False
    metadata: bool = False

    def inspect(self, place: str) -> Document:
        """The document of one wheel, by path or address, or of installed files or one of them.

        SourceError where the bytes cannot be had.
        """
        local = Path(place) if "://" not in place else None
        if local is not None and (local.is_dir() or is_native(local)):
            return self._document(read_folder(local, self._reading({})), {})
        found: dict[str, Document] = {}
        with open_source(place) as source:
            wheel = read_wheel(source, self._reading(found))
            document = self._document(wheel, found, source)
        self.keep(wheel, document, local)
        return document

    def _reading(self, found: dict[str, Document]) -> Reading:
        """How to read; what is known of a file is put into `found` by its path."""

        def is_known(entry: Entry, digest: str) -> bool:
            known = self.cache.file(digest, entry.size, entry.crc)
            if known is not None:
                found[entry.path] = {**known, "path": entry.path, "known": True}
            return known is not None

        return Reading(
            members=not self.metadata,
            digests=self.digests,
            kernels=self.kernels,
            is_known=is_known,
        )

    def _document(
        self, wheel: Wheel, known: Mapping[str, Document], source: Source | None = None
    ) -> Document:
        rows = {library.path: self._library(library) for library in wheel.libraries}
        rows |= known
        libraries = [rows[path] for path in wheel.members if path in rows]
        return {
            **wheel_document(wheel, libraries),
            "metadata_only": self.metadata,
            "transferred": source.transferred if source else 0,
            "notes": list(source.notes) if source else [],
        }

    def _library(self, library: Library) -> Document:
        uses = any(plain_name(name).startswith(SHIM_PREFIXES) for name in library.undefined)
        found = torch_abi(library.undefined, library.needed, self.shims() if uses else {})
        return library_document(library, found)

    def keep(self, wheel: Wheel, document: Document, path: Path | None) -> None:
        """Keep what was read of a wheel; files by digest only where the digest was computed."""
        if self.metadata:
            return
        if path is not None and document["complete"]:
            self.cache.keep_wheel(path, {**document, "transferred": 0})
        for row in document["libraries"]:
            member = wheel.members[row["path"]]
            digest = wheel.record.get(row["path"], ("", ""))[0]
            if member.sha256 and record_hash(member.sha256) == digest and not row["damage"]:
                self.cache.keep_file(digest, member.size, member.crc, row)
