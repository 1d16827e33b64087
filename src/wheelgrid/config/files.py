"""Finds the project and reads its files; a file that cannot be read is a fault, not a crash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wheelgrid.config.yaml import MAX_BYTES, Faults, Item, parse
from wheelgrid.core.errors import BadInputError, Fault

__all__ = ["Project", "find_project", "read_yaml"]


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a matrix.yaml, and where its parts live."""

    root: Path
    matrix_name: str = "matrix.yaml"

    @property
    def matrix(self) -> Path:
        """The declared matrix."""
        return self.root / self.matrix_name

    @property
    def recipes(self) -> Path:
        """One folder per package, each with a recipe.yaml."""
        return self.root / "recipes"

    @property
    def compat(self) -> Path:
        """The knowledge base."""
        return self.root / "compat"

    @property
    def dist(self) -> Path:
        """Finished wheels, one folder per accelerator."""
        return self.root / "dist"

    @property
    def work(self) -> Path:
        """What the engines keep between runs; may be deleted at any time."""
        return self.root / ".wheelgrid"


def find_project(start: Path) -> Project:
    """The nearest folder at or above `start` with a matrix.yaml; BadInputError if none.

    A file is a matrix under another name; its folder is the project.
    """
    if start.is_file():
        return Project(start.parent, start.name)
    for folder in [start, *start.parents]:
        if (folder / "matrix.yaml").is_file():
            return Project(folder)
    raise BadInputError(
        [
            Fault(
                file="matrix.yaml",
                message=f"not found in {start} or any folder above it",
                hint="run in a wheelgrid project, or give --root DIR",
            )
        ]
    )


def read_yaml(path: Path, *, root: Path, faults: Faults) -> Item | None:
    """Read one file; None after a fault. Messages name it relative to the project."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    try:
        with path.open("rb") as handle:
            text = handle.read(MAX_BYTES + 1).decode("utf-8")
    except OSError as error:
        faults.found.append(Fault(file=name, message=f"cannot be read: {error.strerror}"))
        return None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        message = f"is not UTF-8: byte {error.start} is {byte:#x}"
        faults.found.append(Fault(file=name, message=message))
        return None
    return parse(text, file=name, faults=faults)
