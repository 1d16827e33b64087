"""Shared fixtures, and the summary of what could not run here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.recipe import load_recipes
from wheelgrid.config.yaml import Faults
from wheelgrid.planning.plan import Plan, make_plan

ROOT = Path(__file__).parent.parent
# Laws are about values, not about how busy the machine is.
settings.register_profile("wheelgrid", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wheelgrid")

UNIT_FOLDERS = {"unit", "property", "golden", "data"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Golden files are rewritten only when asked."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")


@pytest.fixture
def repository() -> Path:
    """The root of this repository."""
    return ROOT


@pytest.fixture(scope="session")
def plan() -> Plan:
    """The shipped matrix, decided as of a fixed day."""
    faults = Faults()
    project = Project(ROOT)
    matrix = load_matrix(project, faults)
    assert matrix is not None
    recipes = load_recipes(project, matrix.packages, faults)
    knowledge = load_knowledge(project, faults, features=True)
    faults.check()
    return make_plan(matrix, recipes, knowledge, as_of=date(2026, 12, 1))


@pytest.fixture(autouse=True)
def no_processes_in_fast_tests(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside integration/, starting a process is a failure."""
    if request.path.parent.name not in UNIT_FOLDERS:
        return

    def refuse(*arguments: object, **_: object) -> None:
        msg = f"a fast test started a process: {arguments}"
        raise AssertionError(msg)

    monkeypatch.setattr(subprocess, "Popen", refuse)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project: two torches, two Pythons, three accelerators, compat of this repository."""
    shutil.copytree(ROOT / "compat", tmp_path / "compat")
    (tmp_path / "matrix.yaml").write_text(SMALL_MATRIX, encoding="utf-8")
    recipe = tmp_path / "recipes" / "regex"
    recipe.mkdir(parents=True)
    for name in ("recipe.yaml", "smoke.py"):
        shutil.copy(ROOT / "recipes" / "regex" / name, recipe / name)
    return tmp_path


SMALL_MATRIX = """\
schema: "1"
name: small
axes:
  torch: ["2.14.1", "2.15.0"]
  python: ["3.10", "3.11"]
  accelerator: [cpu, cuda13.0, cuda13.4]
  platform: [linux_x86_64, win_amd64]
packages: [regex]
tiers:
  stack:
    - packages: [regex]
      when: {torch: "2.14.1", accelerator: cpu}
"""


@pytest.fixture
def wheelgrid() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command line as a user would; returns status, stdout and stderr."""

    def run(
        *arguments: str, cwd: Path = ROOT, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "wheelgrid", *arguments],
            cwd=cwd,
            env={**os.environ, "CI": "true", **(env or {})},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped, and why."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[text.removeprefix("Skipped: ")] += 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")
