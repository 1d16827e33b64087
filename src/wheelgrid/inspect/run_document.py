"""A wheel on GPUs as the JSON that `wheelgrid runs-on` prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wheelgrid.core.evidence import Source
from wheelgrid.core.ground_rules import RunRule
from wheelgrid.inspect.run_fit import Need
from wheelgrid.inspect.run_verdict import Applied, Verdict
from wheelgrid.inspect.wheel_verdict import WheelVerdict

__all__ = ["rules_document", "verdict_document"]


def _source(source: Source) -> dict[str, str]:
    return {
        "id": source.id,
        "kind": str(source.kind),
        "source": source.source,
        "date": source.date,
        "note": source.note,
    }


def _need(need: Need) -> dict[str, Any]:
    return {
        "of": need.of,
        "minimum": str(need.minimum) if need.minimum else None,
        "because": need.because,
        "met": need.met,
        "source": _source(need.source) if need.source else None,
    }


def _applied(row: Applied) -> dict[str, Any]:
    return {
        "rule": row.rule.id if row.rule else None,
        "kind": str(row.image.kind),
        "target": row.image.target,
        "isa": ".".join(map(str, row.image.isa)) or None,
        "how": str(row.how),
        "containers": row.containers,
        "kernels": row.kernels,
    }


def _library(verdict: Verdict) -> dict[str, Any]:
    lacking = verdict.lacking
    return {
        "path": verdict.path,
        "state": str(verdict.state),
        "reason": verdict.reason,
        "containers": verdict.containers,
        "kernels": verdict.kernels,
        "lacking": {
            "kernels": list(lacking.kernels),
            "elsewhere": list(lacking.elsewhere),
            "containers": lacking.containers,
            "unlisted": lacking.unlisted,
        },
        "applied": [_applied(row) for row in verdict.applied],
        "needs": [_need(need) for need in verdict.needs],
        "warnings": list(verdict.warnings),
        "jit_sources": list(verdict.jit_sources),
    }


def verdict_document(found: WheelVerdict) -> dict[str, Any]:
    """One wheel on one GPU, with every file of the wheel."""
    device = found.device
    return {
        "gpu": device.name,
        "family": str(device.family),
        "target": device.target,
        "products": list(device.products),
        "state": str(found.state),
        "reason": found.reason,
        "counted": list(found.counted),
        "needs": [_need(need) for need in found.needs],
        "libraries": [_library(verdict) for verdict in found.libraries],
    }


def rules_document(found: Iterable[WheelVerdict]) -> dict[str, Any]:
    """The rules that were applied, by id: text and source."""
    verdicts = [verdict for wheel in found for verdict in wheel.libraries]
    rules: dict[str, RunRule] = {r.rule.id: r.rule for v in verdicts for r in v.applied if r.rule}
    return {
        name: {"text": rule.text, "match": rule.match, **_source(rule.source)}
        for name, rule in sorted(rules.items())
    }
