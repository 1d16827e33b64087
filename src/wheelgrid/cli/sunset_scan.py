"""What `wheelgrid sunset --project` says, for people and as JSON."""

from __future__ import annotations

from datetime import date
from typing import Any

from wheelgrid.cli.sunset_text import SUNSET_SCHEMA_VERSION
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.judge import is_searched
from wheelgrid.scan.mention import Confidence
from wheelgrid.scan.project import Scan

__all__ = ["scan_document", "scan_lines"]

_SHOWN = 20


def scan_lines(scan: Scan, sunsets: tuple[Sunset, ...], as_of: date) -> list[str]:
    """Findings as compilers print them, what could not be read, and one line that sums up."""
    lines = []
    for found in scan.found:
        unsure = " (unsure)" if found.confidence is Confidence.LOW else ""
        lines.append(
            f"{found.file}:{found.line}:{found.column}: {found.kind} [{found.sunset}]{unsure}: "
            f"{found.message}"
        )
        lines.append(f"    fix: {found.fix}")
    lines += [f"not read: {name}: {why}" for name, why in scan.unread]
    lines += [f"not read in full: {name}: {what}" for name, what in scan.unknown]
    lines += [f"left out: {name}: {why}" for name, why in scan.left_out[:_SHOWN]]
    if len(scan.left_out) > _SHOWN:
        lines.append(f"left out: {len(scan.left_out) - _SHOWN} more folders (see --json)")
    names = ", ".join(s.value for s in sunsets if is_searched(s)) or "nothing"
    files = len({found.file for found in scan.found})
    lines.append(
        f"as of {as_of}: {len(scan.found)} findings in {files} of {len(scan.looked_at)} files "
        f"looked at ({len(scan.unread)} not read), for {names}"
    )
    return lines


def scan_document(
    scan: Scan, sunsets: tuple[Sunset, ...], as_of: date, within: int
) -> dict[str, Any]:
    """The same as a document with a schema."""
    return {
        "schema_version": SUNSET_SCHEMA_VERSION,
        "as_of": as_of.isoformat(),
        "within": within,
        "values": [s.value for s in sunsets if is_searched(s)],
        "not_searched": [s.id for s in sunsets if not is_searched(s)],
        "findings": [
            {
                "file": f.file,
                "line": f.line,
                "column": f.column,
                "kind": str(f.kind),
                "value": f.value,
                "sunset": f.sunset,
                "confidence": str(f.confidence),
                "message": f.message,
                "fix": f.fix,
                "cells": dict(f.cells),
            }
            for f in scan.found
        ],
        "looked_at": list(scan.looked_at),
        "unread": [{"file": name, "why": why} for name, why in scan.unread],
        "unknown": [{"file": name, "why": why} for name, why in scan.unknown],
        "left_out": [{"file": name, "why": why} for name, why in scan.left_out],
    }
