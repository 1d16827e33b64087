"""Decodes compat/features: what works where, what is missing, and which version closed a gap."""

from __future__ import annotations

from wheelgrid.config import fields
from wheelgrid.config.statements import Statement, Statements
from wheelgrid.config.yaml import Item
from wheelgrid.core.evidence import Source
from wheelgrid.core.feature import GAPS, Feature, FeatureStatus, Partial
from wheelgrid.core.vendor import range_of

__all__ = ["FEATURE_STATUSES", "STABILITIES", "read_feature"]

STABILITIES = ["stable", "preview", "experimental", "private"]
FEATURE_STATUSES = [
    "supported",
    "preview",
    "unsupported",
    "not_applicable",
    "missing",
    "broken",
    "fallback",
    "needs_hardware",
    "needs_package",
    "build_absent",
    "crashed",
    "timeout",
    "not_run",
]
_SAYS = {"status": ("torch", "accelerator", "status", "detail"), "partial": ("missing",)}
_OPTIONAL = ("note", "from", "torch", "accelerator", "replacement", "closed_by")


def _range(fact: dict[str, Item]) -> str:
    """The torch version or range that a statement is about, empty for all."""
    if "torch" not in fact:
        return ""
    text = fact["torch"].text()
    return text if fact["torch"].build(lambda: range_of(text)) is not None else ""


def _closed_by(fact: dict[str, Item]) -> str:
    found = fields.version(fact["closed_by"]) if "closed_by" in fact else None
    return str(found) if found is not None else ""


def _status(fact: dict[str, Item], source: Source) -> FeatureStatus:
    status = fact["status"].choice(FEATURE_STATUSES)
    replacement = fact["replacement"].text() if "replacement" in fact else ""
    if status == "not_applicable" and not replacement:
        fact["status"].fault("not_applicable must name what serves instead", hint="replacement: X")
    if status != "not_applicable" and replacement:
        fact["replacement"].fault(f"{status} has no replacement", hint="status: not_applicable")
    if "closed_by" in fact and status not in GAPS:
        fact["closed_by"].fault(f"{status} is no gap that a version could close")
    return FeatureStatus(
        torch=_range(fact),
        accelerator=fact["accelerator"].text(),
        status=status,
        detail=fact["detail"].text(),
        source=source,
        replacement=replacement,
        closed_by=_closed_by(fact),
    )


def _partial(fact: dict[str, Item], source: Source) -> Partial:
    missing = fact["missing"].texts()
    if not missing:
        fact["missing"].fault("partial support must list what is missing")
    return Partial(
        torch=_range(fact),
        accelerator=fact["accelerator"].text() if "accelerator" in fact else "",
        missing=missing,
        source=source,
        closed_by=_closed_by(fact),
    )


def read_feature(item: Item, kept: list[Statement] | None = None) -> Feature | None:
    """One compat/features file; None after a fault in its head."""
    required = ("feature", "title", "summary", "since", "stability", "accelerators", "statements")
    given = item.fields(required, ("needs", "workaround"))
    if not set(required) <= given.keys():
        return None
    name = fields.identifier(given["feature"])
    statuses: list[FeatureStatus] = []
    partial: list[Partial] = []
    reader = Statements(f"feature {name}", _SAYS, optional=_OPTIONAL, kept=kept)
    for says, fact, source in reader.read(given["statements"]):
        if says == "status":
            statuses.append(_status(fact, source))
        else:
            partial.append(_partial(fact, source))
    return Feature(
        id=name,
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
