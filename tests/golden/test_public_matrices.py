"""Real projects' matrices, written in our language, expand to exactly the cells that they have."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pytest

from wheelgrid.cli.main import run
from wheelgrid.config.files import Project
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.yaml import Faults
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.planning.checks import contradictions, refused
from wheelgrid.planning.plan import Plan, make_plan

FOLDER = Path(__file__).parent / "public-matrices"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
DAY = date(2026, 12, 1)


def digest(rows: Iterable[object]) -> str:
    """The digest of a set of cells, as the projects' own cells were digested."""
    lines = sorted(
        json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for row in rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def plan_of(name: str, channel: str = "", change: tuple[str, str] | None = None) -> Plan:
    """The plan of a file; a change is made in its text first."""
    faults = Faults()
    project = Project(FOLDER, name)
    if change is not None:
        text = (FOLDER / name).read_text(encoding="utf-8")
        assert change[0] in text
        project = Project(FOLDER, f"changed-{name}")
        project.matrix.write_text(text.replace(*change), encoding="utf-8")
    try:
        matrix = load_matrix(project, faults, channel=channel)
    finally:
        if change is not None:
            project.matrix.unlink()
    faults.check()
    assert matrix is not None
    faults.found += refused(matrix, {}, DAY)
    faults.check()
    return make_plan(matrix, {}, Knowledge(torch={}, accelerators={}), as_of=DAY)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_real_matrix_has_exactly_its_cells(name: str) -> None:
    expected = EXPECTED[name]
    plan = plan_of(expected["file"], expected["channel"])
    rows = [point.values for point in plan.points]
    assert len(rows) == expected["cells"]
    assert digest(rows) == expected["sha256"]
    assert contradictions(plan) == []
    assert plan.decided.size == len(rows) + sum(plan.excluded_by_reason().values())
    assert plan.decided.size == expected.get("product", plan.decided.size)
    for decision in plan.decisions:
        for ruling in decision.rulings:
            assert ruling.message
            assert ruling.sources[0].source
            assert ruling.sources[0].date.startswith("20")


def test_every_file_is_expected() -> None:
    assert {p.name for p in FOLDER.glob("*.yaml")} == {e["file"] for e in EXPECTED.values()}


@pytest.mark.parametrize("name", ["flash-attention-wheels", "test-infra-release-linux"])
def test_the_command_line_prints_the_same_cells(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = EXPECTED[name]
    root = str(FOLDER / expected["file"])
    channel = ["--channel", expected["channel"]] if expected["channel"] else []
    assert run(["--root", root, "plan", "--cells", *channel]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    derived = {"torch_cuda"}
    assert (
        digest([{k: v for k, v in r.items() if k not in derived} for r in rows])
        == (expected["sha256"])
    )


def test_the_toolkit_and_the_cuda_of_torch_are_two_facts() -> None:
    """Dao-AILab/flash-attention _build.yml: seven pairs, eight jobs each."""
    plan = plan_of("flash-attention-wheels.yaml")
    pairs = Counter(
        (d.cell.axis("torch-version"), d.cell.axis("cuda-version"), d.extra["torch_cuda"])
        for d in plan.decisions
        if d.included
    )
    assert pairs == {
        ("2.6.0", "12.9.1", "12.6"): 8,
        ("2.7.1", "12.9.1", "12.8"): 8,
        ("2.8.0", "12.9.1", "12.9"): 8,
        ("2.9.1", "12.9.1", "12.8"): 8,
        ("2.9.1", "13.0.1", "13.0"): 8,
        ("2.10.0", "12.9.1", "12.8"): 8,
        ("2.10.0", "13.0.1", "13.0"): 8,
    }


@pytest.mark.parametrize("patch", ["2.12.1", "2.12.2", "2.12.10"])
def test_a_patch_release_keeps_its_cells(patch: str) -> None:
    """Rules keyed by one patch version gave 69 cells for 2.12.1 and 104 for 2.12.2."""
    change = ('["2.11.0", "2.12.1", "2.13.0"]', f'["{patch}"]')
    found = plan_of("fa-prebuild-linux_no_container.yaml", change=change)
    only = [d for d in found.decisions if {r.rule for r in d.rulings} == {"matrix.fa3-built-once"}]
    assert (len(found.points), len(only)) == (57, 12)  # 69 cells before FA3 is built only once


def test_script_defaults_live_in_one_place() -> None:
    """pytorch/test-infra: script defaults 8 cells, workflow defaults 56, with XPU 64."""
    plan = plan_of("test-infra-linux.yaml", "nightly")
    points = plan.points
    assert len(points) == 64
    assert sum(p.axis("desired") != "xpu" for p in points) == 56
    assert sum(p.axis("python") == "3.10" for p in points) == 8
