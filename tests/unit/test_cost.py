"""The cost model: minutes with their basis, runners, prices; unknown is not free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from wheelgrid.config.grid import Scope
from wheelgrid.config.runners import decode_runners
from wheelgrid.config.yaml import Faults, parse
from wheelgrid.core.accelerator import Family
from wheelgrid.core.axis import IMPLICIT_ROLES
from wheelgrid.core.cell import AXES, Cell, Row
from wheelgrid.core.condition import Condition
from wheelgrid.core.errors import BadInputError
from wheelgrid.core.evidence import Observation, Provenance
from wheelgrid.core.rung import Outcome, Rung, RungResult
from wheelgrid.core.runner import Runner, runner_for
from wheelgrid.engines.records import decode_observation, encode_observation
from wheelgrid.planning.budget import Unit
from wheelgrid.planning.cost import Basis, CostModel, Work, amounts, learn
from wheelgrid.planning.document import canonical

CPU = Cell.parse("torch2.14.1-cp313-linux_x86_64-cpu")
CUDA = Cell.parse("torch2.14.1-cp313-linux_x86_64-cuda13.0")
ROCM = Cell.parse("torch2.14.1-cp313-linux_x86_64-rocm7.14")

BIG = Runner(
    name="h100",
    when=Condition.of({"accelerator": ("cuda*",)}),
    runs_on=("gpu", "h100"),
    price_per_minute=0.05,
    gpus=2,
)
SMALL = Runner(
    name="cpu",
    when=Condition.of({"accelerator": ("cpu",)}),
    runs_on=("ubuntu-24.04",),
    price_per_minute=0.008,
)


def observation(
    cell: Cell, seconds: Mapping[str, float], outcome: Outcome = Outcome.PASSED
) -> Observation:
    why = "" if outcome is Outcome.PASSED else "no device"
    return Observation(
        package="ext",
        package_version="1.0",
        cell=cell.id,
        build="ext-1.0",
        key="",
        wheel="",
        wheel_sha256="",
        rungs=tuple(
            RungResult(rung=rung, outcome=outcome, why=why) for rung in (Rung.BUILT, Rung.EXECUTED)
        ),
        provenance=Provenance(
            time="2026-12-01T00:00:00+00:00", tool="t", platform="p", python="3", host={}, inputs={}
        ),
        seconds=seconds,
    )


def test_measured_minutes_win_with_their_number_of_runs() -> None:
    other = Cell.parse("torch2.14.1-cp312-linux_x86_64-cuda12.6")
    third = Cell.parse("torch2.14.1-cp314-linux_x86_64-cuda12.6")
    records = [observation(c, {"test": s}) for c, s in ((CUDA, 60), (other, 120), (third, 600))]
    model = CostModel(learned=learn(records), declared={"ext": 9})
    estimate = model.estimate("ext", Family.CUDA)
    assert (estimate.minutes, estimate.basis, estimate.samples) == (2, Basis.MEASURED, 3)
    assert str(estimate) == "2 min (measured, n=3)"


def test_another_family_is_not_measured_but_declared() -> None:
    model = CostModel(learned=learn([observation(CUDA, {"test": 60})]), declared={"ext": 9})
    assert str(model.estimate("ext", Family.ROCM)) == "9 min (declared)"
    assert str(model.estimate("other", Family.ROCM)) == "5 min (assumed)"


def test_what_failed_or_was_skipped_is_no_measure() -> None:
    for outcome in (Outcome.FAILED, Outcome.SKIPPED, Outcome.UNKNOWN):
        assert learn([observation(CUDA, {"test": 1, "build": 1}, outcome)]) == {}


def test_records_without_times_teach_nothing() -> None:
    assert learn([observation(CUDA, {})]) == {}


def test_a_wheel_that_serves_two_cells_was_built_once() -> None:
    other = Cell.parse("torch2.14.1-cp312-linux_x86_64-cuda13.0")
    found = learn([observation(c, {"build": 600, "test": 6}) for c in (CUDA, other)])
    assert found["ext", Family.CUDA, Work.BUILD] == (10,)
    assert len(found["ext", Family.CUDA, Work.TEST]) == 2


def test_a_cell_costs_minutes_gpu_minutes_and_dollars_on_its_runner() -> None:
    model = CostModel(runners=(BIG, SMALL), declared={"a": 10, "b": 30})
    cost = model.cell(CUDA, ("a", "b"))
    assert (cost.runner, cost.minutes, cost.gpu_minutes) == ("h100", 40, 80)
    assert cost.usd == pytest.approx(2.0)
    assert [str(e) for _, e in cost.estimates] == ["10 min (declared)", "30 min (declared)"]
    assert model.cell(CPU, ("a",)).gpu_minutes == 0


def test_a_cell_that_no_runner_takes_has_no_price_and_is_not_free() -> None:
    costs = [CostModel(runners=(BIG, SMALL)).cell(cell, ("a",)) for cell in (CUDA, ROCM)]
    assert amounts(costs, Unit.MINUTES) == [5, 5]
    assert amounts(costs, Unit.CELLS) == [1, 1]
    for unit in (Unit.GPU_MINUTES, Unit.USD):
        with pytest.raises(BadInputError, match=r"1 of 2 cells have no known cost.*fits no runner"):
            amounts(costs, unit)


def test_a_runner_without_price_is_not_free_either() -> None:
    unpriced = replace(BIG, price_per_minute=None)
    costs = [CostModel(runners=(unpriced,)).cell(CUDA)]
    assert amounts(costs, Unit.GPU_MINUTES) == [10]
    with pytest.raises(BadInputError, match="without price"):
        amounts(costs, Unit.USD)


def test_a_row_without_accelerator_costs_what_its_runner_declares() -> None:
    row = Row(pairs=(("os", "ubuntu-24.04"),))
    runner = Runner(name="any", when=Condition(), runs_on=("ubuntu-24.04",), minutes=7)
    assert str(CostModel(runners=(runner,)).cell(row).estimates[0][1]) == "7 min (declared)"
    assert str(CostModel().cell(row).estimates[0][1]) == "5 min (assumed)"
    model = CostModel(learned=learn([observation(CUDA, {"test": 60})]))
    assert str(model.cell(row, ("ext",)).estimates[0][1]) == "5 min (assumed)"


def test_the_accelerator_may_be_on_an_axis_of_another_name() -> None:
    row = Row(pairs=(("backend", "cuda13.0"),))
    learned = learn([observation(CUDA, {"test": 60})])
    model = CostModel(learned=learned, accelerator_axis="backend")
    assert str(model.cell(row, ("ext",)).estimates[0][1]) == "1 min (measured, n=1)"


def test_the_first_runner_that_fits_takes_a_cell() -> None:
    every = Runner(name="rest", when=Condition(), runs_on=("ubuntu-24.04",))
    assert [r.name for c in (CUDA, ROCM) if (r := runner_for((BIG, every), c))] == ["h100", "rest"]
    assert runner_for((BIG,), ROCM) is None


RUNNERS = """\
h100:
  when: {accelerator: "cuda*"}
  runs_on: [self-hosted, h100]
  price_per_minute: 0.05
  gpus: 1
