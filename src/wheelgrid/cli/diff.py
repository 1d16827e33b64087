"""`wheelgrid diff`: what a change of the matrix, the recipes or compat/ does, before it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from wheelgrid.cli import diff_text
from wheelgrid.cli.context import as_of_option, channel_option, load_plan, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.cli.select_text import records_of
from wheelgrid.config.files import Project
from wheelgrid.core.errors import BadInputError, ExitCode, Fault
from wheelgrid.engines.process import Processes
from wheelgrid.engines.revision import export_revision
from wheelgrid.planning.choose import cost_model
from wheelgrid.planning.cost import Work
from wheelgrid.planning.diff import Cost, Diff, compare, cost_of_builds
from wheelgrid.planning.document import PLAN_SCHEMA_VERSION, plan_document
from wheelgrid.planning.plan import Plan

__all__ = ["command"]

MAX_PLAN_BYTES = 256 * 1024 * 1024
FAIL_ON = ("unexplained", "lost", "any", "none")

Side = tuple[Mapping[str, Any], Cost]


def _plan_file(path: Path) -> Side:
    """A plan that `wheelgrid plan --json` wrote; BadInputError for anything else."""
    try:
        with path.open("rb") as handle:
            document = json.loads(handle.read(MAX_PLAN_BYTES))
        if document["schema_version"] != PLAN_SCHEMA_VERSION:
            message = f"is plan format {document['schema_version']}, not {PLAN_SCHEMA_VERSION}"
            raise BadInputError([Fault(file=str(path), message=message)])
        return document, cost_of_builds(document)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"is not a plan: {error}"
        hint = "write one with `wheelgrid plan --json`"
        raise BadInputError([Fault(file=str(path), message=message, hint=hint)]) from error


def _cost(plan: Plan, project: Project) -> Cost:
    """Minutes of all builds and tests; GPU minutes and price where every cell has a runner."""
    model = cost_model(plan, records_of(project))
    building = sum(
        model.estimate(b.package, b.accelerator.family, Work.BUILD).minutes for b in plan.builds
    )
    packages = {
        point.id: [n for n in plan.matrix.packages if (n, point.id) in plan.build_of]
        for point in plan.points
    }
    costs = [model.cell(point, packages[point.id]) for point in plan.points]
    gpu, usd = [c.gpu_minutes for c in costs], [c.usd for c in costs]
    return Cost(
        build_minutes=round(building, 3),
        test_minutes=round(sum(c.minutes for c in costs), 3),
        gpu_minutes=None if None in gpu else round(sum(v for v in gpu if v is not None), 3),
        usd=None if None in usd else round(sum(v for v in usd if v is not None), 4),
    )


def _planned(project: Project, as_of: date, channel: str, records: Project) -> Side:
    plan = load_plan(project, as_of, channel=channel)
    return plan_document(plan), _cost(plan, records)


def _side(
    text: str, project: Project, as_of: date, channel: str, *, folder: Path, processes: Processes
) -> Side:
    """One side: a plan.json, a folder or matrix file, else a git revision of the project."""
    path = Path(text)
    if path.is_file() and path.suffix == ".json":
        return _plan_file(path)
    if path.is_dir() or path.is_file():
        return _planned(open_project(path), as_of, channel, project)
    exported = export_revision(text, project.root, project.matrix_name, folder, processes=processes)
    return _planned(Project(exported, project.matrix_name), as_of, channel, project)


def _exit_code(diff: Diff, fail_on: str) -> ExitCode:
    failing = {
        "unexplained": bool(diff.unexplained),
        "lost": bool(diff.lost),
        "any": diff.changed,
        "none": False,
    }
    return ExitCode.FAILURES if failing[fail_on] else ExitCode.GOOD


@click.command(name="diff", short_help="What changes between two plans.")
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="[AFTER]", default="")
@click.option("--markdown", is_flag=True, help="Print Markdown for a pull request.")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="unexplained",
    show_default=True,
    help="Exit 1 for cells lost without a reason, for any lost cell, for any change, for nothing.",
)
@channel_option
@as_of_option
@json_option
@click.pass_obj
def command(
    root: Path | None,
    *,
    before: str,
    after: str,
    markdown: bool,
    fail_on: str,
    channel: str,
    as_of: date,
    as_json: bool,
) -> int:
    """Compare two plans. BEFORE and AFTER are each a git revision of the project, a folder, a
    matrix file or a plan.json; without AFTER, BEFORE is compared with the project as it is.
    """
    project = open_project(root)
    processes = Processes(os.environ)
    try:
        with TemporaryDirectory(prefix="wheelgrid-diff-") as name:
            folder = Path(name)
            sides = [
                _side(text, project, as_of, channel, folder=folder / key, processes=processes)
                if text
                else _planned(project, as_of, channel, project)
                for key, text in (("before", before), ("after", after))
            ]
    finally:
        processes.close()
    (old, old_cost), (new, new_cost) = sides
    diff = compare(old, new, costs=(old_cost, new_cost))
    packages = sorted({*old["packages"], *new["packages"]})
    if as_json:
        print_json(diff_text.diff_document(diff))
    elif markdown:
        click.echo(diff_text.diff_markdown(diff, packages), nl=False)
    else:
        click.echo("\n".join(diff_text.diff_lines(diff, packages)))
    return int(_exit_code(diff, fail_on))
