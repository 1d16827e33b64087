"""The command line as users run it: documents, exit codes, clear errors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = pytest.mark.integration


def valid(document: str, schema: str) -> Any:  # noqa: ANN401 - parsed JSON
    """Parse a document and check it against a shipped schema."""
    text = files("wheelgrid").joinpath(f"schemas/{schema}.schema.json").read_text(encoding="utf-8")
    parsed = json.loads(document)
    jsonschema.validate(parsed, json.loads(text), jsonschema.Draft202012Validator)
    return parsed


def test_plan_json_follows_its_schema_and_two_runs_give_the_same_bytes(wheelgrid: Run) -> None:
    first = wheelgrid("plan", "--json", "--as-of", "2026-12-01")
    second = wheelgrid("plan", "--json", "--as-of", "2026-12-01")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert first.stderr == ""
    plan = valid(first.stdout, "plan")
    ids = [cell["id"] for cell in plan["cells"]]
    assert len(ids) == len(set(ids)) == plan["counts"]["candidates"] == 840
    counts = plan["counts"]
    assert counts["included"] + sum(counts["excluded_by_reason"].values()) == counts["candidates"]
    for cell in plan["cells"]:
        assert (cell["decision"] == "excluded") is bool(cell["rulings"])
        for ruling in cell["rulings"]:
            assert ruling["sources"], cell["id"]


def test_the_plan_changes_with_the_day_only_in_what_depends_on_it(wheelgrid: Run) -> None:
    early = json.loads(wheelgrid("plan", "--json", "--as-of", "2026-09-17").stdout)
    late = json.loads(wheelgrid("plan", "--json", "--as-of", "2026-12-01").stdout)
    assert [c["decision"] for c in early["cells"]] == [c["decision"] for c in late["cells"]]
    assert early["digest"] != late["digest"]


def test_plan_for_people_counts_and_draws(wheelgrid: Run) -> None:
    shown = wheelgrid("plan", "--as-of", "2026-12-01")
    assert shown.returncode == 0
    assert "840 candidates = " in shown.stdout
    assert "torch 2.15.0" in shown.stdout
    assert "S sunset" in shown.stdout


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            "torch2.15.0-cp310-linux_x86_64-cpu",
            ["EXCLUDED", "[sunset]", "2026-09-21", "2026-10-05", "pytorch/issues/197242"],
        ),
        (
            "torch2.14.1-cp312-win_amd64-cuda13.4",
            ["EXCLUDED", "no Windows", "https://github.com/pytorch/test-infra/pull/8477"],
        ),
        ("torch2.13.0-cp311-linux_x86_64-cpu", ["included", "torch-scatter: served by build"]),
    ],
)
def test_explain_names_reason_dates_and_sources(
    wheelgrid: Run, cell: str, words: list[str]
) -> None:
    shown = wheelgrid("explain", cell, "--as-of", "2026-12-01")
    assert shown.returncode == 0
    for word in words:
        assert word in shown.stdout
    document = valid(wheelgrid("explain", cell, "--json").stdout, "explain")
    assert document["id"] == cell


def test_explain_a_package(wheelgrid: Run) -> None:
    document = valid(wheelgrid("explain", "gridprobe", "--json").stdout, "explain")
    assert any(b["id"].endswith("-linux_x86_64-cuda13.0") for b in document["builds"])
    assert "libtorch-stable" in wheelgrid("explain", "gridprobe").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "torch2.14.1-cp399-linux_x86_64-cpu"], "3.99 is not on the python axis"),
        (["explain", "torch2.14.1-cp312-linux_x86-cpu"], "did you mean"),
        (["explain", "regx"], "did you mean 'regex'?"),
        (["plan", "--as-of", "yesterday"], "'yesterday' is not a date"),
        (["pln"], "did you mean 'plan'?"),
        (["test", "regx"], "'regx' names no package, cell or build"),
        (["build", "--tier", "nigthly"], "no tier 'nigthly'; known: nightly, presubmit"),
        (["audit", "missing.whl"], "no such file"),
        (["--root", "/", "plan"], "matrix.yaml: not found"),
    ],
)
def test_wrong_usage_is_one_clear_error_and_exit_2(
    wheelgrid: Run, arguments: list[str], words: str
) -> None:
    shown = wheelgrid(*arguments)
    assert shown.returncode == 2
    assert words in shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""


def test_all_faults_of_all_files_are_reported_together(wheelgrid: Run, project: Path) -> None:
    matrix = project / "matrix.yaml"
    text = matrix.read_text(encoding="utf-8")
    matrix.write_text(text.replace('["3.10", "3.11"]', "[3.10, 3.11]"), encoding="utf-8")
    recipe = project / "recipes" / "regex" / "recipe.yaml"
    recipe.write_text(recipe.read_text(encoding="utf-8") + "colour: red\n", encoding="utf-8")
    shown = wheelgrid("plan", cwd=project)
    assert shown.returncode == 2
    assert shown.stderr.count("without quotes is read as the number") == 2
    assert "recipes/regex/recipe.yaml" in shown.stderr
    assert "unknown key 'colour'" in shown.stderr


def test_doctor_says_what_is_here_and_follows_its_schema(wheelgrid: Run) -> None:
    document = valid(wheelgrid("doctor", "--json").stdout, "doctor")
    by_name = {check["name"]: check for check in document["checks"]}
    assert by_name["uv"]["status"] in {"ok", "missing"}
    for check in document["checks"]:
        if check["status"] in {"missing", "unknown"}:
            assert check["fix"]


def test_audit_json_follows_its_schema(wheelgrid: Run, tmp_path: Path) -> None:
    wheel = tmp_path / "x-1.0-py3-none-any.whl"
    wheel.write_bytes(b"no zip")
    shown = wheelgrid("audit", str(wheel), "--json")
    assert shown.returncode == 1
    document = valid(shown.stdout, "audit")
    assert document["wheels"][0]["outcome"] == "failed"


def test_reading_commands_write_nothing(wheelgrid: Run, project: Path) -> None:
    before = sorted(p.relative_to(project) for p in project.rglob("*"))
    for arguments in (["plan"], ["plan", "--json"], ["explain", "regex"], ["doctor"]):
        assert wheelgrid(*arguments, cwd=project).returncode in {0, 3}
    assert sorted(p.relative_to(project) for p in project.rglob("*")) == before


def test_a_closed_pipe_is_no_error(project: Path) -> None:
    command = "python -m wheelgrid plan --json | head -c 10"
    shown = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in shown.stderr


def test_render_check_finds_no_drift_here_and_says_the_repair(
    wheelgrid: Run, project: Path
) -> None:
    assert wheelgrid("render", "--check").returncode == 0
    shown = wheelgrid("render", "--check", cwd=project)
    assert shown.returncode == 1
    assert "run `wheelgrid render`" in shown.stderr
    assert "+++ rendered" in shown.stdout


def test_help_names_every_command_and_the_exit_codes(wheelgrid: Run) -> None:
    shown = wheelgrid("--help").stdout
    for name in ("plan", "explain", "build", "audit", "test", "report", "doctor"):
        assert f"\n  {name} " in shown
    assert "3 could not check" in " ".join(shown.split())


def test_report_json_follows_its_schema_and_names_unreadable_records(
    wheelgrid: Run, project: Path
) -> None:
    bad = project / ".wheelgrid" / "records" / "regex"
    bad.mkdir(parents=True)
    (bad / "x.json").write_text("{}", encoding="utf-8")
    document = valid(wheelgrid("report", "--json", cwd=project).stdout, "report")
    assert document["unreadable_records"][0]["file"] == ".wheelgrid/records/regex/x.json"
    assert sum(document["states"].values()) == 24
    page = (project / "site" / "index.html").read_text(encoding="utf-8")
    assert ".wheelgrid/records/regex/x.json" in page


def test_report_refuses_a_folder_that_it_did_not_write(wheelgrid: Run, project: Path) -> None:
    shown = wheelgrid("report", "--out", str(project), cwd=project)
    assert shown.returncode == 2
    assert "is not a site that wheelgrid wrote" in shown.stderr
    assert (project / "matrix.yaml").is_file()


def test_collect_keeps_what_was_seen_and_refuses_what_is_no_record(
    wheelgrid: Run, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = tmp_path_factory.mktemp("records")
    cell = "torch2.14.1-cp311-linux_x86_64-cpu"
    record = {
        "schema_version": 1,
        "kind": "observation",
        "package": "regex",
        "package_version": "1.0",
        "cell": cell,
        "build": "b",
        "key": "",
        "wheel": "",
        "wheel_sha256": "",
        "rungs": [{"rung": "built", "outcome": "failed", "why": "a compiler error"}],
        "provenance": {
            "time": "2026-12-01T00:00:00+00:00",
            "tool": "t",
            "platform": "linux_x86_64",
            "python": "3.11.7",
            "host": {},
            "inputs": {},
        },
    }
    names = {"good": record, "blind": {**record, "package": "blind"}, "evil": record}
    names["blind"]["rungs"] = [{"rung": "built", "outcome": "unknown", "why": "no network"}]
    names["evil"] = {**record, "package": "../../../evil"}
    (source / "any").mkdir()
    for name, document in names.items():
        (source / "any" / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    dry = wheelgrid("collect", "--from", str(source), "--dry-run", cwd=project)
    assert dry.stdout.startswith("1 records would be kept, 1 left out")
    shown = wheelgrid("collect", "--from", str(source), cwd=project)
    assert shown.returncode == 1, "an unreadable record is a failure"
    assert "evil.json" in shown.stderr
    runs = project / "compat" / "observations" / "runs"
    kept = [p.relative_to(runs).as_posix() for p in runs.rglob("*.json")]
    assert f"regex/{cell}.json" in kept
    assert not list(project.parent.glob("**/evil"))
    missing = wheelgrid("collect", "--from", str(source / "typo"), cwd=project)
    assert missing.returncode == 2


@pytest.mark.network
def test_observe_lists_the_wheels_of_the_default_index(wheelgrid: Run, project: Path) -> None:
    shown = wheelgrid("observe", "--dry-run", cwd=project)
    if shown.returncode == 3:
        pytest.skip("no package index can be reached")
    document = json.loads(shown.stdout)
    assert document["kind"] == "observation"
    assert "torch-2.14.1-cp310-cp310-manylinux_2_28_x86_64.whl" in document["files"]
    assert not any("2.15.0-cp310" in name for name in document["files"])
    assert not (project / ".wheelgrid").exists()


def test_a_defect_is_no_finding(project: Path) -> None:
    """Exit code 70 and a traceback: a crash must not read as 'found failures'."""
    code = (
        "import sys\n"
        "from wheelgrid.cli import main, plan\n"
        "plan.load_plan = lambda *a, **k: 1 / 0\n"
        "sys.exit(main.run(['plan']))\n"
    )
    import sys

    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 70
    assert "ZeroDivisionError" in shown.stderr
    assert "this is a defect of wheelgrid" in shown.stderr


def test_a_planned_cell_without_a_record_fails_the_collection(
    wheelgrid: Run, repository: Path, tmp_path: Path
) -> None:
    """FalkorDB/FalkorDB#2718: whether CI drops cells or fails is not to be relied on."""
    records = repository / "compat" / "observations" / "runs"
    recorded = sorted({path.stem for path in records.rglob("*.json")})
    job = {"id": "j", "name": "n", "runs_on": ["x"], "cells": recorded[:2]}
    planned = tmp_path / "matrix.json"
    planned.write_text(json.dumps({"include": [job]}) + "\n", encoding="utf-8")
    arguments = ("collect", "--dry-run", "--from", str(records), "--planned", str(planned))
    assert wheelgrid(*arguments).returncode == 0
    job["cells"] = [*recorded[:2], "torch2.15.0-cp313-linux_x86_64-cpu"]
    planned.write_text(json.dumps({"include": [job]}) + "\n", encoding="utf-8")
    found = wheelgrid(*arguments)
    assert found.returncode == 1
    assert "planned but not recorded: 1 cells" in found.stderr
    assert "torch2.15.0-cp313-linux_x86_64-cpu" in found.stderr
