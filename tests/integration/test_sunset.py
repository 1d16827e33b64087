"""`wheelgrid sunset`, on the shipped matrix and on real projects."""

from __future__ import annotations

import json
import os
import shutil
from datetime import date
from pathlib import Path

import jsonschema
import pytest
from packaging.version import Version

from wheelgrid.cli.main import run
from wheelgrid.core.condition import Condition
from wheelgrid.core.errors import WheelgridError
from wheelgrid.core.recipe import Recipe, SdistSource
from wheelgrid.engines.process import Processes
from wheelgrid.engines.sources import fetch_sdist
from wheelgrid.engines.uv import Uv
from wheelgrid.planning.plan import Plan, make_plan
from wheelgrid.planning.sunsets import sunset_reports

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
    assert "now: nightlies end since week of 2026-09-21; next: CI removed week of" in out
    assert "build: on" in out
    assert "serve: on: published wheels stay on the index, and torch 2.14 is the last ver" in out
    assert "cells: 34 included, 25 gone" in out


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


def test_the_build_switch_is_shown_and_takes_builds_but_no_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S05: dropping 3.10 from building leaves the old wheels on the index and the page."""
    project = tmp_path / "project"
    for name in ("matrix.yaml", "compat", "recipes"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        project.mkdir(exist_ok=True)
        copy(source, project / name)
    path = project / "compat" / "lifecycle.yaml"
    head = '    last_release: "2.14"\n'
    text = path.read_text("utf-8").replace(head, f'{head}    build_until: "2026-11-01"\n', 1)
    path.write_text(text, encoding="utf-8")
    common = ["--root", str(project)]
    assert run([*common, "sunset", "--as-of", "2026-12-01"]) == 1
    out = capsys.readouterr().out
    assert "    build: off since 2026-11-01\n    serve: on: published wheels stay" in out
    cell = "torch2.14.1-cp310-linux_x86_64-cpu"
    assert run([*common, "explain", cell, "--as-of", "2026-12-01"]) == 0
    out = capsys.readouterr().out
    assert "no build: python 3.10 is not built after 2026-11-01" in out
    assert run([*common, "sunset", "--as-of", "2026-12-01", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, SCHEMA)
    [old] = [s for s in document["sunsets"] if s["id"] == "python-3.10"]
    assert (old["build"], old["serve"]) == (False, True)
    assert cell in old["included"]


FILES: list[dict[str, object]] = [
    {"filename": "x-1.0-py3-none-any.whl", "requires-python": ">=3.8", "hashes": {}},
    {"filename": "x-1.1-py3-none-any.whl", "hashes": {}},
    {"filename": "x-1.2-py3-none-any.whl", "requires-python": ">=3.11", "hashes": {}},
]


def page_of(path: Path, files: list[dict[str, object]]) -> Path:
    document = {"meta": {"api-version": "1.1"}, "name": "x", "files": files}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_page_of_releases_gives_both_actions_and_what_pip_picks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S04: publishing N+1 with a range is not enough; the N without one must be yanked."""
    page = page_of(tmp_path / "page.json", FILES[:2])
    status, out = sunset(capsys, "--as-of", "2026-09-25", "--files", str(page))
    assert status == 1
    assert "1. publish x 1.2 (or whatever comes after 1.1) with Requires-Python: >=3.11" in out
    assert "2. yank x 1.1: without Requires-Python it cannot be repaired" in out
    assert "before:              x-1.1-py3-none-any.whl" in out
    assert "with the new floor:  x-1.1-py3-none-any.whl" in out
    assert "after the yank:      x-1.0-py3-none-any.whl" in out
    page_of(page, FILES)
    status, out = sunset(capsys, "--as-of", "2026-09-25", "--files", str(page), "--json")
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    [plan] = document["releases"]
    assert (status, plan["publish"]["version"], plan["yank"]) == (1, "", ["1.1"])


def test_releases_in_order_need_nothing_and_names_alone_do_not_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, names = page_of(tmp_path / "page.json", FILES[::2]), tmp_path / "names.txt"
    names.write_text("x-1.0-py3-none-any.whl\n", encoding="utf-8")
    assert sunset(capsys, "--as-of", "2026-09-25", "--files", str(page))[0] == 0
    status, out = sunset(capsys, "--as-of", "2026-09-25", "--files", str(names))
    assert status == 3
    assert "the list does not say Requires-Python of: 1.0" in out


def test_a_project_that_relies_on_nothing_is_good_and_one_that_does_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\nname = "x"\nrequires-python = ">=3.11"\n', encoding="utf-8")
    (tmp_path / "tox.ini").write_bytes(b"\xff")
    arguments = ("--as-of", "2026-09-25", "--project", str(tmp_path))
    status, out = sunset(capsys, *arguments)
    assert status == 0
    assert "not read: tox.ini: not UTF-8: byte 0" in out
    path.write_text('[project]\nname = "x"\nrequires-python = ">=3.10"\n', encoding="utf-8")
    status, out = sunset(capsys, *arguments)
    assert status == 1
    assert "pyproject.toml:3:20: floor [python-3.10]: '>=3.10' still admits Python 3.10" in out
    assert '    fix: write requires-python = ">=3.11"' in out
    status, out = sunset(capsys, *arguments, "--json")
    document = json.loads(out)
    jsonschema.validate(document, SCHEMA)
    assert document["not_searched"] == ["volta-cuda12.8"]
    # Before the announcement there is nothing to look for.
    early = ("--as-of", "2025-01-01", "--within", "0", "--project", str(tmp_path))
    assert sunset(capsys, *early)[0] == 0


def test_only_unreadable_files_could_not_be_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tox.ini").write_bytes(b"\xff")
    assert run(["--root", str(ROOT), "sunset", "--project", str(tmp_path)]) == 3
    assert "tox.ini: not UTF-8" in capsys.readouterr().err


def test_two_questions_at_once_are_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--project", str(tmp_path), "--files", str(tmp_path)]
    assert run(["--root", str(ROOT), "sunset", *arguments]) == 2
    assert "give one" in capsys.readouterr().err


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
    arguments = ("--as-of", "2026-09-25", "--project", str(archive), "--json")
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
    assert document["unread"] == document["unknown"] == []
