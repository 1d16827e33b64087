"""`wheelgrid resolve`: what an installer would take for a cell, and the traps on the way."""

from __future__ import annotations

import json
import zipfile
from datetime import date
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import click
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from wheelgrid.cli.context import as_of_option, json_option, print_json
from wheelgrid.config.yaml import MAX_BYTES
from wheelgrid.core.cell import Cell
from wheelgrid.core.errors import BadInputError, ExitCode, Fault
from wheelgrid.core.wheelname import Label, Severity
from wheelgrid.planning.installer import (
    Choice,
    File,
    Target,
    choose_file,
    label_traps,
    name_faults,
)

__all__ = ["command"]

RESOLVE_SCHEMA_VERSION = 1
_MAX_METADATA = 1024 * 1024


def _bad(file: str, message: str, hint: str = "") -> BadInputError:
    return BadInputError([Fault(file=file, message=message, hint=hint)])


def _of_wheel(path: Path) -> File:
    """A wheel's own metadata; one that cannot be read counts by its name alone."""
    try:
        with zipfile.ZipFile(path) as wheel:
            names = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
            with wheel.open(names[0]) as handle:
                text = handle.read(_MAX_METADATA).decode("utf-8", "replace")
    except (OSError, zipfile.BadZipFile, IndexError, RuntimeError, NotImplementedError):
        return File(filename=path.name)
    headers = HeaderParser().parsestr(text)
    return File(
        filename=path.name,
        requires_python=str(headers.get("Requires-Python") or ""),
        requires=tuple(str(h) for h in headers.get_all("Requires-Dist") or ()),
    )


def _of_page(data: dict[str, Any], file: str) -> list[File]:
    """The files of a page in the JSON form of the simple API (PEP 691, 700)."""
    found = []
    for entry in data["files"]:
        yanked = entry.get("yanked", False)
        uploaded = str(entry.get("upload-time") or "")[:10]
        found.append(
            File(
                filename=str(entry["filename"]),
                requires_python=str(entry.get("requires-python") or ""),
                yanked=None if yanked is False else (yanked if isinstance(yanked, str) else ""),
                uploaded=date.fromisoformat(uploaded) if uploaded else None,
            )
        )
    if not found:
        raise _bad(file, "lists no files")
    return found


def read_files(path: Path) -> list[File]:
    """Files from a folder of wheels, a JSON page, or a list with one name a line.

    In a list, `name requires-python=>=3.9 yanked=why uploaded=2026-01-31` adds what a page says.
    """
    if path.is_dir():
        wheels = sorted(p for p in path.iterdir() if p.suffix == ".whl" and p.is_file())
        others = sorted(p.name for p in path.iterdir() if p.name.endswith((".tar.gz", ".zip")))
        return [*map(_of_wheel, wheels), *(File(filename=name) for name in others)]
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(str(path), f"cannot be read: {error}") from error
    if len(data) > MAX_BYTES:
        raise _bad(str(path), f"is larger than {MAX_BYTES} bytes")
    if text.lstrip().startswith("{"):
        try:
            return _of_page(json.loads(text), str(path))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _bad(str(path), f"is not a page of the simple API (PEP 691): {error}") from error
    lines = (line.strip() for line in text.splitlines())
    return [_of_line(line) for line in lines if line and not line.startswith("#")]


def _of_line(line: str) -> File:
    name, *words = line.split()
    facts = dict(word.partition("=")[::2] for word in words if "=" in word)
    try:
        uploaded = date.fromisoformat(facts["uploaded"]) if "uploaded" in facts else None
    except ValueError as error:
        raise _bad(name, f"uploaded={facts['uploaded']} is not a date") from error
    return File(
        filename=name,
        requires_python=facts.get("requires-python", ""),
        yanked=facts.get("yanked"),
        uploaded=uploaded,
        requires=tuple(facts[key] for key in facts if key.startswith("requires-dist")),
    )


def _cell(text: str) -> Cell:
    try:
        return Cell.parse(text)
    except ValueError as error:
        raise _bad("CELL", str(error)) from error


def _document(cell: str, choice: Choice) -> dict[str, Any]:
    return {
        "schema_version": RESOLVE_SCHEMA_VERSION,
        "cell": cell,
        "chosen": choice.chosen or None,
        "why": choice.why,
        "out": [{"file": name, "why": why} for name, why in choice.out],
        "traps": [
            {"code": t.code, "severity": str(t.severity), "message": t.message}
            for t in choice.traps
        ],
        "pythons": {"floor": choice.python_range[0], "ceiling": choice.python_range[1]},
    }


