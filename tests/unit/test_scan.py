"""What another project still takes from a value in sunset: true findings, and no false ones."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.mention import Confidence
from wheelgrid.scan.project import scan_project
from wheelgrid.scan.reliance import Kind

ROOT = Path(__file__).parents[2]
SEARCHED = {"python-3.10", "cuda12.6", "rocm7.2", "python-3.13t", "macos-13"}


@pytest.fixture(scope="module")
def sunsets() -> tuple[Sunset, ...]:
    faults = Faults()
    found = load_knowledge(Project(ROOT), faults).sunsets
    faults.check()
    return tuple(s for s in found if s.id in SEARCHED)


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
NAMED = '[project]\nname = "x"\nrequires-python = ">=3.11"\n'
TRUE = [
    ("pyproject.toml", '[project]\nname = "x"\nrequires-python = ">=3.9"\n', (3, "floor", "3.10")),
    (
        "pyproject.toml",
        '# requires-python = ">=3.10"\n[project]\nname = "x"\nrequires-python = ">=3.10,<3.15"\n',
        (4, "floor", "3.10"),
    ),
    (
        "pyproject.toml",
        NAMED + 'classifiers = [\n  "Programming Language :: Python :: 3.10",\n]\n',
        (5, "claim", "3.10"),
    ),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.10"\n', (2, "floor", "3.10")),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "~3.10"\n', (2, "floor", "3.10")),
    (
        "pyproject.toml",
        '[tool.poetry.group.dev.dependencies]\npython = ">=3.8 || ^3.10"\n',
        (2, "floor", "3.10"),
    ),
    (
        "pyproject.toml",
        '[tool.poetry.dependencies]\npython = "^3.9"\ntorch = "^2.4"\n',
        (3, "silent-downgrade", "3.10"),
    ),
    (
        "pyproject.toml",
        '[tool.poetry.dependencies]\npython = "^3.9"\ntorch = {version = "*", source = "x"}\n',
        (3, "silent-downgrade", "3.10"),
    ),
    ("pyproject.toml", '[tool.cibuildwheel]\nbuild = "cp310-* cp311-*"\n', (2, "pin", "3.10")),
    ("pyproject.toml", '[tool.cibuildwheel]\nbuild = "cp313t-*"\n', (2, "pin", "3.13t")),
    (
        "pyproject.toml",
        '[[tool.cibuildwheel.overrides]]\nselect = ["cp311-*",\n "cp310-*"]\nbuild-verbosity=1\n',
        (3, "pin", "3.10"),
    ),
    (
        "pyproject.toml",
        '[tool.cibuildwheel.macos]\nenvironment = {MACOSX_DEPLOYMENT_TARGET = "11.0"}\n',
        (2, "silent-downgrade", "macosx_13_0_arm64"),
    ),
    (
        "pyproject.toml",
        '[tool.cibuildwheel.macos]\nenvironment = "A=b MACOSX_DEPLOYMENT_TARGET=10.15"\n',
        (2, "silent-downgrade", "macosx_13_0_arm64"),
    ),
    ("pyproject.toml", '[tool.ruff]\ntarget-version = "py310"\n', (2, "tool-target", "3.10")),
    (
        "pyproject.toml",
        '[tool.black]\ntarget-version = ["py310"]\n[tool.ruff]\ntarget-version = "py310"\n',
        (4, "tool-target", "3.10"),
    ),
    ("pyproject.toml", '[tool.mypy]\npython_version = "3.10"\n', (2, "tool-target", "3.10")),
    ("pyproject.toml", "[tool.isort]\npy_version = 310\n", (2, "tool-target", "3.10")),
    (
        "pyproject.toml",
        '[tool.ty.environment]\npython-version = "3.10"\n',
        (2, "tool-target", "3.10"),
    ),
    (
        "pyproject.toml",
        '[[tool.hatch.envs.test.matrix]]\npython = ["3.10", "3.12"]\n',
        (2, "pin", "3.10"),
    ),
    (
        "pyproject.toml",
        '[[tool.uv.index]]\nname = "x"\nurl = "https://x.example/whl/cu126"\n',
        (3, "pin", "cuda12.6"),
    ),
    (
        "pyproject.toml",
        '[tool.tox]\nlegacy_tox_ini = """\n[tox]\nenvlist = py{39,310}\n"""\n',
        (4, "pin", "3.10"),
    ),
    (
        "pyproject.toml",
        NAMED.replace("3.11", "3.10") + '[dependency-groups]\ntest = ["torch"]\n',
        (5, "silent-downgrade", "3.10"),
    ),
    (
        "pyproject.toml",
        NAMED + 'dependencies = [\n  "torch==2.9.1+cu126",\n]\n',
        (5, "pin", "cuda12.6"),
    ),
    ("pyproject.toml", '[project]\nname = "x"\n', (2, "no-requires-python", "3.10")),
    ("pyproject.toml", '[tool.pixi.dependencies]\npython = "3.10.*"\n', (2, "floor", "3.10")),
    ("pyproject.toml", "[project\nrequires-python = '>=3.9'\n", (2, "floor", "3.10")),
    ("tox.toml", 'env_list = ["3.10", "3.12"]\n', (1, "pin", "3.10")),
    ("mise.toml", "[tools]\npython = 3.10\n", (2, "pin", "3.10")),
    ("uv.toml", 'index-url = "https://x.example/whl/rocm7.2"\n', (1, "pin", "rocm7.2")),
    ("Pipfile", '[requires]\npython_version = "3.10"\n', (2, "pin", "3.10")),
    ("Pipfile", '[packages]\ntorch = "*"\n', (2, "silent-downgrade", "3.10")),
    (
        "setup.cfg",
        "[metadata]\nname = x\n[options]\npython_requires = >=3.8\n",
        (4, "floor", "3.10"),
    ),
    ("setup.cfg", "[mypy]\npython_version = 3.10\n", (2, "tool-target", "3.10")),
    ("setup.cfg", "[tox:tox]\nenvlist = py310\n", (2, "pin", "3.10")),
    (
        "setup.cfg",
        "[bdist_wheel]\nplat_name = macosx_11_0_arm64\n",
        (2, "silent-downgrade", "macosx_13_0_arm64"),
    ),
    (
        "setup.py",
        "from setuptools import setup\nv = '>=3.8'\nsetup(python_requires=v)\n",
        (2, "floor", "3.10"),
    ),
    (
        "setup.py",
        "M = (3, 9)\nsetup(name='x',\n  python_requires='>={}.{}'.format(*M))\n",
        (3, "floor", "3.10"),
    ),
    (
        "setup.py",
        "M = (3, 9)\nsetup(name='x', python_requires='>=' + '.'.join(map(str, M)))\n",
        (2, "floor", "3.10"),
    ),
    (
        "setup.py",
        "kw = dict(name='x', python_requires='>=3.9')\nsetup(**kw)\n",
        (1, "floor", "3.10"),
    ),
    (
        "setup.py",
        "setup(python_requires='>=3.11',\n"
        " classifiers=[f'Programming Language :: Python :: 3.{m}' for m in range(9, 14)])\n",
        (2, "claim", "3.10"),
    ),
    (
        "setup.py",
        "import setuptools\nsetuptools.setup(name='x')\n",
        (2, "no-requires-python", "3.10"),
    ),
    (
        "setup.py",
        "import os, torch\nos.environ['MACOSX_DEPLOYMENT_TARGET'] = '11.0'\n",
        (2, "silent-downgrade", "macosx_13_0_arm64"),
    ),
    (
        "setup.py",
        "setup(python_requires='>=3.9', extras_require={'gpu': ['torch>=2.4']})\n",
        (1, "silent-downgrade", "3.10"),
    ),
    ("setup.py", "print 'old'\nsetup(\n  python_requires='>=3.6')\n", (3, "floor", "3.10")),
    ("tox.ini", "[tox]\nenvlist = py{39,310,311}\n", (2, "pin", "3.10")),
    ("tox.ini", "[tox]\nenv_list =\n    lint\n    py3{9,10}-{cpu,cuda}\n", (4, "pin", "3.10")),
    ("tox.ini", "[tox]\nenvlist = py3{9-12}\n", (2, "pin", "3.10")),
    ("tox.ini", "[testenv:old]\nbasepython = python3.10\n", (2, "pin", "3.10")),
    ("tox.ini", "[gh-actions]\npython =\n    3.10: py310\n", (3, "pin", "3.10")),
    (
        "noxfile.py",
        "import nox\n@nox.session(python=['3.10', '3.11'])\ndef t(s): ...\n",
        (2, "pin", "3.10"),
    ),
    (
        "noxfile.py",
        "PY = ['3.9']\nALL = PY + [\n  '3.10']\n@nox.session(python=ALL)\ndef t(s): ...\n",
        (3, "pin", "3.10"),
    ),
    (
        "noxfile.py",
        "@nox.session\n@nox.parametrize('python', ['3.10'])\ndef t(s): ...\n",
        (2, "pin", "3.10"),
    ),
    ("Dockerfile", "FROM python:3.10-slim\nRUN true\n", (1, "pin", "3.10")),
    ("Dockerfile", "ARG PYTHON_VERSION=3.10\n", (1, "pin", "3.10")),
    ("Dockerfile", "ENV PYTHON_VERSION 3.10.14\n", (1, "pin", "3.10")),
    ("Dockerfile", "RUN uv python install 3.9 3.10 3.11\n", (1, "pin", "3.10")),
    ("Dockerfile", "RUN uv venv --seed -p 3.10 /env\n", (1, "pin", "3.10")),
    ("Dockerfile", "RUN apt-get install -y \\\n      python3.10-venv\n", (2, "pin", "3.10")),
    ("Dockerfile", "RUN conda create -n x python=3.10 -y\n", (1, "pin", "3.10")),
    ("Dockerfile", "RUN /opt/python/cp310-cp310/bin/pip wheel .\n", (1, "pin", "3.10")),
    ("docker/Dockerfile.gpu", "FROM nvidia/cuda:12.6.3-devel\n", (1, "pin", "cuda12.6")),
    ("Containerfile", "ARG CUDA_VERSION=12.6.3\n", (1, "pin", "cuda12.6")),
    ("Dockerfile", "RUN apt-get install cuda-nvcc-12-6\n", (1, "pin", "cuda12.6")),
    ("Dockerfile", "FROM pytorch/pytorch:2.9.1-cuda12.6-cudnn9-devel\n", (1, "pin", "cuda12.6")),
    ("Dockerfile", "FROM rocm/dev-ubuntu-22.04:7.2.1-complete\n", (1, "pin", "rocm7.2")),
    (
        "Dockerfile",
        "FROM rocm/pytorch:rocm7.1_ubuntu24.04_py3.10_pytorch_2.9\n",
        (1, "pin", "3.10"),
    ),
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
    ("ci/build.sh", "for PYVER in 3.9 3.10 3.11; do\n", (1, "pin", "3.10")),
    ("ci/build.sh", 'PYTHON_VERSIONS="3.9 3.10"\n', (1, "pin", "3.10")),
    (
        "ci/lock.sh",
        "uv pip compile --python-platform aarch64-apple-darwin requirements.in\n",
        (1, "silent-downgrade", "macosx_13_0_arm64"),
    ),
    (".devcontainer/devcontainer.json", '{"image": "x/python:3.10"}\n', (1, "pin", "3.10")),
    (".python-version", "3.10.14\n", (1, "pin", "3.10")),
    ("runtime.txt", "python-3.10.14\n", (1, "pin", "3.10")),
    (".tool-versions", "nodejs 20\npython 3.10.14\n", (2, "pin", "3.10")),
    (".readthedocs.yaml", "build:\n  tools:\n    python: '3.10'\n", (3, "pin", "3.10")),
    (
        ".pre-commit-config.yaml",
        "default_language_version:\n  python: python3.10\n",
        (2, "pin", "3.10"),
    ),
    (
        ".pre-commit-config.yaml",
        "repos:\n- repo: x\n  hooks:\n  - id: pyupgrade\n    args: [--py310-plus]\n",
        (5, "pin", "3.10"),
    ),
    ("environment.yml", "dependencies:\n  - python=3.10\n", (2, "pin", "3.10")),
    ("environment.yml", "dependencies:\n  - python >=3.9,<3.12\n", (2, "floor", "3.10")),
    (
        "environment.yml",
        "dependencies:\n  - python=3.10\n  - pip:\n    - torch\n",
        (4, "silent-downgrade", "3.10"),
    ),
    ("recipe/meta.yaml", "requirements:\n  host:\n    - python >=3.10\n", (3, "floor", "3.10")),
    ("recipe/meta.yaml", '{% set python_min = "3.10" %}\n', (1, "floor", "3.10")),
    ("recipe/conda_build_config.yaml", "python_min:\n  - '3.10'\n", (2, "floor", "3.10")),
    (
        "recipe/conda_build_config.yaml",
        "MACOSX_DEPLOYMENT_TARGET:\n  - 11.0  # [osx]\n",
        (2, "silent-downgrade", "macosx_13_0_arm64"),
    ),
    ("requirements.txt", "torch>=2.4\n", (1, "silent-downgrade", "3.10")),
    ("requirements-dev.txt", "torch  # any\n", (1, "silent-downgrade", "3.10")),
    ("requirements.txt", "torch; sys_platform == 'darwin'\n", (1, "silent-downgrade", "3.10")),
    ("requirements.txt", "--extra-index-url https://x/whl/cu126\n", (1, "pin", "cuda12.6")),
    (
        "requirements.txt",
        "https://x.example/torch-2.9.1+cu126-cp310-cp310-linux_x86_64.whl\n",
        (1, "pin", "cuda12.6"),
    ),
    (
        "PKG-INFO",
        "Metadata-Version: 2.1\nName: x\n        \nVersion: 1\n",
        (1, "no-requires-python", "3.10"),
    ),
    (
        "x-1.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: x\nRequires-Python: >=3.8\nRequires-Dist: torch\n",
        (4, "silent-downgrade", "3.10"),
    ),
    (
        "PKG-INFO",
        "Metadata-Version: 2.1\nRequires-Python: >=3.11\nRequires-Dist: torch==2.9.1+cu126\n",
        (3, "pin", "cuda12.6"),
    ),
    (
        ".github/workflows/a.yml",
        "env:\n  CIBW_BUILD: cp310-* cp311-*\njobs: {}\n",
        (2, "pin", "3.10"),
    ),
    (
        ".github/workflows/a.yml",
        "env:\n  MACOSX_DEPLOYMENT_TARGET: 11.0\njobs: {}\n",
        (2, "silent-downgrade", "macosx_13_0_arm64"),
    ),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    container: python:3.10\n",
        (3, "pin", "3.10"),
    ),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    steps:\n    - with:\n        python-version: |\n          3.9\n"
        "          3.10\n",
        (7, "pin", "3.10"),
    ),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    steps:\n    - with:\n        python-version: '3.13'\n"
        "        freethreaded: true\n",
        (5, "pin", "3.13t"),
    ),
    (
        ".github/workflows/a.yml",
        "on:\n  workflow_call:\n    inputs:\n      python-version:\n        default: '3.10'\n",
        (5, "pin", "3.10"),
    ),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    strategy:\n      matrix:\n        cuda: ['12.6.3', '13.0']\n",
        (5, "pin", "cuda12.6"),
    ),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    strategy:\n      matrix:\n        include:\n"
        "        - {gpu-arch-type: cuda, gpu-arch-version: '12.6'}\n",
        (6, "pin", "cuda12.6"),
    ),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    steps:\n    - run: >\n        pip install\n        --python 3.10\n"
        "        x\n    - uses: y\n",
        (6, "pin", "3.10"),
    ),
    (
        ".github/workflows/a.yml",
        "x: {{ cookiecutter.x }}\njobs:\n  - python-version: '3.10'\n",
        (3, "pin", "3.10"),
    ),
    ("action.yml", "runs:\n  steps:\n  - with: {python-version: '3.10'}\n", (3, "pin", "3.10")),
    (".gitlab-ci.yml", "test:\n  image: python:3.10-slim\n", (2, "pin", "3.10")),
]
FALSE = [
    ("pyproject.toml", NAMED),
    ("pyproject.toml", '# requires-python = ">=3.8"\n' + NAMED),
    ("pyproject.toml", NAMED + 'description = "Python 3.10 is gone"\n'),
    ("pyproject.toml", '[build-system]\nrequires = ["cmake>=3.10", "matplotlib>=3.10"]\n'),
    ("pyproject.toml", '[build-system]\nrequires = ["matplotlib==3.10.1"]\n'),
    ("pyproject.toml", '[tool.cibuildwheel]\nskip = "cp310-*"\n'),
    ("pyproject.toml", '[tool.cibuildwheel]\ntest-skip = ["cp310-*"]\nbuild = "cp31[1-4]-*"\n'),
    ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.11"\nmatplotlib = "^3.10"\n'),
    ("pyproject.toml", '[tool.commitizen]\nversion = "3.10"\n'),
    ("pyproject.toml", '[tool.ruff.lint]\nignore = ["UP310"]\n'),
    (
        "pyproject.toml",
        '[tool.cibuildwheel.macos]\nenvironment = {MACOSX_DEPLOYMENT_TARGET = "14.0"}\n',
    ),
    ("CHANGELOG.md", "Drop Python 3.10\n"),
    ("README.rst", "python3.10 -m pip install x\n"),
    ("Dockerfile", "# FROM python:3.10\nFROM python:3.12\nRUN apt install cmake=3.10\n"),
    ("Dockerfile", "RUN wget https://example.org/rocm-3.10.tar.gz tool-3.10.1\n"),
    ("Dockerfile", "RUN pip install cmake==3.10 matplotlib==3.10.0\n"),
    ("Dockerfile", "FROM alpine:3.10\n"),
    ("Dockerfile", "RUN echo python 3.10 is not supported\n"),
    ("Dockerfile", "ENV ROCM_VERSION=3.10 CUDA_ARCH=12.6\n"),
    ("Dockerfile", "ENV PYTHON_VERSION=3.12 CMAKE_VERSION=3.10\n"),
    ("Dockerfile", "RUN python -m pip install 'python-dateutil>=2.8' numpy==1.26\n"),
    ("Dockerfile", "RUN pip install 'x; python_version >= \"3.10\"'\n"),
    (".github/workflows/a.yml", "jobs: {a: {steps: [{uses: x@v3.10, with: {cmake: '3.10'}}]}}\n"),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    name: Python 3.10\n    if: matrix.python-version == '3.10'\n"
        "    steps:\n    # python-version: '3.10'\n    - {run: make}\n",
    ),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    strategy:\n      matrix:\n        python-version: ['3.11', '3.12']\n"
        "        cmake: ['3.10']\n",
    ),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    strategy:\n      matrix:\n        python-version: ['3.10', '3.12']\n"
        "        exclude: [{python-version: '3.10'}]\n",
    ),
    (".github/workflows/a.yml", "env: {CIBW_SKIP: cp310-*, TORCH_CUDA_ARCH_LIST: '8.0 12.6'}\n"),
    (".pre-commit-config.yaml", "repos:\n- repo: x\n  rev: v3.10.0\n"),
    ("environment.yml", "dependencies:\n  - cmake=3.10\n  - python>=3.11\n"),
    ("recipe/meta.yaml", "requirements:\n  host:\n    - python\n    - cmake >=3.10\n"),
    ("recipe/meta.yaml", "build:\n  skip: true  # [py<311]\n"),
    (
        "recipe/conda_build_config.yaml",
        "MACOSX_DEPLOYMENT_TARGET:\n  - 10.15  # [osx and x86_64]\n",
    ),
    ("tox.ini", "[tox]\nenvlist = py311\n[testenv]\ndeps = numpy>=3.10\n"),
    ("tox.ini", "[tox]\n# envlist = py310\nminversion = 3.10\n"),
    ("setup.py", "'''Works on Python 3.10.'''\n# python_requires='>=3.8'\n"),
    ("setup.py", "from setuptools import setup\nsetup()\n"),
    ("setup.py", "setup(install_requires=['matplotlib>=3.10', 'torchvision'])\n"),
    ("noxfile.py", "@nox.session(python=['3.11'])\ndef t(s):\n    s.install('x==3.10')\n"),
    ("requirements.txt", "matplotlib==3.10.1\npython-dateutil\npytorch-lightning\n"),
    ("Dockerfile", "FROM python:3.100\nRUN echo cp3100 cu1260 python3.10x86\n"),
    ("docs/data.yml", "python-version: '3.10'\n"),
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
    assert [(f.line, f.column) for f in scan.found] == [(9, 26), (21, 27), (24, 11)]
    assert dict(scan.found[0].cells) == {"job": 12, "with_value": 3}
    assert "(3 of 12 cells of job wheels)" in scan.found[0].message
    assert "YAML reads 3.10 without quotes as a number" in scan.found[1].message
    assert scan.found[0].fix == 'drop it, or write "3.11"'


def workflow(folder: Path, text: str) -> str:
    path = folder / ".github" / "workflows" / "publish.yml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return ".github/workflows/publish.yml"


FLASH = """\
jobs:
  build_wheels:
    strategy:
      matrix:
        os: [ubuntu-22.04, ubuntu-22.04-arm]
        python-version: ["3.10", "3.11", "3.12", "3.13"]
        torch-version: ["2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10"]
        cuda-version: ["12.9.1"]
    steps:
      - uses: actions/setup-python@v5
        with: {python-version: "${{ matrix.python-version }}"}
  publish_package:
    needs: [build_wheels]
    steps:
      - uses: actions/setup-python@v5
        with:
          python-version: "3.10"
