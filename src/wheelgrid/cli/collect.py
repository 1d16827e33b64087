"""`wheelgrid collect`: keep the records of this machine's runs in compat/observations."""

from __future__ import annotations

import json
from pathlib import Path

import click

from wheelgrid.cli.context import open_project
from wheelgrid.config.yaml import MAX_BYTES
from wheelgrid.core.errors import BadInputError, ExitCode, Fault
from wheelgrid.core.evidence import Observation, is_weaker
from wheelgrid.core.rung import Outcome
from wheelgrid.engines.records import read_records, write_record
from wheelgrid.planning.shard import unfinished

__all__ = ["command"]


def _worth_keeping(record: Observation) -> bool:
    """Whether a record says something about a package: any rung passed or failed."""
    return any(r.outcome in {Outcome.PASSED, Outcome.FAILED} for r in record.rungs)


def _planned(path: Path) -> list[str]:
    """The cells of matrices that `plan --github-matrix` printed, a matrix a line."""
    try:
        with path.open("rb") as handle:
            text = handle.read(MAX_BYTES + 1).decode("utf-8")
        documents = [json.loads(line) for line in text.splitlines() if line.strip()]
        return [str(c) for d in documents for job in d["include"] for c in job["cells"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"is no matrix of `wheelgrid plan --github-matrix`: {error}"
        raise BadInputError([Fault(file=str(path), message=message)]) from error


def _lost(path: Path, seen: set[str]) -> int:
    """Say which planned cells have no record: a job that vanished fails here, whatever CI says."""
    difference = unfinished(_planned(path), sorted(seen))
    if not difference.missing:
        return 0
    click.echo(f"planned but not recorded: {len(difference.missing)} cells", err=True)
    for cell in difference.missing[:20]:
        click.echo(f"  {cell}", err=True)
    return len(difference.missing)


@click.command(name="collect", short_help="Keep records in compat/.")
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="Records folder, for example of another machine; default: this project's own.",
)
@click.option(
    "--planned",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="What `plan --github-matrix` printed: exit 1 where a planned cell has no record.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be kept; write nothing.")
@click.pass_obj
def command(root: Path | None, *, folder: Path | None, planned: Path | None, dry_run: bool) -> int:
    """Validate records and copy them to compat/observations/runs, each whole or not at all.

    Records in which nothing was seen (all unknown) are left out and counted.
    """
    project = open_project(root)
    target = project.compat / "observations" / "runs"
    kept = empty = bad = weaker = 0
    there = {(r.package, r.cell): r for _, r in read_records(target) if isinstance(r, Observation)}
    seen: set[str] = set()
    for path, record in read_records(folder or project.work / "records"):
        if isinstance(record, Observation):
            seen.add(record.cell)
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
    lost = _lost(planned, seen) if planned is not None else 0
    return int(ExitCode.FAILURES if bad or lost else ExitCode.GOOD)
