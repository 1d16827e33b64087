"""Sunsets: dated ends of support, in stages; pure functions of `as_of`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from wheelgrid.core.condition import Condition, Point
from wheelgrid.core.evidence import Source

__all__ = ["Stage", "StageName", "Sunset"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sunset:
    """The end of one axis value: `value` on `axis`, for the cells that `gone` names.

    It ends building. `serve` says that wheels already published stay on the index and the pages,
    as the last version with the value.
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
