"""Evidence: who says a thing, where, when; and what this tool itself saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from wheelgrid.core.rung import Outcome, RungResult

__all__ = ["Kind", "Observation", "Provenance", "Source", "is_weaker"]


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

    @property
    def has_unknown(self) -> bool:
        """Whether the tool could not look on some rung."""
        return any(r.outcome is Outcome.UNKNOWN for r in self.rungs)


def is_weaker(one: Observation, other: Observation) -> bool:
    """Whether the first record must not replace the second, for the same package and cell.

    A run that could not look says nothing against one that did; else the newer one counts.
    """
    if one.has_unknown != other.has_unknown:
        return one.has_unknown
    return one.provenance.time < other.provenance.time
