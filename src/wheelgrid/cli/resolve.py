"""`wheelgrid resolve`: which file of a list is for a cell, what an installer takes, and why."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import click
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from wheelgrid.cli.context import now
from wheelgrid.cli.file_lists import load_list
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.cli.resolve_check import check_document, check_lines, check_names
from wheelgrid.cli.resolve_text import document, lines
from wheelgrid.config.yaml import Faults
from wheelgrid.core.cell import Cell
from wheelgrid.core.errors import BadInputError, ExitCode, Fault
from wheelgrid.core.evidence import Observation
from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.rung import Outcome
from wheelgrid.core.targets import Floors
from wheelgrid.engines.records import read_records
from wheelgrid.planning.answer import Ask
from wheelgrid.planning.fitness import TorchUse
from wheelgrid.planning.support import support

__all__ = ["command"]

_FLOOR = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\Z")
_CODES = {
    Outcome.PASSED: ExitCode.GOOD,
    Outcome.FAILED: ExitCode.FAILURES,
    Outcome.UNKNOWN: ExitCode.COULD_NOT_CHECK,
}


def _floor(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    del ctx, param
    match = _FLOOR.match(value) if value is not None else None
    if value is not None and match is None:
        msg = f"{value!r} is not a version such as 2.28"
        raise click.BadParameter(msg)
    return (int(match[1]), int(match[2])) if match else None


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date:
    del ctx, param
    try:
        return date.fromisoformat(value) if value is not None else now().date()
    except ValueError:
        msg = f"{value!r} is not a date such as 2026-09-25"
        raise click.BadParameter(msg) from None


def _requirement(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        msg = f"{text!r} is not a requirement: {str(error).splitlines()[0]}"
        raise click.BadParameter(msg) from None


def _cell(text: str) -> Cell:
    try:
        return Cell.parse(text)
    except ValueError as error:
        raise BadInputError([Fault(file="CELL", message=str(error))]) from None


def _package(given: str, files: tuple[ListedFile, ...]) -> Requirement:
    """The project asked for; without one, the only one that the list has."""
    if given:
        return _requirement(given)
    names = sorted({f.name.project for f in files if f.name.project})
    if len(names) == 1:
        return Requirement(names[0])
    shown = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")  # noqa: PLR2004
    msg = f"the list has files of {len(names)} projects ({shown}): say --package NAME"
    raise click.UsageError(msg)


def _lists(
    pairs: tuple[tuple[str, Path], ...], own: tuple[ListedFile, ...], faults: Faults
) -> tuple[dict[str, tuple[ListedFile, ...]], tuple[Requirement, ...]]:
    """Lists of dependencies by project: those given, and projects of the same list."""
    grouped: dict[str, list[ListedFile]] = {}
    for file in own:
        if file.name.project:
            grouped.setdefault(file.name.project, []).append(file)
    found = {project: tuple(listed) for project, listed in grouped.items()}
    also = []
    for text, path in pairs:
        requirement = _requirement(text)
        also.append(requirement)
        found[canonicalize_name(requirement.name)] = load_list(path, faults)
    return found, tuple(also)


def _records(folder: Path | None) -> tuple[Observation, ...]:
    """Readable records; one that cannot be read is named on stderr and proves nothing."""
    found = []
    for path, record in read_records(folder) if folder is not None else ():
        if isinstance(record, Observation):
            found.append(record)
        else:
            click.echo(f"{path}: not read: {record}", err=True)
    return tuple(found)


def _check(files: tuple[ListedFile, ...], same_as: Path | None, *, as_json: bool) -> int:
    """`--check`: every name, for publishing."""
    faults = Faults()
    record = load_list(same_as, faults) if same_as is not None else None
    faults.check()
    found = check_names(files, record)
    if as_json:
        print_json(check_document(found))
    else:
        click.echo("\n".join(check_lines(found)))
    return int(ExitCode.GOOD if found.good else ExitCode.FAILURES)


@click.command(name="resolve", short_help="What an installer picks for a cell, and the traps.")
@click.argument("cell", required=False)
@click.option(
    "--files",
    "path",
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="File names, one a line; a JSON or HTML page of an index; or a folder of wheels.",
)
@click.option(
    "--package", default="", metavar="REQ", help="Project, or requirement: 'torch>=2.14'."
)
@click.option("--check", is_flag=True, help="Check all names for publishing; no cell needed.")
@click.option(
    "--same-as",
    type=click.Path(exists=True, path_type=Path),
    help="With --check: names must be those of this list or folder, byte for byte.",
)
@click.option(
    "--with",
    "needs",
    type=(str, click.Path(exists=True, path_type=Path)),
    multiple=True,
    metavar="REQ PATH",
    help="A dependency and its list: it must be there for the same cell. May be repeated.",
)
@click.option("--glibc", callback=_floor, metavar="N.N", help="glibc of the target; default 2.28.")
@click.option("--macos", callback=_floor, metavar="N.N", help="macOS of the target; default 14.0.")
@click.option("--musl", callback=_floor, metavar="N.N", help="musl of the target; default 1.2.")
@click.option(
    "--torch-abi",
    type=click.Choice([str(u) for u in TorchUse if u is not TorchUse.NONE]),
    default="auto",
    help="What binds it to torch: its C++ ABI or the stable ABI; auto: as the names tell.",
)
@click.option(
    "--torch-free", multiple=True, metavar="NAME", help="Torch does not touch this project."
)
@click.option("--cxx11-abi", type=bool, default=None, help="For torch before 2.7: which ABI.")
@click.option("--pre", is_flag=True, help="Allow pre-releases.")
@click.option("--only-binary", is_flag=True, help="No source distributions.")
@click.option(
    "--stale-days",
    type=click.IntRange(0),
    default=0,
    help="Fail if the choice is older than this while newer files fit; 0: no check.",
)
@click.option(
    "--as-of", callback=_day, metavar="DATE", help="The day for --stale-days; default today."
)
@click.option(
    "--records",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Records of runs (compat/observations/runs): evidence for 'works, not built for it'.",
)
@json_option
def command(
    cell: str | None,
    *,
    path: Path,
    package: str,
    check: bool,
    same_as: Path | None,
    needs: tuple[tuple[str, Path], ...],
    glibc: tuple[int, int] | None,
    macos: tuple[int, int] | None,
    musl: tuple[int, int] | None,
    torch_abi: str,
    torch_free: tuple[str, ...],
    cxx11_abi: bool | None,
    pre: bool,
    only_binary: bool,
    stale_days: int,
    as_of: date,
    records: Path | None,
    as_json: bool,
) -> int:
    """Say which file of a list is for CELL, what pip and uv take, and why others are out.

    Reads names and pages only; asks no index. Exit 0: a file is for the cell, and so are all
    dependencies given. 1: none is, or a trap is an error. 3: nothing says whether it is.
    """
    faults = Faults()
    files = load_list(path, faults)
    faults.check()
    if check:
        return _check(files, same_as, as_json=as_json)
    if cell is None:
        msg = "needs a CELL such as torch2.14.1-cp313-linux_x86_64-cuda13.0, or --check"
        raise click.UsageError(msg)
    requirement = _package(package, files)
    lists, also = _lists(needs, files, faults)
    faults.check()
    default = Floors()
    ask = Ask(
        cell=_cell(cell),
        requirement=requirement,
        floors=Floors(
            glibc=glibc or default.glibc, musl=musl or default.musl, macos=macos or default.macos
        ),
        use=TorchUse(torch_abi),
        torch_free=frozenset(canonicalize_name(name) for name in torch_free),
        cxx11=cxx11_abi,
        early=pre or _cell(cell).torch.is_prerelease,
        sources=not only_binary,
        as_of=as_of.isoformat(),
        stale_days=stale_days,
        records=_records(records),
    )
    found = support(ask, files, lists=lists, also=also)
    if as_json:
        print_json(document(found))
    else:
        click.echo("\n".join(lines(found)))
    return int(_CODES[found.total])
