"""What every command needs: the project, its plan, and JSON on stdout."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project, find_project
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.proofs import load_unproven
from wheelgrid.config.recipe import load_recipes
from wheelgrid.config.yaml import Faults
from wheelgrid.core.cell import AXES
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.planning.archs import toolchain_faults
from wheelgrid.planning.checks import contradictions, refused
from wheelgrid.planning.plan import Plan, make_plan

__all__ = [
    "as_of_option",
    "channel_option",
    "load_plan",
    "load_stack",
    "now",
    "open_project",
]


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date:
    del ctx, param
    if value is None:
        return now().date()
    try:
        return date.fromisoformat(value)
    except ValueError:
        msg = f"{value!r} is not a date such as 2026-09-25"
        raise click.BadParameter(msg) from None


def as_of_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--as-of DATE`: the day against which sunsets are judged; default today (UTC)."""
    return click.option(
        "--as-of",
        callback=_day,
        metavar="DATE",
        help="Say how far sunsets are as of this day (YYYY-MM-DD); default: today, UTC.",
    )(function)


def channel_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--channel NAME`: the named override of axis values; default the first written."""
    return click.option(
        "--channel",
        default="",
        metavar="NAME",
        help="Channel of the matrix (release, nightly ...); default: the first it names.",
    )(function)


def now() -> datetime:
    """The clock: read here, passed down as an argument."""
    return datetime.now(UTC).replace(microsecond=0)


def open_project(root: Path | None) -> Project:
    """The project at or above the root (default: the working directory)."""
    return find_project((root or Path.cwd()).resolve())


def load_plan(project: Project, as_of: date, *, features: bool = False, channel: str = "") -> Plan:
    """Read matrix, recipes and compat; raise all their faults at once; make the plan."""
    faults = Faults()
    matrix = load_matrix(project, faults, channel=channel)
    recipes = {}
    if matrix is not None:
        roles = {axis.name: axis.role for axis in matrix.axes}
        recipes = load_recipes(project, matrix.packages, faults, roles=roles)
    knowledge = load_knowledge(project, faults, features=features)
    unproven = load_unproven(project, faults)
    faults.check()
    assert matrix is not None  # noqa: S101 - a missing matrix is a fault
    faults.found += refused(matrix, recipes, as_of) + toolchain_faults(matrix, knowledge)
    faults.check()
    plan = make_plan(matrix, recipes, knowledge, as_of=as_of, unproven=unproven)
    faults.found += contradictions(plan)
    faults.check()
    return plan


def load_stack(project: Project, as_of: date, *, features: bool = False) -> Plan:
    """The plan of a stack; BadInputError for a matrix whose points are no cells."""
    plan = load_plan(project, as_of, features=features)
    if not plan.matrix.is_stack:
        missing = [axis for axis in AXES if not plan.matrix.axis_values(axis)]
        raise BadInputError(
            [
                Fault(
                    file=project.matrix_name,
                    path="axes",
                    message=f"has no axis {', '.join(missing)}: this command works on the cells of "
                    "a stack",
                    hint="`wheelgrid plan` and `explain` work on any matrix",
                )
            ]
        )
    return plan
