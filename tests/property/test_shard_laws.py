"""Laws of packing: a partition, balanced, the same in any order; outputs read back."""

from __future__ import annotations

import random
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from wheelgrid.planning.github import read_outputs, write_outputs
from wheelgrid.planning.shard import Load, pack, split, unfinished

costs = st.one_of(st.sampled_from([0.0, 1.0, 2.5]), st.floats(0, 1000))
labels = st.sampled_from([("a",), ("b", "gpu"), ("c",)])
packings = st.lists(st.tuples(costs, labels), max_size=80).map(
    lambda pairs: [
        Load(id=f"cell-{n}", cost=cost, runs_on=runs_on) for n, (cost, runs_on) in enumerate(pairs)
    ]
)


@given(packings, st.integers(3, 40))
def test_packing_is_a_partition_within_the_limit(given_loads: list[Load], most: int) -> None:
    jobs = pack(given_loads, max_jobs=most)
    assert len(jobs) <= most
    assert len({job.id for job in jobs}) == len(jobs)
    assert not unfinished((x.id for x in given_loads), (c for job in jobs for c in job.cells))
    wanted = {load.id: load.runs_on for load in given_loads}
    assert all(wanted[cell] == job.runs_on for job in jobs for cell in job.cells)
    assert all(job.cells for job in jobs)


@given(packings, st.integers(3, 40))
def test_no_job_is_longer_than_the_bound(given_loads: list[Load], most: int) -> None:
    """Graham 1969: longest first ends within 4/3 of the best; the best is at least these bounds."""
    jobs = pack(given_loads, max_jobs=most)
    groups = defaultdict(list)
    for job in jobs:
        groups[job.runs_on].append(job.cost)
    for runs_on, made in groups.items():
        single = [load.cost for load in given_loads if load.runs_on == runs_on]
        mean = sum(single) / len(made)
        assert max(made) <= mean + max(single) + 1e-6
        # The last load of the longest job was put where least was to do.
        assert max(made) - min(made) <= max(single) + 1e-6


@given(packings, st.integers(3, 40), st.randoms(use_true_random=False))
def test_membership_does_not_depend_on_the_order(
    given_loads: list[Load], most: int, shuffle: random.Random
) -> None:
    shuffled = given_loads.copy()
    shuffle.shuffle(shuffled)
    assert pack(given_loads, max_jobs=most) == pack(shuffled, max_jobs=most)
    assert split(given_loads, max_jobs=most) == split(shuffled, max_jobs=most)


@given(packings, st.integers(1, 40))
def test_a_split_is_a_partition_into_as_few_matrices_as_can_be(
    given_loads: list[Load], most: int
) -> None:
    matrices = split(given_loads, max_jobs=most)
    assert len(matrices) == -(-len(given_loads) // most)
    assert all(len(matrix) <= most for matrix in matrices)
    cells = [cell for matrix in matrices for job in matrix for cell in job.cells]
    assert not unfinished((x.id for x in given_loads), cells)


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,10}", fullmatch=True),
        st.text(alphabet=st.sampled_from('ab=<\n{}"$ ü'), max_size=30),
        max_size=5,
    )
)
def test_outputs_read_back(values: dict[str, str]) -> None:
    assert read_outputs(write_outputs(values)) == values
