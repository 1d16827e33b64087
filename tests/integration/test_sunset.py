"""`wheelgrid sunset`, on the shipped matrix and on real projects."""

from __future__ import annotations

import json
import os
import tarfile
from datetime import date, timedelta
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from wheelgrid.cli.main import run
from wheelgrid.core.condition import Condition
from wheelgrid.core.errors import WheelgridError
from wheelgrid.core.recipe import Recipe, SdistSource
from wheelgrid.engines.process import Processes
from wheelgrid.engines.sources import fetch_sdist
from wheelgrid.engines.uv import Uv
from wheelgrid.planning.plan import Plan, make_plan
from wheelgrid.planning.sunsets import State, state_of, sunset_reports

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "src/wheelgrid/schemas/sunset.schema.json").read_text("utf-8"))
pytestmark = pytest.mark.integration


def sunset(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = run(["--root", str(ROOT), "sunset", *arguments])
    return status, capsys.readouterr().out


def test_stages_that_are_due_are_marked_with_their_days(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = sunset(capsys, "--as-of", "2026-09-25", "--within", "30")
    assert status == 1
    assert "python-3.10: python 3.10, under way; torch 2.14 is the last line with it" in out
    assert "  * CI removed      week of 2026-09-28 in 3 days" in out
    assert "    end of life     2026-10-31         in 36 days" in out
    assert "pytorch/pytorch/issues/197242" in out
    assert "published wheels stay on the index" in out


def test_before_anything_is_announced_nothing_is_due(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = sunset(capsys, "--as-of", "2026-01-01", "--within", "0", "--json")
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    assert {s["state"] for s in document["sunsets"]} == {"not announced"}
    assert status == 0


def test_cells_that_are_gone_are_those_the_plan_excludes_for_it(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(sunset(capsys, "--as-of", "2026-12-01", "--json")[1])
    by_id = {s["id"]: s for s in document["sunsets"]}
    assert "torch2.15.0-cp310-linux_x86_64-cpu" in by_id["python-3.10"]["gone"]
    assert "torch2.14.1-cp310-linux_x86_64-cpu" in by_id["python-3.10"]["included"]
    assert sum(len(s["gone"]) for s in document["sunsets"]) == plan.excluded_by_reason()["sunset"]


@given(st.dates(date(2026, 1, 1), date(2027, 12, 31)), st.integers(0, 500))
@settings(max_examples=60)
def test_a_later_day_never_goes_back(plan: Plan, as_of: date, later: int) -> None:
    order = list(State)
    for one in plan.knowledge.sunsets:
        then = state_of(one, as_of + timedelta(days=later))
        assert order.index(then) >= order.index(state_of(one, as_of))


def test_what_is_due_is_a_function_of_the_day_alone(plan: Plan) -> None:
    day = make_plan(plan.matrix, plan.recipes, plan.knowledge, as_of=date(2026, 9, 25))
    reports = {r.sunset.id: r for r in sunset_reports(day, within=30)}
    due = [str(stage.name) for stage in reports["python-3.10"].due]
    assert due == ["ci_removed", "last_release", "branch_cut"]
    assert [str(s.name) for s in sunset_reports(day, within=0)[0].due] == []


def test_a_folder_with_nothing_to_read_could_not_be_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("python 3.10", encoding="utf-8")
    assert run(["--root", str(ROOT), "sunset", "--project", str(tmp_path)]) == 3
    assert "no file that can pin a version could be read" in capsys.readouterr().err


REAL = [
    (
        "torch-scatter",
        "2.1.2",
        "torch_scatter-2.1.2.tar.gz",
        "69b3aa435f2424ac6a1bfb6ff702da6eb73b33ca0db38fb26989c74159258e47",
        {
            (".github/workflows/building.yml", 14, "pin"),
            (".github/workflows/building-conda.yml", 15, "pin"),
            ("setup.cfg", 10, "claim"),
            ("setup.py", 129, "floor"),
        },
    ),
    (
        "causal-conv1d",
        "1.5.3.post1",
        "causal_conv1d-1.5.3.post1.tar.gz",
        "aba1b717484472d0b2f2e40520a1c03f35fe5155555bd753d1c324afc56ba468",
        {
            ("pyproject.toml", 2, "silent-downgrade"),
            ("setup.py", 386, "floor"),
            ("setup.py", 388, "silent-downgrade"),
        },
    ),
    (
        "mamba-ssm",
        "2.2.6.post3",
        "mamba_ssm-2.2.6.post3.tar.gz",
        "826a3cdb651959f191dac64502f8a29627d9116fe6bb7c57e4f562da1aea7bf3",
        {
            ("pyproject.toml", 9, "floor"),
            ("pyproject.toml", 19, "silent-downgrade"),
            ("pyproject.toml", 43, "silent-downgrade"),
            ("setup.py", 393, "floor"),
            ("setup.py", 395, "silent-downgrade"),
        },
    ),
]


@pytest.mark.parametrize(
    ("name", "version", "filename", "sha256", "expected"), REAL, ids=[r[0] for r in REAL]
)
def test_a_real_sdist_that_still_claims_3_10(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    version: str,
    filename: str,
    sha256: str,
    expected: set[tuple[str, int, str]],
) -> None:
    """Each finding was read in the file by hand. Nothing of the sdist is run."""
    recipe = Recipe(
        name=name,
        version=Version(version),
        summary="",
        source=SdistSource(filename=filename, sha256=sha256),
        folder=name,
        abi={},
        when=Condition(),
        extensions={},
        requires={},
        env={},
    )
    processes = Processes(os.environ)
    try:
        archive = fetch_sdist(
            recipe,
            SdistSource(filename=filename, sha256=sha256),
            tmp_path / "cache",
            uv=Uv(processes, dict(os.environ)),
            log=tmp_path / "log",
        )
    except WheelgridError as error:
        pytest.skip(f"no package index can be reached: {str(error)[:80]}")
    finally:
        processes.close()
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "tree", filter="data")
    [folder] = (tmp_path / "tree").iterdir()
    arguments = ("--as-of", "2026-09-25", "--project", str(folder), "--json")
    status, out = sunset(capsys, *arguments)
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    assert status == 1
    found = {
        (f["file"], f["line"], f["kind"])
        for f in document["findings"]
        if f["sunset"] == "python-3.10"
    }
    assert found == expected
    assert document["unread"] == []
