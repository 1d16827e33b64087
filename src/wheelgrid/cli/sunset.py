"""`wheelgrid sunset`: ends of support, for this matrix, another project, or its releases."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click
from packaging.utils import canonicalize_name

from wheelgrid.cli.context import as_of_option, load_plan, open_project
from wheelgrid.cli.file_lists import load_list
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.cli.sunset_releases import releases_document, releases_lines
from wheelgrid.cli.sunset_scan import scan_document, scan_lines
from wheelgrid.cli.sunset_text import matrix_document, matrix_lines
from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.yaml import Faults
from wheelgrid.core.errors import BadInputError, CouldNotCheckError, ExitCode, Fault
from wheelgrid.core.lifecycle import State, Sunset
from wheelgrid.core.platforms import Platform
from wheelgrid.planning.releases import plan_releases
from wheelgrid.planning.sunsets import sunset_reports
from wheelgrid.scan.judge import is_searched
from wheelgrid.scan.project import scan_project

__all__ = ["command"]


def _current(root: Path | None, as_of: date, within: int) -> tuple[Sunset, ...]:
    """Sunsets of compat/ that have begun, or begin within so many days."""
    faults = Faults()
    known = load_knowledge(open_project(root), faults).sunsets
    faults.check()
    return tuple(
        s
        for s in known
        if s.state(as_of) is not State.NOT_ANNOUNCED
        or any(0 <= stage.days_left(as_of) <= within for stage in s.stages)
    )


def _matrix(root: Path | None, as_of: date, within: int, *, as_json: bool) -> int:
    """Sunsets of the values on the axes of this matrix."""
    plan = load_plan(open_project(root), as_of)
    reports = sunset_reports(plan, within=within)
    if as_json:
        print_json(matrix_document(plan, reports, within))
    else:
        click.echo("\n".join(matrix_lines(plan, reports, within)))
    return int(ExitCode.FAILURES if any(r.needs_action for r in reports) else ExitCode.GOOD)


def _scan(
    path: Path, sunsets: tuple[Sunset, ...], as_of: date, within: int, *, as_json: bool
) -> int:
    """Another project's files."""
    scan = scan_project(path.resolve(), sunsets)
    if not scan.looked_at:
        why = "; ".join(f"{name}: {why}" for name, why in (*scan.unread, *scan.left_out)[:5])
        msg = f"{path.name}: no file that can pin a version could be read"
        raise CouldNotCheckError(msg, hint=why or "is it the root of a project, or an sdist?")
    if as_json:
        print_json(scan_document(scan, sunsets, as_of, within))
    else:
        click.echo("\n".join(scan_lines(scan, sunsets, as_of)))
    return int(ExitCode.FAILURES if scan.found else ExitCode.GOOD)


def _releases(
    path: Path,
    package: str,
    sunsets: tuple[Sunset, ...],
    as_of: date,
    within: int,
    *,
    as_json: bool,
) -> int:
    """Another project's releases, from a list of its files."""
    faults = Faults()
    files = load_list(path, faults)
    faults.check()
    names = sorted({f.name.project for f in files if f.name.project})
    wanted = [canonicalize_name(package)] if package else names
    pythons = [s for s in sunsets if s.axis == "python" and is_searched(s)]
    made = [
        plan_releases(files, name, sunset, platform=Platform.LINUX_X86_64)
        for name in wanted
        for sunset in pythons
        if not sunset.value.endswith("t")
    ]
    plans = [plan for plan in made if plan is not None]
    if not plans and pythons:
        message = f"has no release of {', '.join(wanted) or 'any project'}"
        raise BadInputError([Fault(file=str(path), message=message)])
    if as_json:
        print_json(releases_document(plans, as_of, within))
    else:
        click.echo("\n".join(releases_lines(plans, as_of)))
    if any(plan.yank or (plan.publish and not plan.unknown) for plan in plans):
        return int(ExitCode.FAILURES)
    unknown = any(plan.unknown for plan in plans)
    return int(ExitCode.COULD_NOT_CHECK if unknown else ExitCode.GOOD)


@click.command(name="sunset", short_help="Ends of support, and who relies on them.")
@click.option(
    "--within",
    type=click.IntRange(0, 3650),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="Stages that begin within so many days are due.",
)
@click.option(
    "--project",
    "folder",
    type=click.Path(exists=True, path_type=Path),
    default=None,
    help="Scan a folder, sdist or wheel for what still relies on values in sunset; nothing in it "
    "is run.",
)
@click.option(
    "--files",
    type=click.Path(exists=True, path_type=Path),
    default=None,
    help="A project's files (a page of an index, or a folder): what to publish and what to yank.",
)
@click.option("--package", default="", metavar="NAME", help="With --files: this project alone.")
@as_of_option
@json_option
@click.pass_obj
def command(
    root: Path | None,
    *,
    within: int,
    folder: Path | None,
    files: Path | None,
    package: str,
    as_of: date,
    as_json: bool,
) -> int:
    """Say how far each sunset is, which cells it takes and what to do; or scan another project.

    Exit 1 when cells of the matrix (lines of the project, releases) still rely on a value whose
    sunset has begun or begins within DAYS; 0 when none do; 3 when nothing of the project could be
    read, or the list of files does not say.
    """
    if folder is not None and files is not None:
        msg = "--project and --files answer different questions: give one"
        raise click.UsageError(msg)
    if folder is None and files is None:
        return _matrix(root, as_of, within, as_json=as_json)
    sunsets = _current(root, as_of, within)
    if folder is not None:
        return _scan(folder, sunsets, as_of, within, as_json=as_json)
    assert files is not None  # noqa: S101 - one of the two was given
    return _releases(files, package, sunsets, as_of, within, as_json=as_json)
