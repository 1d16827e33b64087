"""What relies on a value: one place, why it matters, and what to write there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from packaging.version import Version

from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.mention import Confidence, Mention

__all__ = ["Kind", "Reliance", "first_gone", "found", "newer"]


class Kind(StrEnum):
    """How a project relies on a value that goes away."""

    PIN = "pin"
    FLOOR = "floor"
    CLAIM = "claim"
    TOOL_TARGET = "tool-target"
    SILENT_DOWNGRADE = "silent-downgrade"
    NO_REQUIRES_PYTHON = "no-requires-python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliance:
    """One place that still relies on a value: why it matters and what to write there."""

    file: str
    line: int
    column: int
    kind: Kind
    value: str
    sunset: str
    message: str
    fix: str
    confidence: Confidence = Confidence.HIGH
    cells: Mapping[str, int] = field(default_factory=dict)


def newer(python: str) -> str:
    """The next minor version: 3.11 after 3.10; for a free-threaded one 3.14t after 3.13t."""
    major, minor = python.rstrip("t").split(".")
    return f"{major}.{int(minor) + 1}" + ("t" if python.endswith("t") else "")


def first_gone(sunset: Sunset) -> Version | None:
    """The first torch without the value, from the condition that names the gone cells."""
    for axis, patterns in sunset.gone.patterns:
        for pattern in patterns if axis == "torch" else ():
            match = re.fullmatch(r">=\s*([0-9]+(?:\.[0-9]+)*)", pattern.text)
            if match:
                return Version(match[1] if match[1].count(".") > 1 else f"{match[1]}.0")
    return None


def _when(sunset: Sunset) -> str:
    last = max(sunset.stages, key=lambda stage: stage.on, default=None)
    end = f", {last.name.phrase} {last.when}" if last else ""
    return f"torch {sunset.last_release} is the last line with {sunset.axis} {sunset.value}{end}"


def found(mention: Mention, kind: Kind, sunset: Sunset, message: str, fix: str) -> Reliance:
    """A finding at the place of a mention, with what the sunset says and when."""
    return Reliance(
        file=mention.file,
        line=mention.line,
        column=mention.column,
        kind=kind,
        value=sunset.value,
        sunset=sunset.id,
        message=f"{message}; {_when(sunset)}",
        fix=fix,
        confidence=mention.confidence,
    )
