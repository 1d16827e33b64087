"""Both ends of the Pythons of a release: installers are told the floor only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wheelgrid.core.filelist import ListedFile

__all__ = ["PythonEnds", "python_ends"]

_CPYTHON = re.compile(r"cp3([0-9]{1,3})\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonEnds:
    """Both ends of the Pythons of a release: the floor it declares, the ceiling of its wheels.

    Minors of CPython 3. `open_ended`: a wheel of the stable ABI or a pure one has no ceiling.
    """

    requires_python: str
    oldest: int | None
    newest: int | None
    open_ended: bool


def python_ends(files: list[ListedFile]) -> PythonEnds:
    """The ends over files of one release; a floor that differs between them is the first found."""
    minors: set[int] = set()
    open_ended = False
    for file in files:
        for tag in file.name.tags:
            match = _CPYTHON.match(tag.interpreter)
            if tag.abi in {"abi3", "abi3t"} or (tag.abi == "none" and not match):
                open_ended = True
            if match:
                minors.add(int(match[1]))
    stated = [f.requires_python for f in files if f.requires_python]
    return PythonEnds(
        requires_python=stated[0] if stated else "",
        oldest=min(minors, default=None),
        newest=max(minors, default=None),
        open_ended=open_ended,
    )
