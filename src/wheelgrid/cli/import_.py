"""`wheelgrid import`: a workflow, build.toml or conda_build_config.yaml as a matrix.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.context import as_of_option
from wheelgrid.cli.import_check import check
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.config.yaml import MAX_BYTES
from wheelgrid.core.errors import BadInputError, ExitCode, Fault
from wheelgrid.engines.atomic import write_atomically
from wheelgrid.importers.conda import CondaOptions, import_conda
from wheelgrid.importers.github import Options, import_workflow
from wheelgrid.importers.kernels import import_kernels
from wheelgrid.importers.report import Finding, Imported, Level, cells_sha256
from wheelgrid.importers.selectors import PLATFORMS

__all__ = ["KINDS", "command"]

IMPORT_SCHEMA_VERSION = 1
KINDS = ("github-workflow", "kernels", "conda_build_config")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """The options of one call; each kind reads its own."""

    file: Path
    as_of: date
    job: str
    ranges: bool
    versions: Path | None
    all_sets: bool
    platform: str
    uses: str
    settings: tuple[str, ...]


def _read(path: Path) -> str:
    """A file's text; a file that cannot be read is a fault, not a crash."""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            message = f"is larger than {MAX_BYTES} bytes"
            raise BadInputError([Fault(file=str(path), message=message)])
        return data.decode("utf-8-sig")
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise BadInputError([Fault(file=str(path), message=message)]) from error
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte {error.start}"
        raise BadInputError([Fault(file=str(path), message=message)]) from error


def _workflow(request: _Request) -> tuple[list[Imported], list[Finding]]:
    options = Options(
        file=str(request.file),
        name=request.file.name,
        as_of=request.as_of.isoformat(),
        job=request.job,
        ranges=request.ranges,
    )
    return import_workflow(_read(request.file), options)


def _kernels(request: _Request) -> tuple[list[Imported], list[Finding]]:
    versions = request.versions
    build = request.file
    if build.suffix.lower() != ".toml" and versions is None:
        found = import_kernels(
            "", _read(build), names=("", build.name), files=("", str(build)), bundle=False
        )
        return [found], []
    if versions is None:
        msg = (
            "kernels needs --versions FILE: the list of torch and backend versions "
            "(nix-builder/versions.nix of huggingface/kernels, or the same as YAML, JSON or TOML)"
        )
        raise click.UsageError(msg)
    found = import_kernels(
        _read(build),
        _read(versions),
        names=(build.name, versions.name),
        files=(str(build), str(versions)),
        bundle=not request.all_sets,
    )
    return [found], []


def _conda(request: _Request) -> tuple[list[Imported], list[Finding]]:
    if not request.platform:
        msg = f"conda_build_config needs --platform: one of {', '.join(PLATFORMS)}"
        raise click.UsageError(msg)
    settings = {}
    for text in request.settings:
        name, equal, value = text.partition("=")
        if not equal or not name:
            msg = f"--set takes NAME=VALUE, found {text!r}"
            raise click.UsageError(msg)
        settings[name] = value
    options = CondaOptions(
        file=str(request.file),
        name=request.file.name,
        as_of=request.as_of.isoformat(),
        platform=request.platform,
        uses=tuple(name.strip() for name in request.uses.split(",") if name.strip()),
        settings=settings,
    )
    return [import_conda(_read(request.file), options)], []


_READERS = dict(zip(KINDS, (_workflow, _kernels, _conda), strict=True))


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "level": str(finding.level),
        "code": finding.code,
        "message": finding.message,
        "file": finding.place.file,
        "line": finding.place.line,
        "column": finding.place.column,
        "job": finding.job,
        "hint": finding.hint,
    }


def _outcome(imported: Imported) -> str:
    if imported.text:
        return "imported"
    return "refused" if imported.has(Level.ERROR) else "unknown"


