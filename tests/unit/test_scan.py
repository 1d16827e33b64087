"""What another project still takes from a value in sunset: true findings, and no false ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.judge import Kind
from wheelgrid.scan.project import scan_project

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sunsets() -> tuple[Sunset, ...]:
    faults = Faults()
    found = load_knowledge(Project(ROOT), faults).sunsets
    faults.check()
    return tuple(s for s in found if s.id in {"python-3.10", "cuda12.6", "rocm7.2", "python-3.13t"})


def found_in(
    folder: Path, files: dict[str, str], sunsets: tuple[Sunset, ...]
) -> list[tuple[str, int, str, str]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    scan = scan_project(folder, sunsets)
    return [(f.file, f.line, str(f.kind), f.value) for f in scan.found]


WORKFLOW = """\
name: build
on: [push]
jobs:
  wheels:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [ubuntu-22.04, ubuntu-22.04-arm]
        python-version: ['3.10', '3.11', '3.12', '3.13']
        torch-version: ['2.6.0', '2.9.1']
        exclude:
          - {torch-version: '2.6.0', os: ubuntu-22.04-arm}
    steps:
      - uses: actions/setup-python@v6
        with: {python-version: "${{ matrix.python-version }}"}
  publish:
    runs-on: ubuntu-22.04
    steps:
      - uses: actions/setup-python@v6
        with:
          python-version: 3.10
      - run: |
          pip install build  # python3.10 in a comment is none
          python3.10 -m build
