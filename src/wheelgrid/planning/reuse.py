"""Wheels that were seen to work in a cell that they were not built for.

A state of its own, with its evidence: a record of this very file, executed in this very cell. It
is never inferred from a neighbour, and a failure counts as much as a pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wheelgrid.core.cell import Cell
from wheelgrid.core.evidence import Observation
from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.rung import Outcome, Rung

__all__ = ["Reuse", "find_reuse", "newest_reuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """What a record says of a file in a cell: passed or failed, checks, day and devices."""

    wheel: str
    outcome: Outcome
    passed: int
    checks: int
    day: str
    devices: tuple[str, ...]

    def __str__(self) -> str:
        """In words: `works, not built for it: 41 of 41 checks passed on 2026-11-30 (cuda:0)`."""
        word = "works, not built for it" if self.outcome is Outcome.PASSED else "was tried, failed"
        where = f" ({', '.join(self.devices)})" if self.devices else ""
        return f"{word}: {self.passed} of {self.checks} checks passed on {self.day}{where}"


def newest_reuse(records: Iterable[Observation]) -> Reuse | None:
    """The newest of some records in which a wheel was executed; None without one.

    A record without a single check proves nothing, and does not count.
    """
    found: list[tuple[str, Reuse]] = []
    for record in records:
        for rung in record.rungs:
            ran = rung.rung is Rung.EXECUTED and rung.outcome in {Outcome.PASSED, Outcome.FAILED}
            if not ran or not rung.checks:
                continue
            reuse = Reuse(
                wheel=record.wheel,
                outcome=rung.outcome,
                passed=sum(c.outcome is Outcome.PASSED for c in rung.checks),
                checks=len(rung.checks),
                day=record.provenance.time[:10],
                devices=tuple(sorted({c.device for c in rung.checks})),
            )
            found.append((record.provenance.time, reuse))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def find_reuse(records: Iterable[Observation], file: ListedFile, cell: Cell) -> Reuse | None:
    """The newest record in which this file was executed in this cell; None without one."""
    return newest_reuse(r for r in records if (r.wheel, r.cell) == (file.name.name, cell.id))
