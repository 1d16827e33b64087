"""Evidence: who says a thing, where, when; and what this tool itself saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from wheelgrid.core.rung import RungResult

__all__ = ["Kind", "Observation", "Provenance", "Source"]


class Kind(StrEnum):
    """How a statement is known; never mixed."""

    CLAIM = "claim"
    OBSERVATION = "observation"
    DERIVED = "derived"
    POLICY = "policy"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Source:
    """Where one statement comes from. `date` is ISO 8601: when it was said or seen."""

    id: str
    kind: Kind
    source: str
    date: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What made an observation: tool, machine and inputs, without names of hosts or paths."""

    time: str
    tool: str
    platform: str
    python: str
    host: Mapping[str, str]
    inputs: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What was seen for one package in one cell: the rungs it climbed, and how."""

    package: str
    package_version: str
    cell: str
    build: str
    key: str
    wheel: str
    wheel_sha256: str
    rungs: tuple[RungResult, ...]
    provenance: Provenance
