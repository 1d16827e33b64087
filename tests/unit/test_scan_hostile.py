"""Files made to break a scanner: each is read in bounded work, and nothing raises."""

from __future__ import annotations

import ast
from datetime import date
from pathlib import Path

import pytest

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.constants import Constants
from wheelgrid.scan.project import Scan, scan_project
from wheelgrid.scan.workflow_cells import CellBudget, job_matrices

ROOT = Path(__file__).parents[2]
DIGITS = "9" * 100_000
DOUBLING = "\n".join(["a0 = 'xxxxxxxxxx'", *(f"a{i} = a{i - 1} + a{i - 1}" for i in range(1, 36))])
WIDENING = "\n".join(["a0 = ['x']", *(f"a{i} = [{f'a{i - 1}, ' * 6}]" for i in range(1, 30))])


@pytest.fixture(scope="module")
def sunsets() -> tuple[Sunset, ...]:
    faults = Faults()
    found = load_knowledge(Project(ROOT), faults).sunsets
    faults.check()
    return tuple(s for s in found if s.stage(date(2026, 12, 1)))


def scan(folder: Path, name: str, text: str, sunsets: tuple[Sunset, ...]) -> Scan:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return scan_project(folder, sunsets)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", f'[project]\nname = "x"\nrequires-python = ">=3.{DIGITS}"\n'),
        ("pyproject.toml", f"[project]\nname = {DIGITS}\n"),
        ("setup.cfg", f"[options]\npython_requires = >=3.{DIGITS}\n"),
        ("requirements.txt", f"torch>={DIGITS}\ntorch=={DIGITS}.*\n"),
        ("setup.py", f"setup(python_requires=f'>={{0x{'f' * 9000}}}')\n"),
        ("setup.py", f"setup(python_requires='>=3.{DIGITS}')\n"),
        ("PKG-INFO", f"Metadata-Version: 2.1\nRequires-Python: >={DIGITS}\n"),
        ("environment.yml", f"dependencies:\n  - python={DIGITS}\n  - {DIGITS}\n"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_number_longer_than_python_converts_is_not_a_version(
    tmp_path: Path, sunsets: tuple[Sunset, ...], name: str, text: str
) -> None:
    """CPython refuses to convert more than 4300 digits; that must not end the scan."""
    found = scan(tmp_path, name, text, sunsets)
    assert found.looked_at == (name,)
    assert {str(f.kind) for f in found.found} <= {"no-requires-python"}


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("a = [a, a, a, a]", "a"),
        ("a = [b, b]\nb = [a, a]", "b"),
        (WIDENING, "a29"),
        ("a = a + a", "a"),
        (DOUBLING, "a35"),
        (f"a = '{'x' * 900}'\nb = f'{'{a}' * 5000}'", "b"),
    ],
    ids=["self", "two", "widening", "sum", "doubling", "joined"],
)
def test_names_that_refer_to_each_other_do_not_grow_without_end(
    tmp_path: Path, sunsets: tuple[Sunset, ...], text: str, argument: str
) -> None:
    code = f"{text}\nsetup(python_requires='>=3.8', classifiers={argument})\n"
    found = scan(tmp_path, "setup.py", code, sunsets)
    assert [str(f.kind) for f in found.found if f.value == "3.10"] == ["floor"]


def test_the_work_for_one_module_is_counted() -> None:
    constants = Constants(ast.parse(WIDENING))
    texts = list(constants.texts(ast.Name("a29")))
    assert len(texts) <= 20_000
    assert constants.steps < 0


def test_an_entry_of_a_known_tuple_is_known(tmp_path: Path, sunsets: tuple[Sunset, ...]) -> None:
    code = "LOW = (3, 9)\nsetup(python_requires=f'>={LOW[0]}.{LOW[1]}')\n"
    found = scan(tmp_path, "setup.py", code, sunsets)
    assert [(f.line, str(f.kind)) for f in found.found] == [(2, "floor")]
    beyond = scan(tmp_path, "setup.py", code.replace("LOW[1]", "LOW[2]"), sunsets)
    assert [what for _, what in beyond.unknown] == [
        "line 2: python_requires is computed, and nothing here is run"
    ]


def test_one_line_of_tox_expands_to_a_bounded_number_of_names(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    braces = "py{3,4,5}" * 20_000
    found = scan(tmp_path, "tox.ini", f"[tox]\nenvlist = py310, {braces}\n", sunsets)
    assert [(f.line, f.value) for f in found.found] == [(2, "3.10")]


def test_a_dotted_key_without_end_is_not_parsed_and_that_is_said(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    """The time of tomllib grows with the square of its parts: minutes for a megabyte."""
    found = scan(tmp_path, "pyproject.toml", f"{'a.' * 250_000}b = 1\n", sunsets)
    assert found.found == ()
    assert found.unknown == (
        (
            "pyproject.toml",
            "is not TOML, so it was read by line: a line has more than 5000 dots",
        ),
    )


def workflow(jobs: int) -> str:
    """Jobs with 40 cells each, of which 20 have 3.10, and one rule."""
    job = (
        "    strategy:\n      matrix:\n        python: ['3.10', '3.11']\n"
        f"        x: [{', '.join(map(str, range(20)))}]\n        exclude: [{{x: 99}}]\n"
    )
    return "jobs:\n" + "".join(f"  j{n}:\n{job}" for n in range(jobs))


def test_cells_of_all_matrices_together_stay_bounded() -> None:
    unknown: list[str] = []
    budget = CellBudget(left=250)
    found = job_matrices(workflow(5), "a.yml", budget=budget, unknown=unknown)
    assert [(m.job, len(m.cells)) for m in found] == [("j0", 40), ("j1", 40), ("j2", 40)]
    assert budget.left == 10
    assert unknown == [
        "line 23: the matrix of job j3 has too many cells to count",
        "line 29: the matrix of job j4 has too many cells to count",
    ]


def test_a_matrix_that_is_not_counted_is_found_all_the_same_and_said(
    tmp_path: Path, sunsets: tuple[Sunset, ...]
) -> None:
    axes = "".join(f"        x{n}: [{'0, ' * 50}]\n" for n in range(3))
    text = f"jobs:\n  a:\n    strategy:\n      matrix:\n        python: ['3.10']\n{axes}"
    found = scan(tmp_path, ".github/workflows/a.yml", text, sunsets)
    assert [(f.line, str(f.kind), dict(f.cells)) for f in found.found] == [(5, "pin", {})]
    assert found.unknown == (
        (
            ".github/workflows/a.yml",
            "line 5: the matrix of job a has too many cells to count",
        ),
    )
