"""ROCm bundles and code objects as LLVM's own tools read and write them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wheelgrid.inspect.gpu import amdgpu, rocm
from wheelgrid.inspect.stream import ByteStream, Pages

pytestmark = pytest.mark.integration
FIXTURES = Path(__file__).parent.parent / "fixtures" / "gpu"
PROCESSORS = (
    "gfx803 gfx900 gfx906 gfx908 gfx90a gfx90c gfx942 gfx1010 gfx1013 gfx1030 gfx1036 gfx1100 "
    "gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 gfx1201 gfx9-generic gfx10-1-generic "
    "gfx10-3-generic gfx11-generic gfx12-generic"
)


def tool(name: str) -> str:
    """The newest of a tool that is installed, 19 or later; skips without."""
    found = (shutil.which(f"{name}-{version}") for version in range(30, 18, -1))
    path = next((p for p in found if p), None)
    if path is None:
        pytest.skip(f"no {name} of LLVM 19 or later")
    return path


def ran(*command: object) -> str:
    parts = [str(part) for part in command]
    return subprocess.run(parts, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", ["hipdemo.ccob2", "hipdemo.ccob3"])
def test_targets_and_kernels_agree_with_llvm(name: str, tmp_path: Path) -> None:
    """The same ids, and the same kernel descriptors in what the tool takes out."""
    bundler, reader = tool("clang-offload-bundler"), tool("llvm-readelf")
    source = FIXTURES / name
    listed = ran(bundler, "--list", "--type=o", f"--input={source}").split()
    ids = [i for i in listed if not i.startswith("host-")]
    found = rocm.read_bundle(ByteStream(iter([source.read_bytes()])), kernels=True)
    assert found is not None
    assert found.kernels is not None
    assert sorted(found.targets) == sorted(rocm.target_in(i) for i in ids)
    for name_of_entry in ids:
        code = tmp_path / "code"
        ran(
            *(bundler, "--unbundle", "--type=o", f"--input={source}"),
            *(f"--targets={name_of_entry}", f"--output={code}"),
        )
        symbols = ran(reader, "-W", "--dyn-syms", code)
        names = sorted(re.findall(r"OBJECT .* (\S+)\.kd", symbols))
        assert list(found.kernels[rocm.target_in(name_of_entry)]) == names


@pytest.mark.parametrize("processor", PROCESSORS.split())
def test_targets_agree_with_the_compiler(processor: str, tmp_path: Path) -> None:
    """The flags that LLVM writes for each processor, generic ones included."""
    source, code = tmp_path / "k.ll", tmp_path / "k.o"
    source.write_text("define amdgpu_kernel void @k() { ret void }\n", encoding="utf-8")
    target = ("-mtriple=amdgcn-amd-amdhsa", f"-mcpu={processor}")
    ran(tool("llc"), *target, "--amdhsa-code-object-version=6", "-filetype=obj", source, "-o", code)
    data = code.read_bytes()
    pages = Pages(len(data))
    pages.write(0, data)
    assert amdgpu.target_of(pages) == processor
    assert amdgpu.kernels_of(pages) == ("k",)
