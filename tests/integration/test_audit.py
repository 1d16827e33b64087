"""The audit on wheels made here with a real compiler: each rule must be able to fail."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.platforms import Platform
from wheelgrid.core.recipe import Abi
from wheelgrid.core.rung import Outcome
from wheelgrid.inspect.audit import Audit, audit
from wheelgrid.inspect.findings import RULES, Expected, Level
from wheelgrid.inspect.wheel import required_names

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine"),
]

MODULE = 'extern "C" void *PyInit__C(void) { return 0; }\n'
TAG = "cp311-cp311-manylinux_2_17_x86_64"
PURE = "py3-none-any"
METADATA = "Name: demo\nVersion: 1.0\nRequires-Python: >=3.11\n"


@pytest.fixture
def compile_so(tmp_path: Path) -> Callable[..., bytes]:
    """Compile C++ to a shared library; extra arguments go to g++."""

    def make(source: str, *arguments: str) -> bytes:
        code, out = tmp_path / "x.cpp", tmp_path / "x.so"
        code.write_text(source, encoding="utf-8")
        command = ["g++", "-shared", "-fPIC", "-o", str(out), str(code), *arguments]
        subprocess.run(command, check=True, capture_output=True)
        return out.read_bytes()

    return make


@pytest.fixture
def make_wheel(tmp_path: Path) -> Callable[..., Path]:
    """Write a wheel that is right unless an argument makes it wrong."""

    def make(
        members: dict[str, bytes],
        *,
        name: str = "",
        metadata: str = METADATA,
        tag: str = "",
        info: str = "demo-1.0.dist-info",
        record: dict[str, str] | None = None,
        about: str = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n",
    ) -> Path:
        native = any(path.endswith((".so", ".pyd", ".dylib")) for path in members)
        tag = tag or (TAG if native else PURE)
        name = name or f"demo-1.0-{tag}.whl"
        wheel = f"{about}Tag: {tag}\n"
        files = {**members, f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": wheel.encode()}
        rows = []
        for path, data in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append((record or {}).get(path, f"{path},sha256={digest},{len(data)}"))
        rows.append(f"{info}/RECORD,,")
        files[f"{info}/RECORD"] = "\n".join(rows).encode()
        wheel_path = tmp_path / name
        with zipfile.ZipFile(wheel_path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in files.items():
                archive.writestr(member, data)
        return wheel_path

    return make


def expected(**changes: object) -> Expected:
    values: dict[str, object] = {
        "package": "demo",
        "version": "1.0",
        "abi": Abi.NONE,
        "python_tag": "cp311",
        "abi_tag": "cp311",
        "platform": Platform.LINUX_X86_64,
        "accelerator": Accelerator.parse("cpu"),
        "extensions": ("demo._C",),
        **changes,
    }
    return Expected(**values)  # type: ignore[arg-type]


def rules(found: Audit) -> set[str]:
    return {f.rule for f in found.findings}


def test_a_right_wheel_passes(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    found = audit(make_wheel({"demo/_C.so": compile_so(MODULE)}), expected())
    assert found.findings == ()
    assert found.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "tinycudann-1.7+arch75+torch222+cuda121-cp310-cp310-linux_x86_64.whl",
            "write 1.7+arch75.torch222.cuda121",
        ),
        ("torch_xla-nightly-cp311-cp311-linux_x86_64.whl", "nightly"),
        ("llama_cpp_python-0.3.5-cp313-cp313-linux_amd64-noavx.whl", "build number"),
        ("x-1.0-cu130-cp312-cp312-linux_x86_64.whl", "build number"),
        ("Sasview-6.1.1.whl", "number of parts"),
        ("foo-01.0.0-py3-none-any.whl", "is not normalised; write 1.0.0"),
        ("torch-2.13.0+CU130-cp313-cp313-linux_x86_64.whl", "write 2.13.0+cu130"),
        ("protobuf-4.21.0_rc_2-cp310-abi3-win_amd64.whl", "write 4.21.0rc2"),
    ],
)
def test_file_names(make_wheel: Callable[..., Path], name: str, words: str) -> None:
    """Public cases V05, V10, V11, V13 and V14."""
    found = [f.message for f in audit(make_wheel({}, name=name)).findings if f.rule == "WG101"]
    assert any(words in message for message in found), found


def test_a_label_that_is_only_in_the_file_name_is_refused(make_wheel: Callable[..., Path]) -> None:
    """Public cases V07 and V08: METADATA and folder must carry the label too."""
    named = f"demo-1.0+cu130torch2.9-{PURE}.whl"
    before = audit(make_wheel({}, name=named))
    messages = [f.message for f in before.findings if f.rule == "WG102"]
    assert messages == [
        "METADATA has Version 1.0, the file 1.0+cu130torch2.9",
        "the metadata folder is named demo-1.0.dist-info",
    ]
    after = make_wheel(
        {},
        name=named,
        metadata="Name: demo\nVersion: 1.0+cu130torch2.9\nRequires-Python: >=3.11\n",
        info="demo-1.0+cu130torch2.9.dist-info",
    )
    assert audit(after).findings == ()


def test_tags_must_be_the_cells(make_wheel: Callable[..., Path]) -> None:
    """Public case V27: asked for 3.12, got cp39."""
    name = "demo-1.0-cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    wheel = make_wheel({}, name=name, tag="cp39-cp39-manylinux_2_17_x86_64")
    found = audit(wheel, expected(python_tag="cp312", abi_tag="cp312", extensions=()))
    assert {"WG103", "WG201"} <= rules(found)
    assert sum(f.rule == "WG201" for f in found.findings) == 2


def test_another_package_or_version_than_asked_for(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    wheel = make_wheel({"demo/_C.so": compile_so(MODULE)})
    found = audit(wheel, expected(package="other", version="2.0", extensions=()))
    assert [f.rule for f in found.findings] == ["WG108", "WG108"]


def test_record_is_verified_for_every_member(make_wheel: Callable[..., Path]) -> None:
    """Public case W25."""
    path = "demo-1.0.dist-info/METADATA"
    for row in (f"{path},sha256=AAAA,1", f"{path},,", f"{path},md5=AAAA,1"):
        found = audit(make_wheel({"demo/a.py": b"1"}, record={path: row}))
        assert [(f.rule, f.member) for f in found.findings] == [("WG104", path)]


def test_record_has_the_true_sizes(make_wheel: Callable[..., Path]) -> None:
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"1").digest()).rstrip(b"=").decode()
    row = f"demo/a.py,sha256={digest},7"
    (found,) = audit(make_wheel({"demo/a.py": b"1"}, record={"demo/a.py": row})).findings
    assert found.message == "has 1 bytes, RECORD says 7"


def test_missing_and_unlisted_members_are_told_apart(make_wheel: Callable[..., Path]) -> None:
    wheel = make_wheel({"demo/a.py": b"1"})
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("demo/late.py", "2")
    messages = {(f.member, f.message) for f in audit(wheel).findings}
    assert messages == {("demo/late.py", "is not in RECORD")}


def test_damage_is_found_by_reading_everything(make_wheel: Callable[..., Path]) -> None:
    """Public cases W26 and B20: the directory is whole, one member is not."""
    wheel = make_wheel({"demo/data.bin": bytes(range(256)) * 400})
    data = bytearray(wheel.read_bytes())
    with zipfile.ZipFile(wheel) as archive:
        start = archive.getinfo("demo/data.bin").header_offset + 60
    data[start : start + 40] = bytes(40)
    wheel.write_bytes(data)
    with zipfile.ZipFile(wheel) as archive:
        assert "demo/data.bin" in archive.namelist()
    found = audit(wheel)
    assert ("WG105", "demo/data.bin") in {(f.rule, f.member) for f in found.findings}


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(18), b"not a zip at all"])
def test_files_that_are_no_wheels_fail_without_a_crash(tmp_path: Path, content: bytes) -> None:
    wheel = tmp_path / f"demo-1.0-{TAG}.whl"
    wheel.write_bytes(content)
    assert audit(wheel).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "path", [".", "../evil.py", "/etc/evil", "a/../../evil", "C:/evil", "a\\b"]
)
def test_members_that_leave_the_folder_are_errors(
    make_wheel: Callable[..., Path], path: str
) -> None:
    assert "WG106" in rules(audit(make_wheel({path: b"x"})))


def test_requires_python_must_be_there(make_wheel: Callable[..., Path]) -> None:
    """Public case S02."""
    assert rules(audit(make_wheel({}, metadata="Name: demo\nVersion: 1.0\n"))) == {"WG107"}


def test_a_pure_wheel_where_an_extension_is_declared(make_wheel: Callable[..., Path]) -> None:
    """Public case W31, first part; the quiet trap of a build that found no CUDA."""
    wheel = make_wheel({"demo/a.py": b""}, name="demo-1.0-py3-none-any.whl", tag="py3-none-any")
    found = audit(wheel, expected(abi=Abi.LIBTORCH, torch=Version("2.14.1")))
    assert {"WG201", "WG301", "WG405"} == rules(found)
    assert any("the wheel is pure" in f.message for f in found.findings)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is an empty file"),
        (b"#!/bin/sh\n", "is not native code"),
        ("int nothing;", "has neither PyInit nor a torch library registration"),
    ],
)
def test_an_extension_that_is_there_and_does_nothing(
    make_wheel: Callable[..., Path],
    compile_so: Callable[..., bytes],
    content: bytes | str,
    words: str,
) -> None:
    """Public case W31, the other parts."""
    data = compile_so(content) if isinstance(content, str) else content
    found = audit(make_wheel({"demo/_C.so": data}), expected())
    assert any(f.rule == "WG301" and words in f.message for f in found.findings)


def test_native_code_in_a_wheel_declared_pure(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    wheel = make_wheel(
        {"demo/_C.so": compile_so(MODULE)}, name="demo-1.0-py3-none-any.whl", tag="py3-none-any"
    )
    wanted = expected(abi=Abi.PURE, python_tag="py3", abi_tag="none", platform=None)
    assert "WG304" in rules(audit(wheel, wanted))


def test_a_cuda_cell_without_device_code(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    """Public case W14."""
    wheel = make_wheel({"demo/_C.so": compile_so(MODULE)})
    wanted = expected(abi=Abi.LIBTORCH_STABLE, accelerator=Accelerator.parse("cuda13.0"))
    assert rules(audit(wheel, wanted)) == {"WG303"}


def test_a_tag_older_than_the_symbols_need(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    """Public case W28: built on a newer base than the tag promises."""
    source = MODULE + '#include <cmath>\nextern "C" double f(double x) { return std::exp(x); }\n'
    name, tag = (
        "demo-1.0-cp311-cp311-manylinux_2_24_x86_64.whl",
        "cp311-cp311-manylinux_2_24_x86_64",
    )
    wheel = make_wheel({"demo/_C.so": compile_so(source, "-O0", "-lm")}, name=name, tag=tag)
    found = [f for f in audit(wheel, expected()).findings if f.rule == "WG202"]
    assert len(found) == 1
    assert found[0].message == (
        "needs GLIBC_2.29 of libm.so.6 (symbol exp); manylinux_2_24_x86_64 promises no more than "
        "2.24; the lowest true tag is manylinux_2_31_x86_64"
    )


def test_another_machine_than_the_tag_says(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    name, tag = "demo-1.0-cp311-cp311-linux_aarch64.whl", "cp311-cp311-linux_aarch64"
    wheel = make_wheel({"demo/_C.so": compile_so(MODULE)}, name=name, tag=tag)
    assert "WG204" in rules(audit(wheel))


def test_abi3_wheels_have_no_extension_for_one_python(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    """Public case W16."""
    tag = "cp310-abi3-manylinux_2_17_x86_64"
    name = f"demo-1.0-{tag}.whl"
    bad = {"demo/_C.cpython-310-x86_64-linux-gnu.so": compile_so(MODULE)}
    assert rules(audit(make_wheel(bad, name=name, tag=tag))) == {"WG203"}
    good = {"demo/_C.abi3.so": compile_so(MODULE)}
    assert rules(audit(make_wheel(good, name=name, tag=tag))) == set()


def read_members(wheel: str, folder: Path) -> list[bytes]:
    with zipfile.ZipFile(folder / wheel) as archive:
        return [archive.read(name) for name in archive.namelist()]


def test_vendor_libraries_are_never_bundled(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes], tmp_path: Path
) -> None:
    """Public cases W08 and W11; an ordinary library that repair grafted is fine."""
    library = compile_so("int nothing;")
    names = ["libtorch_cpu-1a.so", "libc10-2b.so", "libcudart-3c.so.13", "libcublas-4d.so.13"]
    members = {f"demo.libs/{n}": library for n in [*names, "libgomp-5e.so.1"]}
    members["demo/lib/libcudart.so.13"] = library
    found = audit(make_wheel(members, metadata=METADATA + "Requires-Dist: torch\n"))
    expected_members = {f"demo.libs/{n}" for n in names} | {"demo/lib/libcudart.so.13"}
    errors = [f for f in found.findings if f.level is Level.ERROR]
    assert {f.member for f in errors} == expected_members | {""}
    assert {f.rule for f in errors} == {"WG401"}
    texts = [f.message for f in errors]
    assert f"is bundled ({len(library)} bytes); it comes from torch" in texts
    whole = len(library) * 6 + sum(
        len(data) for data in read_members(found.wheel, tmp_path) if data != library
    )
    assert f"take {5 * len(library)} of {whole} bytes" in texts[-1]
    assert texts[-1].endswith(f"without them {whole - 5 * len(library)}")


def test_a_runpath_of_the_build_machine(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    good = compile_so(MODULE, "-Wl,-rpath,$ORIGIN/../demo.libs")
    assert rules(audit(make_wheel({"demo/_C.so": good}))) == set()
    for path in ("/opt/python/lib", "$ORIGIN/../../../tmp/x", "$ORIGINAL/x"):
        bad = compile_so(MODULE, f"-Wl,-rpath,{path}")
        found = audit(make_wheel({"demo/_C.so": bad}))
        assert [f.message for f in found.findings] == [f"has RUNPATH {path}"]


def test_a_stable_abi_wheel_uses_no_cxx_symbol_of_torch(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    source = MODULE + "namespace c10 { void throws(int); }\nvoid g() { c10::throws(1); }\n"
    wheel = make_wheel({"demo/_C.so": compile_so(source)})
    found = audit(wheel, expected(abi=Abi.LIBTORCH_STABLE))
    assert rules(found) == {"WG404"}
    assert "_ZN3c106throwsEi" in found.findings[0].message


@pytest.mark.parametrize(
    ("requirement", "passes"),
    [
        ("torch", False),
        ("torch>=2.10", False),
        ("torch==2.10.*", True),
        ("torch<2.11,>=2.10", True),
        ("torch~=2.10.0", True),
        ("torchvision==0.25.*", False),
        ("torch!=2.9.0,!=2.11.0", False),
        ("torch==2.10.*; sys_platform == 'linux'", False),
    ],
)
def test_a_wheel_of_the_cxx_abi_requires_its_torch_line(
    make_wheel: Callable[..., Path],
    compile_so: Callable[..., bytes],
    requirement: str,
    *,
    passes: bool,
) -> None:
    """Public cases M23 and W22."""
    metadata = (
        "Name: demo\nVersion: 1.0\nRequires-Python: >=3.11\n"
        f"Requires-Dist: {requirement}\nRequires-Dist: pytest; extra == 'test'\n"
    )
    wheel = make_wheel({"demo/_C.so": compile_so(MODULE)}, metadata=metadata)
    found = audit(wheel, expected(abi=Abi.LIBTORCH, torch=Version("2.10.0")))
    assert rules(found) == (set() if passes else {"WG405"})
    assert "pytest" not in required_names(wheel)


@pytest.mark.parametrize("name", ["demo-x86_64.pyd", "demo-x86_64.so"])
def test_what_cannot_be_looked_into_is_no_pass(
    make_wheel: Callable[..., Path], repository: Path, name: str
) -> None:
    """A file that begins as native code does and then ends."""
    whole = (repository / "tests" / "fixtures" / "native" / name).read_bytes()
    found = audit(make_wheel({f"demo/{name}": whole[: 200 if name.endswith("pyd") else 60]}))
    assert "WG501" in rules(found)
    assert found.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("data", [b"MZ" + bytes(100), b"INPUT(libdemo.so.1)\n"])
def test_a_file_that_is_only_named_like_native_code(
    make_wheel: Callable[..., Path], data: bytes
) -> None:
    found = audit(make_wheel({"demo/libdemo.so": data}))
    named = [f for f in found.findings if f.rule == "WG501"]
    assert [f.message for f in named] == ["is named like native code, but is none"]
    assert found.outcome is Outcome.PASSED


@pytest.mark.parametrize("cut", [5, 64, 300, 5000])
def test_truncated_elf_files_are_unchecked_not_a_crash(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes], cut: int
) -> None:
    wheel = make_wheel({"demo/_C.so": compile_so(MODULE)[:cut]})
    assert audit(wheel).outcome is Outcome.UNKNOWN


def test_every_finding_belongs_to_a_documented_rule(make_wheel: Callable[..., Path]) -> None:
    found = audit(make_wheel({"../x": b""}, name="bad.whl", metadata="Name: other\n"))
    assert rules(found)
    assert rules(found) <= RULES.keys()


def test_an_extension_for_another_interpreter_is_not_there(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    members = {"demo/_C.cpython-310-x86_64-linux-gnu.so": compile_so(MODULE)}
    suffix, found = audit(make_wheel(members), expected()).findings
    assert suffix.rule == "WG203"
    assert found.rule == "WG301"
    assert "is not for cp311: no such Python loads it" in found.message


@pytest.mark.parametrize(
    ("abi_tag", "suffix", "loads"),
    [
        ("cp311", ".cpython-311-x86_64-linux-gnu.so", True),
        ("cp311", ".abi3.so", True),
        ("cp311", ".so", True),
        ("cp314t", ".cpython-314t-x86_64-linux-gnu.so", True),
        ("cp314t", ".abi3.so", False),
        ("abi3", ".abi3.so", True),
        ("abi3", ".cpython-311-x86_64-linux-gnu.so", False),
    ],
)
def test_which_file_names_an_interpreter_loads(
    make_wheel: Callable[..., Path],
    compile_so: Callable[..., bytes],
    abi_tag: str,
    suffix: str,
    *,
    loads: bool,
) -> None:
    """Public case V19: abi3 is nothing for a free-threaded interpreter."""
    wheel = make_wheel({f"demo/_C{suffix}": compile_so(MODULE)})
    found = audit(wheel, expected(abi_tag=abi_tag))
    assert ("WG301" not in rules(found)) is loads


def test_an_abi3_tag_needs_symbols_of_the_stable_abi_only(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    """Public case W17: PyUnicode_New is private to a version, PyType_GetName came with 3.11."""
    tag = "cp38-abi3-manylinux_2_17_x86_64"
    name = f"demo-1.0-{tag}.whl"
    source = MODULE + (
        'extern "C" { void PyUnicode_New(); void PyType_GetName(); void PyLong_FromLong(); }\n'
        "void f() { PyUnicode_New(); PyType_GetName(); PyLong_FromLong(); }\n"
    )
    wheel = make_wheel({"demo/_C.abi3.so": compile_so(source)}, name=name, tag=tag)
    (found,) = audit(wheel).findings
    assert found.rule == "WG205"
    assert found.message == (
        "uses PyType_GetName (since 3.11), PyUnicode_New (not in the stable ABI)"
    )


def test_an_xpu_cell_without_device_code(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes], repository: Path
) -> None:
    """SPIR-V beside the extension is code for the GPU."""
    wanted = expected(abi=Abi.LIBTORCH_STABLE, accelerator=Accelerator.parse("xpu2026.1"))
    members = {"demo/_C.so": compile_so(MODULE)}
    assert rules(audit(make_wheel(members), wanted)) == {"WG303"}
    members["demo/k.spv"] = (repository / "tests" / "fixtures" / "gpu" / "sy23.spv").read_bytes()
    assert rules(audit(make_wheel(members), wanted)) == set()


def test_an_elf_file_without_section_headers_is_read_as_the_loader_does(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    """Program headers lead to the symbols too."""
    data = bytearray(compile_so(MODULE))
    data[0x28:0x30] = bytes(8)  # e_shoff
    data[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    found = audit(make_wheel({"demo/_C.so": bytes(data)}))
    assert found.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("changes", "rule", "words"),
    [
        ({"about": "Wheel-Version: 9.0\n"}, "WG110", "Wheel-Version 9.0"),
        (
            {"about": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"},
            "WG110",
            "Root-Is-Purelib is true",
        ),
        (
            {"metadata": METADATA.replace(">=3.11", "banana")},
            "WG107",
            "Requires-Python banana is not",
        ),
        ({"metadata": METADATA + "Requires-Dist: torch (>=1.0.*)\n"}, "WG109", "torch (>=1.0.*)"),
    ],
)
def test_metadata_follows_its_specifications(
    make_wheel: Callable[..., Path],
    compile_so: Callable[..., bytes],
    changes: dict[str, str],
    rule: str,
    words: str,
) -> None:
    found = audit(make_wheel({"demo/_C.so": compile_so(MODULE)}, **changes))
    assert [(f.rule, words in f.message) for f in found.findings] == [(rule, True)]


def test_one_metadata_folder_and_known_data_folders(make_wheel: Callable[..., Path]) -> None:
    two = audit(make_wheel({"other-2.0.dist-info/METADATA": b"Name: other\nVersion: 2.0\n"}))
    assert "WG102" in rules(two)
    strange = audit(make_wheel({"demo-1.0.data/bogus/x": b"", "zzz-1.data/scripts/y": b""}))
    assert [f.rule for f in strange.findings] == ["WG110", "WG110"]
    vendored = make_wheel({"demo/_vendor/zzz-1.dist-info/METADATA": b"Requires-Dist: x\n"})
    assert audit(vendored).findings == ()
    assert required_names(vendored) == frozenset()


@pytest.mark.parametrize(
    ("name", "tag", "passes"),
    [
        ("demo-1.0-py3-none-any.whl", "py3-none-any", True),
        ("demo-1.0-py2.py3-none-any.whl", "py2.py3-none-any", True),
        ("demo-1.0-py3-none-linux_x86_64.whl", "py3-none-linux_x86_64", False),
        ("demo-1.0-py2-none-any.whl", "py2-none-any", False),
    ],
)
def test_tags_of_pure_wheels(
    make_wheel: Callable[..., Path], name: str, tag: str, *, passes: bool
) -> None:
    wanted = expected(abi=Abi.PURE, python_tag="py3", abi_tag="none", platform=None)
    found = audit(make_wheel({}, name=name, tag=tag), wanted)
    assert ("WG201" not in rules(found)) is passes


def test_names_in_a_wheel_cannot_forge_lines_of_the_report(
    make_wheel: Callable[..., Path], wheelgrid: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    wheel = make_wheel({"../x\nevil.whl: pass\n\x1b[2J": b""})
    shown = wheelgrid("audit", str(wheel))
    assert shown.returncode == 1
    assert "\x1b[2J" not in shown.stdout.replace("\\x1b", "")
    assert "evil.whl: pass" not in [line.strip() for line in shown.stdout.splitlines()]


def test_compressed_tag_sets_that_explode_are_refused(make_wheel: Callable[..., Path]) -> None:
    many = ".".join(f"cp{n}" for n in range(300, 400))
    tag = f"{many}-{many}-linux_x86_64"
    wheel = make_wheel({}, tag=tag, name=f"demo-1.0-{PURE}.whl")
    assert "WG103" in rules(audit(wheel))


def test_random_damage_never_crashes_the_audit(
    make_wheel: Callable[..., Path], compile_so: Callable[..., bytes]
) -> None:
    """Byte flips and cuts of a right wheel: always a verdict."""
    import random

    wheel = make_wheel({"demo/_C.so": compile_so(MODULE), "demo/a.py": b"x = 1\n" * 50})
    original = wheel.read_bytes()
    random_numbers = random.Random(7)
    for _ in range(400):
        data = bytearray(original)
        for _ in range(random_numbers.randint(1, 8)):
            data[random_numbers.randrange(len(data))] = random_numbers.randrange(256)
        if random_numbers.random() < 0.2:
            del data[random_numbers.randrange(len(data)) :]
        wheel.write_bytes(bytes(data))
        assert audit(wheel).outcome in set(Outcome)
