"""Small matrices in, whole documents out. `pytest --update-golden` rewrites the expectations."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from wheelgrid.cli.main import cli

HERE = Path(__file__).parent
DAY = date(2026, 12, 1)

CASES = {
    "plan-small.json": ["plan", "--json"],
    "explain-sunset.txt": ["explain", "torch2.15.0-cp310-linux_x86_64-cpu"],
    "explain-windows-13.4.txt": ["explain", "torch2.14.1-cp311-win_amd64-cuda13.4"],
    "explain-included.txt": ["explain", "torch2.14.1-cp310-linux_x86_64-cpu"],
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_documents_are_as_reviewed(
    name: str, project: Path, request: pytest.FixtureRequest
) -> None:
    arguments = ["--root", str(project), *CASES[name], "--as-of", DAY.isoformat()]
    shown = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    expected = HERE / name
    if request.config.getoption("--update-golden"):
        expected.write_text(shown.stdout, encoding="utf-8")
    assert shown.stdout == expected.read_text(encoding="utf-8"), (
        f"{name} differs: review, then `nox -s tests -- tests/golden --update-golden`"
    )


def test_no_expectation_is_stale() -> None:
    assert {p.name for p in HERE.iterdir() if p.suffix in {".json", ".txt"}} == set(CASES)
