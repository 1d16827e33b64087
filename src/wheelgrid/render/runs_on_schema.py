"""JSON Schema of `wheelgrid runs-on --json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wheelgrid.core.accelerator import Family
from wheelgrid.core.evidence import Kind
from wheelgrid.inspect.device_code import ImageKind
from wheelgrid.inspect.run_fit import How
from wheelgrid.inspect.run_verdict import RunState

__all__ = ["runs_on_schema"]

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_COUNT: Schema = {"type": "integer", "minimum": 0}


def _enum(values: Iterable[object]) -> Schema:
    return {"enum": [str(v) for v in values]}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(properties: Schema) -> Schema:
    """A closed object: every field is there, and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


_SOURCE: Schema = {
    **dict.fromkeys(("id", "source", "date", "note"), _TEXT),
    "kind": _enum(Kind),
}
_NEED = _object(
    {
        "of": {"enum": ["driver", "macOS"]},
        "minimum": _or_null(_TEXT),
        "because": _TEXT,
        "met": _or_null({"type": "boolean"}),
        "source": _or_null(_object(_SOURCE)),
    }
)
_APPLIED = _object(
    {
        "rule": _or_null(_TEXT),
        "kind": _enum(ImageKind),
        "target": _TEXT,
        "isa": _or_null(_TEXT),
        "how": _enum(How),
        "containers": _COUNT,
        "kernels": _or_null(_COUNT),
    }
)
_LACKING = _object(
    {"kernels": _TEXTS, "elsewhere": _TEXTS, "containers": _COUNT, "unlisted": _COUNT}
)
_LIBRARY = _object(
    {
        "path": _TEXT,
        "state": _enum(RunState),
        "reason": _TEXT,
        "containers": _COUNT,
        "kernels": _or_null(_COUNT),
        "lacking": _LACKING,
        "applied": _list(_APPLIED),
        "needs": _list(_NEED),
        "warnings": _TEXTS,
        "jit_sources": _TEXTS,
    }
)
_GPU = _object(
    {
        "gpu": _TEXT,
        "family": _enum(Family),
        "target": _TEXT,
        "products": _TEXTS,
        "state": _enum(RunState),
        "reason": _TEXT,
        "counted": _TEXTS,
        "needs": _list(_NEED),
        "libraries": _list(_LIBRARY),
    }
)


def runs_on_schema() -> Schema:
    """Wheels, each on the GPUs that were asked for; `rules` are those applied, by id."""
    rule = _object({**_SOURCE, "text": _TEXT, "match": _TEXT})
    return _object(
        {
            "schema_version": {"const": 1},
            "driver": _or_null(_TEXT),
            "macos": _or_null(_TEXT),
            "rules": {"type": "object", "additionalProperties": rule},
            "wheels": _list(_object({"wheel": _TEXT, "gpus": _list(_GPU)})),
        }
    )
