"""Laws that hold for every matrix, not only for the shipped one."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.recipe import load_recipes
from wheelgrid.config.yaml import Faults
from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.cell import Cell
from wheelgrid.core.condition import Condition
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.grid import Exclusion
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix, stack_axes
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Recipe
from wheelgrid.planning.document import canonical, plan_document
from wheelgrid.planning.expand import expand
from wheelgrid.planning.plan import make_plan

ROOT = Path(__file__).parents[2]
NAMES = ("gridprobe", "regex", "torch-linear-assignment", "torch-scatter")

pythons = st.builds(
    PythonVersion, st.just(3), st.integers(min_value=8, max_value=20), st.booleans()
)
accelerators = st.sampled_from(
    ["cpu", "mps", "cuda12.6", "cuda13.0", "cuda13.4", "rocm7.2", "rocm7.14", "xpu2026.1"]
).map(Accelerator.parse)
torches = st.sampled_from(["2.13.0", "2.14.1", "2.15.0", "2.16.0"]).map(Version)
days = st.dates(min_value=date(2026, 1, 1), max_value=date(2027, 12, 31))


def axis(values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, min_size=1, max_size=4, unique=True).map(tuple)


matrices = st.builds(
    Matrix,
    name=st.just("m"),
    title=st.just("m"),
    axes=st.builds(
        stack_axes,
        torch=axis(torches),
        python=axis(pythons),
        accelerator=axis(accelerators),
        platform=axis(st.sampled_from(list(Platform))),
    ),
    packages=st.just(NAMES),
)
conditions = st.fixed_dictionaries(
    {},
    optional={
        "torch": st.sampled_from([(">=2.14",), ("2.13.0",)]),
        "python": st.sampled_from([("3.1*",), (">=3.12",), ("3.14t",)]),
        "accelerator": st.sampled_from([("cuda*",), ("cpu",), ("cuda>=13",)]),
        "platform": st.sampled_from([("linux_*",), ("win_amd64", "macosx_arm64")]),
    },
).map(Condition.of)


@cache
def shipped() -> tuple[Knowledge, dict[str, Recipe]]:
    faults = Faults()
    knowledge = load_knowledge(Project(ROOT), faults)
    recipes = load_recipes(Project(ROOT), NAMES, faults)
    assert faults.found == []
    return knowledge, recipes


@given(torches, pythons, accelerators, st.sampled_from(list(Platform)))
def test_ids_round_trip(
    torch: Version, python: PythonVersion, accelerator: Accelerator, platform: Platform
) -> None:
    cell = Cell(torch=torch, python=python, accelerator=accelerator, platform=platform)
    assert Cell.parse(cell.id) == cell


@given(matrices, days)
@settings(max_examples=40)
def test_every_candidate_gets_exactly_one_decision_and_the_sums_hold(
    matrix: Matrix, as_of: date
) -> None:
    knowledge, recipes = shipped()
    plan = make_plan(matrix, recipes, knowledge, as_of=as_of)
    candidates = expand(matrix)
    assert [d.cell for d in plan.decisions] == list(candidates)
    assert len(set(candidates)) == len(candidates)
    assert len(plan.included) + sum(plan.excluded_by_reason().values()) == len(candidates)


@given(matrices, conditions)
@settings(max_examples=40)
def test_an_exclusion_never_adds_a_cell(matrix: Matrix, when: Condition) -> None:
    knowledge, recipes = shipped()
    rule = Exclusion(
        id="x",
        when=when,
        reason="r",
        source=Source(id="x", kind=Kind.POLICY, source="s", date="2026-12-01"),
    )
    day = date(2026, 12, 1)
    before = set(make_plan(matrix, recipes, knowledge, as_of=day).included)
    more = replace(matrix, exclusions=(rule,))
    after = set(make_plan(more, recipes, knowledge, as_of=day).included)
    assert after <= before
    assert not any(when.matches(cell) for cell in after)


@given(matrices, days, st.integers(min_value=0, max_value=400))
@settings(max_examples=40)
def test_time_never_revives_a_cell(matrix: Matrix, as_of: date, later: int) -> None:
    knowledge, recipes = shipped()
    now = set(make_plan(matrix, recipes, knowledge, as_of=as_of).included)
    then = make_plan(matrix, recipes, knowledge, as_of=as_of + timedelta(days=later))
    assert set(then.included) <= now


@given(matrices)
@settings(max_examples=40)
def test_collapse_covers_each_included_cell_once_or_says_why_not(matrix: Matrix) -> None:
    knowledge, recipes = shipped()
    plan = make_plan(matrix, recipes, knowledge, as_of=date(2026, 12, 1))
    ids = [b.id for b in plan.builds]
    assert len(set(ids)) == len(ids)
    for name in NAMES:
        served = [c for b in plan.builds if b.package == name for c in b.cells]
        assert len(set(served)) == len(served)
        assert {c for c in plan.included if not plan.gap(name, c)} == set(served)


@given(matrices, st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_planning_is_deterministic_and_the_order_of_values_changes_no_decision(
    matrix: Matrix, random: object
) -> None:
    knowledge, recipes = shipped()
    day = date(2026, 12, 1)
    plan = make_plan(matrix, recipes, knowledge, as_of=day)
    assert canonical(plan_document(plan)) == canonical(
        plan_document(make_plan(matrix, recipes, knowledge, as_of=day))
    )
    axes = [replace(a, values=random.sample(a.values, len(a.values))) for a in matrix.axes]  # type: ignore[attr-defined]
    other = make_plan(replace(matrix, axes=tuple(axes)), recipes, knowledge, as_of=day)
    assert {d.cell.id: d for d in other.decisions} == plan.decision_of
    assert {b.id: b.cells for b in other.builds} == {b.id: b.cells for b in plan.builds}
