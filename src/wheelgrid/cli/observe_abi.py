"""`wheelgrid observe --abi`: which C functions of its stable ABI a torch wheel exports."""

from __future__ import annotations

import click

from wheelgrid.cli.context import now
from wheelgrid.config.compat_abi import ABI_OBSERVATIONS, encode_shims, merged_shims, read_shims
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.engines.atomic import write_atomically
from wheelgrid.inspect.place import open_source
from wheelgrid.inspect.torch_exports import seen_shims, stated_digest

__all__ = ["observe_abi"]


def observe_abi(project: Project, places: tuple[str, ...], *, dry_run: bool) -> int:
    """Add torch wheels to the record; CouldNotCheckError where one cannot be read.

    Nothing is written unless all of them could be read.
    """
    path = project.compat / ABI_OBSERVATIONS / "torch.json"
    name = path.relative_to(project.root).as_posix()
    faults = Faults()
    known = read_shims(path, name, faults) if path.is_file() else ()
    faults.check()
    for place in places:
        with open_source(place) as source:
            known = merged_shims(known, seen_shims(source, sha256=stated_digest(place)))
    text = encode_shims(known, observed=now().isoformat())
    if dry_run:
        click.echo(text, nl=False)
        return 0
    write_atomically(path, text.encode())
    click.echo(f"{len(places)} wheels of torch written to {name}", err=True)
    return 0
