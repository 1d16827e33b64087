"""What an import found: findings with positions, and one result for each matrix of the file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Cells", "Finding", "Imported", "Json", "Level", "Place", "canonical", "cells_sha256"]

Json = str | int | float | bool | list["Json"] | dict[str, "Json"] | None
"""A value as JSON has it."""

Cells = list[dict[str, Json]]


class Level(StrEnum):
    """How much a finding weighs."""

    ERROR = "error"
    UNKNOWN = "unknown"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in the file that was read; line and column count from 1, 0 where unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Format as `file:line:column`, as compilers do."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to know. An error stops the import; unknown says that it could not look."""

    level: Level
    code: str
    message: str
    place: Place
    job: str = ""
    hint: str = ""

    def __str__(self) -> str:
        """Format as one line, and a second one for the hint."""
        where = f"{self.place}: " + (f"{self.job}: " if self.job else "")
        return f"{where}{self.level}: {self.message}" + (
            f"\n    hint: {self.hint}" if self.hint else ""
        )


@dataclass(slots=True, kw_only=True)
class Imported:
    """One matrix of the file. `text` is empty where it could not be imported."""

    job: str
    text: str = ""
    name: str = ""
    cells: Cells = field(default_factory=list)
    candidates: int = 0
    findings: list[Finding] = field(default_factory=list)

    def has(self, level: Level) -> bool:
        """Whether there is a finding of this level."""
        return any(finding.level is level for finding in self.findings)


def canonical(value: object) -> str:
    """Text that two equal JSON values share: keys sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def cells_sha256(cells: Iterable[Mapping[str, object]]) -> str:
    """One digest of a set of cells: each as canonical JSON, sorted, one per line."""
    return hashlib.sha256("\n".join(sorted(map(canonical, cells))).encode()).hexdigest()
