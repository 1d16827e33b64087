"""compat/: what is wrong with a statement is said with its place; what is right is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.version import Version

from wheelgrid.config.compat import INDEX_OBSERVATIONS, load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.evidence import Kind
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

TORCH = """\
torch: "2.14.1"
statements:
  - {id: a, says: pythons, kind: claim, source: s, date: "2026-09-01",
     platforms: [linux_x86_64], values: ["3.13"]}
"""
ACCELERATOR = """\
accelerator: cuda
title: CUDA
statements:
  - {id: p, says: platforms, kind: claim, source: s, date: "2026-09-01", values: [linux_x86_64]}
"""
LIFECYCLE = """\
sunsets:
  - id: old
    axis: python
    value: "3.10"
    applies_to: {torch: ">=2.15"}
    last_release: "2.14"
    reason: r
    action: a
    stages:
      - {stage: branch_cut, date: "2026-10-05", precision: day, kind: claim, source: s,
         said: "2026-09-16"}
      - {stage: announced, date: "2026-09-16", precision: day, kind: claim, source: s,
         said: "2026-09-16"}
"""
FEATURE = """\
feature: f
title: F
summary: A feature
since: "2.14"
stability: preview
accelerators: ["*"]
statements:
  - {id: a, says: status, kind: claim, source: s, date: "2026-09-01", torch: "2.14.1",
     accelerator: cpu, status: supported, detail: d}
  - {id: b, says: partial, kind: claim, source: s, date: "2026-09-01", missing: [half]}