def _document(kind: str, results: list[Imported], findings: list[Finding]) -> dict[str, object]:
    return {
        "schema_version": IMPORT_SCHEMA_VERSION,
        "kind": kind,
        "matrices": [
            {
                "job": one.job,
                "name": one.name,
                "outcome": _outcome(one),
                "document": one.text or None,
                "candidates": one.candidates,
                "cells": one.cells if one.text else [],
                "cells_sha256": cells_sha256(one.cells) if one.text else None,
            }
            for one in results
        ],
        "findings": [_finding(f) for f in findings],
    }


def _exit_code(results: list[Imported], findings: list[Finding], *, strict: bool) -> ExitCode:
    if any(one.has(Level.ERROR) for one in results):
        return ExitCode.USAGE
    if any(not one.text for one in results):
        return ExitCode.COULD_NOT_CHECK
    if strict and any(f.level is Level.WARNING for f in findings):
        return ExitCode.FAILURES
    return ExitCode.GOOD


def _say(results: list[Imported], findings: list[Finding]) -> None:
    """What was found, on stderr: stdout holds only the document."""
    for finding in findings:
        click.echo(str(finding), err=True)
    for one in results:
        if one.text:
            same = f"the matrix written expands to the same {len(one.cells)} cells"
            click.echo(f"{one.job}: {one.candidates} candidates; {same}", err=True)
        else:
            click.echo(f"{one.job}: not imported", err=True)


def _write(results: list[Imported], out: Path, *, force: bool) -> None:
    good = [one for one in results if one.text]
    if len(results) > 1:
        jobs = ", ".join(one.job for one in results)
        msg = f"--out writes one matrix, and {len(results)} jobs have one: choose --job of {jobs}"
        raise click.UsageError(msg)
    if not good:
        return
    if out.exists() and not force:
        raise BadInputError([Fault(file=str(out), message="exists already", hint="give --force")])
    write_atomically(out, good[0].text.encode())
    click.echo(f"wrote {out}", err=True)


@click.command(name="import", short_help="Import a workflow, build.toml or conda file.")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--job", default="", help="github-workflow: only this job; default: every one.")
@click.option("--ranges", is_flag=True, help="github-workflow: exact patches in rules as X.Y.*.")
@click.option(
    "--versions",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="kernels: the versions list (.nix, .yaml, .json, .toml).",
)
@click.option("--all-sets", is_flag=True, help="kernels: also sets that are not in the bundle.")
@click.option(
    "--platform", type=click.Choice(PLATFORMS), default=None, help="conda_build_config: subdir."
)
@click.option("--uses", default="", help="conda_build_config: variables a recipe uses, by comma.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="conda_build_config: a setting."
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), default=None, help="Write it there."
)
@click.option("--force", is_flag=True, help="Let --out replace a file.")
@click.option("--strict", is_flag=True, help="Exit 1 where there are warnings.")
@as_of_option
@json_option
def command(
    *,
    kind: str,
    file: Path,
    job: str,
    ranges: bool,
    versions: Path | None,
    all_sets: bool,
    platform: str | None,
    uses: str,
    settings: tuple[str, ...],
    out: Path | None,
    force: bool,
    strict: bool,
    as_of: date,
    as_json: bool,
) -> int:
    """Turn FILE into a matrix.yaml that expands to exactly the same cells.

    KIND is github-workflow, kernels (build.toml) or conda_build_config. The document goes to
    stdout, what was found to stderr. Nothing in FILE is executed or evaluated. Exit codes: 2 the
    file has an error, 3 a matrix is decided at run time or cannot be written.
    """
    request = _Request(
        file=file,
        as_of=as_of,
        job=job,
        ranges=ranges,
        versions=versions,
        all_sets=all_sets,
        platform=platform or "",
        uses=uses,
        settings=settings,
    )
    results, findings = _READERS[kind](request)
    for one in results:
        check(one, file=str(file), as_of=as_of)
    findings = [f for one in results for f in one.findings] + findings
    _say(results, findings)
    if out is not None:
        _write(results, out, force=force)
    if as_json:
        print_json(_document(kind, results, findings))
    elif out is None:
        click.echo("---\n".join(one.text for one in results if one.text), nl=False)
    return int(_exit_code(results, findings, strict=strict))
