"""`wheelgrid inspect`: what a wheel really contains, per native file and per vendor."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wheelgrid.cli.inspect_text import kernel_lines, library_lines, wheel_lines
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.config.files import Project, find_project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.errors import BadInputError, CouldNotCheckError, ExitCode, Fault
from wheelgrid.engines.inspection_cache import (
    SCHEMA_VERSION,
    Document,
    InspectionCache,
    cache_folder,
)

if TYPE_CHECKING:
    from wheelgrid.core.shim import Shim
    from wheelgrid.engines.inspection import Inspector

__all__ = ["command"]


def _places(given: tuple[str, ...]) -> list[str]:
    """Wheels to read: a folder with wheels stands for them, another one for itself."""
    found: list[str] = []
    faults = []
    for place in given:
        path = Path(place)
        if "://" in place or path.is_file():
            found.append(place)
        elif path.is_dir():
            found += sorted(map(str, path.glob("*.whl"))) or [place]
        else:
            faults.append(Fault(file=place, message="no such file, folder or address"))
    if faults:
        raise BadInputError(faults)
    return found


def _shims(project: Project | None) -> Mapping[str, Shim]:
    """What the project's compat/ knows of torch's stable ABI; nothing outside of a project."""
    from wheelgrid.config.compat_abi import load_shims

    if project is None:
        return {}
    faults = Faults()
    found = load_shims(project, faults)
    faults.check()
    return found.shims


def _project(root: Path | None) -> Project | None:
    try:
        return find_project((root or Path.cwd()).resolve())
    except BadInputError:
        if root is not None:
            raise
        return None


def _salt(project: Project | None, *, kernels: bool) -> str:
    """What else an inspection depends on: what is known of torch, and how deep it looks."""
    digest = hashlib.sha256(b"kernels" if kernels else b"")
    files = (project.compat / "observations" / "abi").glob("*.json") if project else ()
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _Inspections:
    """Documents of wheels, from the cache or read now; what reads them is imported late."""

    def __init__(self, project: Project | None, memory: InspectionCache, **how: bool) -> None:
        self._project = project
        self._cache = memory
        self._how = how
        self._inspector: Inspector | None = None

    def document(self, place: str) -> Document:
        """The document of one wheel; CouldNotCheckError where its bytes cannot be had."""
        if "://" not in place and not (self._how["digests"] or self._how["metadata"]):
            known = self._cache.wheel(Path(place))
            if known is not None:
                return known
        if self._inspector is None:
            from wheelgrid.engines.inspection import Inspector

            shims = cache(partial(_shims, self._project))
            self._inspector = Inspector(cache=self._cache, shims=shims, **self._how)
        return self._inspector.inspect(place)


@click.command(name="inspect", short_help="Show what a wheel contains.")
@click.argument("wheels", nargs=-1, required=True, metavar="WHEEL|DIR|URL...")
@click.option("--libs", is_flag=True, help="One block per native file.")
@click.option("--kernels", is_flag=True, help="Also list the kernels of device code.")
@click.option("--digests", is_flag=True, help="Read every member and compare it with RECORD.")
@click.option("--metadata", is_flag=True, help="Only the metadata: a part of a remote wheel.")
@click.option("--no-cache", is_flag=True, help="Read everything anew and remember nothing.")
@json_option
@click.pass_obj
def command(
    root: Path | None,
    *,
    wheels: tuple[str, ...],
    libs: bool,
    kernels: bool,
    digests: bool,
    metadata: bool,
    no_cache: bool,
    as_json: bool,
) -> int:
    """Read the native files of wheels: what they need, which ABI they use, which GPUs they have
    code for. Exit 0, or 3 where something could not be read.
    """
    project = _project(root)
    folder = None if no_cache else cache_folder(os.environ)
    memory = InspectionCache(folder=folder, salt=_salt(project, kernels=kernels))
    inspections = _Inspections(project, memory, kernels=kernels, digests=digests, metadata=metadata)
    documents: list[Document] = []
    failed: list[CouldNotCheckError] = []
    for place in _places(wheels):
        try:
            documents.append(inspections.document(place))
        except CouldNotCheckError as error:
            failed.append(error)
    if as_json:
        errors = [str(problem) for problem in failed]
        print_json({"schema_version": SCHEMA_VERSION, "wheels": documents, "errors": errors})
    else:
        for document in documents:
            click.echo("\n".join(wheel_lines(document)))
            if libs:
                click.echo("\n".join(library_lines(document)))
            if kernels:
                click.echo("\n".join(kernel_lines(document)))
    for problem in failed:
        click.echo(f"error: {problem}", err=True)
    whole = not failed and all(d["complete"] for d in documents)
    return int(ExitCode.GOOD if whole else ExitCode.COULD_NOT_CHECK)
