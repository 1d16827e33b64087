"""Axes and their values: text, attributes, and the role that gives a value its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from packaging.version import InvalidVersion, Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

__all__ = [
    "IMPLICIT_ROLES",
    "Axis",
    "AxisValue",
    "Place",
    "Role",
    "as_accelerator",
    "as_platform",
    "as_python",
    "as_version",
]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is written; line and column count from 1, 0 where unknown."""

    file: str = "matrix.yaml"
    path: str = ""
    line: int = 0
    column: int = 0


class Role(StrEnum):
    """What the values of an axis mean; `text` for a free axis."""

    TEXT = "text"
    TORCH = "torch"
    PYTHON = "python"
    ACCELERATOR = "accelerator"
    PLATFORM = "platform"
    GPU_ARCH = "gpu_arch"


IMPLICIT_ROLES = {str(role): role for role in Role if role is not Role.TEXT}
"""Axes of these names have their role without saying so."""


@dataclass(frozen=True, slots=True)
class AxisValue:
    """One value. `text` identifies it; `attributes` can be tested; `shown` is its JSON form."""

    text: str
    attributes: Mapping[str, object] = field(default_factory=dict, compare=False)
    shown: object = field(default=None, compare=False)

    @property
    def json(self) -> object:
        """The value as rows print it: its text unless it was written as true, false or object."""
        return self.text if self.shown is None else self.shown

    def attribute(self, path: str) -> str | None:
        """An attribute as text, by dotted path; None where the value has none."""
        found: object = self.attributes
        for step in path.split("."):
            if not isinstance(found, Mapping) or step not in found:
                return None
            found = found[step]
        if isinstance(found, bool):
            return "true" if found else "false"
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One dimension of a matrix; values keep the order in which they are written."""

    name: str
    values: tuple[AxisValue, ...]
    role: Role = Role.TEXT
    place: Place = field(default_factory=Place, compare=False)

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as text."""
        return tuple(value.text for value in self.values)


@lru_cache(maxsize=4096)
def as_version(text: str) -> Version | None:
    """The text as a PEP 440 version, or None."""
    try:
        return Version(text)
    except (InvalidVersion, ValueError):  # ValueError: a number of thousands of digits
        return None


@lru_cache(maxsize=1024)
def as_python(text: str) -> PythonVersion | None:
    """The text as a Python version of the matrix, or None."""
    try:
        return PythonVersion.parse(text)
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def as_accelerator(text: str) -> Accelerator | None:
    """The text as an accelerator, or None."""
    try:
        return Accelerator.parse(text)
    except ValueError:
        return None


def as_platform(text: str) -> Platform | None:
    """The text as a platform, or None."""
    return Platform(text) if text in Platform.__members__.values() else None
