"""Observation records: one JSON file per (package, cell), whole or absent, with provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from packaging.utils import InvalidName, canonicalize_name

from wheelgrid.config.yaml import MAX_BYTES
from wheelgrid.core.cell import Cell
from wheelgrid.core.evidence import Observation, Provenance
from wheelgrid.core.rung import Check, Outcome, Rung, RungResult
from wheelgrid.engines.atomic import write_atomically

__all__ = ["RECORD_VERSION", "decode_observation", "read_records", "record_name", "write_record"]

RECORD_VERSION = 1
_LONGEST = 30 * 24 * 3600
"""Seconds; a record that claims more than a month of work is wrong."""


def record_name(package: str, cell: str) -> str:
    """Where a record lives below a records folder: `torch-scatter/<cell id>.json`."""
    return f"{package}/{cell}.json"


def encode_observation(observation: Observation) -> dict[str, Any]:
    """The record as JSON; schema in schemas/observation.schema.json."""
    document = asdict(observation)
    document["rungs"] = [
        {k: v for k, v in rung.items() if v not in ("", [], ())} for rung in document["rungs"]
    ]
    if not document["seconds"]:
        del document["seconds"]
    return {"schema_version": RECORD_VERSION, "kind": "observation", **document}


def write_record(folder: Path, observation: Observation) -> Path:
    """Write a record below `folder`; an older one of the same cell is replaced whole."""
    path = folder / record_name(observation.package, observation.cell)
    text = json.dumps(encode_observation(observation), indent=1, sort_keys=True)
    write_atomically(path, text.encode() + b"\n")
    return path


def _rung(raw: dict[str, Any]) -> RungResult:
    return RungResult(
        rung=Rung(raw["rung"]),
        outcome=Outcome(raw["outcome"]),
        why=str(raw.get("why", "")),
        evidence=tuple(str(e) for e in raw.get("evidence", ())),
        checks=tuple(
            Check(
                name=str(c["name"]),
                outcome=Outcome(c["outcome"]),
                detail=str(c.get("detail", "")),
                device=str(c.get("device", "cpu")),
            )
            for c in raw.get("checks", ())
        ),
    )


def _text(raw: dict[str, Any], name: str) -> str:
    """A field that must be text; ValueError names it."""
    value = raw[name]
    if not isinstance(value, str):
        msg = f"{name} is {type(value).__name__}, expected text"
        raise ValueError(msg)  # noqa: TRY004 - one error type for all that is wrong
    return value


def _texts(raw: dict[str, Any], name: str) -> dict[str, str]:
    table = raw[name]
    return {str(key): _text(table, key) for key, _ in table.items()}


def _seconds(raw: dict[str, Any]) -> dict[str, float]:
    """Measured times by kind of work; older records have none. ValueError for what is no time."""
    found: dict[str, float] = {}
    for name, value in raw.get("seconds", {}).items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if name not in {"build", "test"} or not number or not 0 <= value < _LONGEST:
            msg = f"seconds.{name} is {value!r}, expected build or test, a number of seconds"
            raise ValueError(msg)
        found[name] = float(value)
    return found


def _provenance(raw: dict[str, Any]) -> Provenance:
    time = _text(raw, "time")
    datetime.fromisoformat(time)
    return Provenance(
        time=time,
        tool=_text(raw, "tool"),
        platform=_text(raw, "platform"),
        python=_text(raw, "python"),
        host=_texts(raw, "host"),
        inputs=_texts(raw, "inputs"),
    )


def decode_observation(data: bytes) -> Observation:
    """Read a record; ValueError says what is wrong with it.

    Package and cell name the file that the record is kept in, so only a normalised package name
    and a real cell id are taken.
    """
    try:
        raw = json.loads(data)
        if raw["schema_version"] != RECORD_VERSION or raw["kind"] != "observation":
            msg = f"schema_version {raw['schema_version']}, kind {raw['kind']}"
            raise ValueError(msg)
        package = canonicalize_name(_text(raw, "package"), validate=True)
        names = ("package_version", "build", "key", "wheel", "wheel_sha256")
        return Observation(
            package=package,
            cell=Cell.parse(_text(raw, "cell")).id,
            rungs=tuple(_rung(r) for r in raw["rungs"]),
            provenance=_provenance(raw["provenance"]),
            seconds=_seconds(raw),
            **{name: _text(raw, name) for name in names},
        )
    except (KeyError, TypeError, AttributeError, InvalidName, RecursionError) as error:
        msg = f"not an observation record: {error!r}"
        raise ValueError(msg) from error


def read_records(folder: Path) -> Iterator[tuple[Path, Observation | ValueError]]:
    """All records below a folder; a bad file yields its error instead of vanishing."""
    for path in sorted(folder.glob("*/*.json")):
        try:
            with path.open("rb") as handle:
                data = handle.read(MAX_BYTES + 1)
            too_large = ValueError(f"larger than {MAX_BYTES} bytes")
            yield path, decode_observation(data) if len(data) <= MAX_BYTES else too_large
        except (OSError, ValueError) as error:
            yield path, error if isinstance(error, ValueError) else ValueError(str(error))
