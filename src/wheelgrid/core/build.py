"""Builds: one wheel to make, and the cells that it serves after ABI collapse."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.cell import Cell
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Abi

__all__ = ["ANY", "Build", "local_label"]

ANY = "any"
"""The accelerator of a wheel that no accelerator touches; also its folder in dist/."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One wheel. `python` and `torch` are what it is built with, not all that it serves."""

    package: str
    version: Version
    abi: Abi
    python: PythonVersion
    platform: Platform
    accelerator: Accelerator
    folder: str
    torch: Version | None
    label: str
    limited: bool
    cells: tuple[Cell, ...]

    @property
    def id(self) -> str:
        """`torch-scatter-2.1.2-torch2.13.0-cp311-linux_x86_64-cpu`; one wheel, one id."""
        torch = f"-torch{self.torch}" if self.torch is not None else ""
        python, platform = self.python.tag, str(self.platform)
        if self.limited:
            python += ".abi3"
        if self.abi is Abi.PURE:
            python, platform = "py3", ANY
        return f"{self.package}-{self.version}{torch}-{python}-{platform}-{self.folder}"

    @property
    def wheel_version(self) -> str:
        """The version that the wheel must carry, local label included."""
        return f"{self.version}+{self.label}" if self.label else str(self.version)


def local_label(abi: Abi, accelerator: Accelerator, torch: Version | None) -> str:
    """The local version label of a build, lower case, dots kept so that it sorts as numbers.

    `cu130torch2.13` for the C++ ABI of one torch line, `cu130` for the stable ABI, nothing for
    wheels that torch and accelerator do not touch. (Deleted dots would sort 2.10 below 2.8.)
    """
    if not abi.uses_torch:
        return ""
    if abi is Abi.LIBTORCH_STABLE or torch is None:
        return accelerator.label
    return f"{accelerator.label}torch{torch.major}.{torch.minor}"
