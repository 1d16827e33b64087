"""Decodes matrix.yaml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wheelgrid.config import fields
from wheelgrid.config.files import Project, read_yaml
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.cell import AXES
from wheelgrid.core.matrix import Exclusion, Matrix, TierEntry, Toolchain
from wheelgrid.core.rung import Rung

__all__ = ["SCHEMA", "decode_matrix", "load_matrix"]

SCHEMA = "1"
# A wheel reaches dist/ only audited, so no tier can ask for less; resolving belongs to installing.
_UNTIL = [str(r) for r in (Rung.AUDITED, Rung.INSTALLED, Rung.IMPORTED, Rung.EXECUTED)]


def _exclusions(item: Item) -> tuple[Exclusion, ...]:
    found: list[Exclusion] = []
    for entry in item.items():
        given = entry.fields(("id", "when", "reason", "source", "date"), ("note",))
        if not {"id", "when", "reason"} <= given.keys():
            continue
        exclusion = Exclusion(
            id=fields.identifier(given["id"]),
            when=fields.condition(given["when"]),
            reason=given["reason"].text(),
            source=fields.source(given),
        )
        if any(exclusion.id == other.id for other in found):
            given["id"].fault(f"the id {exclusion.id!r} is used twice")
        found.append(exclusion)
    return tuple(found)


def _tier(item: Item, packages: tuple[str, ...]) -> tuple[TierEntry, ...]:
    entries: list[TierEntry] = []
    for entry in item.items():
        given = entry.fields(("packages", "when"), ("until", "why"))
        if not {"packages", "when"} <= given.keys():
            continue
        named = given["packages"].texts()
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
                when=fields.condition(given["when"]),
                until=until or Rung.EXECUTED,
                why=why,
            )
        )
    return tuple(entries)


def _toolchains(item: Item) -> dict[Accelerator, Toolchain]:
    found: dict[Accelerator, Toolchain] = {}
    for key, entry in item.entries().items():
        text = key
        accelerator = entry.build(lambda t=text: Accelerator.parse(t))  # type: ignore[misc]
        given = entry.fields(("requires", "archs"))
        if accelerator is None or not {"requires", "archs"} <= given.keys():
            continue
        found[accelerator] = Toolchain(
            accelerator=accelerator,
            requires=fields.pinned(given["requires"]),
            archs=given["archs"].texts(),
        )
    return found


def _axes(item: Item) -> dict[str, tuple[Any, ...]]:
    """The four standard axes, decoded; a missing one is empty."""
    parsers: dict[str, Callable[[Item], Any]] = {
        "torch": fields.version,
        "python": fields.python,
        "accelerator": fields.accelerator,
        "platform": fields.platform,
    }
    given = item.fields(tuple(parsers))
    return {
        axis: fields.axis_values(given[axis], parse) if axis in given else ()
        for axis, parse in parsers.items()
    }


def decode_matrix(item: Item) -> Matrix | None:
    """Decode a matrix document; faults are left in the item's collector, all of them."""
    required = ("schema", "name", "axes", "packages")
    given = item.fields(required, ("title", "exclude", "tiers", "toolchains"))
    if "schema" in given:
        given["schema"].choice([SCHEMA])
    name = fields.identifier(given["name"]) if "name" in given else ""
    packages: tuple[str, ...] = ()
    if "packages" in given:
        packages = fields.axis_values(given["packages"], lambda i: fields.package_name(i) or None)
    tiers = given["tiers"].entries() if "tiers" in given else {}
    matrix = Matrix(
        name=name,
        title=given["title"].text() if "title" in given else name,
        **(_axes(given["axes"]) if "axes" in given else dict.fromkeys(AXES, ())),
        packages=packages,
        exclusions=_exclusions(given["exclude"]) if "exclude" in given else (),
        tiers={name: _tier(tier, packages) for name, tier in tiers.items()},
        toolchains=_toolchains(given["toolchains"]) if "toolchains" in given else {},
    )
    return matrix if set(required) <= given.keys() else None


def load_matrix(project: Project, faults: Faults, *, path: Path | None = None) -> Matrix | None:
    """Read and decode the project's matrix.yaml (or another file of that form)."""
    item = read_yaml(path or project.matrix, root=project.root, faults=faults)
    return decode_matrix(item) if item is not None else None
