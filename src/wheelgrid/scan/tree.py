"""The files of a project: a folder, a source archive or a wheel. Bounded, read only, hostile.

Nothing is unpacked. Links are not followed, except those to a file inside the same folder. What
is not looked at is said, never dropped.
"""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["MAX_BYTES", "MAX_FILES", "Entry", "Tree", "open_tree", "printable"]

MAX_BYTES = 1024 * 1024
"""Largest file that is read; what pins a version is written by hand."""
MAX_FILES = 5000
"""Most files that are read; more are counted and named as not looked at."""
_MAX_LINES = 50_000
_MAX_TOTAL = 32 * MAX_BYTES
_MAX_UNPACKED = 2048 * MAX_BYTES
_MAX_DEPTH = 12
_MAX_VISITED = 200_000
SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__"),
        *("site-packages", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".eggs"),
        *("third_party", "third-party", "vendor"),
    }
)
"""Caches, environments and the code of others."""
_DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError,
    NotImplementedError, RuntimeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its text, or why it could not be read."""

    name: str
    text: str
    problem: str = ""


@dataclass(slots=True)
class Tree:
    """The wanted files of a project; iterate once. `left_out` fills meanwhile."""

    files: Iterator[Entry]
    left_out: dict[str, str] = field(default_factory=dict)
    """Folder or archive -> why what is in it was not looked at."""


def printable(name: str) -> str:
    """A name as it can be shown: no control characters, no broken bytes."""
    text = name.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _text(data: bytes) -> tuple[str, str]:
    """Text, or what is wrong with it."""
    if len(data) > MAX_BYTES:
        return "", f"larger than {MAX_BYTES} bytes"
    if b"\0" in data:
        return "", "binary"
    if data.count(b"\n") > _MAX_LINES:
        return "", f"more than {_MAX_LINES} lines"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        return "", f"not UTF-8: byte {error.start}"


def _read_file(path: Path) -> tuple[bytes, str]:
    """The bytes of a regular file; a pipe or device is never opened for long."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        return b"", error.strerror or "cannot be read"
    with os.fdopen(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return b"", "not a regular file"
        try:
            return stream.read(MAX_BYTES + 1), ""
        except OSError as error:
            return b"", error.strerror or "cannot be read"


class _Budget:
    """Counts what was read; a file past the limits becomes a problem."""

    def __init__(self) -> None:
        self.files = self.bytes = 0

    def entry(self, name: str, read: Callable[[], tuple[bytes, str]]) -> Entry:
        """Read one file, unless too much was read before."""
        self.files += 1
        if self.files > MAX_FILES:
            return Entry(printable(name), "", f"more than {MAX_FILES} files")
        if self.bytes > _MAX_TOTAL:
            return Entry(printable(name), "", f"more than {_MAX_TOTAL} bytes in all")
        data, problem = read()
        self.bytes += len(data)
        text, fault = _text(data)
        return Entry(printable(name), text, problem or fault)


def _names(root: Path, left_out: dict[str, str]) -> Iterator[str]:
    """Relative names in order; folders that are skipped are noted."""
    visited = 0
    for folder, folders, files in os.walk(root, followlinks=False):
        inside = Path(folder).relative_to(root)
        deep = len(inside.parts) >= _MAX_DEPTH
        kept = []
        for name in sorted(folders):
            shown = printable((inside / name).as_posix())
            if name in SKIPPED_FOLDERS:
                left_out[shown] = "a cache, an environment or the code of others"
            elif deep:
                left_out[shown] = f"deeper than {_MAX_DEPTH} folders"
            elif (Path(folder) / name).is_symlink():
                left_out[shown] = "a link"
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(files):
            visited += 1
            if visited > _MAX_VISITED:
                left_out["(the rest)"] = f"more than {_MAX_VISITED} files"
                return
            yield (inside / name).as_posix()


def _folder(root: Path, wanted: Callable[[str], bool], tree: Tree) -> Iterator[Entry]:
    budget = _Budget()
    real = root.resolve()
    for name in _names(root, tree.left_out):
        if not wanted(name):
            continue
        path = root / name
        if path.is_symlink():
            try:
                target = path.resolve(strict=True)
            except (OSError, RuntimeError):
                yield Entry(printable(name), "", "a link to nothing")
                continue
            if not target.is_relative_to(real):
                yield Entry(printable(name), "", "a link out of the project")
                continue
            path = target
        yield budget.entry(name, lambda path=path: _read_file(path))  # type: ignore[misc]


def _inner(name: str, *, strip: bool) -> str | None:
    """The name inside an archive without its top folder; None where it is skipped."""
    parts = [p for p in name.split("/") if p not in {"", ".", ".."}]
    parts = parts[1:] if strip else parts
    if not parts or len(parts) > _MAX_DEPTH or SKIPPED_FOLDERS.intersection(parts[:-1]):
        return None
    return "/".join(parts)


def _tar(path: Path, wanted: Callable[[str], bool], tree: Tree) -> Iterator[Entry]:
    budget, unpacked = _Budget(), 0
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                unpacked += member.size
                if unpacked > _MAX_UNPACKED:
                    tree.left_out["(the rest)"] = f"more than {_MAX_UNPACKED} bytes unpacked"
                    return
                name = _inner(member.name, strip=True)
                if name is None or not wanted(name) or not member.isfile():
                    continue
                stream = archive.extractfile(member)
                if stream is not None:
                    data = stream.read(MAX_BYTES + 1)
                    yield budget.entry(name, lambda data=data: (data, ""))  # type: ignore[misc]
    except _DAMAGE as error:
        tree.left_out["(the rest)"] = f"the archive is damaged: {type(error).__name__}"


def _zip(path: Path, wanted: Callable[[str], bool], tree: Tree) -> Iterator[Entry]:
    budget = _Budget()
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = _inner(info.filename, strip=path.suffix != ".whl")
                if name is None or info.is_dir() or not wanted(name):
                    continue
                with archive.open(info) as stream:
                    data = stream.read(MAX_BYTES + 1)
                yield budget.entry(name, lambda data=data: (data, ""))  # type: ignore[misc]
    except _DAMAGE as error:
        tree.left_out["(the rest)"] = f"the archive is damaged: {type(error).__name__}"


def open_tree(path: Path, wanted: Callable[[str], bool]) -> Tree:
    """The wanted files of a folder, of a source archive, or of a wheel."""
    tree = Tree(iter(()))
    if path.is_dir():
        tree.files = _folder(path, wanted, tree)
    elif path.suffix in {".whl", ".zip"}:
        tree.files = _zip(path, wanted, tree)
    else:
        tree.files = _tar(path, wanted, tree)
    return tree
