"""JSON Schemas of everything that `--json` prints and of the records; made from the types."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from wheelgrid.core.decision import Reason
from wheelgrid.core.evidence import Kind
from wheelgrid.core.lifecycle import StageName
from wheelgrid.core.lifecycle import State as SunsetState
from wheelgrid.core.platforms import Platform
from wheelgrid.core.recipe import Abi
from wheelgrid.core.rung import Outcome, Rung
from wheelgrid.inspect.findings import Level
from wheelgrid.lint.rule import Scope, Severity
from wheelgrid.render.inspect_schema import inspect_schema
from wheelgrid.render.matrix_schema import matrix_schema
from wheelgrid.render.resolve_schema import resolve_schema
from wheelgrid.render.runs_on_schema import runs_on_schema
from wheelgrid.reports.model import State
from wheelgrid.scan.mention import Confidence
from wheelgrid.scan.reliance import Kind as Reliance

__all__ = ["schema_texts"]

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_FREE = r"(,[^,=]+=[^,]*)*"
_CELL_ID: Schema = {
    "type": "string",
    "pattern": rf"^torch[^-,]+-cp[0-9]+t?-[a-z0-9_]+-[a-z0-9.]+{_FREE}$",
}
_POINT_ID: Schema = {"type": "string", "pattern": r"^(torch[^-,]+-cp[0-9]+t?-|[^,=]+=)"}


def _enum(values: Iterable[object]) -> Schema:
    return {"enum": [str(v) for v in values]}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    """A closed object: what is not named here is not in the document."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": sorted(required),
        "additionalProperties": False,
    }


def _map(value: Schema, names: Schema | None = None) -> Schema:
    found: Schema = {"type": "object", "additionalProperties": value}
    return {**found, "propertyNames": names} if names else found


_SOURCE = _object(
    {"id": _TEXT, "kind": _enum(Kind), "source": _TEXT, "date": {"type": "string"}},
    {"note": _TEXT},
)
_RULING = _object(
    {
        "reason": _enum(Reason),
        "rule": _TEXT,
        "message": _TEXT,
        "sources": _list(_SOURCE),
        "disagrees": _list(_SOURCE),
    }
)
_NOTE = _object({"rule": _TEXT, "message": _TEXT, "sources": _list(_SOURCE)})
_DECISION: Schema = {
    "id": _POINT_ID,
    "values": _map({"type": ["string", "boolean", "object", "array"]}),
    "decision": {"enum": ["included", "excluded"]},
    "reason": _or_null(_enum(Reason)),
    "rulings": _list(_RULING),
    "notes": _list(_NOTE),
}
_BUILD = _object(
    {
        "id": _TEXT,
        "package": _TEXT,
        "version": _TEXT,
        "abi": _enum(Abi),
        "python": _TEXT,
        "limited_api": _FLAG,
        "torch": _or_null(_TEXT),
        "platform": _enum(Platform),
        "accelerator": _TEXT,
        "folder": _TEXT,
        "free": _map({"type": "string"}),
        "minutes": {"type": "number", "exclusiveMinimum": 0},
        "cells": {**_list(_CELL_ID), "minItems": 1},
    }
)
_CHECK = _object({"name": _TEXT, "outcome": _enum(Outcome), "detail": _TEXT, "device": _TEXT})
_RUNG_FIELDS: Schema = {
    "why": _TEXT,
    "evidence": _list(_TEXT),
    "checks": _list(_CHECK),
}
_RUNG = _object({"rung": _enum(Rung), "outcome": _enum(Outcome)}, _RUNG_FIELDS)
_AXES = _map(_list({"type": "string"}))
_EXTRA: Schema = {"extra": {"type": "object"}}


def _version(number: int) -> Schema:
    return {"const": number}


def _plan() -> Schema:
    counts = _object(
        {
            "candidates": _COUNT,
            "included": _COUNT,
            "excluded": _COUNT,
            "excluded_by_reason": _map(_COUNT, _enum(Reason)),
            "package_cells": _COUNT,
            "builds": _COUNT,
        }
    )
    return _object(
        {
            "schema_version": _version(2),
            "matrix": _TEXT,
            "channel": {"type": "string"},
            "as_of": {"type": "string", "format": "date"},
            "axes": _AXES,
            "removed": _list(_object({"axis": _TEXT, "value": _TEXT, "reason": _TEXT})),
            "packages": _list(_TEXT),
            "counts": counts,
            "cells": _list(_object(_DECISION, _EXTRA)),
            "builds": _list(_BUILD),
            "gaps": _list(_object({"package": _TEXT, "cell": _CELL_ID, "why": _TEXT})),
            "digest": _SHA256,
        }
    )


def _explain() -> Schema:
    build = _object({"id": _TEXT, "abi": _enum(Abi), "cells": _list(_CELL_ID)})
    package = {"package": _TEXT, "version": _TEXT, "builds": _list(build)}
    return {
        "oneOf": [
            _object({"schema_version": _version(2), **_DECISION}, _EXTRA),
            _object({"schema_version": _version(2), **package}),
        ]
    }


