"""Shows what the engines do: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from wheelgrid.engines.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

__all__ = ["GLYPH", "show_progress"]

GLYPH = {"passed": "✓", "failed": "✕", "skipped": "–", "unknown": "?"}


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:160]


class _Lines:
    """One line per finished unit on stderr: what CI logs need, and no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def started(self, unit: str, step: str) -> None:
        """Nothing: only ends are printed."""

    def finished(self, unit: str, outcome: str, detail: str, seconds: float) -> None:
        """Print the end of one unit."""
        with self._lock:
            line = f"{GLYPH[outcome]} {outcome:7} {seconds:6.1f} s  {unit}  {_first_line(detail)}"
            click.echo(line.rstrip(), err=True)


class _Live:
    """Running units with their step and clock; finished ones scroll away above."""

    def __init__(self, display: RichProgress) -> None:
        self._display = display
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def started(self, unit: str, step: str) -> None:
        """Show the unit, or its next step."""
        with self._lock:
            if unit not in self._tasks:
                self._tasks[unit] = self._display.add_task(unit, total=None, step=step)
            self._display.update(self._tasks[unit], step=step)

    def finished(self, unit: str, outcome: str, detail: str, seconds: float) -> None:
        """Take the unit off the display and print its end."""
        with self._lock:
            task = self._tasks.pop(unit, None)
            if task is not None:
                self._display.remove_task(task)
            style = {"passed": "green", "failed": "red", "unknown": "yellow"}.get(outcome, "dim")
            self._display.console.print(
                f"[{style}]{GLYPH[outcome]} {outcome:7}[/] {seconds:6.1f} s  {unit}",
                highlight=False,
            )
            if detail:
                self._display.console.print(f"    {_first_line(detail)}", style="dim", markup=False)


@contextmanager
def show_progress(env: Mapping[str, str]) -> Iterator[Progress]:
    """A display for the time of a run; plain lines when stderr is no terminal, or in CI."""
    if not sys.stderr.isatty() or env.get("CI"):
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[step]}", style="dim", markup=False),
        TimeElapsedColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as display:
        yield _Live(display)


def elapsed(start: float) -> str:
    """Seconds since a monotonic start, for people."""
    seconds = time.monotonic() - start
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"  # noqa: PLR2004
