"""Budgets: how much a run may cost, in GPU minutes, minutes, US dollars or cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from wheelgrid.core.errors import BadInputError, Fault

__all__ = ["Budget", "Unit", "parse_budget"]


class Unit(StrEnum):
    """What is counted. Times are minutes inside, whatever they are written in."""

    GPU_MINUTES = "gpu-minutes"
    MINUTES = "minutes"
    USD = "USD"
    CELLS = "cells"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """An amount of one unit. `text` is what the user wrote."""

    amount: float
    unit: Unit
    text: str

    def __str__(self) -> str:
        """Print the amount and its unit: `600 gpu-minutes`."""
        return f"{self.amount:.6g} {self.unit}"


_EXAMPLES = "such as 10gpu-hours, 30gpu-minutes, 90minutes, 5h, 25usd, $25 or 40cells"
_TEXT = re.compile(r"(\$?)[ ]*([0-9]{1,12}(?:\.[0-9]{1,6})?)[ ]*([a-z$-]{0,16})\Z")
_TIMES = {
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 1.0),
    **dict.fromkeys(("h", "hour", "hours"), 60.0),
    **dict.fromkeys(("d", "day", "days"), 24 * 60.0),
}
_UNITS: dict[str, tuple[Unit, float]] = {
    **{name: (Unit.MINUTES, factor) for name, factor in _TIMES.items()},
    **{f"gpu-{name}": (Unit.GPU_MINUTES, factor) for name, factor in _TIMES.items()},
    **{f"gpu{name}": (Unit.GPU_MINUTES, factor) for name, factor in _TIMES.items()},
    **dict.fromkeys(("usd", "$"), (Unit.USD, 1.0)),
    **dict.fromkeys(("cell", "cells"), (Unit.CELLS, 1.0)),
}


def parse_budget(text: str) -> Budget:
    """Read `10gpu-hours`, `90minutes`, `5h`, `25usd`, `$25`, `40cells`; case does not matter.

    BadInputError for anything else, with examples; a bare number is refused, for it has no unit.
    """
    match = _TEXT.match(text.strip().lower())
    unit = None
    if match is not None:
        name = match[3] or match[1]
        unit = None if match[1] and match[3] not in {"", "usd"} else _UNITS.get(name)
    if match is None or unit is None:
        message = f"{text[:80]!r} is not a budget: expected a number and a unit"
        raise BadInputError([Fault(file="--budget", message=message, hint=_EXAMPLES)])
    return Budget(amount=float(match[2]) * unit[1], unit=unit[0], text=text.strip())
