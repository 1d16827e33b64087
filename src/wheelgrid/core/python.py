"""Python versions of the matrix: `3.13`, `3.14t`; compared as numbers, never as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["PythonVersion"]

_SPELLING = re.compile(r"([0-9]{1,2})\.([0-9]{1,3})(t?)\Z")
_TAG = re.compile(r"cp([0-9])([0-9]{1,3})(t?)\Z")


@dataclass(frozen=True, slots=True, order=True)
class PythonVersion:
    """A CPython minor version and whether it is the free-threaded build (PEP 703).

    The free-threaded build sorts just after the default build of the same version.
    """

    major: int
    minor: int
    free_threaded: bool = False

    @classmethod
    def parse(cls, text: str) -> PythonVersion:
        """Read `3.13` or `3.14t`; ValueError for any other spelling."""
        match = _SPELLING.match(text)
        if match is None:
            msg = f"{text!r} is not a Python version such as '3.13' or '3.14t'"
            raise ValueError(msg)
        return cls(int(match[1]), int(match[2]), match[3] == "t")

    @classmethod
    def from_tag(cls, tag: str) -> PythonVersion:
        """Read an ABI tag of CPython, `cp313` or `cp314t`; ValueError otherwise."""
        match = _TAG.match(tag)
        if match is None:
            msg = f"{tag!r} is not a CPython tag such as 'cp313' or 'cp314t'"
            raise ValueError(msg)
        return cls(int(match[1]), int(match[2]), match[3] == "t")

    @property
    def release(self) -> tuple[int, int]:
        """The numbers alone, for comparison with a floor."""
        return (self.major, self.minor)

    @property
    def tag(self) -> str:
        """The ABI tag of this interpreter: `cp313`, `cp314t`."""
        return f"cp{self.major}{self.minor}{'t' if self.free_threaded else ''}"

    @property
    def interpreter_tag(self) -> str:
        """The Python tag of wheels for it: `cp314` also for the free-threaded build."""
        return f"cp{self.major}{self.minor}"

    def __str__(self) -> str:
        """Print the spelling used in matrix files."""
        return f"{self.major}.{self.minor}{'t' if self.free_threaded else ''}"
