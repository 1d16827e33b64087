"""How far each sunset is and which cells it takes: a pure function of the plan and `as_of`."""

from __future__ import annotations

from dataclasses import dataclass

from wheelgrid.core.lifecycle import Stage, State, Sunset
from wheelgrid.planning.plan import Plan

__all__ = ["SunsetReport", "sunset_reports"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SunsetReport:
    """One sunset on one day: its stages, its switches, and the cells that it takes."""

    sunset: Sunset
    state: State
    stage: Stage | None
    ahead: Stage | None
    due: tuple[Stage, ...]
    built: bool
    served: bool
    included: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def needs_action(self) -> bool:
        """Whether included cells rely on the value while a stage is due or has begun."""
        return bool(self.included) and (bool(self.due) or self.state is not State.NOT_ANNOUNCED)


def sunset_reports(plan: Plan, *, within: int) -> tuple[SunsetReport, ...]:
    """Every sunset of compat/ whose value is on an axis, as of the day of the plan.

    `due` are the stages that begin within so many days, today counted.
    """
    found = []
    for sunset in plan.knowledge.sunsets:
        if sunset.value not in plan.matrix.axis_values(sunset.axis):
            continue
        concerned = [d for d in plan.decisions if sunset.concerns(d.cell)]
        due = [s for s in sunset.stages if 0 <= s.days_left(plan.as_of) <= within]
        found.append(
            SunsetReport(
                sunset=sunset,
                state=sunset.state(plan.as_of),
                stage=sunset.stage(plan.as_of),
                ahead=sunset.next_stage(plan.as_of),
                due=tuple(sorted(due, key=lambda stage: stage.on)),
                built=sunset.is_built(plan.as_of),
                served=sunset.is_served(plan.as_of),
                included=tuple(d.cell.id for d in concerned if d.included),
                gone=tuple(
                    d.cell.id
                    for d in concerned
                    if d.headline is not None and d.headline.rule == f"lifecycle.{sunset.id}"
                ),
            )
        )
    return tuple(found)
