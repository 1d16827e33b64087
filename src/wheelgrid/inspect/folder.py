"""Native files of an unpacked or installed tree, or one alone, read like those of a wheel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.inflate import CHUNK
from wheelgrid.inspect.library import read_library
from wheelgrid.inspect.native import kind_of
from wheelgrid.inspect.wheel import HEAD, MAX_SOURCE, Member, Reading, Wheel, take_source

__all__ = ["is_native", "read_folder"]


def read_folder(folder: Path, how: Reading | None = None) -> Wheel:
    """Read the native files of an unpacked or installed tree, or one file; follows no links."""
    how = how or Reading()
    wheel = Wheel(file=folder.name)
    paths = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
    root = folder if folder.is_dir() else folder.parent
    for path in paths:
        if path.is_symlink() or not path.is_file():
            continue
        name, size = path.relative_to(root).as_posix(), path.stat().st_size
        wheel.size += size
        wheel.count += 1
        try:
            member = _read_file(path, name, size, how)
            if member.library is not None or member.unreadable:
                wheel.members[name] = member
            if path.suffix == ".py" and size <= MAX_SOURCE:
                take_source(wheel, name, path.read_bytes())
        except OSError as error:
            wheel.damage.append((name, error.strerror or "cannot be read"))
    return wheel


def is_native(path: Path) -> bool:
    """Whether a file on disk is native code by its first bytes; OSError if it cannot be read."""
    with path.open("rb") as file:
        return bool(kind_of(file.read(HEAD)))


def _read_file(path: Path, name: str, size: int, how: Reading) -> Member:
    def chunks() -> Iterator[bytes]:
        with path.open("rb") as file:
            while piece := file.read(CHUNK):
                yield piece

    with path.open("rb") as file:
        kind = kind_of(file.read(HEAD))
    if not kind:
        return Member(path=name, size=size)
    try:
        library = read_library(name, size, chunks, kind, kernels=how.kernels)
    except NotReadableError as error:
        text = f"is not a sound {kind} file: {error}"
        return Member(path=name, size=size, unreadable=text)
    return Member(path=name, size=size, library=library)
