"""The audit of tags and names through the command line, on small real wheels made here."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from wheelgrid.cli.main import run

ARM64, X86_64 = 0x0100000C, 0x01000007
FIXTURES = Path(__file__).parents[1] / "fixtures" / "native"


def thin(cpu: int) -> bytes:
    """The head of a 64-bit Mach-O bundle (mach/loader.h), and nothing to load."""
    return struct.pack("<8I", 0xFEEDFACF, cpu, 0, 8, 0, 0, 0, 0)


def fat(*cpus: int) -> bytes:
    """A universal file with one such slice per CPU (mach-o/fat.h)."""
    archs = [struct.pack(">5I", cpu, 0, 4096 * n, 32, 12) for n, cpu in enumerate(cpus, 1)]
    head = (struct.pack(">2I", 0xCAFEBABE, len(cpus)) + b"".join(archs)).ljust(4096, b"\0")
    return head + b"".join(thin(cpu).ljust(4096, b"\0") for cpu in cpus)


def pe(name: str) -> bytes:
    """A real DLL for Windows."""
    return (FIXTURES / f"demo-{name}.pyd").read_bytes()


def make(
    folder: Path,
    tag: str,
    members: dict[str, bytes],
    inner: str = "",
    *,
    version: str = "1.0",
    requires: str = "torch==2.10.*",
) -> Path:
    info = f"demo-{version}.dist-info"
    metadata = (
        f"Name: demo\nVersion: {version}\nRequires-Python: >=3.9\nRequires-Dist: {requires}\n"
    )
    about = f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {inner or tag}\n"
    files = {
        **members,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": about.encode(),
    }
    rows = [f"{info}/RECORD,,"]
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(data)}")
    wheel = folder / f"demo-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in {**files, f"{info}/RECORD": "\n".join(rows).encode()}.items():
            archive.writestr(path, data)
    return wheel


def audit(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[Any]]:
    code = run([*arguments])
    return code, json.loads(capsys.readouterr().out)["wheels"][0]["findings"]


def test_a_file_for_arm64_whose_wheel_says_x86_64(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Public case V17 (pytorch/pytorch#109970)."""
    tag, inner = "cp310-cp310-macosx_11_0_arm64", "cp310-cp310-macosx_11_0_x86_64"
    wheel = make(tmp_path, tag, {"demo/_C.so": thin(X86_64)}, inner)
    code, found = audit(capsys, "audit", "--json", str(wheel))
    assert code == 1
    messages = {f["rule"]: f["message"] for f in found}
    assert messages["WG103"] == f"WHEEL has the tags {inner}"
    assert messages["WG204"] == "is for x86_64; macosx_11_0_arm64 needs arm64"


@pytest.mark.parametrize(
    ("platform", "data", "wrong"),
    [
        ("macosx_11_0_arm64", thin(ARM64), False),
        ("macosx_11_0_arm64", fat(X86_64, ARM64), False),
        ("macosx_11_0_universal2", fat(X86_64, ARM64), False),
        ("macosx_11_0_universal2", thin(ARM64), True),
        ("macosx_11_0_x86_64", thin(ARM64), True),
        ("win_amd64", pe("x86_64"), False),
        ("win_arm64", pe("arm64"), False),
        ("win_arm64", pe("x86_64"), True),
    ],
)
def test_cpu_types_of_mach_o_and_pe_files(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    platform: str,
    data: bytes,
    *,
    wrong: bool,
) -> None:
    wheel = make(tmp_path, f"cp312-cp312-{platform}", {"demo/_C.so": data})
    _, found = audit(capsys, "audit", "--json", str(wheel))
    assert ("WG204" in {f["rule"] for f in found}) is wrong


@pytest.mark.parametrize("data", [fat(X86_64, ARM64)[:9], pe("x86_64")[:300]])
def test_a_file_that_ends_in_its_head_is_unchecked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes
) -> None:
    wheel = make(tmp_path, "cp312-cp312-macosx_11_0_arm64", {"demo/_C.so": data})
    code, found = audit(capsys, "audit", "--json", str(wheel))
    assert code == 3
    assert [f["rule"] for f in found if f["level"] == "unchecked"] == ["WG501"]


