"""Decodes compat/: torch releases, accelerators, lifecycle, features and index observations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from wheelgrid.config import fields
from wheelgrid.config.files import Project, read_yaml
from wheelgrid.config.yaml import MAX_BYTES, Faults, Item, nearest
from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.errors import Fault
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.knowledge import (
    AcceleratorKnowledge,
    Feature,
    FeatureStatus,
    Knowledge,
    Partial,
    Published,
    PythonsStatement,
    TorchKnowledge,
)
from wheelgrid.core.lifecycle import Stage, StageName, Sunset
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

__all__ = ["FEATURE_STATUSES", "INDEX_OBSERVATIONS", "STABILITIES", "load_knowledge"]

INDEX_OBSERVATIONS = "observations/index"
STABILITIES = ["stable", "preview", "experimental", "private"]
FEATURE_STATUSES = [
    "supported",
    "preview",
    "unsupported",
    "fallback",
    "needs_hardware",
    "needs_package",
    "build_absent",
    "crashed",
    "timeout",
    "not_run",
]

_COMMON = ("id", "says", "kind", "source", "date")
# What narrows a statement; none of them is needed everywhere.
_OPTIONAL = ("note", "from", "version", "accelerator", "torch")
_TORCH_SAYS = {
    "released": ("on",),
    "requires_python": ("specifier",),
    "pythons": ("platforms", "values"),
    "accelerators": ("family", "platforms", "values"),
    "not_published": ("accelerator", "platforms", "because"),
    "default_accelerator": ("platforms", "accelerator"),
    "gpu_archs": ("accelerator", "platforms", "values", "ptx"),
    "cxx_standard": ("value",),
    "companion": ("name", "specifier"),
}
_ACCELERATOR_SAYS = {
    "platforms": ("values",),
    "driver": ("minimum",),
    "toolkit_archs": ("version", "values"),
    "torch_index": ("url",),
    "glibc_floor": ("value",),
    "gpu": ("name", "arch"),
    "family": ("name", "values"),
    "family_status": ("name", "os", "status"),
    "package": ("name", "text"),
}
_FEATURE_SAYS = {"status": ("torch", "accelerator", "status", "detail"), "partial": ("missing",)}


def _statements(
    item: Item, says: dict[str, tuple[str, ...]]
) -> Iterator[tuple[str, dict[str, Item], Source]]:
    """Each statement's `says`, fields and source; every fault is recorded."""
    seen: set[str] = set()
    for entry in item.items():
        about = entry.entries().get("says")
        kind = about.text() if about is not None else ""
        if kind not in says:
            entry.fault(f"says {kind!r}, which is not known here", hint=nearest(kind, list(says)))
            continue
        given = entry.fields((*_COMMON, *says[kind]), _OPTIONAL)
        if not {*_COMMON, *says[kind]} <= given.keys():
            continue
        source = fields.source(given)
        if source.id in seen:
            given["id"].fault(f"the id {source.id!r} is used twice in this file")
        seen.add(source.id)
        yield kind, given, source


def _values(item: Item) -> frozenset[PythonVersion]:
    return frozenset(v for v in map(fields.python, item.items()) if v is not None)


def _accelerators(item: Item) -> frozenset[Accelerator]:
    return frozenset(v for v in map(fields.accelerator, item.items()) if v is not None)


def _specifier(item: Item) -> str:
    try:
        return str(SpecifierSet(item.text()))
    except InvalidSpecifier as error:
        item.fault(str(error))
        return ""


