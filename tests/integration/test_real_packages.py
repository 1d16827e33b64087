"""Real sdists from the user's index, built for real; skipped where torch cannot be had."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = [pytest.mark.integration, pytest.mark.network]

CELL = "torch2.13.0-cp311-linux_x86_64-cpu"


@pytest.fixture
def stack(tmp_path: Path, repository: Path) -> Path:
    """A copy of the shipped project without its builds."""
    for name in ("compat", "recipes"):
        shutil.copytree(repository / name, tmp_path / name)
    shutil.copy(repository / "matrix.yaml", tmp_path)
    return tmp_path


def unless_unreachable(shown: subprocess.CompletedProcess[str]) -> str:
    """The output; a skip where the machine could not look."""
    if shown.returncode == 3:
        reason = next((x.strip() for x in shown.stdout.splitlines() if "could not" in x), "")
        pytest.skip(f"could not check here: {reason[:120]}")
    return shown.stdout


def test_the_quiet_trap_of_torch_linear_assignment_fails_its_audit(
    wheelgrid: Run, stack: Path
) -> None:
    """Asked for its extension but not told to build it, the sdist gives a pure wheel."""
    recipe = stack / "recipes" / "torch-linear-assignment" / "recipe.yaml"
    text = recipe.read_text(encoding="utf-8")
    for old, new in (
        ('abi: {"*": pure, "cuda*": libtorch}', 'abi: {"*": libtorch}'),
        ('extensions: {"cuda*":', 'extensions: {"*":'),
    ):
        assert old in text
        text = text.replace(old, new)
    recipe.write_text(text, encoding="utf-8")
    shown = wheelgrid("build", f"torch-linear-assignment@{CELL}", cwd=stack)
    output = unless_unreachable(shown)
    assert shown.returncode == 1
    assert "WG301" in output
    assert "torch_linear_assignment._backend is missing; the wheel is pure" in output
    assert not list((stack / "dist").glob("*/*.whl"))


def test_gridprobe_is_built_for_cpu_and_its_errors_arrive_as_exceptions(
    wheelgrid: Run, stack: Path
) -> None:
    shown = wheelgrid("test", f"gridprobe@{CELL}", cwd=stack)
    output = unless_unreachable(shown)
    assert shown.returncode == 0, output
    (wheel,) = (stack / "dist" / "cpu").glob("*.whl")
    assert wheel.name.startswith("gridprobe-0.1.0+cpu-cp311-abi3-manylinux_")
    record = (stack / ".wheelgrid" / "records" / "gridprobe" / f"{CELL}.json").read_text()
    for check in ("thrown_by_kernel", "opcheck", "cpu_float32"):
        assert f'"name": "{check}"' in record


def test_an_sdist_is_fetched_by_hash_and_built(wheelgrid: Run, stack: Path) -> None:
    shown = wheelgrid("test", f"regex@{CELL}", cwd=stack)
    output = unless_unreachable(shown)
    assert shown.returncode == 0, output
    (archive,) = (stack / ".wheelgrid" / "sources").glob("*/regex-*.tar.gz")
    assert archive.parent.name in (stack / "recipes/regex/recipe.yaml").read_text(encoding="utf-8")
