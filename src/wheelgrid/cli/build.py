"""`wheelgrid build`: make the wheels that are missing or out of date, and audit them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.work import Holes, run_command, unit_options
from wheelgrid.core.rung import Rung

__all__ = ["command"]


@click.command(name="build", short_help="Build and audit wheels.")
@click.option("--missing", is_flag=True, help="Build what is neither up to date nor published.")
@click.option(
    "--published",
    default="",
    metavar="FILE|index",
    help="What is published: a file with one file name a line, or `index` to ask your index.",
)
@click.option("--dry-run", is_flag=True, help="With --missing: list the builds; build nothing.")
@unit_options
@click.pass_obj
def command(
    root: Path | None,
    *,
    missing: bool,
    published: str,
    dry_run: bool,
    patterns: tuple[str, ...],
    tier: str,
    as_of: date,
    as_json: bool,
) -> int:
    """Build wheels and audit them; only what passes its audit reaches dist/.

    PATTERNS are packages, cell ids, build ids or globs of them: 'regex', 'torch-*@*-cp311-*'.
    A published file is never built again, whatever holes there are between published ones.
    """
    holes = Holes(published=published, dry_run=dry_run) if missing or published else None
    if dry_run and holes is None:
        holes = Holes(published="", dry_run=True)
    return run_command(
        root, patterns, tier, as_of=as_of, as_json=as_json, until=Rung.AUDITED, holes=holes
    )
