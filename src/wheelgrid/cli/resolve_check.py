"""`wheelgrid resolve --check`: names for publishing, and names against the build record."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from wheelgrid.cli.file_lists import metadata_faults
from wheelgrid.cli.resolve_text import printable
from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.label_order import OrderFault, label_faults
from wheelgrid.core.wheelname import NameFault, index_folder

__all__ = ["NameCheck", "check_document", "check_lines", "check_names"]

CHECK_SCHEMA_VERSION = 1
_MOST_COMPARED = 2000
"""Names in which a renamed one is looked for; more would take long and be no release page."""


@dataclass(frozen=True, kw_only=True)
class NameCheck:
    """Faults by file, label orders, and differences from a record of names."""

    files: tuple[tuple[ListedFile, tuple[NameFault, ...]], ...]
    order: tuple[tuple[str, OrderFault], ...]
    missing: tuple[tuple[str, str], ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether everything may be published."""
        faulty = any(faults for _, faults in self.files)
        return not (faulty or self.order or self.missing or self.extra)


def _order(files: tuple[ListedFile, ...]) -> tuple[tuple[str, OrderFault], ...]:
    projects: dict[str, list[ListedFile]] = {}
    for file in files:
        if file.name.readable and file.name.version is not None:
            projects.setdefault(file.name.project, []).append(file)
    found = []
    for project, own in sorted(projects.items()):
        versions = [f.name.version for f in own if f.name.version is not None]
        dates = {f.name.version: f.uploaded for f in own if f.name.version and f.uploaded}
        found += [(project, fault) for fault in label_faults(versions, dates)]
    return tuple(found)


def check_names(
    files: tuple[ListedFile, ...], record: tuple[ListedFile, ...] | None = None
) -> NameCheck:
    """Check names, what METADATA says against them, the order of labels, and a record."""
    checked = tuple((f, (*f.name.faults, *metadata_faults(f))) for f in files)
    missing: tuple[tuple[str, str], ...] = ()
    extra: tuple[str, ...] = ()
    if record is not None:
        here, there = {f.name.name for f in files}, {f.name.name for f in record}
        extra = tuple(sorted(here - there))
        pool = list(extra[:_MOST_COMPARED])
        missing = tuple(
            (name, next(iter(get_close_matches(name, pool, n=1, cutoff=0.3)), ""))
            for name in sorted(there - here)
        )
    return NameCheck(files=checked, order=_order(files), missing=missing, extra=extra)


def check_document(found: NameCheck) -> dict[str, Any]:
    """The JSON document (resolve.schema.json, second form)."""
    return {
        "schema_version": CHECK_SCHEMA_VERSION,
        "good": found.good,
        "files": [
            {
                "file": printable(file.name.name),
                "kind": str(file.name.kind),
                "project": file.name.project,
                "index_folder": index_folder(file.name.project),
                "version": str(file.name.version) if file.name.version is not None else None,
                "readable": file.name.readable,
                "publishable": not faults,
                "variant": file.name.variant,
                "tags": sorted(map(str, file.name.tags)),
                "faults": [
                    {
                        "code": f.code,
                        "message": printable(f.message),
                        "suggestion": printable(f.suggestion),
                        "fatal": f.fatal,
                    }
                    for f in faults
                ],
            }
            for file, faults in found.files
        ],
        "order": [
            {
                "project": project,
                "newer": str(f.newer),
                "older": str(f.older),
                "by": f.by,
                "message": str(f),
            }
            for project, f in found.order
        ],
        "missing": [{"file": printable(n), "renamed_to": printable(o)} for n, o in found.missing],
        "extra": [printable(n) for n in found.extra],
    }


def check_lines(found: NameCheck) -> list[str]:
    """The text for people: one block for each file that must not be published."""
    rows = []
    for file, faults in found.files:
        for fault in faults:
            word = "refused" if fault.fatal else "read, not to be published"
            name, message = printable(file.name.name), printable(fault.message)
            rows.append(f"{name}: {word}: {fault.code}: {message}")
        better = next((f.suggestion for f in faults if f.suggestion), "")
        rows += [f"    write: {printable(better)}"] if better else []
    rows += [f"{project}: label-order: {fault}" for project, fault in found.order]
    for name, other in found.missing:
        hint = f"; is it {printable(other)!r}, renamed?" if other else ""
        rows.append(f"{printable(name)}: in the record, not in the list{hint}")
    rows += [f"{printable(name)}: in the list, not in the record" for name in found.extra]
    bad = sum(bool(faults) for _, faults in found.files)
    return [*rows, f"{len(found.files)} files, {bad} not to be published"]
