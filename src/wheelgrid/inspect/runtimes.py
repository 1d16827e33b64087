"""Vendors' runtimes that a native file needs, told by the names of its libraries.

A name with a version is a promise of the vendor: libcudart.so.13 is CUDA 13, libamdhip64.so.7 is
ROCm 7, libsycl.so.8 is oneAPI 2025. A library that links its runtime statically tells nothing,
and neither does libcusparse, whose version is 12 in CUDA 12 and 13.
"""

from __future__ import annotations

import re

from wheelgrid.inspect.library import Library

__all__ = ["jit_compilers", "runtimes"]

_CUDA = re.compile(
    r"(?:lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.|"
    r"(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)(?:64)?_)(\d{1,3})",
)
_HIP = re.compile(r"(?:lib(?:amdhip64|hiprtc)\.so\.|(?:amdhip64|hiprtc)_?0*)(\d{1,2})(?!\d)")
_SYCL = re.compile(r"(?:libsycl\.so\.|sycl)(\d{1,2})(?:\.dll)?\Z")
_ONEAPI = {7: "2024", 8: "2025", 9: "2026"}
"""soname of libsycl to the year of oneAPI that ships it."""
_COMPILERS = {
    "nvrtc": re.compile(r"libnvrtc\.so|nvrtc64|nvrtc[A-Z]"),
    "nvJitLink": re.compile(r"libnvJitLink\.so|nvJitLink"),
    "hiprtc": re.compile(r"libhiprtc\.so|hiprtc[A-Z0-9]"),
}


def runtimes(library: Library) -> dict[str, str]:
    """Vendor to version: `{"cuda": "13"}`; empty where no name tells one."""
    found: dict[str, str] = {}
    for name in library.needed:
        if match := _CUDA.match(name):
            major = int(match[1])
            found["cuda"] = str(major if major < 100 else major // 10)  # noqa: PLR2004 - 120 is 12.0
        elif match := _HIP.match(name):
            found["rocm"] = match[1]
        elif match := _SYCL.match(name):
            found["sycl"] = _ONEAPI.get(int(match[1]), f"libsycl.so.{match[1]}")
    return found


def jit_compilers(library: Library) -> list[str]:
    """Compilers of device code that it calls at run time; what they make is not in the file."""
    names = (*library.needed, *library.undefined)
    return [tool for tool, pattern in _COMPILERS.items() if any(map(pattern.match, names))]
