"""`wheelgrid sunset`: ends of support, for this matrix or for another project."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import click

from wheelgrid.cli.context import as_of_option, json_option, load_plan, open_project, print_json
from wheelgrid.core.errors import CouldNotCheckError, ExitCode
from wheelgrid.core.lifecycle import Stage, Sunset
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.sunsets import State, SunsetReport, state_of, sunset_reports
from wheelgrid.scan.project import Scan, scan_project

__all__ = ["command"]

SUNSET_SCHEMA_VERSION = 1


def _days(stage: Stage, as_of: date) -> str:
    left = stage.days_left(as_of)
    if left == 0:
        return "today"
    return f"in {left} days" if left > 0 else f"{-left} days ago"


def _report_lines(report: SunsetReport, as_of: date) -> list[str]:
    sunset = report.sunset
    lines = [
        f"{sunset.id}: {sunset.axis} {sunset.value}, {report.state}; "
        f"torch {sunset.last_release} is the last line with it"
    ]
    for stage in sunset.stages:
        mark = "*" if stage in report.due else " "
        kind = f"{stage.source.kind}, {stage.source.date}: {stage.source.source}"
        lines.append(
            f"  {mark} {stage.name.phrase:15} {stage.when:18} {_days(stage, as_of):12} {kind}"
        )
    build = "still built" if report.included else "no longer built"
    serve = "published wheels stay on the index" if sunset.serve else "wheels are taken down"
    lines.append(
        f"  cells: {len(report.included)} included ({build}), {len(report.gone)} gone; {serve}"
    )
    lines.append(f"  do: {sunset.action}")
    return lines


def _stage(stage: Stage, as_of: date) -> dict[str, Any]:
    return {
        "stage": str(stage.name),
        "date": stage.on.isoformat(),
        "precision": stage.precision,
        "days_left": stage.days_left(as_of),
        "kind": str(stage.source.kind),
        "source": stage.source.source,
        "said": stage.source.date,
    }


def _report_document(report: SunsetReport, as_of: date) -> dict[str, Any]:
    sunset = report.sunset
    return {
        "id": sunset.id,
        "axis": sunset.axis,
        "value": sunset.value,
        "state": str(report.state),
        "last_release": sunset.last_release,
        "serve": sunset.serve,
        "reason": sunset.reason,
        "action": sunset.action,
        "stages": [_stage(stage, as_of) for stage in sunset.stages],
        "due": [str(stage.name) for stage in report.due],
        "included": list(report.included),
        "gone": list(report.gone),
    }


def _matrix(plan: Plan, within: int, *, as_json: bool) -> int:
    """Sunsets of the values on the axes of this matrix."""
    reports = sunset_reports(plan, within=within)
    if as_json:
        print_json(
            {
                "schema_version": SUNSET_SCHEMA_VERSION,
                "as_of": plan.as_of.isoformat(),
                "within": within,
                "sunsets": [_report_document(r, plan.as_of) for r in reports],
            }
        )
    else:
        lines = [line for r in reports for line in [*_report_lines(r, plan.as_of), ""]]
        due = [r for r in reports if r.needs_action]
        lines.append(
            f"as of {plan.as_of}: {len(reports)} sunsets on the axes of {plan.matrix.name}, "
            f"{len(due)} with cells that still rely on them (* within {within} days)"
        )
        click.echo("\n".join(lines))
    return int(ExitCode.FAILURES if any(r.needs_action for r in reports) else ExitCode.GOOD)


def _current(sunsets: tuple[Sunset, ...], as_of: date, within: int) -> tuple[Sunset, ...]:
    """Sunsets that have begun, or begin within so many days."""
    return tuple(
        s
        for s in sunsets
        if state_of(s, as_of) is not State.NOT_ANNOUNCED
        or any(0 <= stage.days_left(as_of) <= within for stage in s.stages)
    )


def _scan_lines(scan: Scan, sunsets: tuple[Sunset, ...], as_of: date) -> list[str]:
    lines = []
    for found in scan.found:
        lines.append(f"{found.file}:{found.line}:{found.column}: {found.kind}: {found.message}")
        lines.append(f"    fix: {found.fix}")
    lines += [f"not read: {name}: {why}" for name, why in scan.unread]
    names = ", ".join(s.value for s in sunsets) or "nothing"
    lines.append(
        f"as of {as_of}: {len(scan.found)} findings in {len(scan.looked_at)} files looked at "
        f"({len(scan.unread)} not read), for {names}"
    )
    return lines


def _scan_document(
    scan: Scan, sunsets: tuple[Sunset, ...], as_of: date, within: int
) -> dict[str, Any]:
    return {
        "schema_version": SUNSET_SCHEMA_VERSION,
        "as_of": as_of.isoformat(),
        "within": within,
        "values": [s.value for s in sunsets],
        "findings": [
            {
                "file": f.file,
                "line": f.line,
                "column": f.column,
                "kind": str(f.kind),
                "value": f.value,
                "sunset": f.sunset,
                "message": f.message,
                "fix": f.fix,
                "cells": dict(f.cells),
            }
            for f in scan.found
        ],
        "looked_at": list(scan.looked_at),
        "unread": [{"file": name, "why": why} for name, why in scan.unread],
    }


@click.command(name="sunset", short_help="Ends of support, and who relies on them.")
@click.option(
    "--within",
    type=click.IntRange(0, 3650),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="Stages that begin within so many days are due.",
)
@click.option(
    "--project",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="Scan this project for what still relies on values in sunset; nothing in it is run.",
)
@as_of_option
@json_option
@click.pass_obj
def command(
    root: Path | None, *, within: int, folder: Path | None, as_of: date, as_json: bool
) -> int:
    """Say how far each sunset is, which cells it takes and what to do; or scan another project.

    Exit 1 when cells of the matrix (or lines of the project) still rely on a value whose sunset
    has begun or begins within DAYS; 0 when none do; 3 when nothing of the project could be read.
    """
    plan = load_plan(open_project(root), as_of)
    if folder is None:
        return _matrix(plan, within, as_json=as_json)
    sunsets = _current(plan.knowledge.sunsets, as_of, within)
    scan = scan_project(folder.resolve(), sunsets)
    if not scan.looked_at:
        msg = f"{folder.name}: no file that can pin a version could be read"
        raise CouldNotCheckError(msg, hint="is it the root of a project?")
    if as_json:
        print_json(_scan_document(scan, sunsets, as_of, within))
    else:
        click.echo("\n".join(_scan_lines(scan, sunsets, as_of)))
    return int(ExitCode.FAILURES if scan.found else ExitCode.GOOD)
