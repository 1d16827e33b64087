"""Test selection: what is chosen, in which order of preference, and what a budget leaves out."""

from __future__ import annotations

import itertools

import pytest

from wheelgrid.core.errors import BadInputError, ExitCode
from wheelgrid.planning.coverage import Combination, prove, select

CUBE = list(itertools.product("ab", "xy", "pq"))
SIXTY = list(itertools.product("abcde", "wxyz", "pqr"))


def test_pairs_of_a_cube_take_four_rows() -> None:
    found = select(CUBE)
    assert (len(found.chosen), found.least) == (4, 4)
    assert (found.covered, found.achievable, found.missing) == (12, 12, ())


def test_a_bound_that_is_met_proves_that_no_choice_is_smaller() -> None:
    found = select(SIXTY)
    assert len(found.chosen) == found.least == 20


def test_three_way_over_three_axes_is_every_row() -> None:
    assert select(CUBE, strength=3).chosen == tuple(range(8))


def test_full_is_every_row_and_says_so() -> None:
    found = select(CUBE, strength=None)
    assert (found.chosen, found.achievable, found.least) == (tuple(range(8)), 8, 8)


def test_equal_rows_count_once() -> None:
    assert len(select([*CUBE, *CUBE], strength=None).chosen) == 8


def test_a_combination_that_no_valid_row_shows_is_not_asked_for() -> None:
    rows = [row for row in CUBE if row[:2] != ("a", "x")]
    found = select(rows)
    assert (found.achievable, found.covered) == (11, 11)


def test_a_rare_combination_is_not_lost() -> None:
    """One row alone shows (b, z); a sampler that filters late would never make it."""
    rows = [(a, b, c) for a in "a" for b in "xy" for c in "pqrs"] + [("b", "z", "p")]
    assert 8 in select(rows).chosen


def test_no_rows_give_an_empty_choice() -> None:
    found = select([])
    assert (found.chosen, found.achievable, found.cost) == ((), 0, 0.0)
    assert prove([], (), 2).achievable == 0


def test_must_have_rows_come_first_and_count() -> None:
    found = select(SIXTY, must=[59, 7])
    assert found.chosen[:2] == (7, 59)
    assert len(found.chosen) == 20


def test_more_must_have_rows_than_needed_are_all_kept() -> None:
    assert set(range(30)) <= set(select(SIXTY, must=range(30)).chosen)


def test_among_equals_the_preferred_row_is_taken() -> None:
    """Rows 1, 2, 4, 7 show all pairs of the cube, and so do 0, 3, 5, 6."""
    for stale in ({1, 2, 4, 7}, {0, 3, 5, 6}):
        prefer = [0 if index in stale else 1 for index in range(8)]
        assert set(select(CUBE, prefer=prefer).chosen) == stale


def test_preference_does_not_cost_rows() -> None:
    prefer = [index % 7 for index in range(len(SIXTY))]
    assert len(select(SIXTY, prefer=prefer).chosen) == 20


def test_cheap_rows_are_taken_where_they_show_the_same() -> None:
    cost = [1.0 if index in {0, 3, 5, 6} else 10.0 for index in range(8)]
    found = select(CUBE, cost=cost)
    assert (set(found.chosen), found.cost) == ({0, 3, 5, 6}, 4.0)


def test_many_cheap_rows_beat_few_dear_ones() -> None:
    rows = [("a", "x", "p"), ("a", "x", "q"), ("a", "y", "p"), ("b", "x", "p"), ("b", "y", "q")]
    found = select(rows, strength=1, cost=[1, 1, 1, 1, 100])
    assert (found.chosen, found.cost) == ((1, 2, 3), 3)


def test_free_rows_are_taken_before_any_that_costs() -> None:
    cost = [0.0] * 4 + [5.0] * 4
    found = select(CUBE, cost=cost, budget=0)
    assert (found.cost, found.covered, len(found.missing)) == (0, 8, 4)


def test_a_budget_is_never_exceeded_and_the_rest_is_listed() -> None:
    found = select(CUBE, budget=3)
    assert (len(found.chosen), found.cost) == (3, 3)
    assert found.covered == 9
    assert set(found.missing) == set(prove(CUBE, found.chosen, 2).missing)


def test_a_row_that_does_not_fit_gives_way_to_a_cheaper_one() -> None:
    rows = [("a", "x"), ("b", "y")]
    assert select(rows, strength=1, cost=[5, 1], budget=4).chosen == (1,)


def test_full_within_a_budget_takes_the_cheapest() -> None:
    found = select(CUBE, strength=None, cost=list(range(8)), budget=6)
    assert (found.chosen, found.covered) == ((0, 1, 2, 3), 4)
    assert found.missing[0] == Combination((0, 1, 2), ("b", "x", "p"))


def test_must_have_rows_beyond_the_budget_are_an_error_with_numbers() -> None:
    with pytest.raises(BadInputError) as caught:
        select(CUBE, cost=[4.0] * 8, must=[0, 1, 2], budget=10, unit="gpu-minutes")
    text = str(caught.value)
    assert "3 must-have cells cost 12 gpu-minutes" in text
    assert "budget is 10 gpu-minutes: 2 gpu-minutes short" in text
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_missing_combination_reads_with_the_names_of_its_axes() -> None:
    text = Combination((0, 2), ("3.14t", "sm_90")).describe(["python", "torch", "gpu"])
    assert text == "python=3.14t, gpu=sm_90"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cost": [1.0]}, "8 rows, 1 costs"),
        ({"prefer": [1]}, "1 preferences"),
        ({"cost": [-1.0] * 8}, "negative"),
        ({"cost": [float("nan")] * 8}, "no number"),
        ({"must": [8]}, "must-have rows 8..8 of 8"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select(CUBE, **arguments)  # type: ignore[arg-type]


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="different numbers of axes"):
        select([("a", "b"), ("a",)])


def test_a_proof_finds_what_a_choice_leaves_out() -> None:
    proof = prove(CUBE, [0, 7], 2)
    assert (proof.achievable, proof.covered) == (12, 6)
    assert Combination((0, 1), ("a", "y")) in proof.missing


def test_a_constrained_matrix_of_thousands_of_rows_is_covered_and_small() -> None:
    """Four constraints; the bound of 56 is what the largest pair of axes needs."""
    rows = [
        (t, p, a, g)
        for t, p, a, g in itertools.product(range(6), range(8), range(10), range(7))
        if (t + p) % 5 and (a * 3 + g) % 4 and (p + g) % 6 and a + t < 13
    ]
    found = select(rows)
    assert prove(rows, found.chosen, 2).missing == ()
    assert found.least <= len(found.chosen) <= found.least * 1.15