def _lines(choice: Choice) -> list[str]:
    lines = [f"{choice.chosen or 'nothing'}: {choice.why}"]
    lines += [f"  {t.severity}: {t.code}: {t.message}" for t in choice.traps]
    lines += [f"  out: {name}: {why}" for name, why in choice.out]
    floor, ceiling = choice.python_range
    if floor or ceiling:
        lines.append(
            f"  Pythons: from {floor or 'any (nothing declared)'} to "
            f"{ceiling or 'any (no version-specific wheel)'}"
        )
    return lines


def _check(files: list[File], *, as_json: bool) -> int:
    """Every name judged for publishing."""
    faults = name_faults(file.filename for file in files)
    traps = label_traps(files)
    if as_json:
        print_json(
            {
                "schema_version": RESOLVE_SCHEMA_VERSION,
                "files": len(files),
                "faults": [
                    {"file": name, "severity": str(severity), "message": message, "fix": fix}
                    for name, (severity, message, fix) in faults
                ],
                "traps": [
                    {"code": t.code, "severity": str(t.severity), "message": t.message}
                    for t in traps
                ],
            }
        )
    else:
        lines = [
            f"{name}: {severity}: {message}" + (f"\n    fix: {fix}" if fix else "")
            for name, (severity, message, fix) in faults
        ]
        lines += [f"{t.severity}: {t.code}: {t.message}" for t in traps]
        lines.append(f"{len(files)} names: {len(faults)} faults, {len(traps)} traps")
        click.echo("\n".join(lines))
    return int(ExitCode.FAILURES if faults or traps else ExitCode.GOOD)


def _missing_dependencies(
    paths: tuple[Path, ...], target: Target, wish: Label, as_of: date
) -> list[str]:
    """Dependencies of which nothing fits the cell, each with the reason."""
    found = []
    for path in paths:
        choice = choose_file(read_files(path), target, wish=wish, as_of=as_of)
        if not choice.chosen or choice.chosen.endswith((".tar.gz", ".zip")):
            why = choice.out[-1][1] if choice.out else choice.why
            found.append(f"{path.stem}: {choice.why} ({why})")
    return found


@click.command(name="resolve", short_help="What an installer takes for a cell.")
@click.argument("cell", metavar="[CELL]", default="")
@click.option(
    "--files",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    help="File names, one a line; a JSON page of the simple API; or a folder of wheels.",
)
@click.option("--check", is_flag=True, help="Judge every name for publishing; needs no CELL.")
@click.option("--any-label", is_flag=True, help="Do as installers do: look at no label.")
@click.option("--specifier", default="", metavar="SPEC", help="Versions asked for, such as >=2.14.")
@click.option("--cxx11-abi", type=click.Choice(["true", "false"]), default=None)
@click.option(
    "--dependency",
    "dependencies",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="The page of a pinned dependency: the cell needs a file of it too.",
)
@click.option("--glibc", default="2.28", show_default=True, metavar="X.Y")
@as_of_option
@json_option
def command(
    *,
    cell: str,
    files: Path,
    check: bool,
    any_label: bool,
    specifier: str,
    cxx11_abi: str | None,
    dependencies: tuple[Path, ...],
    glibc: str,
    as_of: date,
    as_json: bool,
) -> int:
    """Simulate an installer on a project page. Nothing is downloaded.

    The label of a wheel (+cu130torch2.15) is matched with the cell, as a user does who picks by
    hand; --any-label shows what an installer takes that knows nothing of labels. Exit 1 when
    nothing fits, a dependency is missing, or a trap would go wrong without an error.
    """
    given = read_files(files)
    if check:
        return _check(given, as_json=as_json)
    point = _cell(cell)
    try:
        SpecifierSet(specifier)
        major, minor = (int(part) for part in glibc.split("."))
    except (InvalidSpecifier, ValueError) as error:
        raise _bad("resolve", str(error)) from error
    wish = Label()
    if not any_label:
        wish = Label(
            accelerator=str(point.accelerator).partition("2026")[0]
            if point.accelerator.family == "xpu"
            else str(point.accelerator),
            torch=point.torch_minor,
            cxx11_abi=cxx11_abi or "",
        )
    target = Target(cell=point, glibc=(major, minor))
    choice = choose_file(given, target, wish=wish, specifier=specifier, as_of=as_of)
    missing = _missing_dependencies(dependencies, target, wish, as_of)
    if as_json:
        print_json({**_document(point.id, choice), "missing_dependencies": missing})
    else:
        lines = [*_lines(choice), *(f"  dependency: {text}" for text in missing)]
        click.echo("\n".join(lines))
    bad = any(t.severity is Severity.ERROR for t in choice.traps)
    return int(ExitCode.FAILURES if not choice.chosen or bad or missing else ExitCode.GOOD)
