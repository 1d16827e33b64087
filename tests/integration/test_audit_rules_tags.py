"""Audit rules on tags: each fails on one wheel made by real tools, and passes on another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wheelgrid.core.audit_policy import AuditPolicy
from wheelgrid.inspect.audit import audit
from wheelgrid.inspect.findings import Finding, Level

pytestmark = pytest.mark.integration

Compile = Callable[..., bytes]
MakeWheel = Callable[..., Path]
NATIVE = Path(__file__).parents[1] / "fixtures" / "native"
MODULE = 'extern "C" void *PyInit__C(void) { return 0; }\n'
STRINGS = MODULE + (
    "#include <string>\n#include <stdexcept>\n"
    "std::string f(std::string a) { if (a.empty()) throw std::runtime_error(a); return a + a; }\n"
)


def calling(*names: str) -> str:
    """A module that calls functions of Python's C API."""
    declared = "".join(f"void {name}(); " for name in names)
    called = "".join(f"{name}(); " for name in names)
    return f'{MODULE}extern "C" {{ {declared}}}\nvoid use() {{ {called}}}\n'


def found(wheel: Path, rule: str, policy: AuditPolicy | None = None) -> list[Finding]:
    """The findings of one rule."""
    findings = audit(wheel, policy=policy or AuditPolicy()).findings
    return [f for f in findings if f.rule == rule]


def test_glibcxx_newer_than_the_tag_promises(wheel_of: MakeWheel, compiled: Compile) -> None:
    """manylinux2014 has GLIBCXX_3.4.19; new strings came with 3.4.21. File, symbol, library."""
    members = {"demo/_C.so": compiled(STRINGS)}
    low = wheel_of(members, "cp311-cp311-manylinux2014_x86_64")
    texts = [f.message for f in found(low, "WG202")]
    assert any(t.startswith("needs GLIBCXX_3.4.21 of libstdc++.so.6 (symbol _Z") for t in texts)
    assert all("manylinux2014_x86_64 promises no more than" in t for t in texts)
    assert {f.member for f in found(low, "WG202")} == {"demo/_C.so"}
    high = wheel_of(members, "cp311-cp311-manylinux_2_41_x86_64")
    assert found(high, "WG202") == []


def test_a_library_that_the_wheel_brings_is_no_need(wheel_of: MakeWheel, compiled: Compile) -> None:
    members = {
        "demo/_C.so": compiled(STRINGS),
        "demo.libs/libstdc++.so.6": compiled("int nothing;"),
    }
    families = [f.message.split("_")[0] for f in found(wheel_of(members), "WG202")]
    assert "needs GLIBCXX" not in families
    assert "needs CXXABI" not in families


def test_a_tag_that_is_needlessly_high(wheel_of: MakeWheel, compiled: Compile) -> None:
    """As xformers: the tag says 2_28, the files would do with less."""
    members = {"demo/_C.so": compiled(STRINGS)}
    (high,) = found(wheel_of(members, "cp311-cp311-manylinux_2_39_x86_64"), "WG206")
    assert high.level is Level.WARNING
    assert "is needlessly high: the files need " in high.message
    assert "GLIBCXX_3.4.21" in high.message
    assert high.message.endswith("the lowest true tag is manylinux_2_24_x86_64")
    assert found(wheel_of(members, "cp311-cp311-manylinux_2_24_x86_64"), "WG206") == []
    plain = {"demo/_C.so": compiled(MODULE)}
    assert found(wheel_of(plain, "cp311-cp311-manylinux_2_17_x86_64"), "WG206") == []


def test_a_floor_of_the_policy(wheel_of: MakeWheel, compiled: Compile) -> None:
    wheel = wheel_of({"demo/_C.so": compiled(MODULE)}, "cp311-cp311-manylinux_2_34_x86_64")
    (finding,) = found(wheel, "WG206", AuditPolicy(floor=("manylinux_2_28",)))
    assert finding.level is Level.ERROR
    assert "does not install with glibc 2.28" in finding.message
    assert found(wheel, "WG206", AuditPolicy(floor=("manylinux_2_34",)))[0].level is Level.WARNING


def test_a_linux_tag_is_for_no_index(wheel_of: MakeWheel, compiled: Compile) -> None:
    members = {"demo/_C.so": compiled(STRINGS)}
    (finding,) = found(wheel_of(members, "cp311-cp311-linux_x86_64"), "WG207")
    assert finding.message == (
        "linux_x86_64 is refused by PyPI; the lowest true tag is manylinux_2_24_x86_64"
    )
    assert found(wheel_of(members, "cp311-cp311-manylinux_2_24_x86_64"), "WG207") == []


def test_a_constant_tag_is_accepted_only_if_the_symbols_agree(
    wheel_of: MakeWheel, compiled: Compile
) -> None:
    """Public case W28: rejected with the lowest true tag, accepted where it is true."""
    source = MODULE + '#include <cmath>\nextern "C" double f(double x) { return std::exp(x); }\n'
    members = {"demo/_C.so": compiled(source, "-O0", "-lm")}
    (finding,) = found(wheel_of(members, "cp311-cp311-manylinux_2_24_x86_64"), "WG202")
    assert finding.message.endswith("the lowest true tag is manylinux_2_31_x86_64")
    assert found(wheel_of(members, "cp311-cp311-manylinux_2_31_x86_64"), "WG202") == []


