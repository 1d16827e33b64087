"""`wheelgrid observe`: what the package index really publishes of each torch on the matrix."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from wheelgrid.cli.context import now, open_project
from wheelgrid.config.compat import INDEX_OBSERVATIONS
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.yaml import Faults
from wheelgrid.engines.process import Processes
from wheelgrid.engines.store import write_atomically
from wheelgrid.engines.uv import Uv

__all__ = ["command"]

OBSERVE_SCHEMA_VERSION = 1


@click.command(name="observe", short_help="Record what the index publishes.")
@click.option("--dry-run", is_flag=True, help="Print the record; write nothing.")
@click.pass_obj
def command(root: Path | None, *, dry_run: bool) -> int:
    """List the torch wheels of the default package index and write them, dated, to compat/.

    The index is asked through uv, with your own index configuration.
    """
    project = open_project(root)
    faults = Faults()
    matrix = load_matrix(project, faults)
    faults.check()
    assert matrix is not None  # noqa: S101 - a missing matrix is a fault
    # Extra indexes and local folders are left out: the record is about the default index.
    extra = {"UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"}
    env = {name: value for name, value in os.environ.items() if name not in extra}
    processes = Processes(env)
    uv = Uv(processes, env)
    try:
        lowest = sorted(p for p in matrix.python if not p.free_threaded)
        with TemporaryDirectory() as folder:
            work = Path(folder)
            files = [
                name
                for torch in matrix.torch
                for name in uv.published_wheels(
                    "torch", str(torch), [str(p) for p in lowest], work, log=work / "observe.log"
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
