"""`wheelgrid runs-on` on binaries with known contents, read by the real parsers."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from wheelgrid.cli.main import run as wheelgrid

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
SCHEMA = json.loads(
    (ROOT / "src" / "wheelgrid" / "schemas" / "runs-on.schema.json").read_text(encoding="utf-8")
)
CUDA = "cuda/cuda130_sharedcudart_sm90_120_ptx.so"
Judge = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def judge(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Run the command with --json; the exit code and the verdict on the one GPU asked for."""
    monkeypatch.chdir(ROOT)

    def run(path: Path, gpu: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        code = wheelgrid(["runs-on", "--json", "--gpu", gpu, *arguments, str(path)])
        document = json.loads(capsys.readouterr().out)
        Draft202012Validator(SCHEMA).validate(document)
        return code, document["wheels"][0]["gpus"][0]

    return run


@pytest.mark.parametrize(
    ("fixture", "gpu", "code", "state"),
    [
        (CUDA, "H200", 0, "FULL"),
        (CUDA, "sm_120", 0, "FULL"),
        (CUDA, "DGX Spark (GB10)", 0, "FULL"),
        (CUDA, "B200", 1, "NONE"),
        (CUDA, "A100", 1, "NONE"),
        (CUDA, "gfx942", 1, "NONE"),
        ("gpu/hip_gfx942.so", "MI300X", 0, "FULL"),
        ("gpu/hip_gfx942.so", "gfx950", 1, "NONE"),
        ("gpu/hip_hipcc_gfx942_950_1201.so", "MI355X", 0, "FULL"),
        ("gpu/hip_hipcc_gfx942_950_1201.so", "gfx1200", 1, "NONE"),
        ("gpu/hipdemo.ccob3", "gfx942", 0, "FULL"),
    ],
)
def test_known_binaries_on_known_gpus(
    judge: Judge, fixture: str, gpu: str, code: int, state: str
) -> None:
    found, verdict = judge(FIXTURES / fixture, gpu)
    assert (found, verdict["state"]) == (code, state)


def test_a_driver_that_is_too_old_is_said_with_both_numbers(judge: Judge) -> None:
    code, verdict = judge(FIXTURES / CUDA, "H200", "--driver", "570")
    assert (code, verdict["state"]) == (1, "NONE")
    assert "580" in json.dumps(verdict)
    assert "570" in json.dumps(verdict)


def test_libraries_of_one_wheel_are_judged_apart(judge: Judge, tmp_path: Path) -> None:
    """One library for NVIDIA, one for AMD: neither lends its code to the other."""
    wheel = tmp_path / "demo-1.0-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(FIXTURES / CUDA, "demo/libdemo_cuda130.so")
        archive.write(FIXTURES / "gpu" / "hip_gfx942.so", "demo/libdemo_rocm72.so")
    for gpu, counted in (("H200", "demo/libdemo_cuda130.so"), ("gfx942", "demo/libdemo_rocm72.so")):
        code, verdict = judge(wheel, gpu)
        assert (code, verdict["state"], verdict["counted"]) == (0, "FULL", [counted])


def test_a_damaged_library_is_unknown_not_none(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "cut.so"
    path.write_bytes((FIXTURES / CUDA).read_bytes()[:3000])
    code, verdict = judge(path, "H200")
    assert (code, verdict["state"]) == (3, "UNKNOWN")


def test_a_misspelt_gpu_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert wheelgrid(["runs-on", "--gpu", "H20O", str(FIXTURES / CUDA)]) == 2
    assert "H200" in capsys.readouterr().err
