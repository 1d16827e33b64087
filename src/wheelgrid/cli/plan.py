"""`wheelgrid plan`: expand, decide, collapse, and compare with what is there."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import click

from wheelgrid.cli import plan_text
from wheelgrid.cli.context import (
    as_of_option,
    channel_option,
    json_option,
    load_plan,
    open_project,
    print_json,
)
from wheelgrid.engines.store import Store
from wheelgrid.planning.document import plan_document
from wheelgrid.planning.listing import listing
from wheelgrid.planning.plan import Plan

__all__ = ["command"]


def _cells(plan: Plan) -> None:
    """One included cell a line, as JSON; written as they are made, however many there are."""
    for number in plan.decided.numbers():
        decision = plan.decided.decision(number)
        row = {**decision.cell.values, **decision.extra}
        click.echo(json.dumps(row, ensure_ascii=False, separators=(",", ":")))


@click.command(name="plan", short_help="Expand and decide the matrix.")
@click.option("--builds", is_flag=True, help="List every build with its action.")
@click.option("--tier", default="stack", show_default=True, help="Tier whose builds are listed.")
@click.option("--why-not", is_flag=True, help="List excluded cells by reason and rule, counted.")
@click.option("--list", "as_list", is_flag=True, help="List every candidate: id, outcome, rule.")
@click.option("--cells", is_flag=True, help="Print the included cells, one JSON object a line.")
@channel_option
@as_of_option
@json_option
@click.pass_obj
def command(
    root: Path | None,
    *,
    builds: bool,
    tier: str,
    why_not: bool,
    as_list: bool,
    cells: bool,
    channel: str,
    as_of: date,
    as_json: bool,
) -> int:
    """Expand the axes, decide every candidate, collapse into builds, compare with dist/."""
    project = open_project(root)
    plan = load_plan(project, as_of, channel=channel)
    if as_json:
        print_json(plan_document(plan))
        return 0
    if cells:
        _cells(plan)
        return 0
    if as_list:
        click.get_text_stream("stdout").writelines(
            "\t".join(line) + "\n" for line in listing(plan.decided)
        )
        return 0
    if why_not:
        click.echo("\n".join(plan_text.why_not_lines(plan)))
        return 0
    lines = plan_text.summary(plan) + plan_text.matrix_table(plan) + plan_text.axis_lines(plan)
    if plan.builds:
        store = Store(project, plan)
        actions = store.actions()
        if builds:
            lines += ["", *(f"{a.sign} {a.build.id}: {a.why}" for a in actions)]
        elif tier in plan.matrix.tiers:
            lines += plan_text.tier_lines(plan, store, actions, tier)
        for wheel in store.retired():
            lines.append(f"- {wheel.relative_to(project.root)}: no build of the plan makes it")
    click.echo("\n".join(lines))
    return 0
