"""Rules on what a wheel requires: WG412, WG415."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelgrid.inspect.findings import Finding, error, warning
from wheelgrid.inspect.subject import Subject

__all__ = ["pinned_runtimes", "stubs"]

_STUB = re.compile(
    r"nvidia-(cublas|cuda-(?:cccl|crt|culibos|cupti|cuxxfilt|nvcc|nvrtc|opencl|profiler-api|runtime|"
    r"sanitizer-api)|cufft|cufile|curand|cusolver|cusparse|npp|nvfatbin|nvjitlink|nvjpeg|nvml-dev|"
    r"nvptxcompiler|nvtx|nvvm)-cu13\Z"
)
"""Packages whose only version, 0.0.1, says "DEPRECATED: Use nvidia-... instead" (PyPI, 2026-12-01).

cuDNN, NCCL, NVSHMEM and cuSPARSELt keep their suffix: nvidia-cudnn-cu13 is the real one.
"""
_RUNTIME = re.compile(
    r"(?:intel-(?:sycl-rt|cmplr-lib-rt|cmplr-lib-ur|cmplr-lic-rt|opencl-rt|openmp|pti)|"
    r"dpcpp-cpp-rt|oneccl|onemkl-sycl-[a-z]+|mkl|tcmlib|umf|tbb|impi-rt|"
    r"nvidia-[a-z0-9-]+|cuda-toolkit|triton|pytorch-triton(?:-rocm|-xpu)?|triton-(?:rocm|xpu)|"
    r"rocm|rocm-sdk-[a-z0-9-]+)\Z"
)


def stubs(subject: Subject) -> Iterator[Finding]:
    """WG412: names that install nothing but an error, with the name to write."""
    for requirement in subject.requirements:
        match = _STUB.match(canonicalize_name(requirement.name))
        if match:
            text = f"Requires-Dist {requirement}: {requirement.name} is a stub whose build fails"
            yield error("WG412", f"{text}; write nvidia-{match[1]}")


def _pin(requirement: Requirement) -> Version | None:
    """The one version that a requirement takes; None for a range."""
    for clause in requirement.specifier:
        if clause.operator in {"==", "==="} and not clause.version.endswith(".*"):
            try:
                return Version(clause.version)
            except InvalidVersion:
                return None
    return None


def _of_torch(subject: Subject) -> dict[str, Requirement]:
    """What the torch to compare with requires, by name."""
    found: dict[str, Requirement] = {}
    for text in subject.upstream.requires if subject.upstream else ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or "extra" not in str(requirement.marker):
            found[canonicalize_name(requirement.name)] = requirement
    return found


def pinned_runtimes(subject: Subject) -> Iterator[Finding]:
    """WG415: a pin beside torch's own; an error where torch is at hand and pins another version."""
    if not subject.torch_requirements:
        return
    theirs = _of_torch(subject)
    for requirement in subject.requirements:
        name = canonicalize_name(requirement.name)
        pin, other = _pin(requirement), theirs.get(name)
        if pin is None:
            continue
        if other is not None and not other.specifier.contains(pin, prereleases=True):
            text = f"Requires-Dist {requirement} and torch's own {other} fit no version"
            yield error("WG415", text)
        elif _RUNTIME.match(name):
            text = f"Requires-Dist {requirement} pins a runtime that torch chooses"
            yield warning("WG415", text)
