"""The plan as a JSON document: same input, same bytes; schema in schemas/plan.schema.json."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from wheelgrid.core.build import Build
from wheelgrid.core.decision import Decision, Note, Ruling
from wheelgrid.core.evidence import Source
from wheelgrid.planning.plan import Plan

__all__ = ["PLAN_SCHEMA_VERSION", "canonical", "decision_document", "plan_document"]

PLAN_SCHEMA_VERSION = 2


def canonical(document: object) -> bytes:
    """JSON with sorted keys and no optional white space: what digests are taken of."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _source(source: Source) -> dict[str, str]:
    found = {
        "id": source.id,
        "kind": str(source.kind),
        "source": source.source,
        "date": source.date,
    }
    return {**found, "note": source.note} if source.note else found


def _ruling(ruling: Ruling) -> dict[str, Any]:
    return {
        "reason": str(ruling.reason),
        "rule": ruling.rule,
        "message": ruling.message,
        "sources": [_source(s) for s in ruling.sources],
        "disagrees": [_source(s) for s in ruling.disagrees],
    }


def _note(note: Note) -> dict[str, Any]:
    return {
        "rule": note.rule,
        "message": note.message,
        "sources": [_source(s) for s in note.sources],
    }


def decision_document(decision: Decision) -> dict[str, Any]:
    """One cell with its decision, its rulings in full and its notes."""
    headline = decision.headline
    return {
        "id": decision.cell.id,
        "values": decision.cell.values,
        "decision": "included" if decision.included else "excluded",
        "reason": None if headline is None else str(headline.reason),
        "rulings": [_ruling(r) for r in decision.rulings],
        "notes": [_note(n) for n in decision.notes],
        **({"extra": dict(decision.extra)} if decision.extra else {}),
    }


def _build(build: Build, minutes: float) -> dict[str, Any]:
    return {
        "id": build.id,
        "package": build.package,
        "version": build.wheel_version,
        "abi": str(build.abi),
        "python": str(build.python),
        "limited_api": build.limited,
        "torch": None if build.torch is None else str(build.torch),
        "platform": str(build.platform),
        "accelerator": str(build.accelerator),
        "folder": build.folder,
        "free": dict(build.free),
        "minutes": minutes,
        "cells": [cell.id for cell in build.cells],
    }


def plan_document(plan: Plan) -> dict[str, Any]:
    """The whole plan; `digest` is the SHA-256 of all the rest in canonical form."""
    matrix = plan.matrix
    document: dict[str, Any] = {
        "schema_version": PLAN_SCHEMA_VERSION,
        "matrix": matrix.name,
        "as_of": plan.as_of.isoformat(),
        "channel": matrix.channel,
        "axes": {axis.name: list(axis.texts) for axis in matrix.axes},
        "removed": [{"axis": r.axis, "value": r.value, "reason": r.reason} for r in matrix.removed],
        "packages": list(matrix.packages),
        "counts": {
            "candidates": plan.decided.size,
            "included": plan.decided.included_count,
            "excluded": plan.decided.size - plan.decided.included_count,
            "excluded_by_reason": plan.excluded_by_reason(),
            "package_cells": sum(len(b.cells) for b in plan.builds),
            "builds": len(plan.builds),
        },
        "cells": [decision_document(d) for d in plan.decisions],
        "builds": [_build(b, plan.recipes[b.package].minutes) for b in plan.builds],
        "gaps": [
            {"package": name, "cell": cell.id, "why": why}
            for name in matrix.packages
            for cell in plan.included
            if (why := plan.gap(name, cell))
        ],
    }
    document["digest"] = hashlib.sha256(canonical(document)).hexdigest()
    return document
