"""Decisions, collapse and selection on the shipped knowledge and on small inventions."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.cell import AXES, Cell
from wheelgrid.core.condition import Condition
from wheelgrid.core.decision import Decision, Reason
from wheelgrid.core.errors import BadInputError
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.grid import Exclusion
from wheelgrid.core.knowledge import Knowledge, Published, PythonsStatement, TorchKnowledge
from wheelgrid.core.matrix import Matrix, stack_axes
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.rung import Rung
from wheelgrid.engines import torch_source
from wheelgrid.planning.checks import dead_conditions
from wheelgrid.planning.collapse import collapse
from wheelgrid.planning.decide import decide
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.select import select_pattern, select_tier

TODAY = date(2026, 12, 1)
ROOT = Path(__file__).parents[2]


def source(kind: Kind, day: str, name: str = "s") -> Source:
    return Source(id=name, kind=kind, source=f"source of {name}", date=day)


def judge(cell: Cell, matrix: Matrix, knowledge: Knowledge, *, as_of: date) -> Decision:
    """The decision of a cell that need not be on the axes of the matrix."""
    axes = stack_axes(**{axis: [cell.axis(axis)] for axis in AXES})
    return decide(replace(matrix, axes=axes), knowledge, as_of=as_of).decision(0)


def test_every_candidate_has_exactly_one_decision(plan: Plan) -> None:
    assert len(plan.decisions) == 3 * 7 * 10 * 4
    assert len(plan.decision_of) == len(plan.decisions)
    assert len(plan.included) + sum(plan.excluded_by_reason().values()) == len(plan.decisions)


def test_python_3_10_with_torch_2_15_names_the_sunset_its_dates_and_sources(plan: Plan) -> None:
    """Public case S01, second half."""
    decision = plan.decision_of["torch2.15.0-cp310-linux_x86_64-cpu"]
    assert decision.headline is not None
    assert decision.headline.reason is Reason.SUNSET
    for words in ("2.14", "2026-09-21", "2026-09-28", "2026-10-05", "2026-10-31"):
        assert words in decision.headline.message
    urls = {s.source for s in decision.headline.sources}
    assert "https://github.com/pytorch/pytorch/issues/197242" in urls
    assert Reason.NO_WHEEL_PYTHON in {r.reason for r in decision.rulings}


def test_python_3_10_with_torch_2_14_is_included_and_warned_about(plan: Plan) -> None:
    """Public case S01, first half."""
    decision = plan.decision_of["torch2.14.1-cp310-linux_x86_64-cpu"]
    assert decision.included
    assert "end of life since 2026-10-31" in decision.notes[0].message
    assert "torch 2.14 is the last line" in decision.notes[0].message


def test_cuda_13_4_on_windows_names_the_reason_and_its_source(plan: Plan) -> None:
    decision = plan.decision_of["torch2.14.1-cp312-win_amd64-cuda13.4"]
    assert decision.headline is not None
    assert decision.headline.reason is Reason.ACCELERATOR_NOT_PUBLISHED
    assert "no Windows" in decision.headline.message
    assert decision.headline.sources[0].source.startswith("https://")


def test_an_observation_beats_a_claim_and_the_disagreement_is_kept(plan: Plan) -> None:
    decision = plan.decision_of["torch2.14.1-cp315-linux_x86_64-cpu"]
    assert decision.headline is not None
    assert decision.headline.reason is Reason.NO_WHEEL_PYTHON
    assert [s.kind for s in decision.headline.sources] == [Kind.OBSERVATION]
    assert {s.kind for s in decision.headline.disagrees} == {Kind.CLAIM}


def test_a_runtime_that_does_not_exist_on_a_platform_comes_before_what_torch_publishes(
    plan: Plan,
) -> None:
    decision = plan.decision_of["torch2.14.1-cp312-linux_x86_64-mps"]
    assert decision.headline is not None
    assert decision.headline.reason is Reason.PLATFORM_WITHOUT_RUNTIME


def test_an_unknown_torch_is_included_as_unknown_never_unsupported(plan: Plan) -> None:
    cell = Cell.parse("torch9.9.0-cp313-linux_x86_64-cuda13.0")
    decision = judge(cell, plan.matrix, plan.knowledge, as_of=TODAY)
    assert decision.included
    assert "unknown" in decision.notes[0].message


def test_silence_about_a_family_is_unknown(plan: Plan) -> None:
    knowledge = Knowledge(
        torch={Version("2.14.1"): TorchKnowledge(torch=Version("2.14.1"))}, accelerators={}
    )
    cell = Cell.parse("torch2.14.1-cp313-linux_x86_64-cuda13.0")
    decision = judge(cell, plan.matrix, knowledge, as_of=TODAY)
    assert decision.included
    assert "unknown, not unsupported" in decision.notes[0].message


@pytest.mark.parametrize(
    ("first", "second", "included"),
    [
        ((Kind.CLAIM, "2026-11-01"), (Kind.OBSERVATION, "2026-01-01"), False),
        ((Kind.OBSERVATION, "2026-11-01"), (Kind.OBSERVATION, "2026-01-01"), True),
        ((Kind.CLAIM, "2026-01-01"), (Kind.CLAIM, "2026-11-01"), False),
    ],
)
def test_which_statement_decides(
    plan: Plan, first: tuple[Kind, str], second: tuple[Kind, str], *, included: bool
) -> None:
    """The first statement has 3.13, the second has not."""
    where = frozenset([Platform.LINUX_X86_64])
    statements = tuple(
        PythonsStatement(
            source=source(*kind, name=f"s{n}"),
            platforms=where,
            values=frozenset(map(PythonVersion.parse, values)),
        )
        for n, (kind, values) in enumerate([(first, ["3.12", "3.13"]), (second, ["3.12"])])
    )
    release = TorchKnowledge(torch=Version("2.14.1"), pythons=statements)
    knowledge = Knowledge(torch={release.torch: release}, accelerators={})
    cell = Cell.parse("torch2.14.1-cp313-linux_x86_64-cpu")
    decision = judge(cell, plan.matrix, knowledge, as_of=TODAY)
    assert decision.included is included
    if decision.headline is not None:
        assert [s.id for s in decision.headline.disagrees] == ["s0"]


@pytest.mark.parametrize(
    ("statements", "included", "notes"),
    [
        ([("claim", True, True)], True, 0),
        ([("claim", True, False)], False, 0),
        ([("claim", True, True), ("claim", True, False)], True, 1),
        ([("claim", True, True), ("claim", False, True)], False, 0),
        ([("observation", True, True), ("claim", False, True)], True, 1),
        ([("claim", True, True), ("observation", True, False)], False, 0),
    ],
)
def test_what_decides_whether_a_build_is_published(
    plan: Plan, statements: list[tuple[str, bool, bool]], *, included: bool, notes: int
) -> None:
    """Each statement: kind, whether it lists what exists, whether it names the accelerator."""
    cuda, other = Accelerator.parse("cuda13.0"), Accelerator.parse("cuda12.6")
    published = tuple(
        Published(
            source=source(Kind(kind), "2026-09-01", name=f"s{n}"),
            family=cuda.family,
            platforms=frozenset([Platform.LINUX_X86_64]),
            values=frozenset([cuda if names else other]),
            positive=positive,
            because="" if positive else "it was dropped",
        )
        for n, (kind, positive, names) in enumerate(statements)
    )
    release = TorchKnowledge(torch=Version("2.14.1"), published=published)
    knowledge = Knowledge(torch={release.torch: release}, accelerators={})
    cell = Cell.parse("torch2.14.1-cp313-linux_x86_64-cuda13.0")
    decision = judge(cell, plan.matrix, knowledge, as_of=TODAY)
    assert decision.included is included
    assert len(decision.notes) == notes
    if notes:
        assert "sources disagree" in decision.notes[0].message
        assert len(decision.notes[0].sources) == len(statements)


def test_conditions_that_fit_no_cell_are_errors(plan: Plan) -> None:
    """Public case M16: a rule that stopped matching changes the matrix without a word."""
    rules = tuple(
        Exclusion(
            id=name,
            when=Condition.of(when),
            reason="r",
            source=source(Kind.POLICY, "2026-12-01"),
        )
        for name, when in [
            ("alive", {"platform": ("linux_*",)}),
            ("dead", {"platform": ("linux_x86-64",)}),
        ]
    )
    faults = dead_conditions(replace(plan.matrix, exclusions=rules), plan.recipes)
    assert [str(f).splitlines()[0] for f in faults] == [
        "matrix.yaml: exclude dead: fits no cell of the matrix"
    ]
    assert dead_conditions(plan.matrix, plan.recipes) == []


def test_policy_exclusions_carry_their_reason(plan: Plan) -> None:
    rule = Exclusion(
        id="no-windows",
        when=Condition.of({"platform": ("win_*",)}),
        reason="nobody asks for it",
        source=source(Kind.POLICY, "2026-12-01"),
    )
    matrix = replace(plan.matrix, exclusions=(rule,))
    cell = Cell.parse("torch2.14.1-cp313-win_amd64-cpu")
    decision = judge(cell, matrix, plan.knowledge, as_of=TODAY)
    assert decision.headline is not None
    assert (decision.headline.reason, decision.headline.rule) == (
        Reason.POLICY,
        "matrix.no-windows",
    )


def test_a_torch_free_package_needs_one_wheel_per_python_and_platform(plan: Plan) -> None:
    builds = [b for b in plan.builds if b.package == "regex" and b.platform == "linux_x86_64"]
    assert {str(b.python) for b in builds} == {
        "3.10",
        "3.11",
        "3.12",
        "3.13",
        "3.14",
        "3.14t",
        "3.15",
    }
    assert {b.folder for b in builds} == {"any"}
    cells = [c for b in builds for c in b.cells]
    assert len(cells) == len(set(cells))


def test_a_stable_abi_package_needs_one_wheel_per_accelerator_and_one_for_free_threading(
    plan: Plan,
) -> None:
    """Public case V19: abi3 does not serve 3.14t."""
    builds = [
        b
        for b in plan.builds
        if b.package == "gridprobe"
        and b.platform == "linux_x86_64"
        and str(b.accelerator) == "cuda13.0"
    ]
    assert [b.id for b in builds] == [
        "gridprobe-0.1.0-torch2.13-cp311.abi3-linux_x86_64-cuda13.0",
        "gridprobe-0.1.0-torch2.13-cp314t-linux_x86_64-cuda13.0",
    ]
    abi3, free = builds
    assert {str(c.torch) for c in abi3.cells} == {"2.13.0", "2.14.1", "2.15.0"}
    assert not any(c.python.free_threaded for c in abi3.cells)
    assert all(c.python.free_threaded for c in free.cells)
    assert not any(c.python == PythonVersion(3, 10) for c in abi3.cells)


def test_the_cxx_abi_needs_a_wheel_for_every_torch_line(plan: Plan) -> None:
    builds = [
        b
        for b in plan.builds
        if b.package == "torch-scatter"
        and str(b.platform) == "linux_x86_64"
        and str(b.accelerator) == "cpu"
        and str(b.python) == "3.12"
    ]
    assert [b.wheel_version for b in builds] == [
        "2.1.2+cputorch2.13",
        "2.1.2+cputorch2.14",
        "2.1.2+cputorch2.15",
    ]


def test_a_pure_wheel_serves_every_platform(plan: Plan) -> None:
    pure = [b for b in plan.builds if b.id == "torch-linear-assignment-0.1.0-py3-any-cpu"]
    assert len(pure) == 1
    assert {str(c.platform) for c in pure[0].cells} == {
        "linux_x86_64",
        "linux_aarch64",
        "win_amd64",
        "macosx_arm64",
    }


def test_each_included_cell_of_a_package_is_served_once_or_has_a_stated_gap(plan: Plan) -> None:
    for package in plan.matrix.packages:
        served = [c for b in plan.builds if b.package == package for c in b.cells]
        assert len(served) == len(set(served))
        for cell in plan.included:
            assert (cell in served) is (plan.gap(package, cell) == "")


def test_gaps_say_why(plan: Plan) -> None:
    old = Cell.parse("torch2.14.1-cp310-linux_x86_64-cpu")
    xpu = Cell.parse("torch2.14.1-cp312-linux_x86_64-xpu2026.1")
    assert "Python >= 3.11" in plan.gap("gridprobe", old)
    assert plan.gap("gridprobe", xpu) == "the recipe of gridprobe does not cover xpu2026.1"


def test_collapse_of_nothing_is_nothing(plan: Plan) -> None:
    assert collapse(plan.recipes["regex"], []) == ()


def test_a_tier_stops_where_its_first_matching_entry_says(plan: Plan) -> None:
    units = {u.id: u for u in select_tier(plan, "stack")}
    cuda = units["gridprobe@torch2.13.0-cp311-linux_x86_64-cuda13.0"]
    assert cuda.until is Rung.AUDITED
    assert cuda.wants(Rung.BUILT)
    assert not cuda.wants(Rung.INSTALLED)
    assert units["torch-scatter@torch2.13.0-cp311-linux_x86_64-cpu"].until is Rung.EXECUTED


def test_unknown_tiers_and_patterns_that_fit_nothing_are_errors(plan: Plan) -> None:
    with pytest.raises(BadInputError, match="no tier 'stck'; known: nightly, "):
        select_tier(plan, "stck")
    with pytest.raises(BadInputError) as caught:
        select_pattern(plan, ("regx", "torch2.15.0-cp310-linux_x86_64-cpu"))
    text = str(caught.value)
    assert "'regx' names no package, cell or build" in text
    assert "is excluded: python 3.10 ends with torch 2.14" in text


def test_patterns_select_by_package_cell_and_build(plan: Plan) -> None:
    by_cell = select_pattern(plan, ("regex@*-cp313-linux_x86_64-cpu",))
    assert {u.cell.torch_minor for u in by_cell} == {"2.13", "2.14", "2.15"}
    by_build = select_pattern(plan, ("gridprobe-*-win_amd64-cpu",))
    assert {u.package for u in by_build} == {"gridprobe"}


@pytest.mark.parametrize(
    ("torch", "accelerator", "platform", "requirements"),
    [
        ("2.14.1", "cpu", Platform.LINUX_X86_64, ["torch==2.14.1+cpu"]),
        ("2.14.1", "cuda13.0", Platform.LINUX_X86_64, ["torch==2.14.1+cu130", "torch===2.14.1"]),
        ("2.14.1", "cuda13.2", Platform.LINUX_X86_64, ["torch==2.14.1+cu132"]),
        ("2.13", "cpu", Platform.WIN_AMD64, ["torch==2.13+cpu", "torch===2.13.0"]),
        ("2.15.0", "mps", Platform.MACOSX_ARM64, ["torch===2.15.0"]),
        ("9.9", "cpu", Platform.LINUX_X86_64, ["torch==9.9+cpu"]),
    ],
)
def test_where_the_torch_of_a_cell_comes_from(
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
    torch: str,
    accelerator: str,
    platform: Platform,
    requirements: list[str],
) -> None:
    """The labelled build first; the default index only where it serves this accelerator."""
    monkeypatch.setattr(torch_source, "unreachable", lambda url: f"{url} is down")
    found = torch_source.torch_sources(
        Version(torch), Accelerator.parse(accelerator), platform, plan.knowledge
    )
    assert [s.requirement for s in found] == requirements
    if accelerator != "mps":
        assert found[0].note.endswith("is down")
        assert found[0].indexes == ()
