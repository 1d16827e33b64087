"""One import in progress: what was read, what is found, and how to say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wheelgrid.importers.github_read import RawMatrix
from wheelgrid.importers.report import Finding, Imported, Level, Place

__all__ = ["Job", "Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to import. `file` is shown in findings, `name` is written into the matrix."""

    file: str
    name: str
    as_of: str
    job: str = ""
    ranges: bool = False


@dataclass(slots=True)
class Job:
    """One import in progress."""

    raw: RawMatrix
    options: Options
    result: Imported
    comments: Mapping[int, str]

    def say(self, level: Level, code: str, place: Place, message: str, hint: str = "") -> None:
        """Record a finding of this job."""
        self.result.findings.append(
            Finding(
                level=level,
                code=code,
                message=message,
                place=place,
                job=self.result.job,
                hint=hint,
            )
        )

    def note(self, code: str, place: Place, message: str, hint: str = "") -> None:
        """Record a note of this job."""
        self.say(Level.NOTE, code, place, message, hint)
