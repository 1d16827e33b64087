"""`wheelgrid plan`: expand, decide, collapse, choose tests, and compare with what is there."""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path

import click
from click.core import ParameterSource

from wheelgrid.cli import plan_text, select_text
from wheelgrid.cli.context import as_of_option, channel_option, load_plan, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.cli.published import load_published
from wheelgrid.config.files import Project
from wheelgrid.engines.store import Store
from wheelgrid.planning.budget import parse_budget
from wheelgrid.planning.choose import STRENGTHS, Choice, choose
from wheelgrid.planning.document import plan_document
from wheelgrid.planning.listing import listing
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.published import last_tests
from wheelgrid.planning.shard import MAX_JOBS, Sharding

__all__ = ["command"]


def _cells(plan: Plan) -> None:
    """One included cell a line, as JSON; written as they are made, however many there are."""
    for number in plan.decided.numbers():
        point, extra = plan.decided.point(number)
        row = {**point.values, **extra}
        click.echo(json.dumps(row, ensure_ascii=False, separators=(",", ":")))


def _listing(plan: Plan) -> None:
    sys.stdout.writelines("\t".join(line) + "\n" for line in listing(plan.decided))


def _overview(
    project: Project, plan: Plan, tier: str, *, builds: bool, published: str
) -> list[str]:
    lines = plan_text.summary(plan) + plan_text.matrix_table(plan) + plan_text.axis_lines(plan)
    if plan.builds:
        store = Store(project, plan)
        actions = store.actions()
        if published:
            there = load_published(published, plan.builds)
            actions = plan_text.with_published(actions, there)
        if builds:
            tests = last_tests(select_text.records_of(project))
            lines += ["", *plan_text.build_lines(actions, tests)]
        elif tier in plan.matrix.tiers:
            lines += plan_text.tier_lines(plan, store, actions, tier)
        for wheel in store.retired():
            lines.append(f"- {wheel.relative_to(project.root)}: no build of the plan makes it")
    return lines


@click.command(name="plan", short_help="Expand and decide the matrix.")
@click.option("--builds", is_flag=True, help="List every build with its action.")
@click.option(
    "--tier",
    default="stack",
    show_default=True,
    help="Tier whose builds are listed; given with a selection, choose among its cells only.",
)
@click.option("--why-not", is_flag=True, help="List excluded cells by reason and rule, counted.")
@click.option("--list", "as_list", is_flag=True, help="List every candidate: id, outcome, rule.")
@click.option("--cells", is_flag=True, help="Print the included cells, one JSON object a line.")
@click.option(
    "--coverage",
    type=click.Choice(list(STRENGTHS)),
    default=None,
    help="Choose cells to test that show every achievable pair (or triple) of values.",
)
@click.option(
    "--budget", default="", metavar="AMOUNT", help="Choose within 10gpu-hours, 90minutes, 25usd."
)
@click.option("--must", multiple=True, metavar="GLOB", help="Cells that are chosen in any case.")
@click.option(
    "--github-matrix",
    is_flag=True,
    help="Print the (chosen) cells as one line of JSON for a matrix of GitHub Actions.",
)
@click.option(
    "--shards",
    type=click.Choice([str(s) for s in Sharding]),
    default=str(Sharding.ERROR),
    show_default=True,
    help="With more cells than jobs: refuse, pack several into a job, split into matrices.",
)
@click.option("--max-jobs", type=click.IntRange(1, MAX_JOBS), default=MAX_JOBS, show_default=True)
@click.option(
    "--github-output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Append the matrices to this file, as $GITHUB_OUTPUT takes them.",
)
@click.option(
    "--published",
    default="",
    metavar="FILE|index",
    help="What is published: a file with one file name a line, or `index` to ask your index.",
)
@channel_option
@as_of_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    builds: bool,
    tier: str,
    why_not: bool,
    as_list: bool,
    cells: bool,
    coverage: str | None,
    budget: str,
    must: tuple[str, ...],
    github_matrix: bool,
    shards: str,
    max_jobs: int,
    github_output: Path | None,
    published: str,
    channel: str,
    as_of: date,
    as_json: bool,
) -> int:
    """Expand the axes, decide every candidate, collapse into builds, compare with dist/."""
    project = open_project(ctx.obj)
    plan = load_plan(project, as_of, channel=channel)
    if coverage or budget or must or github_matrix or github_output:
        chosen_tier = tier if _given(ctx, "tier") else ""
        choice = choose(
            plan,
            select_text.records_of(project),
            coverage=coverage or "full",
            budget=parse_budget(budget) if budget else None,
            must=must,
            tier=chosen_tier,
        )
        if github_matrix or github_output:
            _github(plan, choice, Sharding(shards), max_jobs, github_output)
        elif as_json:
            print_json(select_text.choice_document(choice))
        else:
            click.echo("\n".join(select_text.choice_lines(choice)))
    elif as_json:
        print_json(plan_document(plan))
    elif cells:
        _cells(plan)
    elif as_list:
        _listing(plan)
    elif why_not:
        click.echo("\n".join(plan_text.why_not_lines(plan)))
    else:
        lines = _overview(project, plan, tier, builds=builds, published=published)
        click.echo("\n".join(lines))
    return 0


def _given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _github(plan: Plan, choice: Choice, how: Sharding, max_jobs: int, output: Path | None) -> None:
    """Matrices on stdout, a line each, or appended to the file of outputs; nothing else there."""
    matrices = select_text.github_matrices(plan, choice, how, max_jobs)
    if output is not None:
        select_text.write_github(matrices, output)
        return
    for matrix in matrices:
        click.echo(matrix.json)