"""


@pytest.fixture
def compat(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    for name, text in {
        "torch/2.14.1.yaml": TORCH,
        "accelerators/cuda.yaml": ACCELERATOR,
        "lifecycle.yaml": LIFECYCLE,
        "features/f.yaml": FEATURE,
    }.items():
        path = project.compat / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return project


def faults_of(project: Project) -> str:
    faults = Faults()
    load_knowledge(project, faults, features=True)
    return "\n".join(str(f) for f in faults.found)


def test_right_files_have_no_faults_and_stages_are_in_order(compat: Project) -> None:
    faults = Faults()
    known = load_knowledge(compat, faults, features=True)
    assert faults.found == []
    assert [s.name for s in known.sunsets[0].stages] == ["announced", "branch_cut"]
    assert known.features[0].partial[0].missing == ("half",)
    assert known.features[0].partial[0].torch == ""


def test_an_empty_compat_is_nothing_known(tmp_path: Path) -> None:
    faults = Faults()
    known = load_knowledge(Project(tmp_path), faults, features=True)
    assert (faults.found, known.torch, known.sunsets) == ([], {}, ())


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("torch/2.14.1.yaml", "says: pythons", "says: pyton", "did you mean 'pythons'?"),
        ("torch/2.14.1.yaml", "kind: claim", "kind: rumour", "'rumour' is not one of"),
        ("torch/2.14.1.yaml", "source: s, ", "", "missing key 'source'"),
        ("torch/2.14.1.yaml", '"2026-09-01"', '"last week"', "is not a date"),
        ("torch/2.14.1.yaml", '["3.13"]', "[3.13]", "without quotes is read as the number"),
        ("torch/2.14.1.yaml", '["3.13"]', '["313"]', "is not a Python version"),
        ("torch/2.14.1.yaml", "id: a", "id: A B", "is not an id"),
        ("torch/2.14.1.yaml", 'torch: "2.14.1"', 'torch: "x"', "is not a version"),
        ("torch/2.14.1.yaml", 'torch: "2.14.1"', "troch: x", "unknown key 'troch'"),
        ("torch/2.14.1.yaml", "[linux_x86_64]", "[linux]", "unknown platform 'linux'"),
        ("accelerators/cuda.yaml", "title: CUDA", "titel: CUDA", "did you mean 'title'?"),
        ("accelerators/cuda.yaml", "says: platforms", "says: gpu, name: x, arch: y", "unknown key"),
        ("accelerators/cuda.yaml", "accelerator: cuda", "accelerator: cud", "did you mean 'cuda'?"),
        ("lifecycle.yaml", "stage: announced", "stage: announce", "did you mean 'announced'?"),
        ("lifecycle.yaml", "precision: day", "precision: hour", "'hour' is not one of"),
        ("lifecycle.yaml", 'torch: ">=2.15"', 'torch: ">=new"', "is not a version range"),
        ("lifecycle.yaml", "axis: python", "axis: snake", "'snake' is not one of"),
        ("lifecycle.yaml", "    reason: r\n", "", "missing key 'reason'"),
        ("lifecycle.yaml", "stage: announced, ", "", "missing key 'stage'"),
        ("features/f.yaml", "stability: preview", "stability: solid", "'solid' is not one of"),
        ("features/f.yaml", "status: supported", "status: good", "'good' is not one of"),
        ("features/f.yaml", "missing: [half]", "missing: []", "must list what is missing"),
        ("features/f.yaml", "title: F", "tilte: F", "did you mean 'title'?"),
        ("features/f.yaml", "id: b", "id: a", "the id 'a' is used twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    compat: Project, file: str, old: str, new: str, words: str
) -> None:
    path = compat.compat / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    found = faults_of(compat)
    assert words in found
    assert f"compat/{file}:" in found


def test_an_accelerator_must_say_where_it_exists(compat: Project) -> None:
    path = compat.compat / "accelerators" / "cuda.yaml"
    text = path.read_text(encoding="utf-8").partition("  - {id: p")[0]
    extra = '  - {id: g, says: gpu, kind: claim, source: s, date: "2026-09-01", name: H, arch: x}\n'
    path.write_text(text + extra, encoding="utf-8")
    assert "has no statement that says platforms" in faults_of(compat)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("says: requires_python, specifier: '>=x'", "Invalid specifier"),
        ("says: companion, name: triton, specifier: nonsense", "Invalid specifier"),
        ("says: released, 'on': '2026-09-30'", ""),
        ("says: cxx_standard, value: '20'", ""),
        (
            "says: default_accelerator, platforms: [linux_x86_64], accelerator: cu130",
            "'cu130' is not an accelerator",
        ),
        (
            "says: gpu_archs, accelerator: cuda13.0, platforms: [linux_x86_64], values: [sm_90], "
            "ptx: []",
            "",
        ),
    ],
)
def test_every_kind_of_torch_statement_is_checked(
    compat: Project, statement: str, words: str
) -> None:
    path = compat.compat / "torch" / "2.14.1.yaml"
    extra = f"  - {{id: x, kind: claim, source: s, date: '2026-09-01', {statement}}}\n"
    path.write_text(TORCH + extra, encoding="utf-8")
    found = faults_of(compat)
    assert (words in found) if words else found == ""


def write_index(project: Project, document: object) -> None:
    path = project.compat / INDEX_OBSERVATIONS / "torch.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_index_observations_add_to_what_is_claimed(compat: Project) -> None:
    write_index(
        compat,
        {
            "observed": "2026-12-01T00:00:00+00:00",
            "files": [
                "torch-2.14.1-cp314-cp314t-manylinux_2_28_x86_64.whl",
                "torch-2.16.0-cp315-cp315-macosx_14_0_arm64.whl",
            ],
        },
    )
    faults = Faults()
    known = load_knowledge(compat, faults)
    assert faults.found == []
    claim, seen = known.torch[Version("2.14.1")].pythons
    assert (claim.source.kind, seen.source.kind) == (Kind.CLAIM, Kind.OBSERVATION)
    assert seen.values == {PythonVersion(3, 14, free_threaded=True)}
    assert seen.source.date == "2026-12-01"
    assert known.torch[Version("2.16.0")].pythons[0].platforms == {Platform.MACOSX_ARM64}


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"files": []},
        {"observed": "x", "files": ["torch.whl"]},
        {"observed": "x", "files": ["torch-2.14.1-py3-none-any.whl"]},
        {"observed": "x", "files": 3},
    ],
)
def test_a_broken_index_observation_is_a_fault(compat: Project, document: object) -> None:
    write_index(compat, document)
    assert "compat/observations/index/torch.json: is not an index observation" in faults_of(compat)
