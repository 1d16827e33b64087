"""Sources of builds: sdists fetched by hash, unpacked safely, patched; or a local tree."""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import shutil
import tarfile
import threading
import urllib.request
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from wheelgrid.core.errors import BadInputError, BuildError, CouldNotCheckError, Fault
from wheelgrid.core.recipe import DirectorySource, Recipe, SdistSource
from wheelgrid.engines.uv import Uv

__all__ = ["copy_tree", "fetch_sdist", "file_sha256", "recipe_files", "tree_digest", "unpack"]

_CHUNK = 1 << 20
_MAX_SDIST = 512 << 20
_MAX_UNPACKED = 2 << 30
_ATTEMPTS = 3


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _is_clutter(path: Path) -> bool:
    """Files that a build leaves in a source tree; they are no part of its identity."""
    parts = path.parts
    return (
        parts[0] in {"build", ".git"}
        or any(p == "__pycache__" or p.endswith(".egg-info") for p in parts)
        or path.suffix in {".pyc", ".so", ".o"}
    )


def _tree(root: Path) -> Iterable[Path]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and not _is_clutter(path.relative_to(root)):
            yield path


def tree_digest(root: Path) -> str:
    """One SHA-256 over the names and contents of a tree, in sorted order."""
    digest = hashlib.sha256()
    for path in _tree(root):
        name = path.relative_to(root).as_posix()
        executable = os.access(path, os.X_OK)
        digest.update(f"{name}\0{executable}\0{file_sha256(path)}\n".encode())
    return digest.hexdigest()


def recipe_files(folder: Path, recipe: Recipe) -> dict[str, str]:
    """Digests of what a build takes from its recipe: source and patches, by name."""
    if isinstance(recipe.source, DirectorySource):
        found = {"source": tree_digest(folder / recipe.source.path)}
    else:
        found = {"source": recipe.source.sha256}
    for name in recipe.patches:
        path = folder / name
        if not path.is_file():
            raise BadInputError(
                [Fault(file=f"recipes/{recipe.name}/recipe.yaml", message=f"{name}: no such file")]
            )
        found[name] = file_sha256(path)
    return found


def _download(url: str, target: Path) -> None:
    """One attempt; a body shorter than announced is a truncation, not another file."""
    with urllib.request.urlopen(url, timeout=60) as answer, target.open("wb") as sink:  # noqa: S310
        expected = int(answer.headers.get("Content-Length") or -1)
        got = 0
        while chunk := answer.read(_CHUNK):
            got += len(chunk)
            if got > _MAX_SDIST:
                msg = f"the sdist is larger than {_MAX_SDIST} bytes"
                raise CouldNotCheckError(msg)
            sink.write(chunk)
    if expected not in {-1, got}:
        msg = f"truncated: got {got} of {expected} bytes"
        raise OSError(msg)


_fetching: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)
"""One lock for each file: builds for several Pythons want the same sdist at the same time."""


def fetch_sdist(recipe: Recipe, source: SdistSource, cache: Path, *, uv: Uv, log: Path) -> Path:
    """The sdist, from the cache or the user's index, verified by its pinned hash.

    The final name never holds partial or wrong content. BadInputError on a hash mismatch,
    with both hashes; CouldNotCheckError when the network fails three times.
    """
    final = cache / source.sha256 / source.filename
    with _fetching[final]:
        if final.is_file() and file_sha256(final) == source.sha256:
            return final
        asked = cache / f".{recipe.name}"
        entry = uv.locate_sdist(recipe.name, str(recipe.version), asked, log=log)
        final.parent.mkdir(parents=True, exist_ok=True)
        part = final.parent / ".part"
        try:
            _download_with_retries(str(entry.get("url", "")), part, source.filename)
            got = file_sha256(part)
            if got != source.sha256:
                raise BadInputError([_wrong_hash(recipe, source, got)])
            part.replace(final)
        finally:
            part.unlink(missing_ok=True)
    return final


def _download_with_retries(url: str, part: Path, name: str) -> None:
    """Network reads are tried three times; CouldNotCheckError after the last."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _download(url, part)
        except (OSError, ValueError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            if attempt == _ATTEMPTS:
                msg = f"{name} could not be fetched: {error}"
                raise CouldNotCheckError(msg) from error
        else:
            return


def _wrong_hash(recipe: Recipe, source: SdistSource, got: str) -> Fault:
    return Fault(
        file=f"recipes/{recipe.name}/recipe.yaml",
        path="source.sha256",
        message=f"{source.filename} has SHA-256 {got}, expected {source.sha256}",
        hint="never build what is not what was reviewed: find out which is right",
    )


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an sdist (PEP 625 layout) and return its single top folder.

    The `data` filter refuses paths that leave the folder, links out of it and devices.
    """
    folder.mkdir(parents=True)
    try:
        with tarfile.open(archive) as tar:
            total = 0
            for member in tar:
                total += member.size
                if total > _MAX_UNPACKED:
                    msg = f"{archive.name} unpacks to more than {_MAX_UNPACKED} bytes"
                    raise BuildError(msg)
                tar.extract(member, folder, filter="data")
    except (tarfile.TarError, EOFError, OSError, KeyError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        msg = f"{archive.name} is not a sound sdist: {error}"
        raise BuildError(msg) from error
    tops = [p for p in folder.iterdir() if p.is_dir()]
    if len(tops) != 1:
        msg = f"{archive.name} has {len(tops)} top folders; an sdist has one"
        raise BuildError(msg)
    return tops[0]


def copy_tree(source: Path, target: Path) -> Path:
    """Copy a local source tree without the clutter of earlier builds."""
    for path in _tree(source):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    return target
