"""Audit rules on torch, labels and requirements, each on real wheels that fail and pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.version import Version

from wheelgrid.core.shim import Shim, ShimKnowledge, StringAbi
from wheelgrid.engines.upstream import exports_of, requires_of
from wheelgrid.inspect.audit import Audit, audit
from wheelgrid.inspect.findings import Finding, Level
from wheelgrid.inspect.subject import Upstream

pytestmark = pytest.mark.integration

Compile = Callable[..., bytes]
MakeWheel = Callable[..., Path]
MODULE = 'extern "C" void *PyInit__C(void) { return 0; }\n'
ERROR = """
#include <string>
namespace c10 {
struct SourceLocation { const char *file; int line; };
struct Error { Error(SourceLocation, std::string); };
namespace cuda { void SetDevice(signed char); }
}
"""
RAISES = MODULE + ERROR + 'void raise() { c10::Error error({"", 0}, "x"); }\n'
SETS = MODULE + ERROR + "void set() { c10::cuda::SetDevice(0); }\n"
TORCH_2_6 = """
#include <string>
namespace c10 {
struct SourceLocation { const char *file; int line; };
struct Error { Error(SourceLocation, std::string); std::string what(); };
Error::Error(SourceLocation, std::string) {}
std::string Error::what() { return ""; }
namespace cuda { void SetDevice(int) {} }
}
"""
OLD, NEW = "-D_GLIBCXX_USE_CXX11_ABI=0", "-D_GLIBCXX_USE_CXX11_ABI=1"
RELEASES = {
    Version("2.5.1"): StringAbi.OLD,
    Version("2.6.0"): StringAbi.OLD,
    Version("2.7.1"): StringAbi.NEW,
    Version("2.14.1"): StringAbi.NEW,
}


def shims(*names: str) -> str:
    """A module that calls functions of the stable ABI."""
    declared = "".join(f"void {name}(); " for name in names)
    called = "".join(f"{name}(); " for name in names)
    return f'{MODULE}extern "C" {{ {declared}}}\nvoid use() {{ {called}}}\n'


KNOWN = Upstream(
    abi=ShimKnowledge(
        shims={
            "aoti_torch_first": Shim(library="torch_cpu", first=Version("2.5.1"), or_older=True),
            "torch_call_dispatcher": Shim(library="torch_cpu", first=Version("2.10.0")),
            "aoti_torch_gone": Shim(
                library="torch_cpu", first=Version("2.6.0"), gone=Version("2.14.1")
            ),
        },
        string_abi=RELEASES,
        looked_at=(*sorted(RELEASES), Version("2.9.1"), Version("2.10.0")),
    ),
    oneapi={"2.12": frozenset({"2025"}), "2.13": frozenset({"2026"}), "2.14": frozenset({"2026"})},
)


def of(result: Audit, rule: str) -> list[Finding]:
    return [f for f in result.findings if f.rule == rule]


@pytest.fixture
def torch_2_6(wheel_of: MakeWheel, compiled: Compile) -> Path:
    """A torch with the old std::string, that sets devices by int and pins a SYCL runtime."""
    library = compiled(TORCH_2_6, OLD)
    return wheel_of(
        {"torch/lib/libc10.so": library, "torch/lib/libtorch_cpu.so": library},
        name="torch",
        version="2.6.0",
        requires=("intel-sycl-rt==2025.0.2",),
    )


def test_the_string_abi_of_a_torch_at_hand(
    wheel_of: MakeWheel, compiled: Compile, torch_2_6: Path
) -> None:
    """Public case W01: not a problem of CUDA; names the torch versions that fit."""
    upstream = Upstream(abi=KNOWN.abi, exports=exports_of(torch_2_6))
    bad = wheel_of({"demo/_C.so": compiled(RAISES, NEW)}, requires=("torch==2.6.*",))
    (finding,) = of(audit(bad, upstream=upstream), "WG414")
    assert "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_string" in finding.message
    assert "the C++11 string ABI differs: wheel new, torch old" in finding.message
    assert "no fault of CUDA. Torch with that string: 2.14.1, 2.7.1" in finding.message
    good = wheel_of({"demo/_C.so": compiled(RAISES, OLD)}, requires=("torch==2.6.*",))
    assert of(audit(good, upstream=upstream), "WG414") == []


def test_two_causes_of_missing_symbols_are_told_apart(
    wheel_of: MakeWheel, compiled: Compile, torch_2_6: Path
) -> None:
    """Public case W02: a flag of the compiler, and another torch."""
    members = {"demo/_A.so": compiled(RAISES, NEW), "demo/_B.so": compiled(SETS, NEW)}
    upstream = Upstream(abi=KNOWN.abi, exports=exports_of(torch_2_6))
    wheel = wheel_of(members, requires=("torch==2.6.*",))
    found = {f.member: f.message for f in of(audit(wheel, upstream=upstream), "WG414")}
    assert "(string-abi): c10::Error::Error" in found["demo/_A.so"]
    assert "_ZN3c104cuda9SetDeviceEa is not in torch-2.6.0" in found["demo/_B.so"]
    assert (
        "(signature): another signature: torch exports c10::cuda::SetDevice(int)"
        in (found["demo/_B.so"])
    )


def test_the_string_abi_of_a_torch_that_was_looked_at_before(
    wheel_of: MakeWheel, compiled: Compile
) -> None:
    """Public case W01 without that torch: the declared line is known to have the other string."""
    members = {"demo/_C.so": compiled(RAISES, NEW)}
    bad = wheel_of(members, requires=("torch==2.6.*",))
    (finding,) = of(audit(bad, upstream=KNOWN), "WG414")
    assert finding.message == (
        "the C++11 string ABI differs: wheel new, torch 2.6.0 old; this is no fault of CUDA. Torch "
        "with the new one: 2.14.1, 2.7.1"
    )
    assert of(audit(wheel_of(members, requires=("torch==2.7.*",)), upstream=KNOWN), "WG414") == []
    assert of(audit(bad), "WG414") == [], "nothing is known of torch: nothing is said"


def test_the_label_says_another_string_abi(wheel_of: MakeWheel, compiled: Compile) -> None:
    members = {"demo/_C.so": compiled(RAISES, NEW)}
    requires = ("torch==2.6.*",)
    bad = wheel_of(members, version="1.0+cu12torch2.6cxx11abifalse", requires=requires)
    (finding,) = of(audit(bad), "WG414")
    assert finding.message == "the label says cxx11abiFALSE; the file has the new one"
    good = wheel_of(members, version="1.0+cu12torch2.6cxx11abitrue", requires=requires)
    assert of(audit(good), "WG414") == []


@pytest.mark.parametrize(
    ("names", "requires", "level", "words"),
    [
        (
            ("torch_call_dispatcher",),
            ("torch>=2.9",),
            Level.ERROR,
            "needs torch 2.10.0 (torch_call_dispatcher); Requires-Dist torch>=2.9 admits 2.9.1",
        ),
        (("torch_call_dispatcher",), ("torch>=2.10",), None, ""),
        (("aoti_torch_first",), ("torch",), None, ""),
        (("torch_call_dispatcher",), (), Level.WARNING, "no Requires-Dist names torch"),
        (
            ("aoti_torch_never",),
            ("torch>=2.10",),
            Level.UNCHECKED,
            "uses shims that no torch looked at exports: aoti_torch_never",
        ),
        (("aoti_torch_gone",), ("torch>=2.7",), Level.ERROR, "torch 2.14.1 no longer has"),
        (("aoti_torch_gone",), ("torch>=2.7,<2.14",), None, ""),
    ],
)
def test_the_oldest_torch_of_a_stable_extension(
    wheel_of: MakeWheel,
    compiled: Compile,
    names: tuple[str, ...],
    requires: tuple[str, ...],
    level: Level | None,
    words: str,
) -> None:
    wheel = wheel_of({"demo/_C.so": compiled(shims(*names))}, requires=requires)
    found = of(audit(wheel, upstream=KNOWN), "WG413")
    assert [f.level for f in found] == ([level] if level else [])
    assert all(words in f.message for f in found)


def test_shims_and_cxx_in_one_file(wheel_of: MakeWheel, compiled: Compile) -> None:
    both = compiled(
        shims("torch_call_dispatcher") + ERROR + "void s() { c10::cuda::SetDevice(0); }"
    )
    (finding,) = of(audit(wheel_of({"demo/_C.so": both}, requires=("torch==2.10.*",))), "WG404")
    assert finding.level is Level.WARNING
    assert finding.message.startswith("mixes 1 shims of the stable ABI with 1 C++ symbols")
    pure = compiled(shims("torch_call_dispatcher"))
    assert of(audit(wheel_of({"demo/_C.so": pure}, requires=("torch>=2.10",))), "WG404") == []


@pytest.mark.parametrize(
    ("version", "libraries", "requires", "words"),
    [
        (
            "1.0+cu130",
            ("libcudart.so.12",),
            (),
            "needs the runtime of CUDA 12; the label says cu130",
        ),
        ("1.0+cu130", ("libcudart.so.13",), (), ""),
        ("1.0+cu13", ("libcudart.so.13",), (), ""),
        ("1.0+cu130", ("libamdhip64.so.7",), (), "needs the runtime of ROCm 7; the label says"),
        ("1.0+rocm7.14", ("libamdhip64.so.7",), (), ""),
        ("1.0+rocm6.4", ("libamdhip64.so.7",), (), "needs the runtime of ROCm 7"),
        ("1.0+cpu", ("libcudart.so.13",), (), "needs the runtime of CUDA 13; the label says cpu"),
        (
            "1.0+cu130torch2.9",
            ("libcudart.so.13",),
            ("torch==2.10.*",),
            "the label names torch 2.9; Requires-Dist torch==2.10.* refuses it",
        ),
        ("1.0+cu130torch2.10", ("libcudart.so.13",), ("torch==2.10.*",), ""),
    ],
)
def test_the_label_against_files_and_requirements(
    wheel_of: MakeWheel,
    compiled: Compile,
    version: str,
    libraries: tuple[str, ...],
    requires: tuple[str, ...],
    words: str,
) -> None:
    library = compiled(MODULE, libraries=libraries)
    wheel = wheel_of({"demo/_C.so": library}, version=version, requires=requires)
    found = of(audit(wheel), "WG410")
    assert [words in f.message for f in found] == ([True] if words else [])


def test_rocm_code_under_a_label_of_cuda(wheel_of: MakeWheel, repository: Path) -> None:
    data = (repository / "tests" / "fixtures" / "gpu" / "hip_gfx942.so").read_bytes()
    (finding,) = of(audit(wheel_of({"demo/_C.so": data}, version="1.0+cu130")), "WG410")
    assert finding.message.endswith("holds code for ROCm; the label says cu130")
    assert of(audit(wheel_of({"demo/_C.so": data}, version="1.0+rocm6.4")), "WG410") == []


def test_a_cuda_label_with_any_torch(wheel_of: MakeWheel, compiled: Compile) -> None:
    """Public case W22: with the C++ ABI it is WG405, else WG411."""
    stable = {"demo/_C.so": compiled(shims("aoti_torch_first"), libraries=("libcudart.so.11",))}
    (finding,) = of(audit(wheel_of(stable, version="1.0+cu118", requires=("torch",))), "WG411")
    assert finding.message == (
        "the label says cu118; Requires-Dist torch takes any torch, and the default index has it "
        "for another CUDA"
    )
    pinned = wheel_of(stable, version="1.0+cu118", requires=("torch==2.6.*",))
    assert of(audit(pinned), "WG411") == []
    cxx = {"demo/_C.so": compiled(SETS, libraries=("libcudart.so.11",))}
    bound = audit(wheel_of(cxx, version="1.0+cu118", requires=("torch",)))
    assert [f.rule for f in bound.findings if f.level is Level.ERROR] == ["WG405"]


def test_requirements_that_are_stubs(wheel_of: MakeWheel) -> None:
    """Public case W23: cusparse stays at 12 under CUDA 13, and that is no mismatch."""
    bad = wheel_of({}, "py3-none-any", requires=("nvidia-cusparse-cu13", "nvidia-cublas-cu13>=13"))
    texts = [f.message for f in of(audit(bad), "WG412")]
    assert [t.rpartition("; ")[2] for t in texts] == [
        "write nvidia-cusparse",
        "write nvidia-cublas",
    ]
    fine = (
        "nvidia-cusparse==12.8.*",
        "nvidia-cudnn-cu13",
        "nvidia-cublas-cu12",
        "nvidia-nccl-cu13",
    )
    good = audit(wheel_of({}, "py3-none-any", version="1.0+cu130", requires=fine))
    assert [f for f in good.findings if f.rule in {"WG412", "WG410"}] == []


def test_a_runtime_that_torch_pins_too(wheel_of: MakeWheel, torch_2_6: Path) -> None:
    """Public case X02: both sides are named; a pin beside torch's is never right."""
    pinned = ("torch==2.6.0", "intel-sycl-rt==2025.0.4")
    wheel = wheel_of({}, "py3-none-any", requires=pinned)
    (alone,) = of(audit(wheel), "WG415")
    assert alone.level is Level.WARNING
    assert requires_of(torch_2_6) == ("intel-sycl-rt==2025.0.2",)
    (both,) = of(audit(wheel, upstream=Upstream(requires=requires_of(torch_2_6))), "WG415")
    assert both.level is Level.ERROR
    assert both.message == (
        "Requires-Dist intel-sycl-rt==2025.0.4 and torch's own intel-sycl-rt==2025.0.2 fit no "
        "version"
    )
    left = wheel_of({}, "py3-none-any", requires=("torch==2.6.0", "intel-sycl-rt"))
    assert of(audit(left), "WG415") == []