def _diff() -> Schema:
    number = _or_null({"type": "number"})
    cost = _object(dict.fromkeys(("build_minutes", "test_minutes", "gpu_minutes", "usd"), number))
    change = _object({"id": _POINT_ID, "code": _TEXT, "why": _TEXT, "explained": _FLAG})
    sides = _object({"before": _COUNT, "after": _COUNT})
    fields = _map(_object({"before": {"type": "string"}, "after": {"type": "string"}}))
    return _object(
        {
            "schema_version": _version(1),
            "before": _TEXT,
            "after": _TEXT,
            "counts": _map(sides),
            "axes": _map(_object({"added": _list(_TEXT), "removed": _list(_TEXT)})),
            "cells": _object({n: _list(change) for n in ("gained", "lost", "sunset")}),
            "builds": _object(
                {
                    "added": _list(_TEXT),
                    "removed": _list(_TEXT),
                    "changed": _list(_object({"id": _TEXT, "fields": fields})),
                }
            ),
            "cost": _object({"before": cost, "after": cost}),
        }
    )


def _selection() -> Schema:
    number = _or_null({"type": "number", "minimum": 0})
    cell = _object(
        {
            "id": _POINT_ID,
            "seen": {"enum": ["never tested", "stale", "tested"]},
            "runner": _or_null(_TEXT),
            "minutes": {"type": "number", "minimum": 0},
            "gpu_minutes": number,
            "usd": number,
            "estimates": _map(_TEXT),
        }
    )
    combinations = {"achievable": _COUNT, "covered": _COUNT, "missing": _list(_TEXT)}
    return _object(
        {
            "schema_version": _version(1),
            "candidates": _COUNT,
            "axes": _list(_TEXT),
            "strength": _or_null({"type": "integer", "minimum": 1}),
            "combinations": _object(combinations),
            "budget": _or_null(_TEXT),
            "totals": _object(dict.fromkeys(("minutes", "gpu_minutes", "usd"), number)),
            "cells": _list(cell),
        }
    )


def _sunset() -> Schema:
    day = {"type": "string", "format": "date"}
    stage = _object(
        {
            "stage": _enum(StageName),
            "date": day,
            "precision": {"enum": ["day", "week"]},
            "days_left": {"type": "integer"},
            "kind": _enum(Kind),
            "source": _TEXT,
            "said": {"type": "string"},
        }
    )
    sunset = _object(
        {
            **dict.fromkeys(("id", "axis", "value", "last_release"), _TEXT),
            "state": _enum(SunsetState),
            **dict.fromkeys(("reason", "action"), _TEXT),
            **dict.fromkeys(("stage", "next_stage"), _or_null(_enum(StageName))),
            **dict.fromkeys(("build", "serve", "needs_action"), _FLAG),
            **dict.fromkeys(("build_until", "serve_until"), _or_null(day)),
            "days_left": _or_null({"type": "integer"}),
            "stages": _list(stage),
            "due": _list(_enum(StageName)),
            "included": _list(_POINT_ID),
            "gone": _list(_POINT_ID),
        }
    )
    finding = _object(
        {
            **dict.fromkeys(("file", "value", "sunset", "message", "fix"), _TEXT),
            "kind": _enum(Reliance),
            "confidence": _enum(Confidence),
            "line": _COUNT,
            "column": _COUNT,
            "cells": _map(_COUNT),
        }
    )
    release = _object(
        {
            **dict.fromkeys(("project", "sunset", "value", "newest"), _TEXT),
            "publish": _object({"version": {"type": "string"}, "requires_python": _TEXT}),
            **dict.fromkeys(("yank", "lacking", "unknown"), _list(_TEXT)),
            "picks": _object(dict.fromkeys(("before", "published", "after"), _TEXT)),
            "needs_action": _FLAG,
        }
    )
    note = _object({"file": _TEXT, "why": _TEXT})
    head = {"schema_version": _version(1), "as_of": day, "within": _COUNT}
    return {
        "oneOf": [
            _object({**head, "sunsets": _list(sunset)}),
            _object({**head, "releases": _list(release)}),
            _object(
                {
                    **head,
                    "values": _list(_TEXT),
                    "not_searched": _list(_TEXT),
                    "findings": _list(finding),
                    "looked_at": _list(_TEXT),
                    **dict.fromkeys(("unread", "unknown", "left_out"), _list(note)),
                }
            ),
        ]
    }


def _run() -> Schema:
    unit = _object(
        {
            "package": _TEXT,
            "cell": _CELL_ID,
            "build": _TEXT,
            "outcome": _enum(Outcome),
            "fresh": _FLAG,
            "wheel": _or_null(_TEXT),
            "rungs": _list(_RUNG),
        }
    )
    return _object({"schema_version": _version(1), "units": _list(unit)})


def _audit() -> Schema:
    texts = dict.fromkeys(("rule", "member", "message", "why", "fix"), _TEXT)
    fields = {**texts, "level": _enum(Level)}
    excused = {"reason": _TEXT, "until": {"type": "string", "format": "date"}, "link": _TEXT}
    wheel = _object(
        {
            "wheel": _TEXT,
            "outcome": _enum(Outcome),
            "findings": _list(_object(fields)),
            "waived": _list(_object({**fields, **excused})),
        }
    )
    return _object({"schema_version": _version(2), "wheels": _list(wheel)})


