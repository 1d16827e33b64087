"""Runners: machines that work is sent to, what they cost and how many GPUs they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wheelgrid.core.axis import Place
from wheelgrid.core.condition import Condition, Point

__all__ = ["Runner", "runner_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """One kind of machine. It takes the cells that fit `when`.

    `runs_on` are the labels that a CI job asks for. `price_per_minute` is in US dollars, None
    where it is not known, which is not zero. `minutes` is what one cell takes where nothing is
    measured.
    """

    name: str
    when: Condition
    runs_on: tuple[str, ...]
    price_per_minute: float | None = None
    gpus: int = 0
    minutes: float | None = None
    place: Place = field(default=Place(), compare=False)


def runner_for(runners: Sequence[Runner], point: Point) -> Runner | None:
    """The first runner that takes a cell, in the order of the file; None where none does."""
    return next((runner for runner in runners if runner.when.matches(point)), None)