"""


def test_jobs_beside_the_matrix_are_found_and_its_cells_counted(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    """S07: 14 of 56 cells are 3.10, and the publish_package job hard-codes it."""
    workflow(tmp_path, FLASH)
    matrix, job = scan_project(tmp_path, sunsets).found
    assert (matrix.line, dict(matrix.cells)) == (6, {"job": 56, "with_value": 14})
    assert "(14 of 56 cells of job build_wheels)" in matrix.message
    assert (job.line, dict(job.cells)) == (17, {})
    assert "in job publish_package: with.python-version" in job.message


def test_numbers_without_quotes_and_objects_are_counted_too(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    text = """\
jobs:
  a:
    strategy:
      matrix:
        python: [3.10, 3.12]
        target: [{py: "310", os: x}, {py: "312", os: y}, {os: z}]
    steps: [{run: make}]
  b:
    strategy: {matrix: {python-version: ["3.10"], include: [{python-version: "3.12"}]}}
"""
    workflow(tmp_path, text)
    found = scan_project(tmp_path, sunsets).found
    # b's include row would change the only original cell, so it makes a cell of its own
    assert [(f.line, f.cells["with_value"], f.cells["job"]) for f in found] == [
        (5, 4, 6),
        (6, 4, 6),
        (9, 1, 2),
    ]


def test_a_matrix_made_at_run_time_is_found_but_not_counted(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    matrix = "{python-version: ['3.10'], torch: '${{ fromJSON(inputs.torch) }}'}"
    workflow(tmp_path, f"jobs:\n  a:\n    strategy:\n      matrix: {matrix}\n")
    [found] = scan_project(tmp_path, sunsets).found
    assert (found.line, dict(found.cells)) == (4, {})


def test_conda_pins_are_per_platform(tmp_path: Path, sunsets: tuple[Sunset, ...]) -> None:
    """S11: win-arm64 has 3.14 only; each entry says on which platforms it counts."""
    (tmp_path / "conda_build_config.yaml").write_text(
        "python:\n  - 3.10.* *_cpython  # [not (win and arm64)]\n  - 3.14.* *_cp314\n", "utf-8"
    )
    [found] = scan_project(tmp_path, sunsets).found
    assert (found.line, found.kind) == (2, Kind.PIN)
    assert "linux-64" in found.message
    assert "not win-arm64" in found.message


@pytest.mark.parametrize(
    ("files", "kinds"),
    [
        ({"setup.py": "setup()\n", "setup.cfg": "[options]\npython_requires = >=3.11\n"}, []),
        ({"setup.py": "setup()\n", "pyproject.toml": NAMED}, []),
        (
            {"setup.py": "setup()\n", "setup.cfg": "[metadata]\nname = x\n"},
            [("setup.cfg", 1, "no-requires-python", "3.10")],
        ),
        (
            {
                "setup.py": "setup(python_requires='>=3.11')\n",
                "pyproject.toml": '[project]\nname = "x"\n',
            },
            [("pyproject.toml", 2, "no-requires-python", "3.10")],
        ),
        (
            {
                "setup.py": "setup(python_requires='>=3.11')\n",
                "pyproject.toml": '[project]\nname = "x"\ndynamic = ["requires-python"]\n',
            },
            [],
        ),
    ],
)
def test_files_of_one_folder_speak_for_one_project(
    tmp_path: Path,
    sunsets: tuple[Sunset, ...],
    files: dict[str, str],
    kinds: list[tuple[str, int, str, str]],
) -> None:
    assert found_in(tmp_path, files, sunsets) == kinds


def test_a_requirement_is_judged_by_the_range_nearest_to_it(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    files = {
        "pyproject.toml": NAMED.replace("3.11", "3.9"),
        "new/pyproject.toml": NAMED + 'dependencies = ["torch"]\n',
        "new/requirements.txt": "torch\n",
        "requirements.txt": "torch\n",
    }
    found = found_in(tmp_path, files, sunsets)
    assert [(f[0], f[2]) for f in found] == [
        ("pyproject.toml", "floor"),
        ("requirements.txt", "silent-downgrade"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "fix"),
    [
        ("pyproject.toml", NAMED.replace("3.11", "3.8,<3.15"), '= ">=3.11,<3.15"'),
        ("setup.py", "setup(python_requires='>=3.8')", 'write python_requires=">=3.11"'),
        ("setup.cfg", "[options]\npython_requires = ~=3.8\n", "write python_requires = >=3.11"),
        ("setup.cfg", "[options]\npython_requires = >=3.8,!=3.9.*,!=3.12.0", ">=3.11,!=3.12.0"),
        ("tox.ini", "[tox]\nenvlist = py310", "drop it, or write py311"),
        ("PKG-INFO", "Requires-Python: >=3.8", "publish the next release with Requires-Python"),
        ("recipe/meta.yaml", "  - python >=3.9", "write python >=3.11"),
    ],
)
def test_the_fix_is_text_to_write(
    tmp_path: Path, sunsets: tuple[Sunset, ...], name: str, text: str, fix: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    [found] = scan_project(tmp_path, sunsets).found
    assert fix in found.fix


def test_macos_targets_matter_only_to_a_project_that_may_use_torch(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    target = '[tool.cibuildwheel.macos]\nenvironment = {MACOSX_DEPLOYMENT_TARGET = "11.0"}\n'
    needs = NAMED + 'dependencies = ["{}"]\n'
    assert found_in(tmp_path, {"pyproject.toml": needs.format("numpy") + target}, sunsets) == []
    found = found_in(tmp_path, {"pyproject.toml": needs.format("torch") + target}, sunsets)
    assert [(f[1], f[3]) for f in found] == [(6, "macosx_13_0_arm64")]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("setup.py", "setup(python_requires=read())", "line 1: python_requires is computed"),
        ("setup.py", "setup(**read())", "line 1: setup(**...) is computed"),
        ("setup.py", "print 'x'", "is not Python 3"),
        ("pyproject.toml", "[", "is not TOML"),
        (".github/workflows/a.yml", "a: [", "is not YAML"),
        ("action.yml", "a: 1\na: 2\n", "duplicate key"),
    ],
)
def test_what_cannot_be_known_is_said(
    tmp_path: Path, sunsets: tuple[Sunset, ...], name: str, text: str, says: str
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    scan = scan_project(tmp_path, sunsets)
    [(file, why)] = scan.unknown
    assert (file, scan.found, scan.looked_at) == (name, (), (name,))
    assert says in why


def test_a_file_read_by_line_gives_findings_that_say_they_are_unsure(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    text = "{% if x %}\n  - python: [\nimage: python:3.10\n"
    (tmp_path / ".gitlab-ci.yml").write_text(text, encoding="utf-8")
    [found] = scan_project(tmp_path, sunsets).found
    assert (found.line, found.confidence) == (3, Confidence.LOW)


def test_aliases_are_followed_and_merge_keys_read_where_they_stand(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    text = "x: &a\n  python: ['3.10']\njobs:\n  b: {<<: *a}\n  c: *a\n"
    workflow(tmp_path, text)
    scan = scan_project(tmp_path, sunsets)
    assert [f.line for f in scan.found] == [2]
    assert scan.unknown == ()


FLOOR = b"[options]\npython_requires = >=3.8\n"


def test_an_sdist_and_a_wheel_are_read_without_unpacking(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    sdist, wheel = tmp_path / "x-1.0.tar.gz", tmp_path / "x-1.0-py3-none-any.whl"
    with tarfile.open(sdist, "w:gz") as archive:
        for name, data in (("x-1.0/setup.cfg", FLOOR), ("x-1.0/../../setup.py", b"setup()")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("x-1.0/tox.ini")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("x-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: x\n")
    before = sorted(tmp_path.rglob("*"))
    scan = scan_project(sdist, sunsets)
    assert [(f.file, f.line, f.kind) for f in scan.found] == [("setup.cfg", 2, Kind.FLOOR)]
    [missing] = scan_project(wheel, sunsets).found
    assert (missing.file, missing.kind) == ("x-1.0.dist-info/METADATA", Kind.NO_REQUIRES_PYTHON)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["x.tar.gz", "x.zip", "x.whl"])
def test_a_damaged_archive_is_said_to_be_one(
    tmp_path: Path, sunsets: tuple[Sunset, ...], name: str
) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04" + b"x" * 100)
    scan = scan_project(tmp_path / name, sunsets)
    assert scan.looked_at == ()
    assert "damaged" in scan.left_out[0][1]


def test_pipes_are_not_opened_and_names_are_shown_safely(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    os.mkfifo(tmp_path / "Dockerfile")
    (tmp_path / "a\x1b[31m.sh").write_text("python3.10 x\n", encoding="utf-8")
    (tmp_path / os.fsdecode(b"\xff.sh")).write_text("python3.10 x\n", encoding="utf-8")
    scan = scan_project(tmp_path, sunsets)
    assert scan.unread == (("Dockerfile", "not a regular file"),)
    assert [f.file for f in scan.found] == ["\\udcff.sh", "a\\x1b[31m.sh"]


def test_what_is_left_out_is_named(tmp_path: Path, sunsets: tuple[Sunset, ...]) -> None:
    deep = tmp_path.joinpath(*"abcdefghijklm")
    deep.mkdir(parents=True)
    for folder in (deep, tmp_path / "third_party"):
        folder.mkdir(exist_ok=True)
        (folder / "Dockerfile").write_text("FROM python:3.10\n", encoding="utf-8")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "Dockerfile").write_text("FROM python:3.10\n", encoding="utf-8")
    scan = scan_project(tmp_path, sunsets)
    assert [f.file for f in scan.found] == ["build/Dockerfile"]
    assert [name for name, _ in scan.left_out] == ["a/b/c/d/e/f/g/h/i/j/k/l/m", "third_party"]


@pytest.mark.parametrize(
    "text", ["python " * 9000, "3.9 " * 9000, "cuda-a-b" * 8000, "py{1,2}" * 9000]
)
@pytest.mark.parametrize("name", ["Dockerfile", "tox.ini", "setup.cfg", "meta.yaml"])
def test_no_line_makes_a_pattern_slow(
    tmp_path: Path, sunsets: tuple[Sunset, ...], name: str, text: str
) -> None:
    """A pattern that backtracks without bound would take hours on such a line."""
    (tmp_path / name).write_text(f"[tox]\nenvlist = {text}python3.1 310 126\n", encoding="utf-8")
    assert scan_project(tmp_path, sunsets).looked_at == (name,)


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
    assert scan.unread == (
        ("Dockerfile", "a link out of the project"),
        ("setup.cfg", "larger than 1048576 bytes"),
        ("tox.ini", "not UTF-8: byte 0"),
    )
    assert scan.left_out == (("linked", "a link"),)


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