def test_glibc_in_a_musl_wheel(wheel_of: MakeWheel, compiled: Compile) -> None:
    tag = "cp311-cp311-musllinux_1_2_x86_64"
    source = MODULE + '#include <cstdio>\nvoid f() { puts("x"); }\n'
    (finding,) = found(wheel_of({"demo/_C.so": compiled(source)}, tag), "WG202")
    assert "is linked to glibc" in finding.message
    free = compiled(MODULE, "-nostdlib")
    assert found(wheel_of({"demo/_C.so": free}, tag), "WG202") == []
    musl = compiled(MODULE, "-nostdlib", libraries=("libc.musl-x86_64.so.1",))
    (other,) = found(wheel_of({"demo/_C.so": musl}), "WG202")
    assert "is linked to musl" in other.message


@pytest.mark.parametrize(
    ("name", "platform", "rule", "words"),
    [
        ("arm64.so", "macosx_11_0_arm64", "WG202", "needs macOS 14.0; macosx_11_0_arm64 promises"),
        ("arm64.so", "macosx_14_0_arm64", "", ""),
        ("arm64.so", "macosx_15_0_arm64", "WG206", "the lowest true tag is macosx_14_0_arm64"),
        ("x86_64.so", "macosx_10_9_x86_64", "WG202", "the lowest true tag is macosx_10_13_x86_64"),
        ("x86_64.so", "macosx_10_13_x86_64", "", ""),
        ("x86_64.so", "macosx_12_0_x86_64", "WG206", "the files need 10.13"),
    ],
)
def test_macos_tags_against_the_minimum_of_the_files(
    wheel_of: MakeWheel, name: str, platform: str, rule: str, words: str
) -> None:
    """LC_BUILD_VERSION of files that clang and lld made."""
    members = {"demo/_C.so": (NATIVE / f"demo-{name}").read_bytes()}
    wheel = wheel_of(members, f"cp313-cp313-{platform}")
    shown = [*found(wheel, "WG202"), *found(wheel, "WG206")]
    assert [f.rule for f in shown] == ([rule] if rule else [])
    assert all(words in f.message for f in shown)


def test_a_macos_floor_of_the_policy(wheel_of: MakeWheel) -> None:
    members = {"demo/_C.so": (NATIVE / "demo-arm64.so").read_bytes()}
    wheel = wheel_of(members, "cp313-cp313-macosx_14_0_arm64")
    (finding,) = found(wheel, "WG206", AuditPolicy(floor=("macosx_12_0",)))
    assert finding.level is Level.ERROR
    assert found(wheel, "WG206", AuditPolicy(floor=("macosx_14_0",))) == []


@pytest.mark.parametrize(
    ("tag", "suffix", "passes"),
    [
        ("cp311-cp311", ".cpython-311-x86_64-linux-gnu.so", True),
        ("cp311-cp311", ".cpython-310-x86_64-linux-gnu.so", False),
        ("cp311-cp311", ".abi3.so", True),
        ("cp314-cp314t", ".cpython-314-x86_64-linux-gnu.so", False),
        ("cp314-cp314t", ".abi3.so", False),
        ("cp315-cp315t", ".abi3t.so", True),
        ("cp315-abi3", ".abi3t.so", False),
        ("cp315-abi3.abi3t", ".abi3t.so", True),
        ("cp310-abi3", ".cpython-310-x86_64-linux-gnu.so", False),
        ("py3-none", ".cpython-311-x86_64-linux-gnu.so", False),
        ("py3-none", ".so", True),
    ],
)
def test_names_of_extensions_fit_the_tag(
    wheel_of: MakeWheel, compiled: Compile, tag: str, suffix: str, *, passes: bool
) -> None:
    """Public cases W16 and V19."""
    members = {f"demo/_C{suffix}": compiled(MODULE)}
    shown = found(wheel_of(members, f"{tag}-manylinux_2_17_x86_64"), "WG203")
    assert [f.level for f in shown] == ([] if passes else [Level.ERROR])


def test_helpers_for_other_pythons_stand_beside_the_right_one(
    wheel_of: MakeWheel, compiled: Compile
) -> None:
    """Public case W19, as far as names tell: in an abi3 wheel they cover no later Python."""
    library = compiled(MODULE)
    members = {f"demo/h.cpython-{n}-x86_64-linux-gnu.so": library for n in (310, 311, 312)}
    assert found(wheel_of(members), "WG203") == []
    stable = wheel_of({**members, "demo/_C.abi3.so": library}, "cp39-abi3-manylinux_2_17_x86_64")
    assert len(found(stable, "WG203")) == 3


def test_a_file_that_no_python_imports_binds_nobody(wheel_of: MakeWheel, compiled: Compile) -> None:
    """As torchao: a library of operators with a name for one Python in an abi3 wheel."""
    members = {"demo/ops.cpython-310-x86_64-linux-gnu.so": compiled("int nothing;")}
    (finding,) = found(wheel_of(members, "cp310-abi3-manylinux_2_17_x86_64"), "WG203")
    assert finding.level is Level.WARNING


