"""What goes wrong when people write matrices, through the command line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from wheelgrid.cli.main import run
from wheelgrid.planning.github import read_outputs

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.integration
HEAD = 'schema: "1"\nname: m\n'


class Line:
    """A project of one matrix file, and the command line on it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def __call__(self, text: str, *arguments: str) -> tuple[int, str, str]:
        (self.folder / "matrix.yaml").write_text(text, encoding="utf-8")
        status = run(["--root", str(self.folder), *arguments])
        shown = self.capsys.readouterr()
        return status, shown.out, shown.err

    def cells(self, text: str) -> list[dict[str, object]]:
        status, out, err = self(text, "plan", "--cells")
        assert status == 0, err
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Line:
    return Line(tmp_path, capsys)


def test_an_unquoted_version_is_refused_with_what_it_is_read_as(line: Line) -> None:
    """actions/setup-python#695: 3.10 arrives as 3.1."""
    status, out, err = line(HEAD + "axes: {python: [3.9, 3.10, 3.11]}\n", "plan")
    assert (status, out) == (2, "")
    assert "matrix.yaml:3:22: axes.python[1]: expected a string, but 3.10 without quotes" in err
    assert "is read as the number 3.1" in err
    assert 'write "3.10"' in err


def test_every_number_is_reported_at_once(line: Line) -> None:
    """actions/runner#2015: commas typed for dots."""
    status, _, err = line(HEAD + "axes: {python: [3,6, 3,7, 3.9, 3.10]}\n", "plan")
    assert status == 2
    for text in ("3 without", "6 without", "7 without", "3.9 without", "3.10 without"):
        assert text in err
    assert err.count("without quotes is read as") == 6


@pytest.mark.parametrize(("sizes", "shards"), [((16, 4, 3, 2), 2), ((257,), 2), ((20, 20, 2), 4)])
def test_more_than_256_jobs_are_refused_packed_or_split_and_never_lost(
    line: Line, sizes: tuple[int, ...], shards: int
) -> None:
    """cryfs/cryfs#543 (384 jobs) and FalkorDB/FalkorDB#2718 (257)."""
    axes = "".join(
        f"  a{n}: [{', '.join(f'v{i}' for i in range(size))}]\n" for n, size in enumerate(sizes)
    )
    text = f"{HEAD}axes:\n{axes}runners: {{all: {{runs_on: ubuntu-24.04}}}}\n"
    count = 1
    for size in sizes:
        count *= size
    status, out, err = line(text, "plan", "--github-matrix")
    assert (status, out) == (2, "")
    assert f"{count} jobs > 256" in err
    assert f"ceil({count}/256) = {shards}" in err
    assert f"a0 {sizes[0]}" in err
    status, out, _ = line(text, "plan", "--github-matrix", "--shards", "split")
    assert (status, len(out.splitlines())) == (0, shards)
    again = line(text, "plan", "--github-matrix", "--shards", "split")[1]
    assert again == out
    for how in ("split", "pack"):
        _, out, _ = line(text, "plan", "--github-matrix", "--shards", how)
        jobs = [job for text in out.splitlines() for job in json.loads(text)["include"]]
        cells = [cell for job in jobs for cell in job["cells"]]
        assert len(cells) == len(set(cells)) == count
        assert all(len(json.loads(text)["include"]) <= 256 for text in out.splitlines())


def test_an_exclusion_on_a_key_that_is_no_axis_is_refused(line: Line) -> None:
    """actions/runner#2111."""
    text = HEAD + (
        "axes: {service: [a]}\ninclude: [{service: a, build: false}]\nexclude:\n"
        "  - {id: x, when: {build: false}, reason: r, source: s, date: '2026-12-01'}\n"
    )
    status, _, err = line(text, "plan")
    assert status == 2
    assert "unknown axis 'build': only `include` brings it, after all exclusions" in err
    status, _, err = line(text.replace("axes: {service: [a]}\n", ""), "plan")
    assert status == 2
    assert "unknown axis 'build': only `include` brings it, after all exclusions" in err
    added = text.replace("axes: {service: [a]}\n", "").replace("include:", "add:")
    assert line.cells(added) == []


def test_part_of_an_object_value_excludes(line: Line) -> None:
    """rhysd/actionlint#249."""
    text = HEAD + (
        "axes:\n  os: [{name: Windows, matrix: windows}, {name: Linux, matrix: linux}]\n"
        "exclude:\n"
        "  - {id: x, when: {os: {matrix: windows}}, reason: r, source: s, date: '2026-12-01'}\n"
    )
    assert line.cells(text) == [{"os": {"name": "Linux", "matrix": "linux"}}]