def _doctor() -> Schema:
    status = {"enum": ["ok", "missing", "absent", "unknown"]}
    check = _object({"name": _TEXT, "status": status, "found": _TEXT, "fix": _TEXT})
    return _object({"schema_version": _version(1), "able": _FLAG, "checks": _list(check)})


def _report() -> Schema:
    return _object(
        {
            "schema_version": _version(1),
            "index": _TEXT,
            "pages": _COUNT,
            "records": _COUNT,
            "unreadable_records": _list(_object({"file": _TEXT, "why": _TEXT})),
            "states": _map(_COUNT, _enum(State)),
        }
    )


def _observation() -> Schema:
    provenance = _object(
        {
            "time": {"type": "string", "format": "date-time"},
            "tool": _TEXT,
            "platform": _TEXT,
            "python": _TEXT,
            "host": _map(_TEXT),
            "inputs": _map(_TEXT),
        }
    )
    digest = {"type": "string", "pattern": "^([0-9a-f]{64})?$"}
    texts = dict.fromkeys(("package", "package_version", "build", "wheel"), _TEXT)
    return _object(
        {
            "schema_version": _version(1),
            "kind": {"const": "observation"},
            **texts,
            "cell": _CELL_ID,
            "key": digest,
            "wheel_sha256": digest,
            "rungs": {**_list(_RUNG), "minItems": 1},
            "provenance": provenance,
        },
        {"seconds": _map({"type": "number", "minimum": 0}, {"enum": ["build", "test"]})},
    )


def _import() -> Schema:
    texts = dict.fromkeys(("code", "message", "file", "job", "hint"), _TEXT)
    level = {"enum": ["error", "unknown", "warning", "note"]}
    matrix = _object(
        {
            "job": _TEXT,
            "name": _TEXT,
            "outcome": {"enum": ["imported", "refused", "unknown"]},
            "document": _or_null(_TEXT),
            "candidates": _COUNT,
            "cells": _list({"type": "object"}),
            "cells_sha256": _or_null(_SHA256),
        }
    )
    finding = _object({**texts, "level": level, "line": _COUNT, "column": _COUNT})
    return _object(
        {
            "schema_version": _version(1),
            "kind": {"enum": ["github-workflow", "kernels", "conda_build_config"]},
            "matrices": _list(matrix),
            "findings": _list(finding),
        }
    )


def _lint() -> Schema:
    severity = _enum(Severity)
    finding = _object(
        {
            **dict.fromkeys(("rule", "file", "path", "message", "hint"), _TEXT),
            "severity": severity,
            "line": _COUNT,
            "column": _COUNT,
        }
    )
    texts = dict.fromkeys(("id", "summary", "why", "fix", "bad", "good"), _TEXT)
    rule = _object({**texts, "severity": severity, "scope": _enum(Scope)})
    return {
        "oneOf": [
            _object(
                {
                    "schema_version": _version(1),
                    "as_of": {"type": "string", "format": "date"},
                    "rules": _list(_TEXT),
                    "counts": _map(_COUNT, severity),
                    "findings": _list(finding),
                }
            ),
            _object({"schema_version": _version(1), "rules": _list(rule)}),
        ]
    }


_SCHEMAS = {
    "matrix": ("matrix.yaml, the declared matrix.", matrix_schema),
    "plan": ("What `wheelgrid plan --json` prints.", _plan),
    "selection": ("What `wheelgrid plan --coverage ... --json` prints.", _selection),
    "diff": ("What `wheelgrid diff --json` prints.", _diff),
    "sunset": ("What `wheelgrid sunset --json` prints, also with --project or --files.", _sunset),
    "explain": ("What `wheelgrid explain --json` prints.", _explain),
    "run": ("What `wheelgrid build --json` and `wheelgrid test --json` print.", _run),
    "inspect": ("What `wheelgrid inspect --json` prints.", inspect_schema),
    "runs-on": ("What `wheelgrid runs-on --json` prints.", runs_on_schema),
    "audit": ("What `wheelgrid audit --json` prints.", _audit),
    "doctor": ("What `wheelgrid doctor --json` prints.", _doctor),
    "report": ("What `wheelgrid report --json` prints.", _report),
    "import": ("What `wheelgrid import --json` prints.", _import),
    "lint": ("What `wheelgrid lint --json` and `wheelgrid lint --list --json` print.", _lint),
    "resolve": ("What `wheelgrid resolve --json` prints.", resolve_schema),
    "observation": ("One record of compat/observations/runs.", _observation),
}


def schema_texts() -> dict[str, str]:
    """File name to text of every schema (JSON Schema 2020-12)."""
    found = {}
    for name, (description, make) in _SCHEMAS.items():
        document = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"urn:wheelgrid:schema:{name}:1",
            "title": f"wheelgrid {name}",
            **make(),
            "description": description,
        }
        found[f"{name}.schema.json"] = json.dumps(document, indent=1, sort_keys=True) + "\n"
    return found
