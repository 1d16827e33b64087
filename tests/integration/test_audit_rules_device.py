"""Audit rules on device code and on weight: each fails on one real wheel and passes on another."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.arch_targets import parse_targets
from wheelgrid.core.audit_policy import AuditPolicy
from wheelgrid.core.platforms import Platform
from wheelgrid.core.recipe import Abi
from wheelgrid.inspect.audit import Audit, audit
from wheelgrid.inspect.findings import Expected, Finding, Level
from wheelgrid.inspect.rules import weight
from wheelgrid.inspect.subject import Subject
from wheelgrid.inspect.wheel import Wheel

pytestmark = pytest.mark.integration

Compile = Callable[..., bytes]
MakeWheel = Callable[..., Path]
FIXTURES = Path(__file__).parents[1] / "fixtures"
CUDA = FIXTURES / "cuda" / "cuda130_sharedcudart_sm90_120_ptx.so"
HIP = FIXTURES / "gpu" / "hip_hipcc_gfx942_950_1201.so"
SPIRV = FIXTURES / "gpu" / "sy23.spv"
MODULE = 'extern "C" void *PyInit__C(void) { return 0; }\n'
TAG = "cp311-cp311-manylinux_2_34_x86_64"


def asking(archs: str) -> AuditPolicy:
    return AuditPolicy(archs=parse_targets(archs))


def of(result: Audit, rule: str) -> list[Finding]:
    return [f for f in result.findings if f.rule == rule]


def nvcc() -> str:
    """The CUDA compiler: of WHEELGRID_CUDA_HOME, else on the path; empty where there is none."""
    home = os.environ.get("WHEELGRID_CUDA_HOME", "")
    return str(Path(home) / "bin" / "nvcc") if home else shutil.which("nvcc") or ""


@pytest.fixture
def cuda(tmp_path: Path) -> Callable[..., bytes]:
    """Link translation units, each compiled for its own targets, into one library."""
    if not nvcc():
        pytest.skip("no nvcc on this machine")

    def make(*units: str) -> bytes:
        objects = []
        for number, targets in enumerate(units):
            source = tmp_path / f"k{number}.cu"
            source.write_text(
                f"__global__ void k{number}(int *p) {{ *p = {number}; }}\n"
                f'extern "C" void run{number}(int *p) {{ k{number}<<<1, 1>>>(p); }}\n',
                encoding="utf-8",
            )
            codes = []
            for target in targets.split():
                number_of = target.removeprefix("sm_").removeprefix("compute_")
                codes += ["-gencode", f"arch=compute_{number_of},code={target}"]
            objects.append(tmp_path / f"k{number}.o")
            command = [nvcc(), "-c", "-Xcompiler", "-fPIC", *codes, "-o", str(objects[-1])]
            command.append(str(source))
            subprocess.run(command, check=True, capture_output=True, timeout=300)
        out = tmp_path / "k.so"
        command = [nvcc(), "-shared", "-cudart", "none", "-o", str(out), *map(str, objects)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        return out.read_bytes()

    return make


def test_a_declared_arch_that_the_binary_lacks(
    wheel_of: MakeWheel, cuda: Callable[..., bytes]
) -> None:
    """Public case W04: declared 8.0 9.0 12.0, built for 8.0 and 9.0; with PTX it runs by JIT."""
    cubins = wheel_of({"demo/_C.so": cuda("sm_80 sm_90")}, TAG)
    (missing,) = of(audit(cubins, policy=asking("8.0 9.0 12.0")), "WG302")
    assert missing.level is Level.ERROR
    assert missing.message == (
        "sm_120 is declared and in no native file: it will not run there: no PTX for it either; "
        "found sm_80, sm_90"
    )
    with_ptx = wheel_of({"demo/_C.so": cuda("sm_80 sm_90 compute_90")}, TAG)
    (jit,) = of(audit(with_ptx, policy=asking("8.0 9.0+PTX 12.0")), "WG302")
    assert "it runs by JIT from compute_90, with a slow first start" in jit.message
    assert of(audit(with_ptx, policy=asking("8.0;9.0+PTX")), "WG302") == []


def test_translation_units_that_were_built_for_less(
    wheel_of: MakeWheel, cuda: Callable[..., bytes]
) -> None:
    """By unit, never by union: one of three units lacks sm_80."""
    wheel = wheel_of({"demo/_C.so": cuda("sm_80 sm_90", "sm_90", "sm_80 sm_90")}, TAG)
    (some,) = of(audit(wheel, policy=asking("8.0 9.0")), "WG302")
    assert some.level is Level.WARNING
    assert some.message == (
        "of 3 translation units some lack a declared target: "
        "sm_80 in 1 (1 kernels, such as _Z2k1Pi)"
    )
    (extra,) = of(audit(wheel, policy=asking("9.0")), "WG302")
    assert extra.message == "holds code that was not declared: sm_80"


def test_the_archs_of_a_prebuilt_file(wheel_of: MakeWheel) -> None:
    """Public case W04, where there is no CUDA compiler."""
    wheel = wheel_of({"demo/_C.so": CUDA.read_bytes()}, TAG)
    found = of(audit(wheel, policy=asking("9.0 10.0 12.0+PTX")), "WG302")
    assert [f.message.partition(":")[0] for f in found] == [
        "sm_100 is declared and in no native file"
    ]
    assert of(audit(wheel, policy=asking("9.0 12.0+PTX")), "WG302") == []


def test_declared_targets_of_rocm(wheel_of: MakeWheel) -> None:
    wheel = wheel_of({"demo/_C.so": HIP.read_bytes()}, TAG)
    (missing,) = of(audit(wheel, policy=asking("gfx942 gfx950 gfx1201 gfx1100")), "WG302")
    assert missing.message.startswith("gfx1100 is declared and in no native file: no kernel runs")
    (extra,) = of(audit(wheel, policy=asking("gfx942,gfx950")), "WG302")
    assert extra.message == "holds code that was not declared: gfx1201"
    assert of(audit(wheel, policy=asking("gfx942 gfx950 gfx1201")), "WG302") == []


def test_archs_of_the_plan_are_those_of_its_accelerator(wheel_of: MakeWheel) -> None:
    """The toolchain's list judges the build; another vendor's targets are not asked of it."""
    wanted = Expected(
        package="demo",
        version="1.0",
        abi=Abi.LIBTORCH_STABLE,
        python_tag="cp311",
        abi_tag="cp311",
        platform=Platform.LINUX_X86_64,
        accelerator=Accelerator.parse("cuda13.0"),
        extensions=(),
        torch=Version("2.14.1"),
        archs=("9.0", "10.0", "12.0+PTX", "gfx942"),
    )
    wheel = wheel_of({"demo/_C.so": CUDA.read_bytes()}, TAG)
    found = of(audit(wheel, wanted), "WG302")
    assert [f.message[:6] for f in found] == ["sm_100"]


def test_a_list_with_doubles_and_exact_targets(wheel_of: MakeWheel) -> None:
    """Public case W05: normalised, with what `a` targets mean for a GPU to come."""
    wheel = wheel_of({"demo/_C.so": CUDA.read_bytes()}, TAG)
    archs = "7.5 8.0+PTX 8.0 9.0a 10.0a 10.3a 11.0a 12.0a 12.1a"
    texts = [f.message for f in of(audit(wheel, policy=asking(archs)), "WG309")]
    assert all(
        t.endswith("the list is 7.5 8.0+PTX 8.0 9.0a 10.0a 10.3a 11.0a 12.0a 12.1a") for t in texts
    )
    assert [t.partition(";")[0] for t in texts] == [
        "8.0 is named twice",
        "PTX is declared for 8.0 only, and the newest target is 12.1",
        "9.0a, 10.0a, 10.3a, 11.0a, 12.0a, 12.1a run on exactly these GPUs",
    ]
    assert "a future 12.2, falls back to JIT from the PTX of 8.0" in texts[2]
    assert of(audit(wheel, policy=asking("9.0 12.0+PTX")), "WG309") == []


def test_two_accelerators_in_one_wheel(wheel_of: MakeWheel) -> None:
    """As bitsandbytes, on purpose: then the policy says so."""
    both = wheel_of({"demo/c.so": CUDA.read_bytes(), "demo/r.so": HIP.read_bytes()}, TAG)
    (finding,) = of(audit(both), "WG305")
    assert finding.message == "holds code for 2 accelerators: cuda (demo/c.so); rocm (demo/r.so)"
    declared = AuditPolicy(accelerators=frozenset({Family.CUDA, Family.ROCM}))
    assert of(audit(both, policy=declared), "WG305") == []
    one = AuditPolicy(accelerators=frozenset({Family.CUDA}))
    assert len(of(audit(both, policy=one), "WG305")) == 1


def test_a_label_for_a_vendor_of_whom_nothing_is_inside(
    wheel_of: MakeWheel, compiled: Compile
) -> None:
    """Public case W14 without a plan: CPU code under a label of CUDA."""
    wheel = wheel_of({"demo/_C.so": compiled(MODULE)}, version="1.0+cu130")
    (finding,) = of(audit(wheel), "WG303")
    assert finding.level is Level.WARNING
    needs = compiled(MODULE, libraries=("libcudart.so.13",))
    assert of(audit(wheel_of({"demo/_C.so": needs}, version="1.0+cu130")), "WG303") == []
    kernels = {"demo/_C.so": compiled(MODULE), "demo/k.spv": SPIRV.read_bytes()}
    assert of(audit(wheel_of(kernels, version="1.0+xpu")), "WG303") == []


def test_a_platform_wheel_without_a_native_file(wheel_of: MakeWheel, compiled: Compile) -> None:
    """Public case W31 without a plan: tagged for one platform, and nothing for it inside."""
    (finding,) = of(audit(wheel_of({"demo/a.py": b""})), "WG301")
    assert finding.message.endswith("holds no native file: is its extension missing?")
    assert of(audit(wheel_of({"demo/_C.so": compiled(MODULE)})), "WG301") == []
    assert of(audit(wheel_of({"demo/a.py": b""}, "py3-none-any")), "WG301") == []


def test_an_empty_native_file(wheel_of: MakeWheel) -> None:
    """Public case W31: there, and empty."""
    (finding,) = of(audit(wheel_of({"demo/_C.so": b""})), "WG501")
    assert finding.message == "is empty"


def test_the_same_library_twice(wheel_of: MakeWheel, compiled: Compile) -> None:
    one = compiled("int nothing;", "-Wl,-soname,libx.so.1")
    other = compiled("int something;", "-Wl,-soname,libx.so.1")
    copies = wheel_of({"demo/libx.so.1": one, "demo/libx.so": one})
    (finding,) = of(audit(copies), "WG306")
    assert finding.member == "demo/libx.so"
    assert finding.message.startswith("has the same bytes as demo/libx.so.1: ")
    named = wheel_of({"demo/a/libx.so.1": one, "demo/b/libx.so.1": other})
    (second,) = of(audit(named), "WG306")
    assert second.message == (
        "has the soname libx.so.1 of demo/a/libx.so.1: a process loads the first alone"
    )
    assert of(audit(wheel_of({"demo/libx.so.1": one})), "WG306") == []


def test_size_ceilings(wheel_of: MakeWheel, compiled: Compile) -> None:
    wheel = wheel_of({"demo/_C.so": compiled(MODULE), "demo/data": bytes(300_000)})
    size = wheel.stat().st_size
    (finding,) = of(audit(wheel, policy=AuditPolicy(source="p", max_size=size - 1)), "WG307")
    assert finding.level is Level.ERROR
    assert finding.message.startswith(f"has {size} bytes (0.3 MiB); the policy allows {size - 1}")
    (warned,) = of(audit(wheel, policy=AuditPolicy(source="p", warn_size=1000)), "WG307")
    assert warned.level is Level.WARNING
    assert of(audit(wheel, policy=AuditPolicy(max_size=size)), "WG307") == []


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (
            2_325_900_000,
            "more than 2 GiB: some clients, artifact stores and zip readers stop there",
        ),
        (101 << 20, "has 101.0 MiB; PyPI takes no file above 100.0 MiB"),
        (100 << 20, ""),
    ],
)
def test_sizes_that_indexes_and_clients_do_not_take(size: int, words: str) -> None:
    """Public case W32, the warning at build time."""
    found = list(weight.ceilings(Subject(wheel=Wheel(file="demo-1.0-py3-none-any.whl", size=size))))
    assert [words in f.message for f in found] == ([True] if words else [])
    assert all(f.level is Level.WARNING for f in found)


def test_debug_data(wheel_of: MakeWheel, compiled: Compile) -> None:
    source = MODULE + "#include <iostream>\nvoid f() { std::cout << 1; }\n"
    wheel = wheel_of({"demo/_C.so": compiled(source, "-g")})
    (finding,) = of(audit(wheel, policy=AuditPolicy(max_debug=1000)), "WG308")
    assert " of debug data" in finding.message
    assert of(audit(wheel, policy=AuditPolicy(max_debug=10 << 20)), "WG308") == []
    stripped = wheel_of({"demo/_C.so": compiled(source, "-g", "-s")})
    assert of(audit(stripped, policy=AuditPolicy(max_debug=1000)), "WG308") == []
