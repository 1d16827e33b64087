"""Values on their way from a foreign file into matrix.yaml."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from wheelgrid.importers.report import Cells, Json, canonical

__all__ = ["compact", "distinct", "text_of", "unwritable", "written"]

_COMPACT = re.compile(r"(?:cu|cuda|rocm|xpu)?[0-9]{2,4}\Z")
_TOOLKIT = re.compile(r"(?:^|[^a-z])(?:cu|cuda|rocm|toolkit|accelerator|xpu)", re.IGNORECASE)
_LABELLED = re.compile(r"(?:cu|rocm)[0-9]{2,4}\Z")
_YEAR = re.compile(r"20[0-9]{2}\Z")


def text_of(value: Json) -> str:
    """The text that identifies a value on its axis."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        name = value.get("name")
        return name if isinstance(name, str) and name else json.dumps(value, sort_keys=True)
    if isinstance(value, list):
        return json.dumps(value, sort_keys=True)
    return "" if value is None else str(value)


def written(value: Json) -> Json:
    """A value as matrix.yaml holds it: numbers become text, everything else stays."""
    if isinstance(value, dict):
        return {key: written(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [written(inner) for inner in value]
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def unwritable(value: Json) -> str:
    """What about a value matrix.yaml has no form for; empty where it has one."""
    if value is None:
        return "null value"
    if isinstance(value, list):
        return next((why for inner in value if (why := unwritable(inner))), "")
    if isinstance(value, dict):
        return next((why for inner in value.values() if (why := unwritable(inner))), "")
    return ""


def compact(axis: str, values: Sequence[Json]) -> list[str]:
    """Toolkit versions written without their dot: 1210 may be 12.10 or 121.0."""
    texts = [value for value in values if isinstance(value, str)]
    if not _TOOLKIT.search(axis):
        return [text for text in texts if _LABELLED.match(text)]
    return [text for text in texts if _COMPACT.match(text) and not _YEAR.match(text)]


def distinct(cells: Cells) -> Iterator[dict[str, Json]]:
    """Each cell once, in order."""
    seen: set[str] = set()
    for cell in cells:
        key = canonical(cell)
        if key not in seen:
            seen.add(key)
            yield cell