@pytest.mark.parametrize(
    ("tag", "names", "words"),
    [
        ("cp310-abi3", ("PyType_GetName",), "PyType_GetName (since 3.11)"),
        ("cp311-abi3", ("PyType_GetName",), ""),
        ("cp315-abi3.abi3t", ("PyLong_FromLong",), ""),
        (
            "cp315-abi3t",
            ("PyModule_Create2",),
            "PyModule_Create2 (not in abi3t: export PyModExport_",
        ),
        ("cp315-abi3", ("PyModule_Create2",), ""),
        ("cp315-abi3t", ("PyUnicode_New",), "PyUnicode_New (not in the stable ABI)"),
        ("cp314-abi3t", ("PyLong_FromLong",), "abi3t begins with 3.15"),
    ],
)
def test_the_stable_abi_of_the_tag(
    wheel_of: MakeWheel, compiled: Compile, tag: str, names: tuple[str, ...], words: str
) -> None:
    """Public cases W17 and V20."""
    members = {"demo/_C.so": compiled(calling(*names))}
    shown = found(wheel_of(members, f"{tag}-manylinux_2_17_x86_64"), "WG205")
    assert [words in f.message for f in shown] == ([True] if words else [])


def test_an_abi3_tag_for_windows_needs_the_dll_of_the_stable_abi(wheel_of: MakeWheel) -> None:
    members = {"demo/_C.pyd": (NATIVE / "demo-x86_64.pyd").read_bytes()}
    (finding,) = found(wheel_of(members, "cp39-abi3-win_amd64"), "WG205")
    assert "python313.dll (of one Python; the stable ABI is in python3.dll)" in finding.message


@pytest.mark.parametrize(
    ("tag", "names", "level", "words"),
    [
        ("py3-none", ("PyUnicode_New",), Level.ERROR, "the C API of one Python (PyUnicode_New)"),
        ("py39-none", ("PyType_GetName",), Level.WARNING, "the limited C API"),
        ("py39-none", (), None, ""),
        ("cp39-abi3", ("PyLong_FromLong",), None, ""),
    ],
)
def test_a_tag_without_an_abi(
    wheel_of: MakeWheel,
    compiled: Compile,
    tag: str,
    names: tuple[str, ...],
    level: Level | None,
    words: str,
) -> None:
    """Public case W29: cp39-abi3 is right where the symbols agree."""
    members = {"demo/_C.so": compiled(calling(*names))}
    wheel = wheel_of(members, f"{tag}-manylinux_2_17_x86_64")
    shown = found(wheel, "WG208")
    assert [f.level for f in shown] == ([level] if level else [])
    assert all(words in f.message for f in shown)
    assert found(wheel, "WG205") == []


def test_a_wheel_that_could_serve_more_pythons(wheel_of: MakeWheel, compiled: Compile) -> None:
    """The other direction: torchvision says cp311 with no need of Python at all."""
    limited = wheel_of({"demo/_C.so": compiled(calling("PyType_GetName"))})
    assert [f.message for f in found(limited, "WG209")] == [
        "cp311-cp311-manylinux_2_17_x86_64 could be cp311-abi3: the files use only the limited C "
        "API of 3.11 (PyType_GetName)"
    ]
    old = wheel_of({"demo/_C.so": compiled(calling("PyLong_FromLong"))})
    (required,) = found(old, "WG209")
    assert "could be cp39-abi3: " in required.message, "Requires-Python says 3.9"
    nothing = wheel_of({"demo/_C.so": compiled("int nothing;")})
    (finding,) = found(nothing, "WG209")
    assert "could be py3-none-manylinux_2_17_x86_64" in finding.message
    full = wheel_of({"demo/_C.so": compiled(calling("PyType_GetName", "PyUnicode_New"))})
    assert found(full, "WG209") == []


def test_files_of_a_free_threaded_python(wheel_of: MakeWheel, compiled: Compile) -> None:
    members = {"demo/_C.so": compiled(calling("_Py_MergeZeroLocalRefcount"))}
    (finding,) = found(wheel_of(members, "cp314-cp314-manylinux_2_17_x86_64"), "WG210")
    assert (
        finding.message == "is compiled for a free-threaded Python; cp314 is for one with the GIL"
    )
    assert found(wheel_of(members, "cp314-cp314t-manylinux_2_17_x86_64"), "WG210") == []


def test_the_python_dll_is_the_one_of_the_tag(wheel_of: MakeWheel) -> None:
    members = {"demo/_C.pyd": (NATIVE / "demo-x86_64.pyd").read_bytes()}
    (finding,) = found(wheel_of(members, "cp312-cp312-win_amd64"), "WG210")
    assert finding.message == "imports python313.dll; the tag is cp312"
    (threads,) = found(wheel_of(members, "cp313-cp313t-win_amd64"), "WG210")
    assert threads.message == "imports python313.dll; the tag is cp313t"
    assert found(wheel_of(members, "cp313-cp313-win_amd64"), "WG210") == []
