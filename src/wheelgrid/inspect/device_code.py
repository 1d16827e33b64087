"""The device code of one file as run rules see it, whatever the vendor and the container format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from wheelgrid.core.accelerator import Family

__all__ = ["CodeGroup", "DeviceCode", "Image", "ImageKind"]


class ImageKind(StrEnum):
    """What an image is; the values are those of `image` in compat/run-rules.yaml, without forms."""

    CUBIN = "cubin"
    PTX = "ptx"
    LTO = "lto-ir"
    CODE_OBJECT = "code-object"
    SPIRV = "spirv"
    GENERIC_IR = "generic-ir"
    AOT = "aot"
    METALLIB = "metallib"

    @property
    def family(self) -> Family:
        """The vendor runtime that loads it."""
        return _FAMILIES[self]

    @property
    def is_compiled_late(self) -> bool:
        """Whether a driver compiles it on the machine where it runs, from an open language."""
        return self in {ImageKind.PTX, ImageKind.SPIRV, ImageKind.GENERIC_IR}


_FAMILIES = {
    ImageKind.CUBIN: Family.CUDA,
    ImageKind.PTX: Family.CUDA,
    ImageKind.LTO: Family.CUDA,
    ImageKind.CODE_OBJECT: Family.ROCM,
    ImageKind.SPIRV: Family.XPU,
    ImageKind.GENERIC_IR: Family.XPU,
    ImageKind.AOT: Family.XPU,
    ImageKind.METALLIB: Family.MPS,
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Image:
    """Code for one target as the file spells it: `sm_90a`, `compute_120f`, `gfx90a:xnack+`, `pvc`.

    `isa` is the PTX ISA version of PTX, and for a metallib the oldest system it is built for; the
    target of a metallib is that system's name, such as `macOS`. The target of SPIR-V is empty.
    """

    kind: ImageKind
    target: str = ""
    isa: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeGroup:
    """Kernels (or whole translation units) that have the same set of images.

    `containers` is in how many translation units that is so. `kernels` is None where they were not
    listed. Code that is not `loadable` is input of the device linker (`__nv_relfatbin`).
    """

    images: frozenset[Image]
    kernels: frozenset[str] | None = None
    containers: int = 1
    loadable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """One file. `runtimes` are vendor to major version: `{"cuda": "13"}`; `unread` is damage.

    `jit_sources` are compilers that make code when it runs (nvrtc, triton): what they will make is
    not in the file. Something of a wheel that is no native file has a path that says what it is.
    `notes` are doubts of who read the file, and are passed on with every verdict.
    """

    path: str
    groups: tuple[CodeGroup, ...] = ()
    jit_sources: tuple[str, ...] = ()
    runtimes: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def families(self) -> frozenset[Family]:
        """Vendors that the file holds code for."""
        return frozenset(image.kind.family for group in self.groups for image in group.images)
