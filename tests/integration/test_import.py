"""`wheelgrid import` as users run it: what goes where, exit codes, files."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from wheelgrid.cli.import_ import KINDS
from wheelgrid.cli.main import run
from wheelgrid.importers.report import Level

WORKFLOW = """\
on:
  create:
    tags: [v*]
jobs:
  wheels:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [ubuntu-22.04, windows-2022]
        torch: ['2.12.1']
        exclude:
          - {os: macos-14}
  images:
    strategy:
      matrix:
        os: [ubuntu-22.04]
        image: ${{ fromJSON(needs.list.outputs.images) }}
"""
BAD = """\
on: push
jobs:
  wheels:
    strategy:
      matrix:
        python: [3,6, 3,7, 3.9, 3.10]
"""


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    path = tmp_path / "ci.yml"
    path.write_text(WORKFLOW, encoding="utf-8")
    return path


def test_stdout_holds_the_document_and_nothing_else(
    workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """M13: everything else goes to stderr."""
    assert run(["import", "github-workflow", str(workflow), "--job", "wheels"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("# Imported by wheelgrid from ci.yml, job wheels.\n")
    assert str(workflow.parent) not in shown.out
    assert "matches nothing and is dropped: os has no value 'macos-14'" in shown.err
    assert "the event 'create' has no filter 'tags'" in shown.err
    assert "expands to the same 2 cells" in shown.err


def test_the_same_file_gives_the_same_bytes(
    workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["import", "github-workflow", str(workflow), "--json", "--as-of", "2026-12-01"]
    run(arguments)
    first = capsys.readouterr().out
    run(arguments)
    assert capsys.readouterr().out == first


def test_one_job_that_cannot_be_expanded_leaves_the_others(
    workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3, and the other job is printed."""
    assert run(["import", "github-workflow", str(workflow)]) == 3
    shown = capsys.readouterr()
    assert 'name: "wheels"' in shown.out
    assert "images" not in shown.out
    assert "ci.yml:17:16: images: unknown: could not expand: expression" in shown.err


def test_json_follows_its_schema(workflow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "github-workflow", str(workflow), "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    schema = files("wheelgrid").joinpath("schemas/import.schema.json").read_text(encoding="utf-8")
    parsed = json.loads(schema)
    jsonschema.validate(document, parsed, jsonschema.Draft202012Validator)
    outcomes = {m["job"]: m["outcome"] for m in document["matrices"]}
    assert outcomes == {"wheels": "imported", "images": "unknown"}
    properties = parsed["properties"]
    assert properties["kind"]["enum"] == list(KINDS)
    levels = properties["findings"]["items"]["properties"]["level"]["enum"]
    assert levels == [str(level) for level in Level]


def test_a_mistake_in_the_file_exits_2_with_every_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """M01 and M02."""
    path = tmp_path / "ci.yml"
    path.write_text(BAD, encoding="utf-8")
    assert run(["import", "github-workflow", str(path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("number where a version string is required") == 6
    assert f"{path}:6:33: wheels: error:" in shown.err
    assert 'YAML reads 3.10 as 3.1; write "3.10"' in shown.err


def test_out_is_written_once_and_replaced_only_by_force(
    workflow: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "matrix.yaml"
    arguments = ["import", "github-workflow", str(workflow), "--job", "wheels", "--out", str(out)]
    assert run(arguments) == 0
    assert capsys.readouterr().out == ""
    assert out.read_text(encoding="utf-8").startswith("# Imported")
    out.write_text("mine", encoding="utf-8")
    assert run(arguments) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"
    assert run([*arguments, "--force"]) == 0
    assert out.read_text(encoding="utf-8").startswith("# Imported")
    assert os.listdir(out.parent) == ["matrix.yaml"]  # noqa: PTH208 - dot files too


def test_out_asks_for_one_job(workflow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = workflow.parent / "matrix.yaml"
    assert run(["import", "github-workflow", str(workflow), "--out", str(out)]) == 2
    assert "choose --job of wheels, images" in capsys.readouterr().err
    assert not out.exists()


def test_strict_takes_warnings_for_findings(
    workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """M29: the ignored filter of `create` fails a check."""
    arguments = ["import", "github-workflow", str(workflow), "--job", "wheels", "--strict"]
    assert run(arguments) == 1
    assert "ignores it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["kernels", "build.toml"], "kernels needs --versions FILE"),
        (["conda_build_config", "c.yaml"], "needs --platform: one of linux-64"),
        (["conda_build_config", "c.yaml", "--platform", "linux-64", "--set", "x"], "NAME=VALUE"),
        (["github-workflow", "missing.yml"], "cannot be read: No such file"),
        (["jenkins", "x"], "github-workflow"),
        (["github-workflow", "empty.yml"], "is empty"),
        (["github-workflow", "list.yml"], "has no jobs"),
        (["github-workflow", "latin.yml"], "is not UTF-8"),
    ],
)
def test_wrong_use_exits_2(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.yml").write_text("", encoding="utf-8")
    (tmp_path / "list.yml").write_text("- a\n", encoding="utf-8")
    (tmp_path / "latin.yml").write_bytes(b"on: \xe9")
    assert run(["import", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_matrix_that_would_not_expand_to_the_same_cells_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An object with a key `value` means something else in our language: said, not written."""
    path = tmp_path / "ci.yml"
    text = "on: push\njobs: {b: {strategy: {matrix: {os: [{value: x, a: b}, y]}}}}\n"
    path.write_text(text, encoding="utf-8")
    assert run(["import", "github-workflow", str(path)]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "could not import: 2 cells are written, 2 expected; the first that differs" in shown.err
