"""Which vendors' code a native file holds, and for which targets, as the rules of the audit ask."""

from __future__ import annotations

from collections.abc import Iterable

from wheelgrid.core.accelerator import Family
from wheelgrid.inspect.gpu.cuda import ImageKind
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.native import CudaGroup

__all__ = ["code_families", "cuda_targets", "loadable", "rocm_targets", "sycl_targets"]


def loadable(library: Library) -> list[CudaGroup]:
    """Groups of translation units whose images the driver gets."""
    return [group for group in library.device.cuda if group.loadable and group.images]


def cuda_targets(groups: Iterable[CudaGroup]) -> set[str]:
    """sm_90a of machine code, compute_90 of PTX; LTO-IR is no code that a GPU runs."""
    return {
        target
        for group in groups
        for kind, target, _isa in group.images
        if kind is not ImageKind.LTO
    }


def rocm_targets(library: Library) -> set[str]:
    """gfx942, gfx90a:xnack+ ... of all bundles."""
    return {target for bundle in library.device.bundles for target in bundle.targets}


def sycl_targets(library: Library) -> set[str]:
    """Devices of code that was compiled ahead of time."""
    return set(library.device.sycl.devices) if library.device.sycl else set()


def code_families(library: Library) -> set[Family]:
    """The vendors whose GPUs can run code of this file."""
    code = library.device
    found = set()
    if any(group.loadable and group.images for group in code.cuda):
        found.add(Family.CUDA)
    if code.kpack or any(bundle.targets for bundle in code.bundles):
        found.add(Family.ROCM)
    if code.sycl is not None and (code.sycl.devices or code.sycl.spirv):
        found.add(Family.XPU)
    if code.metallib is not None:
        found.add(Family.MPS)
    return found
