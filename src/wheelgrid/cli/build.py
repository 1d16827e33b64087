"""`wheelgrid build`: make the wheels that are missing or out of date, and audit them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.work import run_command, unit_options
from wheelgrid.core.rung import Rung

__all__ = ["command"]


@click.command(name="build", short_help="Build and audit wheels.")
@unit_options
@click.pass_obj
def command(
    root: Path | None, *, patterns: tuple[str, ...], tier: str, as_of: date, as_json: bool
) -> int:
    """Build wheels and audit them; only what passes its audit reaches dist/.

    PATTERNS are packages, cell ids, build ids or globs of them: 'regex', 'torch-*@*-cp311-*'.
    """
    return run_command(root, patterns, tier, as_of=as_of, as_json=as_json, until=Rung.AUDITED)
