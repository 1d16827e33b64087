"""Laws of test selection, for every set of rows."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from wheelgrid.core.errors import BadInputError
from wheelgrid.planning.coverage import prove, select

Rows = list[tuple[str, ...]]

tables = st.integers(min_value=1, max_value=5).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.sampled_from("abcd")] * width), min_size=1, max_size=60, unique=True
    )
)
strengths = st.sampled_from([1, 2, 3, None])


@given(tables, strengths, st.data())
def test_every_achievable_combination_is_shown(
    rows: Rows, strength: int | None, data: st.DataObject
) -> None:
    must = data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=5))
    found = select(rows, strength=strength, must=must)
    proof = prove(rows, found.chosen, strength)
    assert (proof.missing, found.missing) == ((), ())
    assert proof.achievable == found.achievable == found.covered
    assert must <= set(found.chosen)
    assert len(set(found.chosen)) == len(found.chosen) >= found.least


@given(tables, strengths, st.randoms(use_true_random=False), st.data())
def test_the_order_of_rows_does_not_matter(
    rows: Rows, strength: int | None, shuffle: random.Random, data: st.DataObject
) -> None:
    costs = data.draw(st.lists(st.sampled_from([1.0, 2.0, 3.5]), min_size=60, max_size=60))
    ranks = data.draw(st.lists(st.integers(0, 2), min_size=60, max_size=60))
    budget = data.draw(st.sampled_from([None, 5.0, 20.0]))

    def chosen(order: list[int]) -> set[tuple[str, ...]]:
        found = select(
            [rows[i] for i in order],
            strength=strength,
            cost=[costs[i] for i in order],
            prefer=[ranks[i] for i in order],
            budget=budget,
        )
        return {rows[order[i]] for i in found.chosen}

    order = list(range(len(rows)))
    shuffled = order.copy()
    shuffle.shuffle(shuffled)
    assert chosen(order) == chosen(shuffled)


@given(
    tables,
    strengths,
    st.lists(st.floats(0, 100), min_size=60, max_size=60),
    st.floats(0, 500),
    st.data(),
)
def test_a_budget_holds_and_what_is_missing_is_listed(
    rows: Rows, strength: int | None, costs: list[float], budget: float, data: st.DataObject
) -> None:
    must = data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=3))
    cost = costs[: len(rows)]
    try:
        found = select(rows, strength=strength, cost=cost, must=must, budget=budget)
    except BadInputError:
        assert math.fsum(cost[i] for i in must) > budget
        return
    assert math.fsum(cost[i] for i in found.chosen) <= budget
    assert found.missing == prove(rows, found.chosen, strength).missing
    # What is left out is left out for lack of money alone.
    left = budget - found.cost
    showing = [r for r, row in enumerate(rows) if r not in found.chosen and cost[r] < left - 1e-6]
    gains = {
        (missing.axes, missing.values)
        for missing in found.missing
        if any(tuple(rows[r][axis] for axis in missing.axes) == missing.values for r in showing)
    }
    assert gains == set()


@given(tables)
def test_more_rows_wanted_as_strength_rises(rows: Rows) -> None:
    counts = [select(rows, strength=s).least for s in (1, 2, 3, None)]
    assert counts == sorted(counts)
