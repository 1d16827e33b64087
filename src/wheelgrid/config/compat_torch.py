"""Decodes compat/torch: one release per file, or statements about a range of releases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from wheelgrid.config import fields
from wheelgrid.config.statements import Statement, Statements
from wheelgrid.config.yaml import Item
from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.evidence import Source
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.release import (
    ArchList,
    Companions,
    Published,
    PythonsStatement,
    Stated,
    TorchKnowledge,
)
from wheelgrid.core.vendor import range_of

__all__ = ["Releases", "read_torch"]

_SAYS = {
    "released": ("on",),
    "requires_python": ("specifier",),
    "pythons": ("platforms", "values"),
    "accelerators": ("family", "platforms", "values"),
    "not_published": ("accelerator", "platforms", "because"),
    "default_accelerator": ("platforms", "accelerator"),
    "gpu_archs": ("accelerator", "platforms", "values", "ptx"),
    "cxx_standard": ("value",),
    "companion": ("name", "specifier"),
    "companions": ("values",),
}
_PLAIN_FIELD = {"released": "on", "requires_python": "specifier", "cxx_standard": "value"}


@dataclass(slots=True)
class _Part:
    """What one statement adds to every release that it is about."""

    pythons: list[PythonsStatement] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    defaults: list[tuple[Platform, Accelerator, Source]] = field(default_factory=list)
    archs: list[ArchList] = field(default_factory=list)
    companions: list[Companions] = field(default_factory=list)
    plain: dict[str, list[Stated]] = field(default_factory=dict)


class _Scope(TypedDict):
    """The fields that most statements share."""

    source: Source
    platforms: frozenset[Platform]


@dataclass(slots=True)
class Releases:
    """Collects what files and observations say, by release; ranges are applied at the end."""

    parts: dict[Version, list[_Part]] = field(default_factory=dict)
    ranges: list[tuple[SpecifierSet, _Part]] = field(default_factory=list)

    def add_pythons(self, torch: Version, statements: list[PythonsStatement]) -> None:
        """What an index was seen to hold of a release."""
        self.parts.setdefault(torch, []).append(_Part(pythons=statements))

    def finished(self) -> dict[Version, TorchKnowledge]:
        """Every release that a file or an index names, with the range statements that fit it."""
        found = {}
        for torch in sorted(self.parts):
            # Most statements of a file share one range: asked once.
            ranges = {id(where): where for where, _ in self.ranges}
            holds = {key: w.contains(torch, prereleases=True) for key, w in ranges.items()}
            fits = [part for where, part in self.ranges if holds[id(where)]]
            found[torch] = _joined(torch, self.parts[torch] + fits)
        return found


def _joined(torch: Version, parts: list[_Part]) -> TorchKnowledge:
    plain: dict[str, tuple[Stated, ...]] = {}
    for part in parts:
        for name, stated in part.plain.items():
            plain[name] = (*plain.get(name, ()), *stated)
    return TorchKnowledge(
        torch=torch,
        pythons=tuple(s for p in parts for s in p.pythons),
        published=tuple(s for p in parts for s in p.published),
        defaults=tuple(s for p in parts for s in p.defaults),
        archs=tuple(s for p in parts for s in p.archs),
        companions=tuple(s for p in parts for s in p.companions),
        plain=plain,
    )


def _pythons(item: Item) -> frozenset[PythonVersion]:
    return frozenset(v for v in map(fields.python, item.items()) if v is not None)


def _accelerators(item: Item) -> frozenset[Accelerator]:
    return frozenset(v for v in map(fields.accelerator, item.items()) if v is not None)


def _specifier(item: Item) -> str:
    try:
        return str(SpecifierSet(item.text()))
    except InvalidSpecifier as error:
        item.fault(str(error))
        return ""


def _companions(fact: dict[str, Item], single: Accelerator | None, scope: _Scope) -> Companions:
    if "values" in fact:
        values = {name: _specifier(child) for name, child in fact["values"].entries().items()}
    else:
        values = {fact["name"].text(): _specifier(fact["specifier"])}
    return Companions(accelerator=single, values=values, **scope)


def _part(says: str, fact: dict[str, Item], source: Source) -> _Part:
    """One statement, typed; faults are recorded at their fields."""
    where = fields.platforms(fact["platforms"]) if "platforms" in fact else frozenset()
    single = fields.accelerator(fact["accelerator"]) if "accelerator" in fact else None
    scope: _Scope = {"source": source, "platforms": where}
    part = _Part()
    if says in _PLAIN_FIELD:
        item = fact[_PLAIN_FIELD[says]]
        if says == "released":
            value = fields.day(item).isoformat()
        else:
            value = _specifier(item) if says == "requires_python" else item.text()
        part.plain[says] = [Stated(value=value, source=source)]
    elif says == "pythons":
        part.pythons.append(PythonsStatement(values=_pythons(fact["values"]), **scope))
    elif says == "accelerators":
        family, values = fields.family(fact["family"]), _accelerators(fact["values"])
        part.published.append(Published(family=family, values=values, **scope))
    elif says in {"companion", "companions"}:
        part.companions.append(_companions(fact, single, scope))
    elif single is not None:
        _about_one(part, says, fact, single, scope)
    return part


def _about_one(
    part: _Part, says: str, fact: dict[str, Item], single: Accelerator, scope: _Scope
) -> None:
    """Statements that need an accelerator."""
    if says == "not_published":
        because = fact["because"].text()
        part.published.append(
            Published(
                family=single.family,
                values=frozenset([single]),
                positive=False,
                because=because,
                **scope,
            )
        )
    elif says == "default_accelerator":
        part.defaults += [(p, single, scope["source"]) for p in sorted(scope["platforms"])]
    elif says == "gpu_archs":
        values, ptx = fact["values"].texts(), fact["ptx"].texts()
        part.archs.append(ArchList(accelerator=single, values=values, ptx=ptx, **scope))


def _own_range(fact: dict[str, Item]) -> SpecifierSet | None:
    """The releases that one statement is about, where it says so itself."""
    if "torch" not in fact:
        return None
    text = fact["torch"].text()
    return fact["torch"].build(lambda: range_of(text))


def read_torch(item: Item, releases: Releases, kept: list[Statement] | None = None) -> None:
    """Add one compat/torch file. Its head is a version, or a range for all its statements."""
    given = item.fields(("torch", "statements"))
    if "torch" not in given or "statements" not in given:
        return
    head = given["torch"].text()
    is_range = head[:1] in set("<>=!~")
    version = None if is_range else fields.version(given["torch"])
    if not is_range and version is None:
        return
    whole = given["torch"].build(lambda: range_of(head)) if is_range else None
    if is_range and whole is None:
        return
    reader = Statements(f"torch {head}", _SAYS, kept=kept)
    for says, fact, source in reader.read(given["statements"]):
        own = _own_range(fact)
        part = _part(says, fact, source)
        if version is not None:
            if own is not None and not own.contains(version, prereleases=True):
                fact["torch"].fault(f"does not fit torch {version}, which the file is about")
            releases.parts.setdefault(version, []).append(part)
        elif whole is not None:
            releases.ranges.append((whole & own if own is not None else whole, part))
    if version is not None:
        releases.parts.setdefault(version, [])
