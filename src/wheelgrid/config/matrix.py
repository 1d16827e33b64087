"""Decodes matrix.yaml."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from wheelgrid.config import fields, grid
from wheelgrid.config.files import Project, read_yaml
from wheelgrid.config.runners import decode_runners
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.axis import IMPLICIT_ROLES, Axis, Role
from wheelgrid.core.cell import AXES
from wheelgrid.core.condition import Condition
from wheelgrid.core.grid import Otherwise, Policy, Severity
from wheelgrid.core.matrix import Matrix, TierEntry, Toolchain
from wheelgrid.core.rung import Rung

__all__ = ["SCHEMA", "decode_matrix", "load_matrix"]

SCHEMA = "1"
_MANYLINUX = re.compile(r"manylinux(1|2010|2014|_[0-9]{1,2}_[0-9]{1,3})(_[a-z0-9_]+)?\Z")
# A wheel reaches dist/ only audited, so no tier can ask for less; resolving belongs to installing.
_UNTIL = [str(r) for r in (Rung.AUDITED, Rung.INSTALLED, Rung.IMPORTED, Rung.EXECUTED)]
_SHARED = ("axes", "groups", "channels", "tables", "add")
_OPTIONAL = (
    *("title", "import", "channels", "axes", "zip", "groups", "exclude", "tables", "rules"),
    *("rules_otherwise", "include", "add", "derive", "removed", "packages", "tiers"),
    *("toolchains", "policy", "runners"),
)


def _tier(item: Item, packages: tuple[str, ...], scope: grid.Scope) -> tuple[TierEntry, ...]:
    entries: list[TierEntry] = []
    for entry in item.items():
        given = entry.fields(("when",), ("packages", "until", "why"))
        if "when" not in given:
            continue
        named = given["packages"].texts() if "packages" in given else packages
        for name in named:
            if name not in packages:
                given["packages"].fault(
                    f"{name!r} is not in packages", hint=nearest(name, list(packages))
                )
        until = Rung(given["until"].choice(_UNTIL)) if "until" in given else None
        why = given["why"].text() if "why" in given else ""
        if until not in {None, Rung.EXECUTED} and not why:
            entry.fault("a tier entry that stops early must say why")
        entries.append(
            TierEntry(
                packages=named,
                when=scope.condition(given["when"]),
                until=until or Rung.EXECUTED,
                why=why,
                place=grid.place(entry),
            )
        )
    return tuple(entries)


def _manylinux(item: Item) -> str:
    text = item.text()
    if text and not _MANYLINUX.match(text):
        item.fault(f"{text!r} is not a platform tag such as 'manylinux_2_28'")
    return text


def _toolchains(item: Item) -> dict[Accelerator, Toolchain]:
    found: dict[Accelerator, Toolchain] = {}
    for key, entry in item.entries().items():
        text = key
        accelerator = entry.build(lambda t=text: Accelerator.parse(t))  # type: ignore[misc]
        given = entry.fields(("requires", "archs"), ("manylinux",))
        if accelerator is None or not {"requires", "archs"} <= given.keys():
            continue
        found[accelerator] = Toolchain(
            accelerator=accelerator,
            requires=fields.pinned(given["requires"]),
            archs=given["archs"].texts(),
            manylinux=_manylinux(given["manylinux"]) if "manylinux" in given else "",
            place=grid.place(given["archs"]),
        )
    return found


def _policy(item: Item) -> Policy:
    names = ("dead_rules", "expired_rules", "constant_axes")
    given = item.fields((), (*names, "knowledge"))
    known = [str(s) for s in Severity]
    chosen = {name: Severity(given[name].choice(known)) for name in names if name in given}
    knowledge = True
    if "knowledge" in given:
        knowledge = given["knowledge"].choice(["apply", "ignore"]) == "apply"
    return Policy(**chosen, knowledge=knowledge)


@dataclass(slots=True)
class _Parts:
    """The sections of a matrix and of the files that it imports, in order of reading."""

    sections: dict[str, list[Item]]

    def one(self, name: str) -> Item | None:
        """The section of the matrix itself."""
        found = self.sections.get(name, [])
        return found[-1] if found else None


def _imported(item: Item, root: Path, base: Path, seen: set[Path]) -> list[dict[str, Item]]:
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
        given = document.fields((), (*_SHARED, "import"))
        nested = given.pop("import", None)
        if nested is not None:
            found += _imported(nested, root, target.parent, seen)
        found.append(given)
    return found


def _axes(item: Item, parts: _Parts, channel: str) -> tuple[tuple[Axis, ...], str, tuple[str, ...]]:
    """All axes, with the values of the channel; the channel, and the channels there are."""
    found: dict[str, Axis] = {}
    zipped = grid.zipped_names(parts.one("zip"))
    for section in parts.sections.get("axes", []):
        for axis in grid.axes(section, zipped):
            if axis.name in found:
                section.fault(f"axis {axis.name!r} is already defined by an imported file")
            found[axis.name] = axis
    axes = tuple(found.values())
    channels: dict[str, Item] = {}
    for section in parts.sections.get("channels", []):
        channels.update(section.entries())
    chosen = channel or next(iter(channels), "")
    by_channel = {name: grid.channel_axes(child, axes, zipped) for name, child in channels.items()}
    if chosen and chosen not in channels:
        (parts.sections.get("channels") or [item])[0].fault(
            f"no channel {chosen!r}", hint=nearest(chosen, list(channels))
        )
    return by_channel.get(chosen, axes), chosen, tuple(channels)


def _roles(axes: tuple[Axis, ...], parts: _Parts) -> dict[str, Role]:
    """The axes that conditions may name, also those that only whole rows bring."""
    roles = {axis.name: axis.role for axis in axes}
    for section in parts.sections.get("add", []) + (
        [] if axes else parts.sections.get("include", [])
    ):
        for row in section.items() if section.is_list else ():
            for name in row.entries() if row.is_mapping else ():
                roles.setdefault(name, IMPLICIT_ROLES.get(name, Role.TEXT))
    return roles


def _groups(parts: _Parts, roles: dict[str, Role]) -> dict[str, Condition]:
    groups: dict[str, Condition] = {}
    for section in parts.sections.get("groups", []):
        for name, child in section.entries().items():
            groups[name] = fields.condition(child, roles, groups)
    return groups


def _decode(parts: _Parts, channel: str, item: Item) -> Matrix:
    axes, channel, channels = _axes(item, parts, channel)
    roles = _roles(axes, parts)
    scope = grid.Scope(roles, _groups(parts, roles))
    one = parts.one
    name = fields.identifier(found) if (found := one("name")) else ""
    packages: tuple[str, ...] = ()
    if (listed := one("packages")) is not None:
        packages = fields.axis_values(listed, lambda i: fields.package_name(i) or None)
        named = {n for s in parts.sections.get("axes", []) for n in s.entries()}
        missing = [axis for axis in AXES if axis not in named]
        if missing:
            listed.fault(
                f"packages are built in cells, and the matrix has no axis {', '.join(missing)}"
            )
    tiers = found.entries() if (found := one("tiers")) else {}
    otherwise = Otherwise.KEEP
    if (found := one("rules_otherwise")) is not None:
        words = {"include": Otherwise.KEEP, "exclude": Otherwise.DROP, "error": Otherwise.ERROR}
        otherwise = words[found.choice(list(words))]
    add = [e for s in parts.sections.get("add", []) for e in grid.entries(s, roles, spread=True)]
    return Matrix(
        name=name,
        title=found.text() if (found := one("title")) else name,
        axes=axes,
        packages=packages,
        zips=grid.zips(found, axes) if (found := one("zip")) else (),
        groups=scope.groups,
        exclusions=grid.exclusions(found, scope) if (found := one("exclude")) else (),
        tables=tuple(t for s in parts.sections.get("tables", []) for t in grid.tables(s, scope)),
        rules=grid.rules(found, scope) if (found := one("rules")) else (),
        rules_otherwise=otherwise,
        include=grid.entries(found, roles, spread=False) if (found := one("include")) else (),
        add=tuple(add),
        derived=grid.derived(found, scope) if (found := one("derive")) else (),
        removed=grid.removals(found) if (found := one("removed")) else (),
        tiers={name: _tier(tier, packages, scope) for name, tier in tiers.items()},
        toolchains=_toolchains(found) if (found := one("toolchains")) else {},
        runners=decode_runners(found, scope) if (found := one("runners")) else (),
        policy=_policy(found) if (found := one("policy")) else Policy(),
        channel=channel,
        channels=channels,
        place=grid.place(item),
    )


def decode_matrix(
    item: Item, *, root: Path | None = None, base: Path | None = None, channel: str = ""
) -> Matrix | None:
    """Decode a matrix document; faults are left in the item's collector, all of them.

    `root` bounds imports, `base` is the folder that they are relative to. `channel` picks a
    named override of axis values; the first written is the default.
    """
    given = item.fields(("schema", "name"), _OPTIONAL)
    if "schema" in given:
        given["schema"].choice([SCHEMA])
    sections: dict[str, list[Item]] = {}
    if "import" in given and root is not None and base is not None:
        for shared in _imported(given["import"], root, base, set()):
            for name, section in shared.items():
                sections.setdefault(name, []).append(section)
    for name, section in given.items():
        sections.setdefault(name, []).append(section)
    if not {"axes", "add", "include"} & sections.keys():
        item.fault("missing key 'axes'", hint="or whole rows, with 'add'")
    matrix = _decode(_Parts(sections), channel, item)
    return matrix if {"schema", "name"} <= given.keys() else None


def load_matrix(
    project: Project, faults: Faults, *, path: Path | None = None, channel: str = ""
) -> Matrix | None:
    """Read and decode the project's matrix.yaml (or another file of that form)."""
    source = path or project.matrix
    item = read_yaml(source, root=project.root, faults=faults)
    if item is None:
        return None
    root = project.root.resolve()
    return decode_matrix(item, root=root, base=source.parent.resolve(), channel=channel)