def test_rows_alone_make_a_matrix(line: Line) -> None:
    """nektos/act#1029."""
    text = HEAD + "include:\n  - {os: linux, torch: '2.14.0'}\n  - {os: mac, torch: '2.14.0'}\n"
    assert line.cells(text) == [
        {"os": "linux", "torch": "2.14.0"},
        {"os": "mac", "torch": "2.14.0"},
    ]


def test_the_example_of_githubs_documentation_gives_six_cells(line: Line) -> None:
    text = HEAD + (
        "axes: {fruit: [apple, pear], animal: [cat, dog]}\ninclude:\n"
        "  - {color: green}\n  - {color: pink, animal: cat}\n  - {fruit: apple, shape: circle}\n"
        "  - {fruit: banana}\n  - {fruit: banana, animal: cat}\n"
    )
    assert line.cells(text) == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_an_include_row_that_agrees_decorates_and_adds_no_cell(line: Line) -> None:
    """socketry/covered#8; `add` is there for those who want a fifth."""
    text = HEAD + "axes: {os: [x, y], v: [a, b]}\ninclude: [{os: x, v: a, env: z}]\n"
    cells = line.cells(text)
    assert len(cells) == 4
    assert [c for c in cells if "env" in c] == [{"os": "x", "v": "a", "env": "z"}]
    status, _, err = line(
        text.replace("include: [{os: x, v: a, env: z}]", "add: [{os: x, v: a}]"), "plan"
    )
    assert status == 2
    assert "two cells have one id: os=x, v=a" in err


def test_the_matrix_for_a_workflow_is_one_line_and_nothing_else(line: Line, tmp_path: Path) -> None:
    """actions/runner#2947."""
    text = HEAD + "axes: {os: [a, b]}\nrunners: {all: {runs_on: [self-hosted, gpu]}}\n"
    status, out, _ = line(text, "plan", "--github-matrix")
    assert status == 0
    assert out.count("\n") == 1
    document = json.loads(out)
    assert [job["cells"] for job in document["include"]] == [["os=a"], ["os=b"]]
    output = tmp_path / "output"
    output.write_text("earlier=1\n", encoding="utf-8")
    status, out, _ = line(text, "plan", "--github-output", str(output))
    assert (status, out) == (0, "")
    written = read_outputs(output.read_text(encoding="utf-8"))
    assert written["earlier"] == "1"
    assert json.loads(written["matrix"]) == document


def test_hostile_values_never_reach_a_workflow(line: Line) -> None:
    text = HEAD + 'axes: {os: ["${{ secrets.X }}"]}\nrunners: {all: {runs_on: x}}\n'
    status, out, err = line(text, "plan", "--github-matrix")
    assert "${{" not in out
    assert status in {0, 2}, err


def test_free_threaded_3_13_ends_in_a_patch_release(line: Line, tmp_path: Path) -> None:
    """mjun0812/flash-attention-prebuild-wheels#142: 2.12.1 has none, 2.12.0 and 3.14t do."""
    (tmp_path / "compat").symlink_to(ROOT / "compat")
    text = HEAD + (
        'axes:\n  torch: ["2.12.0", "2.12.1"]\n  python: ["3.13t", "3.14t"]\n'
        "  accelerator: [cpu]\n  platform: [linux_x86_64]\n"
    )
    kept = {(c["torch"], c["python"]) for c in line.cells(text)}
    assert kept == {("2.12.0", "3.13t"), ("2.12.0", "3.14t"), ("2.12.1", "3.14t")}
    _, out, _ = line(text, "explain", "torch2.12.1-cp313t-linux_x86_64-cpu")
    assert "EXCLUDED" in out
    assert "3.13t ends with torch 2.12.0" in out
    assert "observation, 2026-12-01" in out


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("torch2.5.1-cp314-linux_x86_64-cuda11.8", "3.14 starts with torch 2.9.0"),
        ("torch2.5.1-cp314-linux_x86_64-cuda12.4", "3.14 starts with torch 2.9.0"),
        ("torch2.8.0-cp314-linux_x86_64-cpu", "3.14 starts with torch 2.9.0"),
        ("torch2.8.0-cp313t-linux_x86_64-cuda11.8", "cuda11.8 ends with torch 2.7.1"),
    ],
)
def test_what_never_existed_names_the_first_version_that_works(
    line: Line, tmp_path: Path, cell: str, says: str
) -> None:
    """rohitg00/ai-engineering-from-scratch#192."""
    (tmp_path / "compat").symlink_to(ROOT / "compat")
    text = HEAD + (
        'axes:\n  torch: ["2.5.1", "2.8.0", "2.9.1"]\n  python: ["3.13t", "3.14"]\n'
        "  accelerator: [cpu, cuda11.8, cuda12.4]\n  platform: [linux_x86_64]\n"
    )
    status, out, _ = line(text, "explain", cell)
    assert status == 0
    assert "EXCLUDED" in out
    assert says in out


