"""What is asked of a list of files, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from packaging.requirements import Requirement

from wheelgrid.core.cell import Cell
from wheelgrid.core.evidence import Observation
from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.rung import Outcome
from wheelgrid.core.targets import Floors, Target
from wheelgrid.planning.fitness import Fitness, TorchUse
from wheelgrid.planning.installer import Choice
from wheelgrid.planning.reuse import Reuse
from wheelgrid.planning.traps import Severity, Trap

__all__ = ["Ask", "State", "Support"]


class State(StrEnum):
    """How a cell is served; `works-not-built-for-it` needs evidence and is never inferred."""

    BUILT_FOR_IT = "built-for-it"
    WORKS = "works-not-built-for-it"
    UNKNOWN = "unknown"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What is asked: the cell, the project, and how to read the list.

    `torch_free` are projects that neither torch nor an accelerator touches, as the user says.
    `as_of` (ISO) and `stale_days` judge age; 0 days judges none.
    """

    cell: Cell
    requirement: Requirement
    floors: Floors = field(default_factory=Floors)
    use: TorchUse = TorchUse.AUTO
    torch_free: frozenset[str] = frozenset()
    cxx11: bool | None = None
    early: bool = False
    sources: bool = True
    as_of: str = ""
    stale_days: int = 0
    records: tuple[Observation, ...] = ()

    @property
    def target(self) -> Target:
        """The interpreter and system of the cell."""
        return Target(python=self.cell.python, platform=self.cell.platform, floors=self.floors)


@dataclass(frozen=True, kw_only=True)
class Support:
    """The answer for one project: what an installer takes, which file is for the cell, and why.

    `needs` are the dependencies that were looked up, each for the same cell; `unlisted` are
    those that no list was given for. `reuse` is evidence on a file that is not built for it.
    """

    ask: Ask
    choice: Choice
    fitting: ListedFile | None
    verdicts: tuple[Fitness, ...]
    outcome: Outcome
    why: str
    traps: tuple[Trap, ...]
    needs: tuple[Support, ...] = ()
    unlisted: tuple[str, ...] = ()
    reuse: Reuse | None = None

    @property
    def state(self) -> State:
        """How the cell is served, apart from the outcome."""
        if self.reuse is not None and self.outcome is Outcome.PASSED:
            return State.WORKS
        if self.fitting is not None:
            return State.BUILT_FOR_IT
        return State.UNKNOWN if self.outcome is Outcome.UNKNOWN else State.NONE

    @property
    def pin(self) -> str:
        """The requirement that takes the file for the cell and no other, label included."""
        if self.fitting is None:
            return ""
        return f"{self.choice.project}=={self.fitting.name.version}"

    @property
    def headline(self) -> str:
        """Why it is so, with what keeps it from being supported though a file is there."""
        if self.outcome is not Outcome.PASSED or self.total is Outcome.PASSED:
            return self.why
        needs = [f"{n.choice.requirement}: {n.why}" for n in self.needs if n.total == self.total]
        errors = [t.message for t in self.traps if t.severity is Severity.ERROR]
        return f"{self.why}; but {'; '.join(errors or needs)}"

    @property
    def total(self) -> Outcome:
        """Its own outcome together with those of all that it needs."""
        outcomes = {self.outcome, *(n.total for n in self.needs)}
        if Outcome.FAILED in outcomes or any(t.severity is Severity.ERROR for t in self.traps):
            return Outcome.FAILED
        return Outcome.UNKNOWN if Outcome.UNKNOWN in outcomes else Outcome.PASSED
