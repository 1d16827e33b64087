"""`wheelgrid test`: build what is missing, then install, import and execute."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.work import run_command, unit_options
from wheelgrid.core.rung import Rung

__all__ = ["command"]


@click.command(name="test", short_help="Install, import and execute.")
@unit_options
@click.pass_obj
def command(
    root: Path | None, *, patterns: tuple[str, ...], tier: str, as_of: date, as_json: bool
) -> int:
    """Take packages in cells up every rung, each in a fresh environment; record what was seen.

    PATTERNS are packages, cell ids, build ids or globs of them: 'gridprobe@*-cpu'.
    """
    return run_command(root, patterns, tier, as_of=as_of, as_json=as_json, until=Rung.EXECUTED)
