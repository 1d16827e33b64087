"""What compat/ knows of torch, in the form in which the audit asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from wheelgrid.core.accelerator import Family
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.inspect.against import wanted_exports
from wheelgrid.inspect.metadata import read_metadata
from wheelgrid.inspect.place import open_source
from wheelgrid.inspect.subject import Upstream
from wheelgrid.inspect.torch_exports import Exports, installed_exports, wheel_exports

__all__ = ["exports_of", "requires_of", "upstream_of"]


def upstream_of(knowledge: Knowledge) -> Upstream:
    """Shims and string ABI of the releases that were looked at, and the oneAPI of each line."""
    years: dict[str, set[str]] = {}
    for torch, known in knowledge.torch.items():
        for published in known.published:
            if published.family is Family.XPU and published.positive:
                line = f"{torch.major}.{torch.minor}"
                found = {str(v.version.major) for v in published.values if v.version is not None}
                years.setdefault(line, set()).update(found)
    return Upstream(
        abi=knowledge.torch_abi,
        oneapi={line: frozenset(found) for line, found in years.items() if found},
    )


def exports_of(torch: Path) -> Callable[[frozenset[str]], Exports]:
    """Looks names up in a torch wheel or an installed torch; CouldNotCheckError if it is none."""

    def look(names: frozenset[str]) -> Exports:
        wanted = wanted_exports(names)
        if torch.is_dir():
            return installed_exports(torch, wanted)
        with open_source(str(torch)) as source:
            return wheel_exports(source, wanted)

    return look


def _metadata_files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("torch-*.dist-info/METADATA"))
    yield from sorted(folder.parent.glob("torch-*.dist-info/METADATA"))


def requires_of(torch: Path) -> tuple[str, ...]:
    """Requires-Dist of that torch; empty where its metadata is not there."""
    if torch.is_file():
        metadata = read_metadata(torch)
        return metadata.requires if metadata is not None else ()
    for path in _metadata_files(torch):
        lines = path.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0].splitlines()
        return tuple(t.partition(":")[2].strip() for t in lines if t.startswith("Requires-Dist:"))
    return ()
