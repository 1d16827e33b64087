"""What engines tell whoever watches; the command line decides how to show it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "Silent"]


class Progress(Protocol):
    """Called from worker threads; implementations lock for themselves."""

    def started(self, unit: str, step: str) -> None:
        """A unit of work begins, or goes on to another step."""

    def finished(self, unit: str, outcome: str, detail: str, seconds: float) -> None:
        """A unit of work ended with an outcome."""


class Silent:
    """Shows nothing."""

    def started(self, unit: str, step: str) -> None:
        """Ignore."""

    def finished(self, unit: str, outcome: str, detail: str, seconds: float) -> None:
        """Ignore."""
