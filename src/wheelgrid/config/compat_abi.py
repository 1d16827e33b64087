"""Reads and writes the record of the stable ABI of torch: which wheel exports which shims.

A line of the record holds what a library gained and lost since the release before it, so the file
stays short and every list of names can be had back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.version import Version

from wheelgrid.config.files import Project
from wheelgrid.config.yaml import MAX_BYTES, Faults
from wheelgrid.core.errors import Fault
from wheelgrid.core.shim import Seen, ShimKnowledge, StringAbi, known_shims

__all__ = ["ABI_OBSERVATIONS", "encode_shims", "load_shims", "merged_shims", "read_shims"]

ABI_OBSERVATIONS = "observations/abi"
SCHEMA_VERSION = 1


def _order(seen: Seen) -> tuple[str, Version, str]:
    return seen.line, seen.torch, seen.wheel


def merged_shims(old: Iterable[Seen], new: Iterable[Seen]) -> tuple[Seen, ...]:
    """All that was seen, in order; what is new replaces what was known of the same wheel."""
    found = {(one.library, one.wheel): one for one in (*old, *new)}
    return tuple(sorted(found.values(), key=_order))


def encode_shims(seen: Iterable[Seen], *, observed: str) -> str:
    """The record as text; `observed` is the time of the last look, in ISO 8601."""
    libraries: dict[str, list[dict[str, Any]]] = {}
    last: frozenset[str] = frozenset()
    for one in sorted(seen, key=_order):
        lines = libraries.setdefault(one.line, [])
        before = last if lines else frozenset()
        lines.append(
            {
                "wheel": one.wheel,
                "sha256": one.sha256,
                "sha256_of": one.sha256_of,
                "string_abi": one.string_abi.value if one.string_abi else None,
                "added": sorted(one.names - before),
                "removed": sorted(before - one.names),
            }
        )
        last = one.names
    document = {
        "schema_version": SCHEMA_VERSION,
        "kind": "observation",
        "source": "exported names of the libraries in torch wheels",
        "observed": observed,
        "libraries": libraries,
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _seen(library: str, line: Any, before: frozenset[str]) -> Seen:  # noqa: ANN401 - the decoder
    wheel, abi = str(line["wheel"]), line["string_abi"]
    added, removed = frozenset(map(str, line["added"])), frozenset(map(str, line["removed"]))
    if not removed <= before or added & before:
        msg = f"{library} of {wheel} does not follow from the line before"
        raise ValueError(msg)
    return Seen(
        torch=Version(wheel.split("-")[1]),
        library=library.partition("/")[0],
        wheel=wheel,
        sha256=str(line["sha256"]),
        sha256_of=str(line["sha256_of"]),
        names=(before | added) - removed,
        string_abi=StringAbi(abi) if abi else None,
    )


def read_shims(path: Path, name: str, faults: Faults) -> tuple[Seen, ...]:
    """What the record holds; empty after a fault. `name` is the path that messages show."""
    found: list[Seen] = []
    try:
        document = json.loads(path.read_bytes()[: MAX_BYTES + 1])
        for library, lines in document["libraries"].items():
            names: frozenset[str] = frozenset()
            for line in lines:
                found.append(_seen(str(library), line, names))
                names = found[-1].names
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        faults.found.append(Fault(file=name, message=f"is not a record of the ABI: {error!r}"))
        return ()
    except RecursionError:
        faults.found.append(Fault(file=name, message="is nested too deeply"))
        return ()
    return tuple(sorted(found, key=_order))


def load_shims(project: Project, faults: Faults) -> ShimKnowledge:
    """What is known of the stable ABI of torch, without the rest of compat/."""
    seen: list[Seen] = []
    for path in sorted((project.compat / ABI_OBSERVATIONS).glob("*.json")):
        seen += read_shims(path, path.relative_to(project.root).as_posix(), faults)
    return known_shims(seen)
