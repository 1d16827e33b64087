"""The ladder of evidence: what happened to a package in a cell, rung by rung."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["RUNGS", "Check", "Outcome", "Rung", "RungResult"]


class Rung(StrEnum):
    """Rungs in climbing order; each needs the one before it."""

    DECLARED = "declared"
    PUBLISHED = "published"
    RESOLVED = "resolved"
    BUILT = "built"
    AUDITED = "audited"
    INSTALLED = "installed"
    IMPORTED = "imported"
    EXECUTED = "executed"


RUNGS = tuple(Rung)


class Outcome(StrEnum):
    """What happened on a rung. No record is `unknown`; no device is `skipped`."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a smoke test; `device` is where it computed."""

    name: str
    outcome: Outcome
    detail: str = ""
    device: str = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class RungResult:
    """One rung's outcome. A rung that did not pass says why.

    `evidence` is what backs it: a statement id, a wheel name, resolved versions.
    """

    rung: Rung
    outcome: Outcome
    why: str = ""
    evidence: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    def __post_init__(self) -> None:
        """A result other than passed without a reason is a defect; ValueError."""
        if self.outcome is not Outcome.PASSED and not self.why:
            msg = f"rung {self.rung} is {self.outcome} without a reason"
            raise ValueError(msg)
