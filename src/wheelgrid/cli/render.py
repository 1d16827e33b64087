"""`wheelgrid render`: write the derived files, or check that they are up to date."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from wheelgrid.cli.context import open_project
from wheelgrid.cli.main import cli
from wheelgrid.core.errors import ExitCode
from wheelgrid.engines.atomic import write_atomically
from wheelgrid.render.reference import reference_pages
from wheelgrid.render.schemas import schema_texts
from wheelgrid.render.stable_abi import stable_abi_text

__all__ = ["command", "derived_files"]


def derived_files() -> dict[str, str]:
    """Every derived file of the repository by its path, with the text it must have."""
    schemas = {f"src/wheelgrid/schemas/{n}": text for n, text in schema_texts().items()}
    pages = {f"docs/reference/{n}": text for n, text in reference_pages(cli).items()}
    return schemas | pages | {"src/wheelgrid/inspect/stable_abi.json": stable_abi_text()}


@click.command(name="render", short_help="Write derived files.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff when out of date.")
@click.pass_obj
def command(root: Path | None, *, check: bool) -> int:
    """Render schemas and reference pages from the code."""
    project = open_project(root)
    stale = 0
    for name, text in derived_files().items():
        path = project.root / name
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        if before == text:
            continue
        stale += 1
        if check:
            diff = difflib.unified_diff(
                before.splitlines(keepends=True), text.splitlines(keepends=True), name, "rendered"
            )
            click.echo("".join(diff))
        else:
            write_atomically(path, text.encode())
            click.echo(f"rendered {name}", err=True)
    if check and stale:
        click.echo(f"{stale} derived files are out of date: run `wheelgrid render`", err=True)
        return int(ExitCode.FAILURES)
    return int(ExitCode.GOOD)
