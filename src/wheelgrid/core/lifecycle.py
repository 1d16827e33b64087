"""Sunsets: dated ends of support, in stages; pure functions of `as_of`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from wheelgrid.core.condition import Condition, Point
from wheelgrid.core.evidence import Source

__all__ = ["Stage", "StageName", "State", "Sunset", "build_ended"]


class StageName(StrEnum):
    """What ends at a stage."""

    ANNOUNCED = "announced"
    NIGHTLIES_END = "nightlies_end"
    CI_REMOVED = "ci_removed"
    BRANCH_CUT = "branch_cut"
    LAST_RELEASE = "last_release"
    END_OF_LIFE = "end_of_life"

    @property
    def phrase(self) -> str:
        """The stage in words for people."""
        return self.value.replace("_", " ").replace("ci ", "CI ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One dated step. With precision `week` the date is the Monday of that week."""

    name: StageName
    on: date
    precision: str
    source: Source

    def has_begun(self, as_of: date) -> bool:
        """Whether the stage's day, or the first day of its week, has come."""
        return self.on <= as_of

    def days_left(self, as_of: date) -> int:
        """Days until the stage; negative once it is past."""
        return (self.on - as_of).days

    @property
    def when(self) -> str:
        """The date as it is known: a day, or `week of` one."""
        return f"week of {self.on}" if self.precision == "week" else str(self.on)


class State(StrEnum):
    """How far a sunset is on a day, in order."""

    NOT_ANNOUNCED = "not announced"
    ANNOUNCED = "announced"
    UNDER_WAY = "under way"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sunset:
    """The end of one axis value: `value` on `axis`, for the cells that `gone` names.

    It has two switches. After `build_until` nothing with the value is built any more. `serve` says
    that wheels already published stay on the index and the pages, as the last version with the
    value; `serve_until`, or without one the last stage, ends that where it is off.
    """

    id: str
    axis: str
    value: str
    gone: Condition
    last_release: str
    reason: str
    action: str
    stages: tuple[Stage, ...]
    serve: bool = True
    build_until: date | None = None
    serve_until: date | None = None

    def state(self, as_of: date) -> State:
        """How far it is on a day; a later day never goes back."""
        begun = sum(stage.has_begun(as_of) for stage in self.stages)
        if begun == 0:
            return State.NOT_ANNOUNCED
        if begun == len(self.stages):
            return State.COMPLETE
        return State.ANNOUNCED if begun == 1 else State.UNDER_WAY

    def is_built(self, as_of: date) -> bool:
        """Whether wheels with the value are still built for cells that it leaves."""
        return self.build_until is None or as_of <= self.build_until

    def is_served(self, as_of: date) -> bool:
        """Whether wheels already published stay on the index and the pages."""
        if self.serve_until is not None:
            return as_of <= self.serve_until
        return self.serve or self.state(as_of) is not State.COMPLETE

    def concerns(self, cell: Point) -> bool:
        """Whether the cell carries the value that is going away."""
        try:
            return cell.axis(self.axis) == self.value
        except KeyError:  # a matrix without that axis
            return False

    def removes(self, cell: Point) -> bool:
        """Whether the cell no longer exists once the sunset is complete."""
        return self.concerns(cell) and self.gone.matches(cell)

    def stage(self, as_of: date) -> Stage | None:
        """The latest stage that has begun, or None before the announcement."""
        begun = [stage for stage in self.stages if stage.has_begun(as_of)]
        return max(begun, key=lambda stage: stage.on, default=None)

    def next_stage(self, as_of: date) -> Stage | None:
        """The next stage to come, or None after the last."""
        ahead = [stage for stage in self.stages if not stage.has_begun(as_of)]
        return min(ahead, key=lambda stage: stage.on, default=None)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of all its stages, each once, in order."""
        return tuple(dict.fromkeys(stage.source for stage in self.stages))


def build_ended(sunsets: Iterable[Sunset], cell: Point, as_of: date) -> Sunset | None:
    """The sunset whose build switch is off for a cell; None where the cell is still built."""
    return next((s for s in sunsets if not s.is_built(as_of) and s.concerns(cell)), None)
