"""What `build` and `test` share: selecting units, running them, summing up."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import click

from wheelgrid.cli.context import as_of_option, load_stack, now, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.cli.progress import GLYPH, elapsed, show_progress
from wheelgrid.cli.published import load_published
from wheelgrid.core.errors import CouldNotCheckError, ExitCode
from wheelgrid.core.rung import RUNGS, Outcome, Rung
from wheelgrid.engines.run import UnitResult, run_units
from wheelgrid.engines.store import Store
from wheelgrid.planning.published import Published
from wheelgrid.planning.select import Unit, select_pattern, select_tier

__all__ = ["Holes", "run_command", "unit_options"]

RUN_SCHEMA_VERSION = 1
_MIN_FREE_BYTES = 2 << 30


def unit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what selects units: PATTERNS, --tier, --as-of and --json."""
    for option in (
        json_option,
        as_of_option,
        click.option("--tier", default="stack", show_default=True, help="Units without PATTERNS."),
        click.argument("patterns", nargs=-1),
    ):
        function = option(function)
    return function


def _limit(units: tuple[Unit, ...], until: Rung) -> tuple[Unit, ...]:
    """Stop units at a rung of the command, keeping an earlier stop of the tier."""
    order = list(RUNGS)
    return tuple(
        replace(unit, until=until) if order.index(unit.until) > order.index(until) else unit
        for unit in units
    )


def _document(results: list[UnitResult]) -> dict[str, Any]:
    return {
        "schema_version": RUN_SCHEMA_VERSION,
        "units": [
            {
                "package": r.unit.package,
                "cell": r.unit.cell.id,
                "build": r.unit.build.id,
                "outcome": str(r.outcome),
                "fresh": r.fresh,
                "wheel": r.wheel.name if r.wheel else None,
                "rungs": [asdict(rung) for rung in r.rungs],
            }
            for r in results
        ],
    }


def _why(result: UnitResult) -> str:
    """The reason at the rung that decided the outcome; empty when all passed."""
    if result.outcome is Outcome.PASSED:
        return ""
    for rung in result.rungs:
        if rung.outcome is result.outcome and result.unit.wants(rung.rung):
            return f"{rung.rung}: {rung.why}"
    return ""


def _lines(results: list[UnitResult], dist: Path, until: Rung) -> list[str]:
    lines: list[str] = []
    for result in results:
        outcome = str(result.outcome)
        state = "" if result.fresh else " (up to date)"
        lines.append(f"{GLYPH[outcome]} {outcome:7} {result.unit.id}{state}")
        why = _why(result)
        if why:
            lines += [f"    {line}" for line in why.splitlines()]
    counts = Counter(str(r.outcome) for r in results)
    wheels = {r.wheel for r in results if r.wheel}
    done = all(not r.fresh or r.wheel is None for r in results)
    total = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
    lines.append(f"{len(results)} units up to {until}: {total}")
    lines.append(f"{len(wheels)} wheels in {dist}")
    if done and results:
        lines.append("nothing to do: all that can be done here is up to date")
    return lines


def exit_code(results: list[UnitResult]) -> ExitCode:
    """Failures before unknowns; a run that only skipped, or had no unit, could not check."""
    outcomes = {r.outcome for r in results}
    if Outcome.FAILED in outcomes:
        return ExitCode.FAILURES
    if Outcome.UNKNOWN in outcomes or outcomes <= {Outcome.SKIPPED}:
        return ExitCode.COULD_NOT_CHECK
    return ExitCode.GOOD


def _check_disk(root: Path) -> None:
    free = shutil.disk_usage(root).free
    if free < _MIN_FREE_BYTES:
        msg = f"only {free >> 20} MiB are free; builds and torch need {_MIN_FREE_BYTES >> 20} MiB"
        raise CouldNotCheckError(msg, hint="free some disk; the folder .wheelgrid may be deleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holes:
    """`build --missing`: where published files are listed, and whether to list holes only."""

    published: str
    dry_run: bool


def _missing(store: Store, units: tuple[Unit, ...], published: str) -> tuple[Unit, ...]:
    """One unit for each build that is neither up to date here nor published."""
    there = load_published(published, [u.build for u in units]) if published else Published.of([])
    first = {unit.build.id: unit for unit in reversed(units)}
    wanted = [unit for unit in units if first[unit.build.id] is unit]
    return tuple(
        unit
        for unit in wanted
        if store.action(unit.build).sign != "=" and not there.file_of(unit.build)
    )


def run_command(
    root: Path | None,
    patterns: tuple[str, ...],
    tier: str,
    *,
    as_of: date,
    as_json: bool,
    until: Rung,
    holes: Holes | None = None,
) -> int:
    """Select, run, print; the body of `build` and `test`."""
    start = time.monotonic()
    project = open_project(root)
    plan = load_stack(project, as_of)
    units = select_pattern(plan, patterns) if patterns else select_tier(plan, tier)
    units = _limit(units, until)
    store = Store(project, plan)
    if holes is not None:
        units = _missing(store, units, holes.published)
        if holes.dry_run:
            click.echo("\n".join(u.build.id for u in units))
            click.echo(f"{len(units)} builds are missing; nothing was built", err=True)
            return int(ExitCode.GOOD)
    if not patterns:
        units = tuple(u for u in units if u.cell.platform == store.host.platform)
    _check_disk(project.root)
    with show_progress(os.environ) as progress:
        results = run_units(store, units, progress=progress, clock=now)
    if as_json:
        print_json(_document(results))
    else:
        lines = _lines(results, project.dist, until)
        click.echo("\n".join([*lines, f"took {elapsed(start)}"]))
    return int(exit_code(results))
