"""Real projects' matrices, written in our language, expand to exactly the cells that they have."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path

import pytest

from wheelgrid.cli.main import run
from wheelgrid.config.files import Project
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.yaml import Faults
from wheelgrid.core.cell import Row
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


def plan_of(name: str, channel: str = "", *, folder: Path = FOLDER) -> Plan:
    """The plan of a file of the folder; refused as the command line refuses it."""
    faults = Faults()
    matrix = load_matrix(Project(folder, name), faults, channel=channel)
    faults.check()
    assert matrix is not None
    faults.found += refused(matrix, {}, DAY)
    faults.check()
    return make_plan(matrix, {}, Knowledge(torch={}, accelerators={}), as_of=DAY)


def changed(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    """A copy of the folder with changes in the text of one file."""
    copy = folder / "copy"
    shutil.copytree(FOLDER, copy)
    text = (copy / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (copy / name).write_text(text, encoding="utf-8")
    return copy


def marginals(rows: Iterable[Mapping[str, object]], axes: Iterable[str]) -> dict[str, object]:
    """How many rows each value of some axes has."""
    listed = list(rows)
    return {axis: Counter(str(row[axis]) for row in listed) for axis in axes}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_real_matrix_has_exactly_its_cells(name: str) -> None:
    expected = EXPECTED[name]
    plan = plan_of(expected["file"], expected["channel"])
    rows = [point.values for point in plan.points]
    assert len(rows) == expected["cells"]
    assert digest(rows) == expected["sha256"]
    counted = expected.get("marginals", {})
    assert marginals(rows, counted) == counted


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_nothing_vanishes_and_everything_has_a_reason(name: str) -> None:
    expected = EXPECTED[name]
    plan = plan_of(expected["file"], expected["channel"])
    assert contradictions(plan) == []
    assert plan.decided.size == len(plan.points) + sum(plan.excluded_by_reason().values())
    assert plan.decided.size == expected.get("product", plan.decided.size)
    assert len({d.cell.id for d in plan.decisions}) == plan.decided.size
    for decision in plan.decisions:
        assert Row.parse(decision.cell.id) == decision.cell
        for ruling in decision.rulings:
            assert ruling.message
            assert " at " in ruling.sources[0].source
            assert ruling.sources[0].date.startswith("20")


def test_every_file_is_expected() -> None:
    assert {p.name for p in FOLDER.glob("*.yaml")} == {e["file"] for e in EXPECTED.values()}


@pytest.mark.parametrize(
    "name",
    [
        "flash-attention-wheels",
        "test-infra-release-windows",
        "kernels-all",
        "rapids-wheels-test-nightly",
    ],
)
def test_the_command_line_prints_the_same_cells(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = EXPECTED[name]
    root = str(FOLDER / expected["file"])
    channel = ["--channel", expected["channel"]] if expected["channel"] else []
    assert run(["--root", root, "plan", "--cells", *channel]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (
        digest([{k: v for k, v in r.items() if k != "torch_cuda"} for r in rows])
        == (expected["sha256"])
    )
    run(["--root", root, "plan", "--list", *channel])
    listed = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert sum(outcome == "included" for _, outcome, _ in listed) == expected["cells"]
    assert all(rule for _, outcome, rule in listed if outcome != "included")


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
def test_a_patch_release_keeps_its_cells(patch: str, tmp_path: Path) -> None:
    """coverage_matrix.py: rules keyed by one patch gave 69 cells for 2.12.1, 104 for 2.12.2."""
    name = "fa-prebuild-linux_no_container.yaml"
    axis = ('["2.11.0", "2.12.1", "2.13.0"]', f'["{patch}"]')
    wheels = ("fa-prebuild-jobs.yaml", "fa-prebuild.yaml")
    folder = changed(tmp_path, name, axis, wheels)
    assert len(plan_of(name, folder=folder).points) == 69
    shutil.rmtree(folder)
    # FlashAttention 3 is built with one Python of five, so 12 wheels come from no job of their own.
    assert len(plan_of(name, folder=changed(tmp_path, name, axis)).points) == 57


def test_script_defaults_live_in_one_place() -> None:
    """pytorch/test-infra: script defaults 8 cells, workflow defaults 56, with XPU 64."""
    points = plan_of("test-infra-linux.yaml", "nightly").points
    assert len(points) == 64
    assert sum(p.axis("desired") != "xpu" for p in points) == 56
    assert sum(p.axis("python") == "3.10" for p in points) == 8


@pytest.mark.parametrize(
    ("system", "channel", "kept", "dropped"),
    [
        ("linux", "nightly", 10, 10),
        ("windows", "nightly", 5, 15),
        ("windows", "prerelease", 0, 15),
    ],
)
def test_rows_of_an_unsupported_family_are_dropped_by_name(
    system: str,
    channel: str,
    kept: int,
    dropped: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """configure_pytorch_release_matrix.py with the families 'gfx90c' only: rows disappear."""
    name = f"therock-pytorch-{system}.yaml"
    folder = changed(tmp_path, name, ("[gfx94X-dcgpu, gfx110X-all, gfx90c]", "[gfx90c]"))
    root = str(folder / name)
    assert run(["--root", root, "plan", "--channel", channel, "--list"]) == 0
    listed = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert sum(outcome == "included" for _, outcome, _ in listed) == kept
    gone = [(cell, rule) for cell, outcome, rule in listed if outcome == "policy"]
    assert len(gone) == dropped
    assert {rule for _, rule in gone} == {"matrix.gfx90c-not-in-this-ref"}
    run(["--root", root, "explain", "--channel", channel, gone[0][0]])
    said = capsys.readouterr().out
    assert "EXCLUDED" in said
    assert "ROCm/TheRock build_tools/github_actions/configure_pytorch_release_matrix.py" in said


@pytest.mark.parametrize(
    ("tier", "families", "cells"), [("presubmit", 4, 9), ("postsubmit", 5, 12), ("nightly", 14, 30)]
)
def test_tiers_of_rows_are_chosen_by_their_condition(
    tier: str, families: int, cells: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """amdgpu_family_matrix.py: a later trigger runs the families of the earlier ones too."""
    root = str(FOLDER / "therock-families.yaml")
    run(["--root", root, "plan", "--coverage", "full", "--tier", tier, "--json"])
    found = [Row.parse(c["id"]) for c in json.loads(capsys.readouterr().out)["cells"]]
    assert len(found) == cells
    assert len({point.axis("family") for point in found}) == families


def test_a_derived_attribute_may_be_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--root", str(FOLDER / "therock-families.yaml"), "plan", "--cells"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    by_family = {(r["family"], r["platform"]): r["fetch_gfx_targets"] for r in rows}
    assert by_family["gfx120X-all", "windows"] == ["gfx1200", "gfx1201"]
    assert by_family["gfx906", "linux"] == []
    assert sum("test_runs_on" not in r for r in rows) == 13
