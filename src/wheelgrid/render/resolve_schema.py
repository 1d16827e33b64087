"""JSON Schema of `wheelgrid resolve --json`, for a cell and with `--check`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wheelgrid.core.accelerator import Family
from wheelgrid.core.rung import Outcome
from wheelgrid.core.wheelname import Kind
from wheelgrid.planning.answer import State
from wheelgrid.planning.traps import Severity

__all__ = ["resolve_schema"]

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}


def _object(fields: Schema) -> Schema:
    return {
        "type": "object",
        "properties": fields,
        "required": sorted(fields),
        "additionalProperties": False,
    }


def _list(fields: Schema) -> Schema:
    return {"type": "array", "items": _object(fields)}


def _null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _enum(values: Iterable[object]) -> Schema:
    return {"enum": [str(v) for v in values]}


def _project() -> Schema:
    label = {
        "text": _TEXT,
        "family": _null(_enum(Family)),
        "toolkit": _TEXTS,
        "torch": _TEXTS,
        "cxx11_abi": _null(_FLAG),
        "rest": _TEXT,
    }
    file = {
        "file": _TEXT,
        "installable": _FLAG,
        "out": _null(_TEXT),
        "why": _TEXT,
        "for_cell": {"enum": ["yes", "no", "unknown"]},
        "for_cell_why": _TEXT,
        "label": _null(_object(label)),
    }
    trap = {"code": _TEXT, "severity": _enum(Severity), "message": _TEXT, "hint": _TEXT}
    pythons = {
        "requires_python": _TEXT,
        "oldest_wheel": _null(_TEXT),
        "newest_wheel": _null(_TEXT),
        "open_ended": _FLAG,
    }
    return {
        "project": _TEXT,
        "requirement": _TEXT,
        "outcome": _enum(Outcome),
        "state": _enum(State),
        "why": _TEXT,
        "file": _null(_TEXT),
        "pin": _null(_TEXT),
        "installer": _object({"file": _null(_TEXT), "kind": _null(_enum(Kind)), "yanked": _FLAG}),
        "pythons": _object(pythons),
        "traps": _list(trap),
        "files": _list(file),
    }


def _cell() -> Schema:
    return _object(
        {
            "schema_version": {"const": 1},
            "cell": _TEXT,
            "system": _TEXT,
            **_project(),
            "own_outcome": _enum(Outcome),
            "needs": _list(_project()),
            "unlisted": _TEXTS,
        }
    )


def _check() -> Schema:
    fault = {"code": _TEXT, "message": _TEXT, "suggestion": _TEXT, "fatal": _FLAG}
    file = {
        "file": _TEXT,
        "kind": _enum(Kind),
        "project": _TEXT,
        "index_folder": _TEXT,
        "version": _null(_TEXT),
        "readable": _FLAG,
        "publishable": _FLAG,
        "variant": _TEXT,
        "tags": _TEXTS,
        "faults": _list(fault),
    }
    order = dict.fromkeys(("project", "newer", "older", "by", "message"), _TEXT)
    return _object(
        {
            "schema_version": {"const": 1},
            "good": _FLAG,
            "files": _list(file),
            "order": _list(order),
            "missing": _list({"file": _TEXT, "renamed_to": _TEXT}),
            "extra": _TEXTS,
        }
    )


def resolve_schema() -> Schema:
    """One of two documents: the answer for a cell, or the check of names."""
    return {"oneOf": [_cell(), _check()]}
