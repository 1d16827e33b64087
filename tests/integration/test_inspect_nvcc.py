"""Fat binaries by the nvcc of this machine, against what its cuobjdump says of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wheelgrid.inspect.gpu.cuda import MAGIC, Container, ImageKind, read_container
from wheelgrid.inspect.stream import ByteStream

SOURCE = """\
template <typename T> __global__ void add(T *to, T value) { to[threadIdx.x] += value; }
template __global__ void add<float>(float *, float);
template __global__ void add<double>(double *, double);
extern "C" __global__ void plain(float *to) { *to = 1.0f; }
namespace { __global__ void hidden(int *to) { *to = 3; } }
__device__ __noinline__ int helper(int value) { return value * 3; }
__global__ void calls(int *to) { *to = helper(*to); }
void launch(int *to) { hidden<<<1, 1>>>(to); calls<<<1, 1>>>(to); }
"""
BLOCK = re.compile(
    r"Fatbin (elf|ptx|nvvm) code:\n\s*=+\n\s*arch = sm_(\S+)\n\s*code version = \[(\d+),(\d+)\]"
)
KINDS = {"elf": ImageKind.ELF, "ptx": ImageKind.PTX, "nvvm": ImageKind.LTO}
PREFIXES = {ImageKind.ELF: "sm", ImageKind.PTX: "compute", ImageKind.LTO: "lto"}

Listed = list[tuple[ImageKind, str, tuple[int, int], tuple[str, ...] | None]]


def find_tool(name: str) -> str | None:
    """The tool in WHEELGRID_CUDA_HOME if that is set, else the one on the path."""
    home = os.environ.get("WHEELGRID_CUDA_HOME")
    return shutil.which(name, path=f"{home}/bin" if home else None)


NVCC, CUOBJDUMP = find_tool("nvcc"), find_tool("cuobjdump")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(NVCC is None, reason="no nvcc on the path or in WHEELGRID_CUDA_HOME"),
    pytest.mark.skipif(CUOBJDUMP is None, reason="no cuobjdump beside nvcc"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++, which nvcc needs"),
]


def call(*command: str | Path | None) -> str:
    words = [str(word) for word in command]
    result = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def gencode(virtual: str, *real: str) -> list[str]:
    return ["-gencode", f"arch=compute_{virtual},code=[{','.join(real)}]"]


def build(folder: Path, *options: str, mode: str = "default") -> Path:
    """Compile the source to an object; skip where this nvcc lacks an option."""
    usage = call(NVCC, "--help")
    for option in ("--concat", "--compress-mode"):
        if (option in options or option == "--compress-mode") and option not in usage:
            pytest.skip(f"this nvcc has no {option}")
    (folder / "kernels.cu").write_text(SOURCE, encoding="utf-8")
    target = folder / "kernels.o"
    includes = [f"-I{Path(str(NVCC)).parent.parent / 'include'}"]
    call(
        NVCC, *includes, "-c", folder / "kernels.cu", "-o", target,
        "-Xfatbin", "-compress-all", f"--compress-mode={mode}", *options,
    )  # fmt: skip
    return target


def found_in(path: Path) -> list[Container]:
    data = path.read_bytes()
    found = []
    at = data.find(MAGIC)
    while at >= 0:
        stream = ByteStream(iter([data[at:]]))
        container = read_container(stream, kernels=True)
        assert container is not None
        assert (container.damage, container.other) == ("", ())
        found.append(container)
        at = data.find(MAGIC, at + stream.offset)
    return found


def told_by_us(path: Path) -> Listed:
    return sorted(
        (image.kind, image.target, image.isa, image.kernels)
        for container in found_in(path)
        for image in container.images
    )


def told_by_cuobjdump(path: Path) -> Listed:
    """Images in the order of kind and target; kernels of ELF by symbols, of PTX by its text."""
    text = call(CUOBJDUMP, "-symbols", "-all", path)
    ptx = call(CUOBJDUMP, "-ptx", "-all", path)
    entries = tuple(sorted(set(re.findall(r"\.entry (\w+)", ptx))))
    marks = list(BLOCK.finditer(text))
    listed: Listed = []
    for mark, after in zip(marks, [*(mark.start() for mark in marks[1:]), None], strict=True):
        kind = KINDS[mark[1]]
        symbols = re.findall(r"^FUNC .* ENTRY +(\S+)$", text[mark.end() : after], re.MULTILINE)
        names = {ImageKind.ELF: tuple(sorted(symbols)), ImageKind.PTX: entries}.get(kind)
        target = f"{PREFIXES[kind]}_{mark[2]}"
        listed.append((kind, target, (int(mark[3]), int(mark[4])), names))
    return sorted(listed)


MANY = [
    *gencode("75", "sm_75"),
    *gencode("80", "sm_80", "sm_86"),
    *gencode("90", "sm_90"),
    *gencode("90a", "sm_90a"),
    *gencode("100f", "sm_100f"),
    *gencode("103a", "sm_103a"),
    *gencode("120", "sm_120", "compute_120"),
]


@pytest.mark.parametrize(
    ("mode", "compressions"),
    [("none", {""}), ("speed", {"lz4"}), ("balance", {"zstd"}), ("size", {"zstd"})],
)
def test_images_and_kernels_agree(mode: str, compressions: set[str], tmp_path: Path) -> None:
    """Kind, target with suffix, version and kernels of each image, in each way of storing."""
    path = build(tmp_path, *MANY, mode=mode)
    ours = told_by_us(path)
    assert ours == told_by_cuobjdump(path)
    assert [len(kernels or ()) for _, _, _, kernels in ours] == [5] * 9
    used = {image.compression for container in found_in(path) for image in container.images}
    assert used == compressions


@pytest.mark.parametrize("mode", ["default", "speed", "size"])
def test_concatenated_images_agree(mode: str, tmp_path: Path) -> None:
    """Images that are compressed together (CUDA 13.5) are told one by one."""
    path = build(tmp_path, "--concat", *MANY, mode=mode)
    ours = told_by_us(path)
    assert ours == told_by_cuobjdump(path)
    assert len(ours) == 9


@pytest.mark.parametrize("optional", [[], ["--concat"]])
def test_relocatable_code_agrees(optional: list[str], tmp_path: Path) -> None:
    """PTX, machine code and LTO-IR for a device linker, in `__nv_relfatbin`."""
    targets = [
        *gencode("80", "sm_80", "lto_80"),
        *gencode("90a", "sm_90a", "compute_90a"),
        *gencode("100f", "lto_100f"),
    ]
    path = build(tmp_path, "-rdc=true", *optional, *targets, mode="size")
    ours = told_by_us(path)
    assert ours == told_by_cuobjdump(path)
    assert [target for _, target, _, _ in ours] == [
        "sm_80", "sm_90a", "lto_100f", "lto_80", "compute_90a",
    ]  # fmt: skip


def test_options_do_not_move_images(tmp_path: Path) -> None:
    """Options of the assembler and debug information are stored in headers and images."""
    path = build(tmp_path, "-lineinfo", "-Xptxas", "-O1,--verbose", *MANY, mode="size")
    assert told_by_us(path) == told_by_cuobjdump(path)


def test_linked_device_code_agrees(tmp_path: Path) -> None:
    """The device linker writes another layout: its image has the kernels of all objects."""
    home = Path(str(NVCC)).parent.parent
    target = build(tmp_path, "-rdc=true", *gencode("90", "sm_90"), mode="size")
    image = tmp_path / "linked.cubin"
    nvlink = home / "bin" / "nvlink"
    if not nvlink.exists():
        pytest.skip("no nvlink beside nvcc")
    call(nvlink, "--arch=sm_90", target, "-o", image)
    fatbin = tmp_path / "linked.fatbin"
    spec = f"--image3=kind=elf,sm=90,file={image}"
    call(home / "bin" / "fatbinary", "-64", f"--create={fatbin}", "-compress-all", spec)
    assert told_by_us(fatbin) == told_by_cuobjdump(fatbin)