def _torch(item: Item) -> TorchKnowledge | None:
    """One compat/torch file."""
    given = item.fields(("torch", "statements"))
    version = fields.version(given["torch"]) if "torch" in given else None
    if version is None or "statements" not in given:
        return None
    pythons: list[PythonsStatement] = []
    published: list[Published] = []
    defaults: list[tuple[Platform, Accelerator, Source]] = []
    for says, fact, source in _statements(given["statements"], _TORCH_SAYS):
        where = fields.platforms(fact["platforms"]) if "platforms" in fact else frozenset()
        single = fields.accelerator(fact["accelerator"]) if "accelerator" in fact else None
        if says == "pythons":
            pythons.append(
                PythonsStatement(source=source, platforms=where, values=_values(fact["values"]))
            )
        elif says == "accelerators":
            published.append(
                Published(
                    source=source,
                    family=fields.family(fact["family"]),
                    platforms=where,
                    values=_accelerators(fact["values"]),
                )
            )
        elif says == "not_published" and single is not None:
            published.append(
                Published(
                    source=source,
                    family=single.family,
                    platforms=where,
                    values=frozenset([single]),
                    positive=False,
                    because=fact["because"].text(),
                )
            )
        elif says == "default_accelerator" and single is not None:
            defaults += [(platform, single, source) for platform in sorted(where)]
        elif says == "gpu_archs" and single is not None:
            fact["values"].texts(), fact["ptx"].texts()
        elif says in {"requires_python", "companion"}:
            _specifier(fact["specifier"])
    return TorchKnowledge(
        torch=version,
        pythons=tuple(pythons),
        published=tuple(published),
        defaults=tuple(defaults),
    )


def _accelerator(item: Item) -> AcceleratorKnowledge | None:
    """One compat/accelerators file."""
    given = item.fields(("accelerator", "title", "statements"))
    if len(given) < 3:  # noqa: PLR2004 - all three are required
        return None
    family = fields.family(given["accelerator"])
    where: frozenset[Platform] = frozenset()
    where_source: Source | None = None
    index: dict[str, tuple[str, Source]] = {}
    for says, fact, source in _statements(given["statements"], _ACCELERATOR_SAYS):
        if says == "platforms":
            where, where_source = fields.platforms(fact["values"]), source
        elif says == "torch_index":
            # Several indexes may carry one version; the first written is the one to ask.
            index.setdefault(_version_of(fact), (fact["url"].optional_text(), source))
        elif says == "driver":
            for minimum in fact["minimum"].entries().values():
                minimum.text()
    if where_source is None:
        item.fault("has no statement that says platforms")
        return None
    return AcceleratorKnowledge(
        family=family,
        title=given["title"].text(),
        platforms=where,
        source=where_source,
        torch_index=index,
    )


def _version_of(fact: dict[str, Item]) -> str:
    """The runtime version that a statement is about; empty for the family as a whole."""
    return fact["version"].text() if "version" in fact else ""


def _stage(item: Item, sunset: str) -> Stage | None:
    given = item.fields(("stage", "date", "precision", "kind", "source", "said"), ("note", "id"))
    if not {"stage", "date", "precision", "kind", "source", "said"} <= given.keys():
        return None
    name = given["stage"].choice([str(s) for s in StageName])
    return Stage(
        name=StageName(name),
        on=fields.day(given["date"]),
        precision=given["precision"].choice(["day", "week"]),
        source=fields.source(given, default_id=f"{sunset}.{name}", dated="said"),
    )


def _sunset(item: Item) -> Sunset | None:
    required = ("id", "axis", "value", "applies_to", "last_release", "reason", "action", "stages")
    given = item.fields(required)
    if len(given) < len(required):
        return None
    name = fields.identifier(given["id"])
    stages = [_stage(stage, name) for stage in given["stages"].items()]
    return Sunset(
        id=name,
        axis=given["axis"].choice(["python", "torch", "accelerator", "platform"]),
        value=given["value"].text(),
        gone=fields.condition(given["applies_to"]),
        last_release=given["last_release"].text(),
        reason=given["reason"].text(),
        action=given["action"].text(),
        stages=tuple(sorted((s for s in stages if s is not None), key=lambda s: s.on)),
    )


def _feature(item: Item) -> Feature | None:
    required = ("feature", "title", "summary", "since", "stability", "accelerators", "statements")
    given = item.fields(required, ("needs", "workaround"))
    if not set(required) <= given.keys():
        return None
    statuses: list[FeatureStatus] = []
    partial: list[Partial] = []
    for says, fact, source in _statements(given["statements"], _FEATURE_SAYS):
        if says == "status":
            statuses.append(
                FeatureStatus(
                    torch=fact["torch"].text(),
                    accelerator=fact["accelerator"].text(),
                    status=fact["status"].choice(FEATURE_STATUSES),
                    detail=fact["detail"].text(),
                    source=source,
                )
            )
            continue
        missing = fact["missing"].texts()
        if not missing:
            fact["missing"].fault("partial support must list what is missing")
        partial.append(
            Partial(
                torch=fact["torch"].text() if "torch" in fact else "",
                accelerator=fact["accelerator"].text() if "accelerator" in fact else "",
                missing=missing,
                source=source,
            )
        )
    return Feature(
        id=fields.identifier(given["feature"]),
        title=given["title"].text(),
        summary=given["summary"].text(),
        since=given["since"].text(),
        stability=given["stability"].choice(STABILITIES),
        accelerators=given["accelerators"].texts(),
        needs=given["needs"].texts() if "needs" in given else (),
        workaround=given["workaround"].optional_text() if "workaround" in given else "",
        statuses=tuple(statuses),
        partial=tuple(partial),
    )


