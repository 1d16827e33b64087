"""`wheelgrid observe`: what the package index really publishes of each torch that is known."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from packaging.version import Version

from wheelgrid.cli.context import now, open_project
from wheelgrid.config.compat import INDEX_OBSERVATIONS, load_knowledge
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.yaml import Faults
from wheelgrid.core.release import TorchKnowledge
from wheelgrid.engines.atomic import write_atomically
from wheelgrid.engines.process import Processes
from wheelgrid.engines.uv import Uv

__all__ = ["command"]

OBSERVE_SCHEMA_VERSION = 1

_OLDEST, _NEWEST = 8, 15
"""Minor versions of Python that are asked for, where nothing is known of a release."""


def _pythons(release: TorchKnowledge | None) -> list[str]:
    """Pythons to ask with, upwards from the oldest that any source names for the release."""
    named = [p.minor for s in release.pythons for p in s.values] if release else []
    return [f"3.{minor}" for minor in range(min(named, default=_OLDEST), _NEWEST + 1)]


def _versions(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[Version]:
    del ctx, param
    try:
        return [Version(value) for value in values]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command(name="observe", short_help="Record what the index publishes.")
@click.option("--dry-run", is_flag=True, help="Print the record; write nothing.")
@click.option(
    "--torch",
    "more",
    multiple=True,
    metavar="VERSION",
    callback=_versions,
    help="Also this release of torch; it stays in the record from then on.",
)
@click.option(
    "--abi",
    "wheels",
    multiple=True,
    metavar="WHEEL|URL",
    help="Instead: record which functions of the stable ABI this torch wheel exports.",
)
@click.pass_obj
def command(
    root: Path | None, more: list[Version], *, wheels: tuple[str, ...], dry_run: bool
) -> int:
    """List the torch wheels of the default package index and write them, dated, to compat/.

    Asks for every release that the matrix or compat/ names, through uv, with your own index
    configuration.
    """
    project = open_project(root)
    if wheels:
        from wheelgrid.cli.observe_abi import observe_abi

        return observe_abi(project, wheels, dry_run=dry_run)
    faults = Faults()
    matrix = load_matrix(project, faults)
    faults.check()
    assert matrix is not None  # noqa: S101 - a missing matrix is a fault
    known = load_knowledge(project, faults).torch
    faults.check()
    # Extra indexes and local folders are left out: the record is about the default index.
    extra = {"UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"}
    env = {name: value for name, value in os.environ.items() if name not in extra}
    processes = Processes(env)
    uv = Uv(processes, env)
    try:
        with TemporaryDirectory() as folder:
            work = Path(folder)
            files = [
                name
                for torch in sorted({*matrix.torch, *known, *more})
                for name in uv.published_wheels(
                    "torch", str(torch), _pythons(known.get(torch)), work, log=work / "observe.log"
                )
            ]
    finally:
        processes.close()
    document = {
        "schema_version": OBSERVE_SCHEMA_VERSION,
        "kind": "observation",
        "source": "default package index, asked through uv",
        "observed": now().isoformat(),
        "files": sorted(files),
    }
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    if dry_run:
        click.echo(text, nl=False)
        return 0
    path = project.compat / INDEX_OBSERVATIONS / "torch.json"
    write_atomically(path, text.encode())
    click.echo(f"{len(files)} files of torch written to {path.relative_to(project.root)}", err=True)
    return 0