rest:
  runs_on: ubuntu-24.04
  price_per_minute: 0
  minutes: 3
"""


def decoded(text: str) -> tuple[tuple[Runner, ...], Faults]:
    faults = Faults()
    item = parse(text, file="matrix.yaml", faults=faults)
    assert item is not None
    return decode_runners(item, Scope({axis: IMPLICIT_ROLES[axis] for axis in AXES})), faults


def test_runners_are_read_in_order() -> None:
    runners, faults = decoded(RUNNERS)
    assert faults.found == []
    assert [r.name for r in runners] == ["h100", "rest"]
    assert (runners[0].runs_on, runners[0].gpus) == (("self-hosted", "h100"), 1)
    assert (runners[1].price_per_minute, runners[1].gpus, runners[1].minutes) == (0, 0, 3)
    assert runners[0].place.line == 2


def test_every_fault_of_runners_is_reported_at_its_place() -> None:
    text = """\
Bad_Name: {runs_on: ["${{ secrets.X }}"], gpus: 1.5, price_per_minute: -1, colour: red}
none: {runs_on: []}
lost: {gpus: 1, when: {acelerator: cpu}}
"""
    _, faults = decoded(text)
    messages = [f"{f.line}: {f.message}" for f in faults.found]
    for expected in (
        "1: 'Bad_Name' is not a runner name",
        "1: '${{ secrets.X }}' is not a runner label",
        "1: expected a whole number of GPUs",
        "1: expected a number above zero",
        "1: unknown key 'colour'",
        "3: missing key 'runs_on'",
        "3: unknown axis 'acelerator'",
    ):
        assert any(expected in message for message in messages), (expected, messages)


def test_a_runner_without_labels_is_a_fault() -> None:
    assert "at least one label" in decoded("none: {runs_on: []}\n")[1].found[0].message


def test_times_survive_a_record_and_older_records_have_none() -> None:
    for seconds in ({"build": 12.5, "test": 3.0}, {}):
        record = observation(CUDA, seconds)
        text = canonical(encode_observation(record))
        assert (b"seconds" in text) == bool(seconds)
        assert decode_observation(text).seconds == seconds


@pytest.mark.parametrize("bad", [{"test": -1}, {"test": "1"}, {"rest": 1}, {"test": 1e12}, [1]])
def test_a_record_with_bad_times_is_refused(bad: object) -> None:
    document = {**encode_observation(observation(CUDA, {})), "seconds": bad}
    with pytest.raises(ValueError, match=r"seconds|observation record"):
        decode_observation(canonical(document))
