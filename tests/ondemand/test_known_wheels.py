"""What is known of the device code in real wheels, library by library.

The values were read in three ways in 2026: by a prototype that shares no code with this one, by
`cuobjdump`, and for AMD by the flags of the code objects in the bundles.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from wheels import Row, get_wheel, inspect

pytestmark = [pytest.mark.ondemand, pytest.mark.network]

COMMON = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
NVJPEG = f"{COMMON} sm_89 sm_103 sm_110 sm_121 compute_121"
CDNA = "gfx908 gfx90a gfx942"
RDNA = "gfx1030 gfx1100 gfx1101 gfx1200 gfx1201"
RDNA3 = "gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153"
RDNA_LATE = "gfx1010 gfx1011 gfx1012 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx1250"
OLD = "sm_60 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90"
HOPPER = "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120"
VLLM = f"{HOPPER} sm_90a sm_100f sm_120f compute_80 compute_89 compute_90"

CUDA = {
    "torch==2.14.1": {
        "torch/lib/libtorch_cuda.so": f"{COMMON} sm_89 sm_90a sm_100a sm_103f sm_120a sm_121a",
        "torch/lib/libtorch_cuda_linalg.so": "sm_80 sm_86 sm_90 sm_100 sm_120",
        "torch/lib/libtorch_nvshmem.so": COMMON,
    },
    "torchvision==0.29.1": {
        "torchvision/_C_stable.so": f"{COMMON} compute_120",
        "torchvision.libs/libnvjpeg.36e11081.so.13": NVJPEG,
    },
    "torchaudio==2.11.1": {
        "torchaudio/lib/libtorchaudio.so": f"{COMMON} compute_120",
        "torchaudio/lib/torchaudio_prefixctc.so": f"{COMMON} compute_120",
    },
    "torchcodec==0.17.0": {
        **{f"torchcodec/libtorchcodec_core{n}.so": f"{COMMON} compute_120" for n in range(4, 10)},
        "torchcodec.libs/libnvjpeg-1a359ba7.so.13.0.1.86": NVJPEG,
    },
    "torchao==0.18.0": {
        "torchao/_C_cutlass_90a.abi3.so": "sm_90a",
        "torchao/_C_mxfp8.cpython-310-x86_64-linux-gnu.so": "sm_100 compute_120",
    },
    "xformers==0.0.35": {"xformers/_C.so": "sm_75 sm_80 sm_90a compute_80"},
    "vllm==0.33.0": {
        "vllm/_C_stable_libtorch.abi3.so": VLLM,
        "vllm/_moe_C_stable_libtorch.abi3.so": f"{HOPPER} sm_120f compute_80",
        "vllm/_deepselect_C.abi3.so": "sm_100f",
        "vllm/_flashkda_C.abi3.so": "sm_90a sm_100f sm_120f",
        "vllm/_flashmla_C.abi3.so": "sm_90a sm_100f",
        "vllm/_flashmla_extension_C.abi3.so": "sm_90a sm_100f",
        "vllm/_qutlass_C.abi3.so": "sm_100f",
        "vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so": "sm_80 compute_80",
        "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so": "sm_90a",
    },
    "nvidia-nccl-cu13==2.32.3": {
        "nvidia/nccl/lib/libnccl.so.2": (
            "sm_75 sm_80 sm_90 sm_100 sm_100f sm_107 sm_110 sm_120 compute_120"
        ),
    },
    "cupy-cuda13x==14.2.0": {
        f"cupy/{name}.cpython-311-x86_64-linux-gnu.so": (
            "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100f sm_120f compute_120"
        )
        for name in ("cuda/cub", "cuda/thrust", "random/_generator_api")
    },
    "bitsandbytes==0.50.2": {
        f"bitsandbytes/libbitsandbytes_cuda{version}.so": targets
        for targets, versions in (
            (OLD, ("118", "121", "124", "126")),
            ("sm_70 " + HOPPER, ("128",)),
            (HOPPER, ("130", "132")),
        )
        for version in versions
    },
}
"""Loadable images of every library that has device code of CUDA."""

ROCM = {
    "bitsandbytes==0.50.2": {
        f"bitsandbytes/libbitsandbytes_rocm{version}.so": targets
        for targets, versions in (
            (f"{CDNA} {RDNA} {RDNA3}", ("64",)),
            (f"{CDNA} gfx950 {RDNA} {RDNA3}", ("70", "71", "72")),
            (f"{CDNA} gfx950 {RDNA} {RDNA3} {RDNA_LATE}", ("714", "715")),
        )
        for version in versions
    },
    "cupy-rocm-7-0==14.2.0": {
        f"cupy/{name}.cpython-311-x86_64-linux-gnu.so": f"{CDNA} gfx950 {RDNA}"
        for name in ("cuda/cub", "cuda/thrust", "random/_generator_api")
    },
    "onnxruntime-rocm==1.22.2.post3": {
        "onnxruntime/capi/libonnxruntime_providers_rocm.so": f"{CDNA} {RDNA}",
    },
}
"""Targets of every library that has device code of ROCm."""


def cuda_images(row: Row) -> set[str]:
    found = row["gpu"]["cuda"]
    return {t for kind in ("elf", "ptx", "lto") for t in found[kind]} if found else set()


def units(row: Row) -> Counter[str]:
    """In how many loadable translation units each image is."""
    found: Counter[str] = Counter()
    for part in row["gpu"]["cuda"]["sets"]:
        if part["loadable"]:
            found.update(dict.fromkeys(part["images"], part["containers"]))
    return found


def kernels(row: Row, *targets: str) -> set[str]:
    """Kernels that have an image for one of the targets; all without any."""
    return {
        name
        for part in row["gpu"]["cuda"]["sets"]
        if part["loadable"] and (not targets or set(targets) & set(part["images"]))
        for name in part["kernels"]
    }


@pytest.mark.parametrize("spec", CUDA)
def test_cuda_images(spec: str) -> None:
    rows = inspect(get_wheel(spec))
    found = {path: cuda_images(row) for path, row in rows.items()}
    wanted = {path: set(text.split()) for path, text in CUDA[spec].items()}
    assert {path: images for path, images in found.items() if images} == wanted


@pytest.mark.parametrize("spec", ROCM)
def test_rocm_targets(spec: str) -> None:
    rows = inspect(get_wheel(spec))
    found = {path: set(row["gpu"]["rocm"]) for path, row in rows.items()}
    wanted = {path: set(text.split()) for path, text in ROCM[spec].items()}
    assert {path: targets for path, targets in found.items() if targets} == wanted


def test_translation_units_of_torch_and_nccl() -> None:
    torch = inspect(get_wheel("torch==2.14.1"))["torch/lib/libtorch_cuda.so"]
    everywhere = dict.fromkeys(COMMON.split(), 475)
    few = {"sm_90a": 4, "sm_100a": 59, "sm_103f": 59, "sm_89": 1, "sm_120a": 1, "sm_121a": 1}
    assert units(torch) == everywhere | few
    nccl = inspect(get_wheel("nvidia-nccl-cu13==2.32.3"))
    counts = units(nccl["nvidia/nccl/lib/libnccl.so.2"])
    assert (counts["sm_100f"], counts["sm_120"], counts["compute_120"]) == (20, 56, 54)


def test_images_outside_of_sections() -> None:
    """Containers of cuFFT lie in data, where cuobjdump does not look."""
    rows = inspect(get_wheel("nvidia-cufft==12.5.0.14"))
    by_kind: Counter[str] = Counter()
    for target, number in units(rows["nvidia/cu13/lib/libcufft.so.12"]).items():
        by_kind[target.split("_")[0]] += number
    assert by_kind == {"sm": 3527, "compute": 8136, "lto": 6573}


def test_kernels_of_torch() -> None:
    """The bounds of coverage: 15 kernels lack sm_75."""
    rows = inspect(get_wheel("torch==2.14.1"), "--kernels")
    torch = rows["torch/lib/libtorch_cuda.so"]
    everything = kernels(torch)
    assert len(everything) == 23_021
    assert len(everything - kernels(torch, "sm_75")) == 15
    assert kernels(torch, "sm_80") == everything
    assert kernels(torch, "sm_110") == set()


VLLM_PTX = ("compute_80", "compute_89", "compute_90")


@pytest.mark.parametrize(
    ("native", "ptx", "counts"),
    [
        (("sm_75",), (), (3074, 0)),
        (("sm_80",), ("compute_80",), (3532, 0)),
        (("sm_90", "sm_90a"), VLLM_PTX, (3757, 540)),
        (("sm_100", "sm_100f"), VLLM_PTX, (3378, 953)),
        (("sm_110",), VLLM_PTX, (0, 953)),
        (("sm_120", "sm_120f"), VLLM_PTX, (4149, 281)),
    ],
)
def test_kernels_of_vllm(
    native: tuple[str, ...],
    ptx: tuple[str, ...],
    counts: tuple[int, int],
    vllm: Row,
) -> None:
    """How many kernels a GPU can run as they are, and how many more by compiling PTX."""
    own = kernels(vllm, *native)
    late = kernels(vllm, *ptx) - own if ptx else set()
    assert (len(own), len(late), len(kernels(vllm))) == (*counts, 4993)


@pytest.fixture(scope="module")
def vllm() -> Row:
    rows = inspect(get_wheel("vllm==0.33.0"), "--kernels")
    return rows["vllm/_C_stable_libtorch.abi3.so"]


def test_each_vendor_of_bitsandbytes_apart() -> None:
    """PTX of the CUDA libraries is only for the linker; XPU has native code and SPIR-V."""
    rows = inspect(get_wheel("bitsandbytes==0.50.2"))
    cuda = rows["bitsandbytes/libbitsandbytes_cuda130.so"]["gpu"]["cuda"]
    assert (cuda["ptx"], cuda["relocatable"]["ptx"]) == ([], ["compute_120"])
    for version in ("2025", "2026"):
        row = rows[f"bitsandbytes/libbitsandbytes_xpu{version}.so"]
        assert set(row["gpu"]["sycl"]["aot"]) == {"pvc", "mtl-u", "mtl-h", "dg2-g10"}
        assert row["gpu"]["sycl"]["spirv"]
        assert row["glibc"] == "2.32"


def test_dpnp_is_compiled_late() -> None:
    rows = inspect(get_wheel("dpnp==0.20.0"))
    sycl = [row["gpu"]["sycl"] for row in rows.values() if row["gpu"]["sycl"]]
    assert any(code["spirv"] for code in sycl)
    assert [code["aot"] for code in sycl if code["aot"]] == []


ABI: dict[str, dict[str, tuple[Any, ...]]] = {
    "vllm==0.33.0": {
        "vllm/fs_io_C.abi3.so": ("limited", "3.11"),
        "vllm/spinloop.abi3.so": ("limited", "3.11"),
        "vllm/third_party/deep_gemm/_C_extension.abi3.so": ("limited", "3.10"),
    },
    "xformers==0.0.35": {"xformers/_C.so": ("none", None)},
    "torchvision==0.29.1": {"torchvision/_C_stable.so": ("none", None)},
}


@pytest.mark.parametrize("spec", ABI)
def test_use_of_python_and_torch(spec: str) -> None:
    rows = inspect(get_wheel(spec))
    assert {row["torch_abi"]["kind"] for row in rows.values() if row["torch_abi"]} <= {
        "stable",
        "none",
    }
    for path, wanted in ABI[spec].items():
        abi = rows[path]["python_abi"]
        assert (abi["kind"], abi["floor"]) == wanted


def test_highest_versions_of_a_multi_vendor_wheel() -> None:
    """Only the XPU libraries need more than GLIBC 2.4."""
    rows = inspect(get_wheel("bitsandbytes==0.50.2"))
    high = {p for p, row in rows.items() if tuple(map(int, row["glibc"].split("."))) > (2, 4)}
    assert high == {f"bitsandbytes/libbitsandbytes_xpu{version}.so" for version in (2025, 2026)}
