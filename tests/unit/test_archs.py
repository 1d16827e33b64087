"""GPU architectures: what a toolkit compiles for, and what a torch wheel has code for."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from wheelgrid.cli.main import run
from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.decision import Reason
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix, stack_axes
from wheelgrid.planning.archs import has_code, toolkit_target
from wheelgrid.planning.plan import make_plan

ROOT = Path(__file__).parents[2]
MATRIX = """\
schema: "1"
name: m
axes:
  torch: ["2.14.1"]
  python: ["3.12"]
  accelerator: [{accelerator}]
  platform: [linux_x86_64]
toolchains:
  {accelerator}:
    requires: ["cuda-toolkit==1.0"]
    archs: {archs}
    {more}
"""


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    faults = Faults()
    found = load_knowledge(Project(ROOT), faults)
    faults.check()
    return found


def refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> str:
    """What `wheelgrid plan` says of a matrix that asks a toolkit for the impossible."""
    (tmp_path / "compat").symlink_to(ROOT / "compat")
    (tmp_path / "matrix.yaml").write_text(text, encoding="utf-8")
    assert run(["--root", str(tmp_path), "plan"]) == 2
    return capsys.readouterr().err


def test_volta_is_impossible_with_cuda_13(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """unslothai/unsloth#5876: CUDA 13 has no sm_70; its minimum is 7.5."""
    text = MATRIX.format(accelerator="cuda13.0", archs='["7.0", "7.5", "8.0"]', more="")
    error = refusal(tmp_path, capsys, text)
    assert "matrix.yaml:11:12: toolchains.cuda13.0.archs: '7.0'" in error
    assert "its minimum is 7.5" in error
    assert error.count("does not compile for") == 1


def test_a_renamed_target_and_too_old_a_glibc_are_two_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """conda-forge cuda130.yaml: sm_101 became sm_110, and the floor went from 2.17 to 2.28."""
    text = MATRIX.format(
        accelerator="cuda13.0", archs='["10.1"]', more="manylinux: manylinux2014_x86_64"
    )
    error = refusal(tmp_path, capsys, text)
    assert "'10.1': sm_101 has no meaning under cuda13.0: it was renamed sm_110" in error
    assert "write 11.0" in error
    assert "manylinux2014_x86_64 promises glibc 2.17, but cuda13.0 needs 2.28" in error
    assert "the minimum is manylinux_2_28" in error


@pytest.mark.parametrize(
    ("accelerator", "archs"),
    [
        ("cuda12.6", '["5.0", "7.0", "9.0a"]'),
        ("cuda13.0", '["7.5", "9.0a", "12.0+PTX"]'),
        ("cuda13.4", '["10.7"]'),
    ],
)
def test_what_a_toolkit_compiles_for_is_accepted(
    tmp_path: Path, accelerator: str, archs: str
) -> None:
    (tmp_path / "compat").symlink_to(ROOT / "compat")
    text = MATRIX.format(accelerator=accelerator, archs=archs, more="")
    (tmp_path / "matrix.yaml").write_text(text, encoding="utf-8")
    assert run(["--root", str(tmp_path), "plan"]) == 0


@pytest.mark.parametrize(
    ("arch", "values", "ptx", "runs"),
    [
        ("sm_86", ["sm_80"], [], True),
        ("sm_80", ["sm_86"], [], False),
        ("sm_90", ["sm_86"], [], False),
        ("sm_90", ["sm_86"], ["sm_80"], True),
        ("sm_70", ["sm_75"], ["sm_75"], False),
        ("sm_107", ["sm_100"], [], True),
        ("sm_110", ["sm_100", "sm_120"], [], False),
        ("sm_103", ["sm_100a"], [], False),
        ("gfx942", ["gfx942"], [], True),
        ("gfx950", ["gfx942"], [], False),
    ],
)
def test_code_runs_on_its_major_and_above_and_ptx_on_all_newer(
    arch: str, values: list[str], ptx: list[str], *, runs: bool
) -> None:
    assert has_code(arch, values, ptx) is runs


def test_dotted_archs_are_named_as_the_toolkit_names_them() -> None:
    names = ["7.5", "12.0+PTX", "10.3f", "gfx942"]
    assert [toolkit_target(n) for n in names] == ["sm_75", "sm_120", "sm_103f", "gfx942"]


def test_a_v100_gets_only_cells_whose_torch_has_code_for_it(knowledge: Knowledge) -> None:
    """A driver for CUDA 13 is not enough: no wheel for it has sm_70."""
    axes = stack_axes(
        torch=["2.14.1"],
        python=["3.12"],
        accelerator=["cpu", "cuda12.6", "cuda13.0"],
        platform=["linux_x86_64"],
        gpu_arch=["none", "sm_70", "sm_75", "gfx942"],
    )
    matrix = Matrix(name="m", title="m", axes=axes)
    plan = make_plan(matrix, {}, knowledge, as_of=date(2026, 12, 1))
    outcome = {
        (d.cell.axis("accelerator"), d.cell.axis("gpu_arch")): d.headline and d.headline.reason
        for d in plan.decisions
    }
    assert outcome["cuda12.6", "sm_70"] is None
    assert outcome["cuda13.0", "sm_70"] is Reason.ARCH_NOT_IN_TOOLKIT
    assert outcome["cuda13.0", "sm_75"] is None
    assert outcome["cuda13.0", "gfx942"] is Reason.ARCH_NOT_IN_TOOLKIT
    assert outcome["cpu", "none"] is None
    assert outcome["cpu", "sm_75"] is Reason.ARCH_NOT_IN_TOOLKIT
