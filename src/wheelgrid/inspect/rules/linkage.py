"""Rules on what is linked and bundled: WG401, WG402, WG403, WG404, WG405."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelgrid.core.labels import parse_label
from wheelgrid.core.recipe import Abi
from wheelgrid.inspect.findings import Expected, Finding, error
from wheelgrid.inspect.wheel import Wheel, requirements

__all__ = ["bundled", "loading", "torch_abi"]

# Libraries that must come from the user's environment: torch, NVIDIA, AMD, Intel runtimes.
_VENDOR = re.compile(
    r"lib(torch|c10|shm\.|cuda\.|cudart|cublas|cudnn|cufft|cusolver|cusparse|curand|nccl|nvrtc|"
    r"nvJitLink|nvToolsExt|nvshmem|cupti|amdhip64|hsa-runtime|hipblas|rocblas|miopen|MIOpen|rccl|"
    r"hiprtc|rocsolver|rocsparse|rocfft|sycl|ze_loader|mkl_sycl|ur_loader|pi_level_zero)"
    r"[^/]*\.so",
    re.IGNORECASE,
)
_TORCH_CXX = re.compile(
    r"_ZN?[KVr]*\d*(3c10|2at|5torch|6caffe2)|_ZT[IVS]N(3c10|2at|5torch|6caffe2)"
)
_ORIGIN = re.compile(r"\$(?:ORIGIN|\{ORIGIN\})(?=/|\Z)")


def bundled(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    """WG401: vendor libraries anywhere in the wheel, with their size.

    Only for extensions: torch and the vendors' own wheels are where these libraries live.
    """
    names = {canonicalize_name(r.name) for r in requirements(wheel)[0]}
    if expected is None and "torch" not in names:
        return
    for member in wheel.native:
        if _VENDOR.match(PurePosixPath(member.path).name):
            yield error("WG401", f"is bundled ({member.size} bytes)", member.path)


def _leaves(runpath: str, path: str) -> bool:
    """Whether a RUNPATH entry of a member points outside the installation folder.

    An empty entry is the working directory of whoever loads it (ld.so(8)).
    """
    match = _ORIGIN.match(runpath)
    if match is None:
        return True
    inside = posixpath.normpath(posixpath.dirname(path) + runpath[match.end() :])
    return inside.startswith(("..", "/"))


def loading(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG402 and WG403: what the dynamic loader will do."""
    for library in wheel.libraries:
        for name in sorted(set(library.version_files) - set(library.needed)):
            yield error("WG402", f"asks versions of {name} without needing it", library.path)
        for entry in (*library.rpath, *library.runpath) if library.format == "ELF" else ():
            if _leaves(entry, library.path):
                yield error("WG403", f"has RUNPATH {entry or '(empty)'}", library.path)


def torch_abi(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    """WG404 for the stable ABI, WG405 for the C++ ABI."""
    if expected is None:
        yield from _unnamed_torch(wheel)
        return
    if expected.abi is Abi.LIBTORCH_STABLE:
        for library in wheel.libraries:
            bad = sorted(name for name in library.undefined if _TORCH_CXX.match(name))
            if bad:
                shown = ", ".join(bad[:3])
                text = f"uses {len(bad)} C++ symbols of libtorch: {shown}"
                yield error("WG404", text, library.path)
    if expected.abi is Abi.LIBTORCH and expected.torch and not _pins(wheel, expected.torch):
        line = f"{expected.torch.major}.{expected.torch.minor}"
        yield error("WG405", f"no Requires-Dist limits torch to {line}.*")


def _unnamed_torch(wheel: Wheel) -> Iterator[Finding]:
    """WG405 without a plan: C++ symbols of libtorch, and no requirement that pins their line."""
    if wheel.name is None or wheel.name.distribution == "torch":
        return
    uses = [
        library
        for library in wheel.libraries
        if any(_TORCH_CXX.match(name) for name in library.undefined)
    ]
    if not uses or any(_pins(wheel, line) for line in _named_lines(wheel)):
        return
    named = parse_label(wheel.name.version.local).torch
    label = f"its label names torch {named}" if named else "its label names no torch"
    text = f"uses the C++ ABI of one torch line; {label}, and no Requires-Dist pins one"
    yield error("WG405", text, uses[0].path)


def _named_lines(wheel: Wheel) -> Iterator[Version]:
    """The torch lines that a wheel may be pinned to, by its label and its requirements."""
    label = parse_label(wheel.name.version.local if wheel.name else None)
    if label.torch is not None:
        yield from label.torch.versions
    for requirement in requirements(wheel)[0]:
        if canonicalize_name(requirement.name) == "torch":
            for clause in requirement.specifier:
                if clause.operator in {"==", "~=", ">="}:
                    yield Version(clause.version.removesuffix(".*"))


def _pins(wheel: Wheel, torch: Version) -> bool:
    """Whether an unconditional requirement admits this torch line and refuses its neighbours."""
    major, minor = torch.major, torch.minor
    others = ["0.1", f"{major}.{minor + 1}.0", f"{major}.{minor + 1}.9", f"{major + 1}.0.0"]
    if minor:
        others += [f"{major}.{minor - 1}.0", f"{major}.{minor - 1}.99"]
    else:
        others.append(f"{major - 1}.99.9")
    for requirement in requirements(wheel)[0]:
        if canonicalize_name(requirement.name) != "torch" or requirement.marker is not None:
            continue
        if torch in requirement.specifier and not any(o in requirement.specifier for o in others):
            return True
    return False
