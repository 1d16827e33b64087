"""`wheelgrid explain`: the chain of reasons behind one cell or one package."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.context import as_of_option, json_option, load_plan, open_project, print_json
from wheelgrid.config.yaml import nearest
from wheelgrid.core.cell import Cell
from wheelgrid.core.decision import Decision
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.core.evidence import Source
from wheelgrid.planning.document import decision_document
from wheelgrid.planning.plan import Plan

__all__ = ["command"]

EXPLAIN_SCHEMA_VERSION = 1


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
    if decision.included:
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


def _cell(text: str, plan: Plan) -> Decision:
    """The decision of a cell id; errors name the part that is wrong or not on its axis."""
    try:
        cell = Cell.parse(text)
    except ValueError as error:
        hint = nearest(text, [*plan.decision_of, *plan.matrix.packages])
        raise BadInputError([Fault(file="CELL", message=str(error), hint=hint)]) from error
    decision = plan.decision_of.get(cell.id)
    if decision is not None:
        return decision
    faults = [
        Fault(
            file="CELL",
            message=f"{cell.axis(axis)} is not on the {axis} axis of the matrix",
            hint=nearest(cell.axis(axis), list(plan.matrix.axis_values(axis))),
        )
        for axis in ("torch", "python", "accelerator", "platform")
        if cell.axis(axis) not in plan.matrix.axis_values(axis)
    ]
    raise BadInputError(faults)


@click.command(name="explain", short_help="Why a cell is in or out.")
@click.argument("subject", metavar="CELL|PACKAGE")
@as_of_option
@json_option
@click.pass_obj
def command(root: Path | None, *, subject: str, as_of: date, as_json: bool) -> int:
    """Print every ruling on a cell with its sources and dates, or the builds of a package."""
    plan = load_plan(open_project(root), as_of)
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
    decision = _cell(subject, plan)
    if as_json:
        print_json({"schema_version": EXPLAIN_SCHEMA_VERSION, **decision_document(decision)})
    else:
        click.echo("\n".join(_decision_lines(decision, plan)))
    return 0
