"""`--files PATH`: a list of names, a page of an index, or a folder of wheels."""

from __future__ import annotations

from pathlib import Path

from packaging.version import InvalidVersion, Version

from wheelgrid.config.file_lists import MAX_PAGE_BYTES, decode_list
from wheelgrid.config.yaml import Faults
from wheelgrid.core.errors import Fault
from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.wheelname import NameFault, read_name
from wheelgrid.inspect.metadata import read_metadata

__all__ = ["load_list", "metadata_faults"]

_ENDS = (".whl", ".tar.gz", ".zip", ".egg")


def _wheel(path: Path, faults: Faults) -> ListedFile:
    """A file of a folder; for a wheel with what its METADATA says."""
    name = read_name(path.name)
    if not path.name.endswith(".whl"):
        return ListedFile(name=name)
    found = read_metadata(path)
    if found is None:
        message = "METADATA cannot be read: is this a wheel?"
        faults.found.append(Fault(file=path.name, message=message))
        return ListedFile(name=name)
    return ListedFile(
        name=name,
        requires_python=found.requires_python,
        requires=found.requires,
        inner_version=found.version,
        knows_python=True,
    )


def load_list(path: Path, faults: Faults) -> tuple[ListedFile, ...]:
    """The files that a path lists; what cannot be read is a fault."""
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and p.name.endswith(_ENDS))
        if not files:
            message = "has no wheel or source distribution"
            faults.found.append(Fault(file=str(path), message=message))
        return tuple(_wheel(p, faults) for p in files)
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_PAGE_BYTES + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        faults.found.append(Fault(file=str(path), message=message))
        return ()
    return decode_list(data, file=str(path), faults=faults)


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except (InvalidVersion, ValueError):
        return None


def metadata_faults(file: ListedFile) -> list[NameFault]:
    """What a wheel's METADATA says against its name, or leaves out; nothing without METADATA."""
    if file.requires is None:
        return []
    found = []
    inner = _version(file.inner_version)
    if file.name.version is not None and inner != file.name.version:
        message = (
            f"METADATA has Version {file.inner_version or 'missing'}, the file "
            f"{file.name.version}: never rename a finished wheel; the label goes in before the "
            "build"
        )
        found.append(NameFault(code="metadata-version", message=message))
    if not file.requires_python:
        message = "METADATA has no Requires-Python: old Pythons would be offered this release"
        found.append(NameFault(code="no-requires-python", message=message))
    return found
