"""Reads refuted claims: what the audit of a wheel disproved, so that the planner believes it."""

from __future__ import annotations

import json
from pathlib import Path

from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.errors import Fault
from wheelgrid.core.recipe import Proof, Unproven

__all__ = ["FOLDER", "load_unproven", "proof_file"]

FOLDER = "unproven"
MAX_BYTES = 64 * 1024
_FIELDS = ("package", "version", "accelerator", "proof", "rule", "why", "wheel_sha256")


def proof_file(project: Project, one: Unproven) -> Path:
    """Where a refuted claim is kept on this machine; delete the file to let it be tried again."""
    name = f"{one.package}-{one.version}-{one.accelerator}-{one.proof}.json"
    return project.work / FOLDER / name


def _read(path: Path) -> Unproven:
    with path.open("rb") as handle:
        document = json.loads(handle.read(MAX_BYTES + 1))
    values = {name: document[name] for name in _FIELDS}
    if not all(isinstance(value, str) for value in values.values()):
        msg = "a field is not text"
        raise ValueError(msg)
    return Unproven(**{**values, "proof": Proof(values["proof"])})


def load_unproven(project: Project, faults: Faults) -> tuple[Unproven, ...]:
    """Refuted claims of this machine and of compat/observations; bad files are faults."""
    found = []
    for folder in (project.work / FOLDER, project.compat / "observations" / FOLDER):
        for path in sorted(folder.glob("*.json")):
            try:
                found.append(_read(path))
            except (OSError, ValueError, KeyError, TypeError) as error:
                name = (
                    path.name
                    if not path.is_relative_to(project.root)
                    else str(path.relative_to(project.root))
                )
                faults.found.append(Fault(file=name, message=f"is not a refuted claim: {error}"))
    return tuple(found)
