"""`wheelgrid diff` on a real git repository and on plan files."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("git") is None, reason="no git on this machine"),
]
REMOVED = """\
removed:
  - axis: torch
    value: "2.14.1"
    reason: "We support the newest line only."
    source: support policy
    date: "2026-12-01"
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repo(project: Path) -> Path:
    """The small project, committed."""
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "first")
    return project


def drop_old_torch(project: Path, *, reason: bool) -> None:
    path = project / "matrix.yaml"
    text = path.read_text(encoding="utf-8").replace('["2.14.1", "2.15.0"]', '["2.15.0"]')
    text = text.replace('torch: "2.14.1", ', "")
    path.write_text(text + (REMOVED if reason else ""), encoding="utf-8")


def test_a_lost_value_needs_a_reason(repo: Path, wheelgrid: Run) -> None:
    drop_old_torch(repo, reason=False)
    found = wheelgrid("diff", "HEAD", cwd=repo)
    assert found.returncode == 1
    assert "torch 2.14.1 left its axis, no reason given" in found.stdout
    drop_old_torch(repo, reason=True)
    (repo / "matrix.yaml").write_text(
        (repo / "matrix.yaml").read_text(encoding="utf-8").split("removed:")[0] + REMOVED,
        encoding="utf-8",
    )
    found = wheelgrid("diff", "HEAD", cwd=repo)
    assert found.returncode == 0, found.stdout
    assert "We support the newest line only." in found.stdout
    assert wheelgrid("diff", "HEAD", "--fail-on", "lost", cwd=repo).returncode == 1


def test_two_revisions_and_plan_files_give_the_same(
    repo: Path, wheelgrid: Run, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    day = ("--as-of", "2026-12-01")
    old = tmp_path_factory.mktemp("plans") / "old.json"
    old.write_text(wheelgrid("plan", "--json", *day, cwd=repo).stdout, encoding="utf-8")
    drop_old_torch(repo, reason=True)
    git(repo, "commit", "-aqm", "second")
    by_revision = wheelgrid("diff", "HEAD~1", "HEAD", "--json", *day, cwd=repo)
    by_file = wheelgrid("diff", str(old), "--json", *day, cwd=repo)
    documents = [json.loads(r.stdout) for r in (by_revision, by_file)]
    schema = json.loads(
        (repository / "src/wheelgrid/schemas/diff.schema.json").read_text(encoding="utf-8")
    )
    for document in documents:
        jsonschema.validate(document, schema)
        del document["cost"]
    assert documents[0] == documents[1]
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=repo, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


@pytest.mark.parametrize("name", ["no-such-revision", "--output=x", "-x", "HEAD; ls", "../.."])
def test_what_is_no_revision_is_one_clear_error(repo: Path, wheelgrid: Run, name: str) -> None:
    found = wheelgrid("diff", "--", name, cwd=repo)
    assert found.returncode == 2
    assert "Traceback" not in found.stderr
    assert found.stdout == ""


def test_markdown_is_for_a_pull_request(repo: Path, wheelgrid: Run) -> None:
    drop_old_torch(repo, reason=True)
    found = wheelgrid("diff", "HEAD", "--markdown", cwd=repo)
    assert found.stdout.startswith("### wheelgrid: 0 cells gained, ")
    assert "<details><summary>Cells lost: " in found.stdout