def test_versions_compare_as_versions(line: Line) -> None:
    """facebookresearch/xformers wheels.yml: as text 9.2 is above 12.4, and 12.10 below."""
    text = HEAD + (
        'axes: {cuda: ["9.2", "12.4", "12.10"]}\nexclude:\n'
        "  - {id: old, when: {cuda: '<12.4'}, reason: r, source: s, date: '2026-12-01'}\n"
    )
    assert [c["cuda"] for c in line.cells(text)] == ["12.4", "12.10"]
    _, out, _ = line(HEAD + 'axes: {cuda-version: ["cu126", "cu1210"]}\n', "lint")
    assert out.count("MX009") == 2


def test_a_dead_rule_names_the_patch_that_was_bumped(line: Line) -> None:
    text = HEAD + (
        'axes: {torch-version: ["2.12.2", "2.13.0"]}\nexclude:\n'
        "  - {id: x, when: {torch-version: '2.12.1'}, reason: r, source: s, date: '2026-12-01'}\n"
    )
    status, _, err = line(text, "plan")
    assert status == 2
    assert "matrix.yaml:5:5: exclude x: fits no cell of the matrix" in err
    assert "torch-version has 2.12.2: write '2.12.*'" in err
    status, out, _ = line(text + "policy: {dead_rules: warn}\n", "lint")
    assert status == 1
    assert "MX001" in out


def test_rows_that_vanish_are_listed_with_their_reason(line: Line) -> None:
    """ROCm/TheRock configure_pytorch_release_matrix.py: rows of unsupported families disappear."""
    text = HEAD + (
        "axes:\n  family: [gfx94X-dcgpu, gfx90c]\n  ref: [release, nightly]\n"
        '  python: ["3.11", "3.12", "3.13", "3.14", "3.15"]\n'
        "exclude:\n  - id: unsupported-family\n    when: {family: gfx90c, ref: release}\n"
        "    reason: torch has no support for the family in this release\n"
        "    source: ROCm/TheRock\n    date: '2026-08-22'\n"
    )
    status, out, _ = line(text, "plan", "--why-not")
    assert status == 0
    assert "matrix.unsupported-family" in out
    assert "torch has no support for the family in this release" in out
    assert "20 candidates = 15 included + 5 excluded" in out


def test_the_range_of_pythons_is_per_platform(line: Line) -> None:
    """conda-forge-pinning: four Pythons on linux-64, one on win-arm64."""
    text = HEAD + (
        "axes: {target: [linux-64, win-64, win-arm64], py: ['3.10', '3.11', '3.12', '3.14']}\n"
        "tables:\n  - id: pythons\n    axis: py\n    rows:\n"
        "      - {when: {target: win-arm64}, values: '3.14'}\n      - {values: '*'}\n"
        "    reason: r\n    source: s\n    date: '2026-08-20'\n"
    )
    counts = Counter(cell["target"] for cell in line.cells(text))
    assert counts == {"linux-64": 4, "win-64": 4, "win-arm64": 1}


def test_zipped_axes_vary_together_and_need_one_length(line: Line) -> None:
    """prefix-dev/rattler-build#1868: a flat zip was ignored in silence."""
    axes = 'axes:\n  python: ["3.12", "3.13"]\n  cuda: ["12.6", "13.0"]\n  image: [a, b]\n'
    cells = line.cells(HEAD + axes + "zip: [[cuda, image]]\n")
    assert [(c["cuda"], c["image"]) for c in cells] == [("12.6", "a"), ("13.0", "b")] * 2
    status, _, err = line(HEAD + axes + "zip: [cuda, image]\n", "plan")
    assert status == 2
    assert "write [[a, b]], not [a, b]" in err
    shorter = axes.replace("[a, b]", "[a]")
    status, _, err = line(HEAD + shorter + "zip: [[cuda, image]]\n", "plan")
    assert "zipped axes need equally many values: cuda has 2, image has 1" in err


def test_a_table_must_cover_every_candidate_unless_it_says_otherwise(line: Line) -> None:
    text = HEAD + (
        'axes: {torch-version: ["2.12.1", "2.14.0"], cuda: ["12.6", "13.0"]}\ntables:\n'
        "  - id: t\n    axis: cuda\n"
        "    rows: [{when: {torch-version: '2.12.*'}, values: ['12.6']}]\n"
        "    reason: r\n    source: s\n    date: '2026-12-01'\n"
    )
    status, _, err = line(text, "plan")
    assert status == 2
    assert "no row fits 2 candidates, for example torch-version=2.14.0, cuda=12.6" in err
    kept = line.cells(text + "    otherwise: keep\n")
    assert len(kept) == 3
    assert len(line.cells(text + "    otherwise: drop\n")) == 1


