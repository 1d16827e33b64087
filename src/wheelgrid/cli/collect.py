"""`wheelgrid collect`: keep the records of this machine's runs in compat/observations."""

from __future__ import annotations

from pathlib import Path

import click

from wheelgrid.cli.context import open_project
from wheelgrid.core.errors import ExitCode
from wheelgrid.core.evidence import Observation, is_weaker
from wheelgrid.core.rung import Outcome
from wheelgrid.engines.records import read_records, write_record

__all__ = ["command"]


def _worth_keeping(record: Observation) -> bool:
    """Whether a record says something about a package: any rung passed or failed."""
    return any(r.outcome in {Outcome.PASSED, Outcome.FAILED} for r in record.rungs)


@click.command(name="collect", short_help="Keep records in compat/.")
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="Records folder, for example of another machine; default: this project's own.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be kept; write nothing.")
@click.pass_obj
def command(root: Path | None, *, folder: Path | None, dry_run: bool) -> int:
    """Validate records and copy them to compat/observations/runs, each whole or not at all.

    Records in which nothing was seen (all unknown) are left out and counted.
    """
    project = open_project(root)
    target = project.compat / "observations" / "runs"
    kept = empty = bad = weaker = 0
    there = {(r.package, r.cell): r for _, r in read_records(target) if isinstance(r, Observation)}
    for path, record in read_records(folder or project.work / "records"):
        if not isinstance(record, Observation):
            click.echo(f"error: {path}: {record}", err=True)
            bad += 1
        elif not _worth_keeping(record):
            empty += 1
        elif is_weaker(record, there.get((record.package, record.cell), record)):
            weaker += 1
        else:
            kept += 1
            if not dry_run:
                write_record(target, record)
    would = "would be kept" if dry_run else "kept"
    click.echo(
        f"{kept} records {would}, {empty} left out (nothing seen), {weaker} older or weaker than "
        f"what is there, {bad} unreadable"
    )
    return int(ExitCode.FAILURES if bad else ExitCode.GOOD)