def _observed_pythons(path: Path, project: Project, faults: Faults) -> list[TorchKnowledge]:
    """Torch files seen in a package index, from the records that `wheelgrid observe` wrote."""
    name = path.relative_to(project.root).as_posix()
    try:
        data = path.read_bytes()[: MAX_BYTES + 1]
        document = json.loads(data)
        seen, files = str(document["observed"]), document["files"]
        grouped: dict[Version, dict[Platform, set[PythonVersion]]] = {}
        for filename in files:
            _, version, _, tags = parse_wheel_filename(str(filename))
            for tag in tags:
                python = PythonVersion.from_tag(tag.abi)
                for platform in Platform:
                    if platform.matches_wheel_platform(tag.platform):
                        grouped.setdefault(version, {}).setdefault(platform, set()).add(python)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        InvalidWheelFilename,
        InvalidVersion,
    ) as error:
        faults.found.append(Fault(file=name, message=f"is not an index observation: {error}"))
        return []
    found = []
    for version, by_platform in grouped.items():
        source = Source(
            id=f"index.torch-{version}",
            kind=Kind.OBSERVATION,
            source=f"file tags of torch {version} in the default package index ({name})",
            date=seen[:10],
        )
        statements = tuple(
            PythonsStatement(
                source=source, platforms=frozenset([platform]), values=frozenset(pythons)
            )
            for platform, pythons in sorted(by_platform.items())
        )
        found.append(TorchKnowledge(torch=version, pythons=statements))
    return found


def _read_all(project: Project, folder: str, faults: Faults) -> Iterator[Item]:
    for path in sorted((project.compat / folder).glob("*.yaml")):
        item = read_yaml(path, root=project.root, faults=faults)
        if item is not None:
            yield item


def _merge(known: dict[Version, TorchKnowledge], extra: TorchKnowledge) -> None:
    """Add index observations to a release's statements (or start one)."""
    base = known.get(extra.torch, TorchKnowledge(torch=extra.torch))
    known[extra.torch] = TorchKnowledge(
        torch=base.torch,
        pythons=base.pythons + extra.pythons,
        published=base.published,
        defaults=base.defaults,
    )


def load_knowledge(project: Project, faults: Faults, *, features: bool = False) -> Knowledge:
    """Read compat/. Features are decoded only where a caller shows them."""
    torch: dict[Version, TorchKnowledge] = {}
    for item in _read_all(project, "torch", faults):
        release = _torch(item)
        if release is not None:
            torch[release.torch] = release
    for path in sorted((project.compat / INDEX_OBSERVATIONS).glob("torch*.json")):
        for release in _observed_pythons(path, project, faults):
            _merge(torch, release)
    accelerators: dict[Family, AcceleratorKnowledge] = {}
    for item in _read_all(project, "accelerators", faults):
        known = _accelerator(item)
        if known is not None:
            accelerators[known.family] = known
    sunsets: list[Sunset | None] = []
    lifecycle = project.compat / "lifecycle.yaml"
    if lifecycle.is_file():
        item_or_none = read_yaml(lifecycle, root=project.root, faults=faults)
        if item_or_none is not None:
            given = item_or_none.fields(("sunsets",))
            sunsets = [_sunset(s) for s in given["sunsets"].items()] if given else []
    found = [_feature(item) for item in _read_all(project, "features", faults)] if features else []
    return Knowledge(
        torch=torch,
        accelerators=accelerators,
        sunsets=tuple(s for s in sunsets if s is not None),
        features=tuple(f for f in found if f is not None),
    )