def test_produced_tags_are_those_of_the_cell(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Public case V27 (meta-pytorch/torchcodec#390): cp39 came out of another Python's job."""
    assert run(["--root", str(project), "plan", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    build = next(b["id"] for b in plan["builds"] if "cp311-linux_x86_64" in b["id"])
    platforms = "manylinux_2_17_x86_64.manylinux2014_x86_64"
    for python, wrong in (("cp39", True), ("cp311", False)):
        wheel = make(tmp_path, f"{python}-{python}-{platforms}", {})
        arguments = ("--root", str(project), "audit", "--json", "--build", build, str(wheel))
        _, found = audit(capsys, *arguments)
        messages = [f["message"] for f in found if f["rule"] == "WG201"]
        assert len(messages) == (2 if wrong else 0)
        assert all("where cp311-cp311 was asked for" in m for m in messages)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            '_PYTHON_HOST_PLATFORM: "macosx-11_0-arm64"',
            "its version is read as the integer 110",
        ),
        ('_PYTHON_HOST_PLATFORM: "macosx_11_0_arm64"', "write macosx-11.0-arm64"),
        ('_PYTHON_HOST_PLATFORM: "macosx-14-aarch64"', "write macosx-14.0-arm64"),
        ('MACOSX_DEPLOYMENT_TARGET: "14_0"', "is not a macOS version"),
        (
            '_PYTHON_HOST_PLATFORM: "macosx-11.0-arm64", MACOSX_DEPLOYMENT_TARGET: "14.0"',
            "write macosx-14.0-arm64",
        ),
        ('_PYTHON_HOST_PLATFORM: "macosx-14.0-arm64", MACOSX_DEPLOYMENT_TARGET: "14.0"', ""),
        ('_PYTHON_HOST_PLATFORM: "linux-x86_64"', ""),
    ],
)
def test_the_environment_of_macos_builds_is_linted(
    project: Path, capsys: pytest.CaptureFixture[str], lines: str, words: str
) -> None:
    """Public case V16 (pytorch/pytorch#173541): an underscore was read as part of a number."""
    recipe = project / "recipes" / "regex" / "recipe.yaml"
    text = recipe.read_text(encoding="utf-8")
    wrong = text.replace('env: {"*": {LDFLAGS: "-s"}}', f'env: {{"*": {{{lines}}}}}')
    assert wrong != text
    recipe.write_text(wrong, encoding="utf-8")
    code = run(["--root", str(project), "plan"])
    shown = capsys.readouterr().err
    assert code == (2 if words else 0)
    assert words in shown
    assert not words or "recipes/regex/recipe.yaml:" in shown


@pytest.mark.parametrize("python", ["3.13", "3.14", "3.15"])
def test_abi3t_is_for_python_3_15_and_later(
    project: Path, capsys: pytest.CaptureFixture[str], python: str
) -> None:
    """Public case V20 (python/peps#4747, PEP 803)."""
    recipe = project / "recipes" / "regex" / "recipe.yaml"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(f'{text}\nstable: {{free_threaded: "{python}"}}\n', encoding="utf-8")
    code = run(["--root", str(project), "plan"])
    shown = capsys.readouterr().err
    assert code == (0 if python == "3.15" else 2)
    assert python == "3.15" or "it begins with 3.15 (PEP 803)" in shown


def test_a_musl_cell_of_the_matrix_is_excluded_with_its_reason(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Public case V26 (astral-sh/uv#9901): never built, and the reason is said."""
    matrix = project / "matrix.yaml"
    text = matrix.read_text(encoding="utf-8").replace("win_amd64]", "musllinux_x86_64]")
    matrix.write_text(text, encoding="utf-8")
    assert run(["--root", str(project), "plan", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    musl = [c for c in plan["cells"] if "musllinux" in c["id"]]
    assert musl
    assert {c["decision"] for c in musl} == {"excluded"}
    assert all(c["reason"] for c in musl)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
@pytest.mark.parametrize(
    ("label", "requires", "passes"),
    [
        ("+cu130", "torch", False),
        ("+cu130", "torch>=2.10", False),
        ("+cu130torch2.10", "torch>=2.10", False),
        ("+cu130torch2.10", "torch==2.10.*", True),
        ("+cu130", "torch==2.10.0", True),
        ("+cu130", "torch>=2.10,<2.11", True),
    ],
)
def test_a_wheel_of_the_cxx_abi_names_and_pins_its_torch(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    label: str,
    requires: str,
    *,
    passes: bool,
) -> None:
    """NVIDIA/torch-harmonics#226: built with 2.10, undefined symbol with 2.12."""
    code, out = tmp_path / "x.cpp", tmp_path / "x.so"
    code.write_text(
        'namespace torch { struct Library { void f(); }; }\nextern "C" void *PyInit__C(void) '
        "{ torch::Library l; l.f(); return 0; }\n",
        encoding="utf-8",
    )
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(out), str(code)], check=True)
    wheel = make(
        tmp_path,
        "cp312-cp312-manylinux_2_17_x86_64",
        {"demo/_C.so": out.read_bytes()},
        version=f"1.0{label}",
        requires=requires,
    )
    status, found = audit(capsys, "audit", "--json", str(wheel))
    errors = [f["rule"] for f in found if f["level"] == "error"]
    assert errors == ([] if passes else ["WG405"])
    assert status == (0 if passes else 1)
