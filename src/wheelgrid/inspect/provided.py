"""Libraries that come from torch, from vendors' packages or with the driver: none may be bundled.

Names are without version, suffix and the hash of repair tools. Those of torch were compared on
2026-12-01 with torch/lib of torch 2.14.1 for Linux and 2.15.0 for macOS and Windows (of which only
the OpenMP runtimes and uv.dll are left out), those of NVIDIA with 14 of its files. Those of AMD and
Intel come from the documentation of ROCm and oneAPI and were not compared with their packages.
"""

from __future__ import annotations

import re

from wheelgrid.inspect.subject import plain_stem

__all__ = ["DRIVER", "provider"]

DRIVER = "the driver"

_DRIVER = re.compile(
    r"libcuda|libcudadebugger|libnvidia-[a-z0-9-]+|libnvcuvid|nvcuda|nvcuda64|libhsakmt|libdrm_amdgpu"
    r"|libze_intel_gpu|ze_loader|libze_loader|libigdrcl"
)
_TORCH = re.compile(
    r"(?:lib)?(?:torch(?:_cpu|_cuda|_cuda_linalg|_global_deps|_nvshmem|_python|_hip|_xpu|"
    r"bind_test)?|c10(?:_cuda|_hip|_xpu)?|caffe2_nvrtc|shm|aoti_custom_ops)"
)
_NVIDIA = re.compile(
    r"(?:lib)?(?:cudart|cublas|cublasLt|nvblas|cudnn(?:_[a-z_0-9]+)?|cufft|cufftw|cufile(?:_rdma)?|"
    r"curand|cusolver|cusolverMg|cusparse|cusparseLt|nvJitLink|nvrtc(?:-builtins)?|nvToolsExt|"
    r"nvtx3interop|nccl|nvshmem(?:_[a-z_0-9]+)?|nvperf_host|nvperf_target|cupti|checkpoint|pcsamplingutil|"
    r"nvfatbin|npp[a-z]+|nvjpeg|nvvm)(?:64)?(?:_[0-9_]+)?"
)
_AMD = re.compile(
    r"(?:lib)?(?:amdhip64|hiprtc(?:-builtins)?|hsa-runtime64|amd_comgr|hipblas|hipblaslt|hipfft|"
    r"hiprand|hipsolver|hipsparse|hipsparselt|rocblas|rocfft|rocrand|rocsolver|rocsparse|MIOpen|"
    r"rccl|roctx64|roctracer64|rocprofiler-[a-z]+|rocm_smi64|rocm-core|magma)(?:_?[0-9]+)?",
    re.IGNORECASE,
)
_INTEL = re.compile(
    r"(?:lib)?(?:sycl(?:-preview)?|ur_loader|ur_adapter_[a-z_0-9]+|umf|pi_[a-z_]+|mkl_sycl(?:_[a-z]+)?|"
    r"ccl|OpenCL|intelocl|svml|imf|intlc|irng|iomp5|iomp5md|pti_view|tcm)[0-9]?d?"
)
_LONGEST = 100
_SOURCES = (
    (_DRIVER, DRIVER),
    (_TORCH, "torch"),
    (_NVIDIA, "NVIDIA's packages"),
    (_AMD, "AMD's packages"),
    (_INTEL, "Intel's packages"),
)


def provider(name: str) -> str:
    """Who gives users the library of this file name; empty for an ordinary library."""
    stem = plain_stem(name)
    if len(stem) > _LONGEST:
        return ""
    return next((who for pattern, who in _SOURCES if pattern.fullmatch(stem)), "")
