"""A project as it was at a git revision, in a folder of its own; the repository is only read."""

from __future__ import annotations

import tarfile
from pathlib import Path

from wheelgrid.core.errors import BadInputError, CouldNotCheckError, Fault
from wheelgrid.engines.process import Processes

__all__ = ["export_revision"]

_SECONDS = 120.0
_PARTS = ("recipes", "compat")


def _git(processes: Processes, root: Path, arguments: list[str], log: Path) -> str:
    """What git prints; CouldNotCheckError where there is no git or no repository."""
    before = log.stat().st_size if log.exists() else 0
    result = processes.run(["git", *arguments], cwd=root, log=log, timeout=_SECONDS)
    text = log.read_bytes()[before:].decode("utf-8", "replace")
    if not result.ok:
        msg = f"git {arguments[0]}: {text.strip()[:300]}"
        raise CouldNotCheckError(msg)
    return text


def export_revision(
    revision: str, root: Path, matrix: str, target: Path, *, processes: Processes
) -> Path:
    """Write matrix, recipes and compat of a revision below `target`; returns the project there.

    BadInputError for a name that is no revision. Nothing is checked out.
    """
    log = target / "git.log"
    place = target / "project"
    place.mkdir(parents=True)
    spec = f"{revision}^{{commit}}"
    try:
        found = _git(
            processes, root, ["rev-parse", "--verify", "--quiet", "--end-of-options", spec], log
        )
        commit = found.strip().splitlines()[-1]
    except (CouldNotCheckError, IndexError) as error:
        message = f"{revision!r} is no revision here, no plan.json and no folder with {matrix}"
        raise BadInputError([Fault(file="diff", message=message)]) from error
    listed = _git(processes, root, ["ls-tree", "--name-only", commit, "./"], log).splitlines()
    names = {name.rpartition("/")[2] for name in listed}
    if matrix not in names:
        message = f"{revision} has no {matrix}"
        raise BadInputError([Fault(file="diff", message=message)])
    wanted = [matrix, *(part for part in _PARTS if part in names), ":(glob)**/*.yaml"]
    archive = target / "project.tar"
    arguments = ["archive", "--format=tar", f"--output={archive}", commit, "--", *wanted]
    _git(processes, root, arguments, log)
    with tarfile.open(archive) as tar:
        tar.extractall(place, filter="data")
    return place
