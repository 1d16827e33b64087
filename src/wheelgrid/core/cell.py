"""The cell: one point of the matrix, and its canonical id."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

__all__ = ["AXES", "Cell"]

AXES = ("torch", "python", "accelerator", "platform")

_ID = re.compile(
    r"torch(?P<torch>[^-]+)-(?P<python>cp[0-9]+t?)-(?P<platform>[^-]+)-(?P<acc>[^-]+)\Z"
)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Cell:
    """One (torch, python, accelerator, platform)."""

    torch: Version
    python: PythonVersion
    accelerator: Accelerator
    platform: Platform

    @property
    def id(self) -> str:
        """`torch2.14.1-cp313-linux_x86_64-cuda13.0`: printed from fields, dots kept."""
        return f"torch{self.torch}-{self.python.tag}-{self.platform}-{self.accelerator}"

    @classmethod
    def parse(cls, text: str) -> Cell:
        """Read a cell id; ValueError names the part that is wrong."""
        match = _ID.match(text)
        if match is None:
            msg = (
                f"{text!r} is not a cell id such as 'torch2.14.1-cp313-linux_x86_64-cuda13.0' "
                "(torch, CPython tag, platform, accelerator)"
            )
            raise ValueError(msg)
        try:
            torch = Version(match["torch"])
        except InvalidVersion as error:
            msg = f"{text!r}: torch {match['torch']!r} is not a version"
            raise ValueError(msg) from error
        return cls(
            torch=torch,
            python=PythonVersion.from_tag(match["python"]),
            accelerator=Accelerator.parse(match["acc"]),
            platform=Platform(match["platform"]),
        )

    @property
    def torch_minor(self) -> str:
        """The torch release line, `2.14`: the unit of libtorch's C++ ABI."""
        return f"{self.torch.major}.{self.torch.minor}"

    def axis(self, name: str) -> str:
        """The value on one axis as matrix files spell it; KeyError for another name."""
        if name not in AXES:
            raise KeyError(name)
        return str(getattr(self, name))

    def __str__(self) -> str:
        """Print the id."""
        return self.id
