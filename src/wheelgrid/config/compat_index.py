"""Reads what `wheelgrid observe` saw in a package index: the files of each torch release."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.version import Version

from wheelgrid.config.yaml import MAX_BYTES, Faults
from wheelgrid.core.axis import as_version
from wheelgrid.core.errors import Fault
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.release import PythonsStatement

__all__ = ["INDEX_OBSERVATIONS", "read_index"]

INDEX_OBSERVATIONS = "observations/index"

_Seen = dict[Version, dict[Platform, set[PythonVersion]]]


_PARTS = {5, 6}
"""Of a wheel's name: name, version, perhaps a build number, Python tag, ABI tag, platform tag."""


@lru_cache(maxsize=256)
def _platforms(tag: str) -> tuple[Platform, ...]:
    return tuple(p for p in Platform for one in tag.split(".") if p.matches_wheel_platform(one))


@lru_cache(maxsize=256)
def _python(interpreter: str, abi: str) -> PythonVersion:
    """The Python of a tag; `cp310-none` is how old macOS wheels say cp310."""
    return PythonVersion.from_tag(interpreter if abi == "none" else abi)


def _grouped(document: Any) -> _Seen:  # noqa: ANN401 - the decoder: nothing is known of it yet
    """Pythons by release and platform; ValueError, KeyError or TypeError for another shape."""
    found: _Seen = {}
    for filename in document["files"]:
        parts = str(filename).removesuffix(".whl").split("-")
        version = as_version(parts[1]) if len(parts) in _PARTS else None
        if version is None or not str(filename).endswith(".whl"):
            msg = f"{filename!r} is not the name of a wheel"
            raise ValueError(msg)
        python = _python(parts[-3], parts[-2])
        for platform in _platforms(parts[-1]):
            found.setdefault(version, {}).setdefault(platform, set()).add(python)
    return found


def read_index(
    path: Path, name: str, faults: Faults
) -> list[tuple[Version, list[PythonsStatement]]]:
    """Each release of one record and the Pythons seen for it; empty after a fault.

    `name` is the path that messages and sources show.
    """
    try:
        document = json.loads(path.read_bytes()[: MAX_BYTES + 1])
        seen, grouped = str(document["observed"])[:10], _grouped(document)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        faults.found.append(Fault(file=name, message=f"is not an index observation: {error}"))
        return []
    return [(torch, _statements(torch, seen, name, by)) for torch, by in grouped.items()]


def _statements(
    torch: Version, seen: str, name: str, by_platform: dict[Platform, set[PythonVersion]]
) -> list[PythonsStatement]:
    source = Source(
        id=f"index.torch-{torch}",
        kind=Kind.OBSERVATION,
        source=f"file tags of torch {torch} in the default package index ({name})",
        date=seen,
    )
    return [
        PythonsStatement(source=source, platforms=frozenset([platform]), values=frozenset(pythons))
        for platform, pythons in sorted(by_platform.items())
    ]
