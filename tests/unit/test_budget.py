"""Budgets as users write them."""

from __future__ import annotations

import pytest

from wheelgrid.core.errors import BadInputError, ExitCode
from wheelgrid.planning.budget import Unit, parse_budget


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("10gpu-hours", 600, Unit.GPU_MINUTES),
        ("1 gpu-hour", 60, Unit.GPU_MINUTES),
        ("90gpu-minutes", 90, Unit.GPU_MINUTES),
        ("2.5GPU-h", 150, Unit.GPU_MINUTES),
        ("90minutes", 90, Unit.MINUTES),
        ("5h", 300, Unit.MINUTES),
        ("1d", 1440, Unit.MINUTES),
        ("25usd", 25, Unit.USD),
        ("$25", 25, Unit.USD),
        ("$ 2.50", 2.5, Unit.USD),
        ("25$", 25, Unit.USD),
        ("40cells", 40, Unit.CELLS),
        ("0gpu-hours", 0, Unit.GPU_MINUTES),
    ],
)
def test_a_budget_is_a_number_and_a_unit(text: str, amount: float, unit: Unit) -> None:
    budget = parse_budget(text)
    assert (budget.amount, budget.unit) == (amount, unit)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10",
        "hours",
        "-5h",
        "5 gpus",
        "1e3h",
        "1,5h",
        "$5h",
        "5h 3m",
        "nanh",
        "9" * 400 + "h",
        "٣h",
    ],
)
def test_anything_else_is_one_clear_error_with_examples(text: str) -> None:
    with pytest.raises(BadInputError) as caught:
        parse_budget(text)
    (fault,) = caught.value.faults
    assert "expected a number and a unit" in fault.message
    assert all(example in fault.hint for example in ("10gpu-hours", "90minutes", "25usd", "5h"))
    assert len(str(caught.value)) < 400
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_budget_prints_its_amount_and_unit() -> None:
    assert str(parse_budget("10gpu-hours")) == "600 gpu-minutes"
