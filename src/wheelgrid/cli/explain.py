"""`wheelgrid explain`: the chain of reasons behind one cell or one package."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.context import as_of_option, channel_option, load_plan, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.config.yaml import nearest
from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.decision import Decision
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.core.evidence import Source
from wheelgrid.planning.document import decision_document
from wheelgrid.planning.listing import listing
from wheelgrid.planning.plan import Plan

__all__ = ["command"]

EXPLAIN_SCHEMA_VERSION = 2
_FEW = 5000
"""Up to so many candidates, a wrong id is answered with the nearest right one."""


def _source(source: Source, *, indent: str) -> str:
    note = f"\n{indent}    note: {source.note}" if source.note else ""
    return f"{indent}{source.kind}, {source.date}, {source.id}: {source.source}{note}"


def _decision_lines(decision: Decision, plan: Plan) -> list[str]:
    cell = decision.cell
    lines = [f"{cell.id}: {'included' if decision.included else 'EXCLUDED'}"]
    headline = decision.headline
    for ruling in sorted(decision.rulings, key=lambda r: r is not headline):
        lead = "because" if ruling is headline else "also"
        lines.append(f"  {lead} [{ruling.reason}] {ruling.message}  (rule {ruling.rule})")
        lines += [_source(s, indent="      ") for s in ruling.sources]
        if ruling.disagrees:
            lines.append("      these sources say otherwise, and were outweighed:")
            lines += [_source(s, indent="        ") for s in ruling.disagrees]
    for note in decision.notes:
        lines.append(f"  note: {note.message}  (rule {note.rule})")
        lines += [_source(s, indent="      ") for s in note.sources]
    lines += [f"  {name} = {value}" for name, value in decision.extra.items()]
    if decision.included and isinstance(cell, Cell):
        for package in plan.matrix.packages:
            build = plan.build_of.get((package, cell.id))
            lines.append(
                f"  {package}: served by build {build.id}"
                if build
                else f"  {package}: no build: {plan.gap(package, cell)}"
            )
    return lines


def _package_lines(plan: Plan, package: str) -> list[str]:
    recipe = plan.recipes[package]
    builds = [b for b in plan.builds if b.package == package]
    cells = sum(len(b.cells) for b in builds)
    lines = [
        f"{package} {recipe.version}: {recipe.summary}",
        f"  {cells} cells, served by {len(builds)} builds",
    ]
    lines += [f"  {b.id}: {b.abi}, {len(b.cells)} cells" for b in builds]
    return lines


def _values(text: str, plan: Plan) -> dict[str, str]:
    """The axis values that an id of this matrix names; errors name the part that is wrong."""
    first = text.partition(",")[0]
    try:
        # Rows alone may be cells too. The first part of a row's id has a '=', a cell's has none.
        is_cell = (plan.matrix.is_stack or text.startswith("torch")) and "=" not in first
        point = Cell.parse(text) if is_cell else Row.parse(text)
    except ValueError as error:
        few = plan.decided.size <= _FEW
        known = [name for name, _, _ in listing(plan.decided)] if few else []
        hint = nearest(text, [*known, *plan.matrix.packages]) if known else ""
        raise BadInputError([Fault(file="CELL", message=str(error), hint=hint)]) from error
    return {name: point.axis(name) for name in point.values}


def _decision(text: str, plan: Plan) -> Decision:
    """The decision of an id; only this candidate is expanded."""
    values = _values(text, plan)
    number = plan.decided.find(values)
    if number is not None:
        return plan.decided.decision(number)
    names = [axis.name for axis in plan.matrix.axes]
    faults = [
        Fault(
            file="CELL",
            message=f"{values[name]} is not on the {name} axis of the matrix",
            hint=nearest(values[name], list(plan.matrix.axis_values(name))),
        )
        for name in names
        if name in values and values[name] not in plan.matrix.axis_values(name)
    ]
    faults += [
        Fault(file="CELL", message=f"{name!r} is not an axis", hint=nearest(name, names))
        for name in values
        if name not in names and names
    ]
    missing = [name for name in names if name not in values]
    if missing:
        faults.append(Fault(file="CELL", message=f"names no value of {', '.join(missing)}"))
    raise BadInputError(faults or [Fault(file="CELL", message=f"{text} is no cell of the matrix")])


@click.command(name="explain", short_help="Why a cell is in or out.")
@click.argument("subject", metavar="CELL|PACKAGE")
@channel_option
@as_of_option
@json_option
@click.pass_obj
def command(root: Path | None, *, subject: str, channel: str, as_of: date, as_json: bool) -> int:
    """Print every ruling on a cell with its sources and dates, or the builds of a package."""
    plan = load_plan(open_project(root), as_of, channel=channel)
    if subject in plan.matrix.packages:
        builds = [
            {"id": b.id, "abi": str(b.abi), "cells": [c.id for c in b.cells]}
            for b in plan.builds
            if b.package == subject
        ]
        document = {
            "schema_version": EXPLAIN_SCHEMA_VERSION,
            "package": subject,
            "version": str(plan.recipes[subject].version),
            "builds": builds,
        }
        if as_json:
            print_json(document)
        else:
            click.echo("\n".join(_package_lines(plan, subject)))
        return 0
    decision = _decision(subject, plan)
    if as_json:
        print_json({"schema_version": EXPLAIN_SCHEMA_VERSION, **decision_document(decision)})
    else:
        click.echo("\n".join(_decision_lines(decision, plan)))
    return 0
