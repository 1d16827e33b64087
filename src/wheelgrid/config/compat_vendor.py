"""Decodes compat/accelerators: one file per vendor runtime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from wheelgrid.config import fields
from wheelgrid.config.statements import Statement, Statements
from wheelgrid.config.yaml import Item
from wheelgrid.core.evidence import Source
from wheelgrid.core.platforms import Platform
from wheelgrid.core.vendor import (
    AcceleratorKnowledge,
    Driver,
    FamilyStatus,
    GlibcFloor,
    Gpu,
    RenamedArch,
    TargetFamily,
    ToolkitArchs,
    VendorPackage,
    range_of,
)

__all__ = ["read_vendor"]

_SAYS = {
    "platforms": ("values",),
    "driver": ("minimum",),
    "toolkit_archs": ("version", "values"),
    "arch_renamed": ("version", "old", "new"),
    "torch_index": ("url",),
    "glibc_floor": ("value",),
    "gpu": ("name", "arch"),
    "gpus": ("arch", "names"),
    "family": ("name", "values"),
    "family_status": ("name", "os", "status"),
    "families_status": ("os", "status", "names"),
    "package": ("name", "text"),
}
_STATUSES = ["build-passing", "sanity-tested", "release-ready"]
_SYSTEMS = ["linux", "windows", "macos"]
_FLOOR_OF = ["torch", "toolkit"]


class _Base(TypedDict):
    source: Source
    version: str


@dataclass(slots=True)
class _Found:
    """What the statements of one file add up to."""

    where: tuple[frozenset[Platform], Source] | None = None
    index: dict[str, tuple[str, Source]] = field(default_factory=dict)
    toolkits: list[ToolkitArchs] = field(default_factory=list)
    drivers: list[Driver] = field(default_factory=list)
    floors: list[GlibcFloor] = field(default_factory=list)
    renamed: list[RenamedArch] = field(default_factory=list)
    gpus: list[Gpu] = field(default_factory=list)
    families: list[TargetFamily] = field(default_factory=list)
    statuses: list[FamilyStatus] = field(default_factory=list)
    packages: list[VendorPackage] = field(default_factory=list)

    def add(self, says: str, fact: dict[str, Item], source: Source) -> None:
        """One statement. Every `says` of the vocabulary ends in one of these branches."""
        base: _Base = {"source": source, "version": _version_of(fact)}
        if says == "platforms":
            self.where = (fields.platforms(fact["values"]), source)
        elif says == "torch_index":
            # Several indexes may carry one version; the first written is the one to ask.
            self.index.setdefault(base["version"], (fact["url"].optional_text(), source))
        elif says == "driver":
            self.drivers.append(Driver(minimum=_minimum(fact["minimum"]), **base))
        elif says == "toolkit_archs":
            archs = frozenset(fact["values"].texts())
            self.toolkits.append(ToolkitArchs(values=archs, **base))
        elif says == "arch_renamed":
            old, new = fact["old"].text(), fact["new"].text()
            self.renamed.append(RenamedArch(old=old, new=new, **base))
        elif says == "glibc_floor":
            of = fact["of"].choice(_FLOOR_OF) if "of" in fact else _FLOOR_OF[0]
            self.floors.append(GlibcFloor(value=fact["value"].text(), of=of, **base))
        elif says == "package":
            name, text = fact["name"].text(), fact["text"].text()
            self.packages.append(VendorPackage(name=name, text=text, **base))
        else:
            self._add_products(says, fact, source)

    def _add_products(self, says: str, fact: dict[str, Item], source: Source) -> None:
        if says in {"gpu", "gpus"}:
            arch = fact["arch"].text()
            names = fact["names"].texts() if says == "gpus" else (fact["name"].text(),)
            self.gpus += [Gpu(name=name, arch=arch, source=source) for name in names]
        elif says == "family":
            values = fact["values"].texts()
            family = TargetFamily(name=fact["name"].text(), values=values, source=source)
            self.families.append(family)
        else:
            names = fact["names"].texts() if "names" in fact else (fact["name"].text(),)
            system, status = fact["os"].choice(_SYSTEMS), fact["status"].choice(_STATUSES)
            self.statuses += [
                FamilyStatus(name=name, os=system, status=status, source=source) for name in names
            ]


def _version_of(fact: dict[str, Item]) -> str:
    """The runtime version or range that a statement is about; empty for the family as a whole."""
    if "version" not in fact:
        return ""
    text = fact["version"].text()
    return text if fact["version"].build(lambda: range_of(text)) is not None else ""


def _minimum(item: Item) -> dict[str, str]:
    found = {}
    for system, value in item.entries().items():
        if system not in _SYSTEMS:
            value.fault(f"{system!r} is not a system", hint="known: " + ", ".join(_SYSTEMS))
        found[system] = value.text()
    return found


def read_vendor(item: Item, kept: list[Statement] | None = None) -> AcceleratorKnowledge | None:
    """One compat/accelerators file; None after a fault in its head."""
    given = item.fields(("accelerator", "title", "statements"))
    if not {"accelerator", "title", "statements"} <= given.keys():
        return None
    family = fields.family(given["accelerator"])
    found = _Found()
    reader = Statements(f"accelerator {family}", _SAYS, kept=kept)
    for says, fact, source in reader.read(given["statements"]):
        found.add(says, fact, source)
    if found.where is None:
        item.fault("has no statement that says platforms")
        return None
    return AcceleratorKnowledge(
        family=family,
        title=given["title"].text(),
        platforms=found.where[0],
        source=found.where[1],
        torch_index=found.index,
        toolkits=tuple(found.toolkits),
        drivers=tuple(found.drivers),
        glibc_floors=tuple(found.floors),
        renamed=tuple(found.renamed),
        gpus=tuple(found.gpus),
        families=tuple(found.families),
        statuses=tuple(found.statuses),
        packages=tuple(found.packages),
    )
