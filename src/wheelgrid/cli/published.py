"""`--published FILE|index`: what is published, from a list of file names or the user's index."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from wheelgrid.config.yaml import MAX_BYTES
from wheelgrid.core.build import Build
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.engines.process import Processes
from wheelgrid.engines.uv import Uv
from wheelgrid.planning.published import Published

__all__ = ["load_published"]

_PYTHONS = [f"3.{minor}" for minor in range(8, 16)]


def _read(path: Path) -> list[str]:
    """One file name a line; empty lines and lines that begin with # are left out."""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot be read: {error}"
        raise BadInputError([Fault(file=str(path), message=message)]) from error
    if len(data) > MAX_BYTES:
        message = f"is larger than {MAX_BYTES} bytes"
        raise BadInputError([Fault(file=str(path), message=message)])
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _ask(builds: Iterable[Build]) -> list[str]:
    """The files of every version that the builds make, in the user's own index.

    CouldNotCheckError where the index cannot be asked: then nothing counts as published.
    """
    versions = sorted({(build.package, build.wheel_version) for build in builds})
    processes = Processes(os.environ)
    uv = Uv(processes, dict(os.environ))
    try:
        with TemporaryDirectory() as folder:
            work = Path(folder)
            return [
                name
                for package, version in versions
                for name in uv.published_wheels(
                    package, version, _PYTHONS, work, log=work / "log", absent_is_empty=True
                )
            ]
    finally:
        processes.close()


def load_published(source: str, builds: Iterable[Build]) -> Published:
    """Published files from a file of names, or from the index for the word `index`."""
    return Published.of(_ask(builds) if source == "index" else _read(Path(source)))
