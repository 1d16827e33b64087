"""`wheelgrid build`: make the wheels that are missing or out of date, and audit them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.context import as_of_option, json_option
from wheelgrid.cli.work import run_command
from wheelgrid.core.rung import Rung

__all__ = ["command"]


@click.command(name="build", short_help="Build and audit wheels.")
@click.argument("patterns", nargs=-1)
@click.option("--tier", default="stack", show_default=True, help="What to build without PATTERNS.")
@as_of_option
@json_option
@click.pass_obj
def command(
    root: Path | None, *, patterns: tuple[str, ...], tier: str, as_of: date, as_json: bool
) -> int:
    """Build wheels and audit them; only what passes its audit reaches dist/.

    PATTERNS are packages, cell ids, build ids or globs of them: 'regex', 'torch-*@*-cp311-*'.
    """
    return run_command(root, patterns, tier, as_of=as_of, as_json=as_json, until=Rung.AUDITED)
