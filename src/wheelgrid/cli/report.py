"""`wheelgrid report`: the static site, from the plan and the records."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.context import as_of_option, load_stack, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.core.evidence import Observation
from wheelgrid.engines.records import read_records
from wheelgrid.reports.model import make_site
from wheelgrid.reports.site import write_site

__all__ = ["command"]

REPORT_SCHEMA_VERSION = 1


@click.command(name="report", short_help="Write the static site.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Folder of the site; default: site/ of the project.",
)
@as_of_option
@json_option
@click.pass_obj
def command(root: Path | None, *, out: Path | None, as_of: date, as_json: bool) -> int:
    """Render the compatibility pages: the matrix, a page per package and per cell.

    Records come from compat/observations and from this machine's own runs. Of two about the same
    package and cell the newer one counts, unless it could not look.
    """
    project = open_project(root)
    plan = load_stack(project, as_of, features=True)
    good: list[Observation] = []
    bad: list[tuple[str, str]] = []
    for folder in (project.compat / "observations" / "runs", project.work / "records"):
        for path, record in read_records(folder):
            if isinstance(record, Observation):
                good.append(record)
            else:
                bad.append((path.relative_to(project.root).as_posix(), str(record)))
    site = make_site(plan, good, unreadable=tuple(bad))
    seen = len({(record.package, record.cell) for record in good})
    target = out or project.root / "site"
    pages = write_site(site, target)
    if as_json:
        print_json(
            {
                "schema_version": REPORT_SCHEMA_VERSION,
                "index": "index.html",
                "pages": pages,
                "records": seen,
                "unreadable_records": [{"file": f, "why": w} for f, w in bad],
                "states": {str(state): count for state, count in site.state_counts},
            }
        )
        return 0
    for file, why in bad:
        click.echo(f"warning: {file}: {why}", err=True)
    click.echo(f"{pages} pages, records of {seen} packages in cells")
    click.echo(f"open {target / 'index.html'}")
    return 0