def test_an_expired_rule_still_applies_and_is_reported(line: Line) -> None:
    text = HEAD + (
        "axes: {os: [a, b]}\nexclude:\n  - {id: x, when: {os: a}, reason: a bug of the driver, "
        "source: s, date: '2026-01-01', until: '2026-06-01'}\n"
    )
    assert line.cells(text) == [{"os": "b"}]
    _, out, _ = line(text, "lint", "--as-of", "2026-12-01")
    assert "MX003 warning exclude x: expired on 2026-06-01, 183 days ago" in out
    status, _, err = line(
        text + "policy: {expired_rules: error}\n", "plan", "--as-of", "2026-12-01"
    )
    assert status == 2
    assert "expired on 2026-06-01" in err


def test_imports_stay_in_the_project_and_never_loop(line: Line, tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text("import: [shared.yaml]\naxes: {os: [a]}\n", "utf-8")
    status, _, err = line(HEAD + "import: [shared.yaml]\n", "plan")
    assert status == 2
    assert "is imported twice or imports itself" in err
    for path in ("../x.yaml", "/etc/passwd"):
        status, _, err = line(HEAD + f"import: [{path}]\naxes: {{a: [b]}}\n", "plan")
        assert status == 2
        assert "is outside the project" in err


def test_groups_channels_rules_and_derived_attributes(line: Line) -> None:
    text = HEAD + (
        "channels: {release: {}, nightly: {python: ['3.14', '3.15']}}\n"
        "axes: {python: ['3.12', '3.14'], os: [linux, windows]}\n"
        "groups: {modern: {python: '>=3.14'}}\n"
        "rules:\n"
        "  - {id: a, when: {group: modern}, then: include, "
        "reason: r, source: s, date: '2026-12-01'}\n"
        "  - {id: b, when: {os: windows}, then: exclude, "
        "reason: r, source: s, date: '2026-12-01'}\n"
        "derive: {runner: {rows: [{when: {os: linux}, value: small}], otherwise: big}}\n"
    )
    assert line.cells(text) == [
        {"python": "3.12", "os": "linux", "runner": "small"},
        {"python": "3.14", "os": "linux", "runner": "small"},
        {"python": "3.14", "os": "windows", "runner": "big"},
    ]
    _, out, _ = line(text, "plan", "--cells", "--channel", "nightly")
    assert [json.loads(row)["python"] for row in out.splitlines()] == [
        "3.14",
        "3.14",
        "3.15",
        "3.15",
    ]
    status, _, err = line(text, "plan", "--channel", "nigthly")
    assert status == 2
    assert "did you mean 'nightly'?" in err


@pytest.mark.parametrize(
    ("coverage", "kind"), [("pairwise", "pairs"), ("3-way", "triples"), ("full", "cells")]
)
def test_the_choice_of_cells_is_proven(line: Line, coverage: str, kind: str) -> None:
    text = HEAD + (
        "axes: {a: [a1, a2, a3], b: [b1, b2, b3], c: [c1, c2], d: [d1, d2]}\nexclude:\n"
        "  - {id: x, when: {a: a1, b: b1}, reason: r, source: s, date: '2026-12-01'}\n"
    )
    _, out, _ = line(text, "plan", "--coverage", coverage, "--json")
    document = json.loads(out)
    schema = json.loads((ROOT / "src/wheelgrid/schemas/selection.schema.json").read_text("utf-8"))
    jsonschema.validate(document, schema)
    combinations = document["combinations"]
    assert combinations["covered"] == combinations["achievable"]
    assert combinations["missing"] == []
    assert document["candidates"] == 32
    assert len(document["cells"]) <= {"pairwise": 10, "3-way": 22, "full": 32}[coverage]
    _, out, _ = line(text, "plan", "--coverage", coverage)
    assert f"achievable {kind}" in out


def test_a_budget_says_what_it_leaves_uncovered_and_must_haves_come_first(line: Line) -> None:
    text = HEAD + (
        "axes: {a: [a1, a2, a3, a4], b: [b1, b2, b3, b4]}\n"
        "runners: {all: {runs_on: x, minutes: 10, gpus: 1}}\n"
    )
    arguments = ("plan", "--coverage", "pairwise", "--budget", "1gpu-hour", "--must", "a=a4,b=b4")
    _, out, _ = line(text, *arguments, "--json")
    document = json.loads(out)
    assert document["cells"][0]["id"] == "a=a4,b=b4"
    assert document["totals"]["gpu_minutes"] == 60
    assert document["combinations"]["covered"] == 6
    assert len(document["combinations"]["missing"]) == 10
    status, _, err = line(text, "plan", "--coverage", "pairwise", "--budget", "10gpus")
    assert status == 2
    assert "such as 10gpu-hours" in err
    status, _, err = line(text, "plan", "--budget", "5minutes", "--must", "a=a1,*")
    assert status == 2
    assert "4 must-have cells cost 40 minutes" in err
