"""Accelerators: a vendor runtime and its version, `cuda13.0`, `rocm7.14`, `cpu`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from packaging.version import Version

__all__ = ["Accelerator", "Family"]


class Family(StrEnum):
    """The vendor runtime without its version."""

    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"
    XPU = "xpu"
    MPS = "mps"

    @property
    def has_version(self) -> bool:
        """Whether an accelerator of this family names a runtime version."""
        return self not in {Family.CPU, Family.MPS}


_SPELLING = re.compile(r"(?:(cpu|mps)|(cuda|rocm|xpu)([0-9]+(?:\.[0-9]+)+))\Z")


@dataclass(frozen=True, slots=True, order=True)
class Accelerator:
    """A family and, where it has one, the runtime version, ordered as versions are."""

    family: Family
    version: Version | None = field(default=None)

    @classmethod
    def parse(cls, text: str) -> Accelerator:
        """Read `cpu`, `mps`, `cuda13.0`, `rocm7.14`, `xpu2026.1`; ValueError otherwise.

        Compact spellings (`cu130`) are refused: `cu1210` could be 12.10 or 121.0.
        """
        match = _SPELLING.match(text)
        if match is None:
            msg = (
                f"{text!r} is not an accelerator: expected cpu, mps, or cuda, rocm or xpu with a "
                "dotted version such as 'cuda13.0'"
            )
            raise ValueError(msg)
        if match[1]:
            return cls(Family(match[1]))
        return cls(Family(match[2]), Version(match[3]))

    @property
    def label(self) -> str:
        """The local version label that PyTorch's own indexes use: `cu130`, `rocm7.14`, `xpu`.

        Empty for mps: macOS wheels carry none.
        """
        if self.family is Family.CUDA and self.version is not None:
            return f"cu{self.version.major}{self.version.minor}"
        if self.family is Family.ROCM:
            return f"rocm{self.version}"
        return "" if self.family is Family.MPS else str(self.family)

    def __str__(self) -> str:
        """Print the canonical spelling, dots kept."""
        return f"{self.family}{self.version or ''}"
