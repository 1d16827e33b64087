"""Imports the matrices of a GitHub workflow: one matrix.yaml for each job that has one."""

from __future__ import annotations

import difflib

from wheelgrid.config.foreign import ForeignNode, Kind, parse_foreign
from wheelgrid.config.yaml import Faults
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.importers.github_build import build
from wheelgrid.importers.github_job import Job, Options
from wheelgrid.importers.github_read import is_expression, read_matrix
from wheelgrid.importers.github_triggers import trigger_findings
from wheelgrid.importers.report import Finding, Imported, Level

__all__ = ["Options", "import_workflow"]


def _comments(text: str) -> dict[int, str]:
    """For each line, the comment block that ends on the line above it."""
    found: dict[int, str] = {}
    block: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("#"):
            block.append(stripped.lstrip("#").strip())
            continue
        if block and stripped:
            found[number] = " ".join(" ".join(block).split())[:300]
        if stripped:
            block = []
    return found


def _jobs(workflow: ForeignNode, options: Options) -> dict[str, ForeignNode]:
    """Job to its matrix; BadInputError where there is none, or not the one asked for."""
    jobs = workflow.get("jobs")
    found: dict[str, ForeignNode] = {}
    for name, job in jobs.entries() if jobs is not None else ():
        strategy = job.get("strategy")
        matrix = strategy.get("matrix") if strategy is not None else None
        if strategy is not None and is_expression(strategy.text):
            matrix = strategy
        if matrix is not None:
            found[name] = matrix
    problem = ""
    if jobs is None or jobs.kind is not Kind.MAPPING:
        problem = "has no jobs: is it a GitHub workflow?"
    elif options.job and options.job not in found:
        problem = f"has no job {options.job!r} with a matrix"
    elif not found:
        problem = "has no job with a matrix"
    if problem:
        close = difflib.get_close_matches(options.job, found, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"jobs with one: {', '.join(found)}"
        raise BadInputError([Fault(file=options.file, message=problem, hint=hint if found else "")])
    return {n: m for n, m in found.items() if options.job in {"", n}}


def import_workflow(text: str, options: Options) -> tuple[list[Imported], list[Finding]]:
    """Every matrix of the workflow (or of one job), and what else the file has to say.

    BadInputError where the file is not a workflow with a matrix. Expressions are never evaluated.
    """
    faults = Faults()
    workflow = parse_foreign(text, file=options.file, faults=faults)
    faults.check()
    if workflow is None:
        return [], []
    comments = _comments(text)
    results = []
    for name, matrix in _jobs(workflow, options).items():
        raw = read_matrix(matrix, file=options.file, job=name)
        result = Imported(job=name, findings=list(raw.findings))
        if not (result.has(Level.ERROR) or result.has(Level.UNKNOWN)):
            build(Job(raw, options, result, comments))
        results.append(result)
    return results, trigger_findings(workflow, options.file)