@pytest.mark.parametrize(
    ("libraries", "requires", "level"),
    [
        (("libsycl.so.8",), ("torch==2.13.*",), Level.ERROR),
        (("libsycl.so.8",), ("torch==2.12.*",), None),
        (("libsycl.so.9",), ("torch>=2.13",), None),
        (("libsycl.so.8",), ("torch>=2.12",), Level.WARNING),
    ],
)
def test_the_sycl_of_the_declared_torch(
    wheel_of: MakeWheel,
    compiled: Compile,
    libraries: tuple[str, ...],
    requires: tuple[str, ...],
    level: Level | None,
) -> None:
    """Public case X01: libsycl.so.8 of oneAPI 2025 with a torch that brings .9."""
    library = compiled(MODULE, libraries=libraries)
    wheel = wheel_of({"demo/_C.so": library}, version="1.0+xpu", requires=requires)
    found = of(audit(wheel, upstream=KNOWN), "WG416")
    assert [f.level for f in found] == ([level] if level else [])
    assert all("oneAPI 2025 (demo/_C.so); torch 2.13 brings 2026" in f.message for f in found)


def test_one_wheel_for_two_oneapi_serves_both(wheel_of: MakeWheel, compiled: Compile) -> None:
    """Public case X01, the mend: a library for each oneAPI."""
    members = {
        f"demo/lib{n}.so": compiled("int x;", libraries=(f"libsycl.so.{n}",)) for n in (8, 9)
    }
    wheel = wheel_of(members, version="1.0+xpu", requires=("torch>=2.12",))
    assert of(audit(wheel, upstream=KNOWN), "WG416") == []
