"""Builds: one wheel to make, and the cells that it serves after ABI collapse."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.cell import Cell, encode_part
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Abi, Reach

__all__ = ["ANY", "Build", "local_label", "reach_name"]

ANY = "any"
"""The accelerator of a wheel that no accelerator touches; also its folder in dist/."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One wheel. `python` and `torch` are what it is built with, not all that it serves.

    `limited` says that it uses Python's stable ABI: abi3, or abi3t where `python` is a
    free-threaded one. `free` holds the values of the free axes that the recipe uses.
    """

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
    free: tuple[tuple[str, str], ...] = ()

    @property
    def abi_tag(self) -> str:
        """The ABI tag of its wheel: `cp313`, `abi3`, `abi3t` (PEP 803) or `none`."""
        if self.abi is Abi.PURE:
            return "none"
        if self.limited:
            return "abi3t" if self.python.free_threaded else "abi3"
        return self.python.tag

    @property
    def id(self) -> str:
        """`torch-scatter-2.1.2-torch2.13.0-cp311-linux_x86_64-cpu`; one wheel, one id."""
        torch = f"-torch{self.torch}" if self.torch is not None else ""
        python, platform = self.python.tag, str(self.platform)
        if self.limited:
            python = f"{self.python.interpreter_tag}.{self.abi_tag}"
        if self.abi is Abi.PURE:
            python, platform = "py3", ANY
        base = f"{self.package}-{self.version}{torch}-{python}-{platform}-{self.folder}"
        free = ",".join(f"{encode_part(n)}={encode_part(v)}" for n, v in self.free)
        return f"{base},{free}" if free else base

    @property
    def wheel_version(self) -> str:
        """The version that the wheel must carry, local label included."""
        return f"{self.version}+{self.label}" if self.label else str(self.version)

    @property
    def artifact(self) -> str:
        """What names its wheel file: two builds must never share it."""
        platform = ANY if self.abi is Abi.PURE else str(self.platform)
        python = self.python.interpreter_tag
        tags = f"{python}-{self.abi_tag}-{platform}"
        return f"{self.folder}/{self.package}-{self.wheel_version}-{tags}"


def reach_name(accelerator: Accelerator, reach: Reach) -> str:
    """The folder of wheels that reach that far: `cuda13.0`, `cuda13`, `any`."""
    if reach is Reach.ANY:
        return ANY
    if reach is Reach.MAJOR and accelerator.version is not None:
        return f"{accelerator.family}{accelerator.version.major}"
    return str(accelerator)


def _accelerator_label(accelerator: Accelerator, reach: Reach) -> str:
    if reach is Reach.ANY:
        return ""
    if reach is Reach.MAJOR and accelerator.version is not None:
        short = "cu" if accelerator.family == "cuda" else str(accelerator.family)
        return f"{short}{accelerator.version.major}"
    return accelerator.label


def local_label(
    abi: Abi,
    accelerator: Accelerator,
    torch: Version | None,
    *,
    reach: Reach | None = None,
    free: tuple[tuple[str, str], ...] = (),
) -> str:
    """The local version label of a build, lower case, dots kept so that it sorts as numbers.

    `cu130torch2.13` for the C++ ABI of one torch line, `cu130` for the stable ABI, `cu13` where
    one wheel serves a major version, nothing for wheels that torch and accelerator do not touch.
    (Deleted dots would sort 2.10 below 2.8.) Free axes that the recipe uses are appended.

    Within one family labels sort by toolkit, then torch, with exceptions that no label of
    PyTorch's kind can mend: rocm10 below rocm7, cu1210 below cu130, and xpu names no version.
    So each toolkit has an index folder of its own.
    """
    if reach is None:
        reach = Reach.EXACT if abi.uses_torch else Reach.ANY
    label = "" if abi is Abi.PURE else _accelerator_label(accelerator, reach)
    if abi is Abi.LIBTORCH and torch is not None:
        # After a dot, or `14torch2` of rocm7.14torch2.13 would be text and sort below `2torch2`.
        label += f"{'.' if '.' in label else ''}torch{torch.major}.{torch.minor}"
    parts = [label, *(re.sub("[^a-z0-9]+", ".", f"{n}{v}".lower()).strip(".") for n, v in free)]
    return ".".join(part for part in parts if part)
