"""Decodes matrix.yaml."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from wheelgrid.config import fields, grid
from wheelgrid.config.axes import place, zipped_names, zips
from wheelgrid.config.channels import read_channels
from wheelgrid.config.files import Project, read_yaml
from wheelgrid.config.runners import decode_runners
from wheelgrid.config.sections import Parts, all_axes, imported, row_keys, row_roles_of
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.axis import Axis, Role
from wheelgrid.core.cell import AXES
from wheelgrid.core.condition import Condition
from wheelgrid.core.grid import (
    Derived,
    Entry,
    Exclusion,
    Otherwise,
    Policy,
    Severity,
    Table,
)
from wheelgrid.core.matrix import Matrix, TierEntry, Toolchain
from wheelgrid.core.rung import Rung

__all__ = ["SCHEMA", "decode_matrix", "load_matrix"]

SCHEMA = "1"
_MANYLINUX = re.compile(r"manylinux(1|2010|2014|_[0-9]{1,2}_[0-9]{1,3})(_[a-z0-9_]+)?\Z")
# A wheel reaches dist/ only audited, so no tier can ask for less; resolving belongs to installing.
_UNTIL = [str(r) for r in (Rung.AUDITED, Rung.INSTALLED, Rung.IMPORTED, Rung.EXECUTED)]
_OPTIONAL = (
    *("title", "import", "channels", "axes", "roles", "zip", "groups", "exclude", "tables"),
    *("rules", "rules_otherwise", "include", "add", "derive", "removed", "packages", "tiers"),
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
                place=place(entry),
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
            place=place(given["archs"]),
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


def _groups(parts: Parts, roles: dict[str, Role]) -> dict[str, Condition]:
    groups: dict[str, Condition] = {}
    for section in parts.sections.get("groups", []):
        for name, child in section.entries().items():
            groups[name] = fields.condition(child, roles, groups)
    return groups


@dataclass(frozen=True, slots=True)
class _Lists:
    """What the matrix says in lists for all channels, or one channel for itself."""

    exclusions: tuple[Exclusion, ...]
    tables: tuple[Table, ...]
    include: tuple[Entry, ...]
    add: tuple[Entry, ...]


def _lists(sections: Callable[[str], tuple[Item, ...]], scope: grid.Scope) -> _Lists:
    roles = scope.roles
    return _Lists(
        tuple(e for s in sections("exclude") for e in grid.exclusions(s, scope)),
        tuple(t for s in sections("tables") for t in grid.tables(s, scope)),
        tuple(e for s in sections("include") for e in grid.entries(s, roles, spread=False)),
        tuple(e for s in sections("add") for e in grid.entries(s, roles, spread=True)),
    )


def _packages(item: Item | None, axes: tuple[Axis, ...]) -> tuple[str, ...]:
    if item is None:
        return ()
    names = {axis.name for axis in axes}
    missing = [axis for axis in AXES if axis not in names]
    if missing:
        item.fault(f"packages are built in cells, and the matrix has no axis {', '.join(missing)}")
    return fields.axis_values(item, lambda i: fields.package_name(i) or None)


def _otherwise(item: Item | None) -> Otherwise:
    words = {"include": Otherwise.KEEP, "exclude": Otherwise.DROP, "error": Otherwise.ERROR}
    return Otherwise.KEEP if item is None else words[item.choice(list(words))]


def _derived(sections: tuple[Item, ...], scope: grid.Scope) -> tuple[Derived, ...]:
    found: dict[str, Derived] = {}
    for section in sections:
        for one in grid.derived(section, scope):
            if one.name in found:
                section.fault(f"{one.name!r} is already derived by an imported file")
            found[one.name] = one
    return tuple(found.values())


def _decode(parts: Parts, channel: str, item: Item) -> Matrix:
    channels = read_channels(parts.all("channels"), channel, item)
    zipped = frozenset[str]().union(*map(zipped_names, parts.all("zip")))
    known = all_axes(parts, zipped)
    axes = channels.axes(known, zipped)
    row_roles = row_roles_of(known, parts, channels)
    roles = {axis.name: axis.role for axis in known} | row_roles
    late = frozenset(row_keys(known, parts, channels)[1])
    scope = grid.Scope(roles, _groups(parts, roles), late=late)
    shared = _lists(parts.all, scope)
    lists = {name: _lists(channels.of(name), scope.fork()) for name in channels.names}
    mine = lists.get(channels.chosen, _Lists((), (), (), ()))
    one = parts.one
    name = fields.identifier(found) if (found := one("name")) else ""
    packages = _packages(one("packages"), known)
    tiers = found.entries() if (found := one("tiers")) else {}
    matrix = Matrix(
        name=name,
        title=found.text() if (found := one("title")) else name,
        axes=axes.get(channels.chosen, known),
        packages=packages,
        zips=tuple(z for s in parts.all("zip") for z in zips(s, known, axes)),
        groups=scope.groups,
        exclusions=shared.exclusions + mine.exclusions,
        tables=shared.tables + mine.tables,
        rules=grid.rules(found, scope) if (found := one("rules")) else (),
        rules_otherwise=_otherwise(one("rules_otherwise")),
        include=shared.include + mine.include,
        add=shared.add + mine.add,
        derived=_derived(parts.all("derive"), scope),
        removed=grid.removals(found) if (found := one("removed")) else (),
        tiers={name: _tier(tier, packages, scope) for name, tier in tiers.items()},
        toolchains=_toolchains(found) if (found := one("toolchains")) else {},
        runners=decode_runners(found, scope) if (found := one("runners")) else (),
        policy=_policy(found) if (found := one("policy")) else Policy(),
        row_roles=row_roles,
        channel=channels.chosen,
        channels=channels.names,
        place=place(item),
    )
    others = (name for name in channels.names if name != channels.chosen)
    elsewhere = (replace(matrix, axes=axes[n], add=shared.add + lists[n].add) for n in others)
    return replace(matrix, elsewhere=tuple(elsewhere))


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
        for shared in imported(given["import"], root, base, set()):
            for name, section in shared.items():
                sections.setdefault(name, []).append(section)
    for name, section in given.items():
        sections.setdefault(name, []).append(section)
    matrix = _decode(Parts(sections), channel, item)
    if not {"axes", "add", "include"} & sections.keys() and not matrix.add + matrix.include:
        item.fault("missing key 'axes'", hint="or whole rows, with 'add'")
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
