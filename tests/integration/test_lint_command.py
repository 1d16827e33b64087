"""`wheelgrid lint` as a user runs it: output, exit codes, JSON by its schema."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from wheelgrid.cli.main import run

CLAIM = 'kind: claim, source: "https://example.org/page", date: "2026-09-01"'
AS_OF = ("--as-of", "2026-12-01")


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    return project


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = run(["lint", "--json", *AS_OF, *arguments])
    found = json.loads(capsys.readouterr().out)
    schema = files("wheelgrid").joinpath("schemas/lint.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(found, json.loads(schema))
    return code, found


def test_findings_are_printed_as_compilers_do(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = inside / "compat" / "torch" / "9.9.9.yaml"
    path.write_text(
        'torch: "9.9.9"\nstatements:\n'
        "  - {id: a, says: cxx_standard, value: '20', kind: claim, source: hearsay, "
        "date: '2026-09-01'}\n",
        encoding="utf-8",
    )
    assert run(["lint", *AS_OF, "--rule", "CP001"]) == 1
    out, err = capsys.readouterr()
    assert out == (
        "compat/torch/9.9.9.yaml:3:67: CP001 error torch 9.9.9.a: is a claim, but its source "
        "'hearsay' is not an address (give the page, issue or file (with its commit) that says "
        "so)\n"
    )
    assert err == "1 error, 0 warning, 0 info (from 1 rules)\n"


def test_claims_and_the_index_are_compared(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case T01: claimed 3.7 to 3.9, the index has 3.8 to 3.11."""
    (inside / "compat" / "torch" / "2.0.9.yaml").write_text(
        'torch: "2.0.9"\nstatements:\n'
        "  - {id: page, says: pythons, platforms: [linux_x86_64], "
        f'values: ["3.7", "3.8", "3.9"], {CLAIM}}}\n',
        encoding="utf-8",
    )
    (inside / "compat" / "observations" / "index" / "torch-old.json").write_text(
        json.dumps(
            {
                "observed": "2026-12-01T00:00:00+00:00",
                "files": [
                    f"torch-2.0.9-cp3{m}-cp3{m}-manylinux2014_x86_64.whl" for m in (8, 9, 10, 11)
                ],
            }
        ),
        encoding="utf-8",
    )
    code, found = document(capsys, "--rule", "cp007", "--strict")
    (finding,) = [f for f in found["findings"] if f["path"] == "torch 2.0.9.page"]
    assert code == 1
    assert "claimed but absent: 3.7; present but not claimed: 3.10, 3.11" in finding["message"]
    assert finding["severity"] == "warning"
    assert (finding["line"], finding["file"]) == (3, "compat/torch/2.0.9.yaml")


def test_the_report_shows_claims_that_the_index_refutes(inside: Path) -> None:
    """Case T01: the page has both lists, for the releases on the matrix."""
    assert run(["report", *AS_OF]) == 0
    page = (inside / "site" / "index.html").read_text("utf-8")
    assert "Claims that were refuted" in page
    assert (
        "Pythons of torch 2.14.1 on linux_aarch64, linux_x86_64, macosx_arm64, win_amd64: claimed "
        "but absent: 3.15, 3.15t; present but not claimed: 3.14t" in page
    )
    assert "torch 2.13.0 on" not in page


def test_a_gap_that_a_nightly_closed_must_say_so_and_is_then_shown(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case T08: missing on 2.13, present in the 2.14 nightly."""
    path = inside / "compat" / "features" / "xpu-flash-attention-head-dim-256.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('    closed_by: "2.14"\n', ""), encoding="utf-8")
    code, found = document(capsys, "--rule", "CP004")
    assert code == 1
    assert found["findings"][0]["hint"] == 'add closed_by: "2.14"'
    path.write_text(text, encoding="utf-8")
    assert document(capsys, "--rule", "CP004")[0] == 0
    assert run(["report", *AS_OF]) == 0
    page = (inside / "site" / "f" / path.stem / "index.html").read_text("utf-8")
    assert "closed by torch 2.14" in page


def test_absent_by_design_names_what_serves_instead(
    inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case T07: not applicable (has replacement X), missing and broken are three states."""
    path = inside / "compat" / "features" / "operators.yaml"
    states = ("not_applicable, replacement: ck", "missing", "broken")
    rows = "".join(
        f"  - {{id: s{n}, says: status, torch: '2.14', accelerator: 'rocm*', status: {state}, "
        f"detail: absent, {CLAIM}}}\n"
        for n, state in enumerate(states)
    )
    head = (
        "feature: operators\ntitle: Operators\nsummary: s\nsince: '2.0'\nstability: stable\n"
        "accelerators: ['rocm*']\nstatements:\n"
    )
    path.write_text(head + rows, encoding="utf-8")
    assert run(["report", *AS_OF]) == 0
    page = (inside / "site" / "f" / "operators" / "index.html").read_text("utf-8")
    for words in ("not applicable", "instead:", "missing", "broken"):
        assert words in page
    path.write_text((head + rows).replace(", replacement: ck", ""), encoding="utf-8")
    capsys.readouterr()
    assert run(["lint", *AS_OF]) == 2
    assert "not_applicable must name what serves instead" in capsys.readouterr().err


@pytest.mark.usefixtures("inside")
def test_the_shipped_compat_passes_in_another_project(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, found = document(capsys)
    errors = [f for f in found["findings"] if f["severity"] == "error"]
    assert (code, errors) == (0, [])
    assert found["counts"]["warning"] > 0


@pytest.mark.usefixtures("inside")
def test_the_same_input_gives_the_same_bytes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["lint", "--json", *AS_OF])
    first = capsys.readouterr().out
    run(["lint", "--json", *AS_OF])
    assert capsys.readouterr().out == first


def test_rules_are_listed_without_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["lint", "--list"]) == 0
    assert "CP001  error" in capsys.readouterr().out
    code, found = document(capsys, "--list", "--rule", "CP001")
    assert (code, [rule["id"] for rule in found["rules"]]) == (0, ["CP001"])


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rule", "CP01"], "did you mean 'CP0"),
        (["--as-of", "soon"], "is not a date"),
        (["--stale-after", "0"], "is not in the range"),
    ],
)
def test_a_wrong_command_line_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["lint", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torch: [", "is not YAML"),
        ('torch: "2.14.1"\nstatements:\n  - {id: a, says: pythons}\n', "missing key 'kind'"),
        ("a: &x 1\nb: *x\n", "uses a YAML alias"),
        ("- " * 60 + "x\n", "nested deeper"),
        ("only words\n", "expected a mapping"),
    ],
)
def test_files_that_do_not_decode_are_bad_input(
    inside: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    (inside / "compat" / "torch" / "bad.yaml").write_text(text, encoding="utf-8")
    assert run(["lint", *AS_OF]) == 2
    assert words in capsys.readouterr().err
