"""`wheelgrid plan --coverage`: the chosen cells, what they cover and what they cost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from wheelgrid.config.files import Project
from wheelgrid.core.evidence import Observation
from wheelgrid.core.runner import runner_for
from wheelgrid.engines.atomic import write_atomically
from wheelgrid.engines.records import read_records
from wheelgrid.planning.choose import Choice
from wheelgrid.planning.github import JobMatrix, job_matrix, write_outputs
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.shard import Load, Sharding, shard

__all__ = ["choice_document", "choice_lines", "github_matrices", "records_of", "write_github"]

SELECTION_SCHEMA_VERSION = 1
_SHOWN = 20
_KINDS = {1: "values", 2: "pairs", 3: "triples"}


def records_of(project: Project) -> list[Observation]:
    """Records of this machine and those kept in compat/; unreadable ones are left out here."""
    folders = (project.compat / "observations" / "runs", project.work / "records")
    found = [record for folder in folders for _, record in read_records(folder)]
    return [record for record in found if isinstance(record, Observation)]


def _totals(choice: Choice) -> dict[str, float | None]:
    """Sums over the chosen cells; None where one of them is not known."""
    gpu = [cost.gpu_minutes for cost in choice.costs]
    usd = [cost.usd for cost in choice.costs]
    return {
        "minutes": round(sum(cost.minutes for cost in choice.costs), 3),
        "gpu_minutes": None if None in gpu else round(sum(v for v in gpu if v is not None), 3),
        "usd": None if None in usd else round(sum(v for v in usd if v is not None), 4),
    }


def choice_document(choice: Choice) -> dict[str, Any]:
    """The choice as JSON; schema in schemas/selection.schema.json."""
    names = choice.axes
    return {
        "schema_version": SELECTION_SCHEMA_VERSION,
        "candidates": choice.candidates,
        "axes": list(names),
        "strength": choice.selection.strength,
        "combinations": {
            "achievable": choice.proof.achievable,
            "covered": choice.proof.covered,
            "missing": [one.describe(names) for one in choice.proof.missing],
        },
        "budget": str(choice.budget) if choice.budget else None,
        "totals": _totals(choice),
        "cells": [
            {
                "id": point.id,
                "seen": str(seen),
                "runner": cost.runner or None,
                "minutes": cost.minutes,
                "gpu_minutes": cost.gpu_minutes,
                "usd": cost.usd,
                "estimates": {name: str(estimate) for name, estimate in cost.estimates},
            }
            for point, cost, seen in zip(choice.points, choice.costs, choice.seen, strict=True)
        ],
    }


def choice_lines(choice: Choice) -> list[str]:
    """The choice for people: cells, coverage with its proof, costs with their basis."""
    strength = choice.selection.strength
    kind = _KINDS.get(strength or 0, "cells")
    proof = choice.proof
    lines = [
        f"{len(choice.points)} of {choice.candidates} cells show {proof.covered} of "
        f"{proof.achievable} achievable {kind}"
    ]
    if strength:
        lines.append(f"axes that vary: {', '.join(choice.axes)}; checked apart from the search")
    totals = {name: value for name, value in _totals(choice).items() if value is not None}
    basis = Counter(str(e.basis) for cost in choice.costs for _, e in cost.estimates)
    shown = ", ".join(f"{value:g} {name.replace('_', ' ')}" for name, value in totals.items())
    lines.append(f"cost: {shown} ({', '.join(f'{n} {b}' for b, n in sorted(basis.items()))})")
    seen = Counter(str(one) for one in choice.seen)
    lines.append("cells: " + ", ".join(f"{n} {name}" for name, n in sorted(seen.items())))
    if proof.missing:
        lines.append(f"not covered: {len(proof.missing)} {kind}, the first:")
        lines += [f"  {one.describe(choice.axes)}" for one in proof.missing[:_SHOWN]]
    lines.append("")
    for point, cost, one in zip(choice.points, choice.costs, choice.seen, strict=True):
        runner = f", {cost.runner}" if cost.runner else ""
        lines.append(f"{point.id}  {cost.minutes:.3g} min{runner}, {one}")
    return lines


def github_matrices(
    plan: Plan, choice: Choice, how: Sharding, max_jobs: int
) -> tuple[JobMatrix, ...]:
    """The chosen cells as matrices of GitHub Actions, at most `max_jobs` jobs each."""
    loads = []
    for point, cost in zip(choice.points, choice.costs, strict=True):
        runner = runner_for(plan.matrix.runners, point)
        labels = runner.runs_on if runner else ()
        loads.append(Load(id=point.id, cost=cost.minutes, runs_on=labels))
    axes = {axis.name: len(axis.values) for axis in plan.matrix.axes}
    matrices = shard(loads, how, axes=axes, max_jobs=max_jobs)
    return tuple(job_matrix(jobs) for jobs in matrices) or (job_matrix(()),)


def write_github(matrices: tuple[JobMatrix, ...], path: Path) -> None:
    """Append outputs to the file that GITHUB_OUTPUT names; `matrix`, or `matrix_1`, `matrix_2`."""
    outputs: dict[str, str] = {}
    for number, matrix in enumerate(matrices, 1):
        name = "matrix" if len(matrices) == 1 else f"matrix_{number}"
        outputs.update(matrix.outputs(name))
    before = path.read_bytes() if path.exists() else b""
    write_atomically(path, before + write_outputs(outputs).encode())
