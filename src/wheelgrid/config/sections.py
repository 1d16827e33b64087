"""The sections of a matrix and of the files that it imports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from wheelgrid.config.axes import axes as read_axes
from wheelgrid.config.channels import Channels
from wheelgrid.config.files import read_yaml
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.axis import IMPLICIT_ROLES, Axis, Role

__all__ = ["SHARED", "Parts", "all_axes", "imported", "row_keys", "row_roles_of"]

SHARED = ("axes", "zip", "groups", "channels", "exclude", "tables", "add", "derive")
"""What an imported file may hold."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The sections of a matrix and of the files that it imports, in order of reading."""

    sections: dict[str, list[Item]]

    def one(self, name: str) -> Item | None:
        """The section of the matrix itself."""
        found = self.sections.get(name, [])
        return found[-1] if found else None

    def all(self, name: str) -> tuple[Item, ...]:
        """The sections of all files."""
        return tuple(self.sections.get(name, ()))


def imported(item: Item, root: Path, base: Path, seen: set[Path]) -> list[dict[str, Item]]:
    """The sections of imported files, depth first; a path must stay inside the project."""
    found: list[dict[str, Item]] = []
    for child in item.items():
        text = child.text()
        if not text:
            continue
        target = (base / text).resolve()
        if Path(text).is_absolute() or not target.is_relative_to(root):
            child.fault(f"{text!r} is outside the project")
            continue
        if target in seen:
            child.fault(f"{text!r} is imported twice or imports itself")
            continue
        seen.add(target)
        document = read_yaml(target, root=root, faults=child.faults)
        if document is None:
            continue
        given = document.fields((), (*SHARED, "import"))
        nested = given.pop("import", None)
        if nested is not None:
            found += imported(nested, root, target.parent, seen)
        found.append(given)
    return found


def all_axes(parts: Parts, zipped: frozenset[str]) -> tuple[Axis, ...]:
    """The axes of all files, each defined once."""
    found: dict[str, Axis] = {}
    for section in parts.all("axes"):
        for axis in read_axes(section, zipped):
            if axis.name in found:
                section.fault(f"axis {axis.name!r} is already defined by an imported file")
            found[axis.name] = axis
    return tuple(found.values())


def _row_keys(rows: Iterable[Item]) -> dict[str, None]:
    """The keys of whole rows; it records no fault, the reader of the rows does."""
    quiet = [replace(section, faults=Faults()) for section in rows]
    return {
        name: None
        for section in quiet
        for row in (section.items() if section.is_list else ())
        for name in (row.entries() if row.is_mapping else ())
    }


def row_keys(
    axes: tuple[Axis, ...], parts: Parts, channels: Channels
) -> tuple[list[str], list[str]]:
    """The keys beside the axes that `add` rows bring, and those that only `include` rows bring."""
    named = {axis.name for axis in axes}
    added = _row_keys([*parts.all("add"), *channels.all("add")])
    late = _row_keys([*parts.all("include"), *channels.all("include")])
    return (
        [name for name in added if name not in named],
        [name for name in late if name not in named and name not in added],
    )


def row_roles_of(axes: tuple[Axis, ...], parts: Parts, channels: Channels) -> dict[str, Role]:
    """The roles of the keys that only whole rows bring; `roles` has the last word on them."""
    added, late = row_keys(axes, parts, channels)
    named = {axis.name for axis in axes}
    keys = [*added, *(() if axes else late)]
    found = {name: IMPLICIT_ROLES.get(name, Role.TEXT) for name in keys}
    given = parts.one("roles")
    for name, item in given.entries().items() if given is not None else ():
        role = Role(item.choice([str(r) for r in Role]))
        if name in named:
            item.fault(f"{name!r} is an axis", hint=f"write axes.{name}: {{role, values}}")
        elif name not in found:
            item.fault(f"no row has a key {name!r}", hint=nearest(name, list(found)))
        else:
            found[name] = role
    return found