"""
TRUE = [
    ("pyproject.toml", '[project]\nname = "x"\nrequires-python = ">=3.9"\n', (3, "floor", "3.10")),
    (
        "pyproject.toml",
        '[project]\nname = "x"\nrequires-python = ">=3.11"\nclassifiers = [\n'
        '  "Programming Language :: Python :: 3.10",\n]\n',
        (5, "claim", "3.10"),
    ),
    (
        "pyproject.toml",
        '[tool.poetry.dependencies]\npython = "^3.10"\n',
        (2, "floor", "3.10"),
    ),
    ("pyproject.toml", '[tool.cibuildwheel]\nbuild = "cp310-* cp311-*"\n', (2, "pin", "3.10")),
    ("pyproject.toml", '[tool.cibuildwheel]\nbuild = "cp313t-*"\n', (2, "pin", "3.13t")),
    ("pyproject.toml", '[tool.ruff]\ntarget-version = "py310"\n', (2, "pin", "3.10")),
    ("pyproject.toml", '[tool.mypy]\npython_version = "3.10"\n', (2, "pin", "3.10")),
    (
        "setup.cfg",
        "[metadata]\nname = x\n[options]\npython_requires = >=3.8\n",
        (4, "floor", "3.10"),
    ),
    (
        "setup.py",
        "from setuptools import setup\nv = '>=3.8'\nsetup(python_requires=v)\n",
        (2, "floor", "3.10"),
    ),
    (
        "setup.py",
        "import setuptools\nsetuptools.setup(name='x')\n",
        (2, "no-requires-python", "3.10"),
    ),
    ("tox.ini", "[tox]\nenvlist = py{39,310,311}\n", (2, "pin", "3.10")),
    (
        "noxfile.py",
        "import nox\n@nox.session(python=['3.10', '3.11'])\ndef t(s): ...\n",
        (2, "pin", "3.10"),
    ),
    ("Dockerfile", "FROM python:3.10-slim\nRUN true\n", (1, "pin", "3.10")),
    ("Dockerfile", "FROM pytorch/pytorch:2.9.1-cuda12.6-cudnn9-devel\n", (1, "pin", "cuda12.6")),
    (
        "Dockerfile",
        "RUN pip install torch --index-url https://x/whl/cu126\n",
        (1, "pin", "cuda12.6"),
    ),
    (
        "Dockerfile",
        "FROM rocm/dev-ubuntu-22.04:latest\nRUN ROCM=rocm7.2.1 ./x\n",
        (2, "pin", "rocm7.2"),
    ),
    (".python-version", "3.10.14\n", (1, "pin", "3.10")),
    ("environment.yml", "dependencies:\n  - python=3.10\n", (2, "pin", "3.10")),
    ("recipe/meta.yaml", "requirements:\n  host:\n    - python >=3.10\n", (3, "floor", "3.10")),
    ("requirements.txt", "torch>=2.4\n", (1, "silent-downgrade", "3.10")),
    (
        "PKG-INFO",
        "Metadata-Version: 2.1\nName: x\n        \nVersion: 1\n",
        (1, "no-requires-python", "3.10"),
    ),
]
FALSE = [
    ("pyproject.toml", '[project]\nname = "x"\nrequires-python = ">=3.11"\n'),
    ("pyproject.toml", '[build-system]\nrequires = ["cmake>=3.10", "matplotlib>=3.10"]\n'),
    ("pyproject.toml", '[tool.cibuildwheel]\nskip = "cp310-*"\n'),
    ("CHANGELOG.md", "Drop Python 3.10\n"),
    ("Dockerfile", "# FROM python:3.10\nFROM python:3.12\nRUN apt install cmake=3.10\n"),
    ("Dockerfile", "RUN wget https://example.org/rocm-3.10.tar.gz tool-3.10.1\n"),
    (".github/workflows/a.yml", "jobs: {a: {steps: [{uses: x@v3.10, with: {cmake: '3.10'}}]}}\n"),
    ("tox.ini", "[tox]\nenvlist = py311\n[testenv]\ndeps = numpy>=3.10\n"),
    ("setup.py", "'''Works on Python 3.10.'''\n# python_requires='>=3.8'\n"),
    ("Dockerfile", "FROM python:3.100\nRUN echo cp3100 cu1260 python3.10.x86\n"),
]


@pytest.mark.parametrize(("name", "text", "expected"), TRUE, ids=lambda v: str(v)[:40])
def test_what_relies_on_a_value_is_found_with_its_line(
    tmp_path: Path,
    sunsets: tuple[Sunset, ...],
    name: str,
    text: str,
    expected: tuple[int, str, str],
) -> None:
    assert (name, *expected) in found_in(tmp_path, {name: text}, sunsets)


@pytest.mark.parametrize(("name", "text"), FALSE, ids=lambda v: str(v)[:40])
def test_what_only_looks_like_it_is_not(
    tmp_path: Path, sunsets: tuple[Sunset, ...], name: str, text: str
) -> None:
    floor = {"setup.cfg": "[options]\npython_requires = >=3.11\n"}
    assert found_in(tmp_path, {**floor, name: text}, sunsets) == []


def test_a_matrix_says_how_many_of_its_cells_and_single_jobs_are_found_too(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    """Dao-AILab/flash-attention publish.yml: besides the matrix, one job hard-codes 3.10."""
    name = ".github/workflows/publish.yml"
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(WORKFLOW, encoding="utf-8")
    scan = scan_project(tmp_path, sunsets)
    assert [(f.line, f.column) for f in scan.found] == [(9, 26), (21, 27), (24, 1)]
    assert dict(scan.found[0].cells) == {"job": 12, "with_value": 3}
    assert "(3 of 12 cells of job wheels)" in scan.found[0].message
    assert "YAML reads 3.10 without quotes as a number" in scan.found[1].message
    assert scan.found[0].fix == 'drop it, or write "3.11"'


def test_conda_pins_are_per_platform(tmp_path: Path, sunsets: tuple[Sunset, ...]) -> None:
    """conda-forge: win-arm64 has 3.14 only; each entry is judged where it stands."""
    text = "python:\n  - 3.10  # [not win_arm64]\n  - 3.14\n"
    found = found_in(tmp_path, {"recipe/conda_build_config.yaml": text}, sunsets)
    assert found == [("recipe/conda_build_config.yaml", 2, "pin", "3.10")]


def test_a_torch_that_old_pythons_cannot_have_is_a_silent_downgrade_only_where_they_are_admitted(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    files = {
        "pyproject.toml": '[project]\nname="x"\nrequires-python=">=3.11"\ndependencies=["torch"]\n'
    }
    assert found_in(tmp_path, files, sunsets) == []
    files["pyproject.toml"] = files["pyproject.toml"].replace("3.11", "3.10")
    kinds = {kind for _, _, kind, _ in found_in(tmp_path, files, sunsets)}
    assert kinds == {Kind.FLOOR, Kind.SILENT_DOWNGRADE}


@pytest.mark.parametrize(
    "requirement",
    ["torch==2.14.*", "torch<2.15", "torch>=2.15", "torchvision", "torch; python_version>='3.11'"],
)
def test_a_torch_requirement_that_says_which_is_none(
    tmp_path: Path, sunsets: tuple[Sunset, ...], requirement: str
) -> None:
    files = {"requirements.txt": f"{requirement}\n"}
    assert found_in(tmp_path, files, sunsets) == []


def test_links_out_of_the_project_and_files_that_cannot_be_read_are_not_followed(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "Dockerfile").write_text("FROM python:3.10\n", encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "linked").symlink_to(outside)
    (project / "Dockerfile").symlink_to(outside / "Dockerfile")
    (project / "tox.ini").write_bytes(b"\xff\xfe[tox]")
    (project / "setup.cfg").write_bytes(b"a" * (1024 * 1024 + 1))
    scan = scan_project(project, sunsets)
    assert scan.found == ()
    assert [name for name, _ in scan.unread] == ["setup.cfg", "tox.ini"]


@given(st.binary(max_size=400), st.sampled_from(sorted({name for name, *_ in TRUE})))
def test_no_file_makes_it_raise_and_the_same_file_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    faults = Faults()
    known = load_knowledge(Project(ROOT), faults).sunsets
    folder = tmp_path_factory.mktemp("scan")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    assert scan_project(folder, known) == scan_project(folder, known)
