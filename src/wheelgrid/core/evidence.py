"""Evidence: who says a thing, where, when; and what this tool itself saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from wheelgrid.core.rung import Outcome, Rung, RungResult

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
    """What was seen for one package in one cell: the rungs it climbed, and how.

    `seconds` is how long the `build` and the `test` took in this run; absent where not measured.
    """

    package: str
    package_version: str
    cell: str
    build: str
    key: str
    wheel: str
    wheel_sha256: str
    rungs: tuple[RungResult, ...]
    provenance: Provenance
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """How far up the ladder something was seen, pass or fail; 0 when nothing was."""
        order = list(Rung)
        known = [r.rung for r in self.rungs if r.outcome in {Outcome.PASSED, Outcome.FAILED}]
        return max((order.index(rung) + 1 for rung in known), default=0)

    @property
    def failed(self) -> bool:
        """Whether any rung failed."""
        return any(r.outcome is Outcome.FAILED for r in self.rungs)


def is_weaker(one: Observation, other: Observation) -> bool:
    """Whether the first record must not replace the second, for the same package and cell.

    A run that could not look, or had no device, says nothing against one that saw more of the
    same wheel. A failure always counts, and so does another wheel: then the newer record holds.
    """
    same_wheel = one.wheel_sha256 in {"", other.wheel_sha256} and one.build == other.build
    if same_wheel and not one.failed and one.height != other.height:
        return one.height < other.height
    return one.provenance.time < other.provenance.time
