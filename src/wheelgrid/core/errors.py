"""The exception tree and the exit codes; each class owns one code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "BadInputError",
    "BuildError",
    "CouldNotCheckError",
    "ExitCode",
    "Fault",
    "WheelgridError",
]


class ExitCode(IntEnum):
    """Exit codes of every command.

    GOOD: nothing wrong was found. FAILURES: the work ran and found failures. USAGE: the
    command line or a file it reads is wrong. COULD_NOT_CHECK: the tool could not look (no
    network, no interpreter, no compiler), so it does not say pass. DEFECT: wheelgrid
    itself is wrong, and shows a traceback (EX_SOFTWARE of sysexits.h). INTERRUPTED: stopped by
    Ctrl-C or SIGTERM (128 + SIGINT, as shells do).
    """

    GOOD = 0
    FAILURES = 1
    USAGE = 2
    COULD_NOT_CHECK = 3
    DEFECT = 70
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong with an input: where, what was found, what was expected."""

    file: str
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    hint: str = ""

    def __str__(self) -> str:
        """Format as `file:line:column: path: message (hint)`, as compilers do."""
        place = self.file
        if self.line:
            place += f":{self.line}:{self.column}"
        if self.path:
            place += f": {self.path}"
        return f"{place}: {self.message}" + (f"\n    hint: {self.hint}" if self.hint else "")


class WheelgridError(Exception):
    """Base of all errors that the command line prints without a traceback."""

    exit_code = ExitCode.FAILURES

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep the message and, apart from it, what the user can do."""
        super().__init__(message)
        self.hint = hint


class BadInputError(WheelgridError):
    """A file or an argument is wrong; holds every fault that was found."""

    exit_code = ExitCode.USAGE

    def __init__(self, faults: list[Fault] | tuple[Fault, ...]) -> None:
        """Hold all faults; the message lists them one per line, in file order."""
        self.faults = tuple(sorted(faults, key=lambda f: (f.file, f.line, f.column, f.path)))
        super().__init__("\n".join(str(fault) for fault in self.faults))


class CouldNotCheckError(WheelgridError):
    """The tool could not look; never to be read as a pass or a failure."""

    exit_code = ExitCode.COULD_NOT_CHECK


class BuildError(WheelgridError):
    """A build ran and failed."""

    exit_code = ExitCode.FAILURES
