"""The small values: spellings, order, ids, labels."""

from __future__ import annotations

from datetime import date

import pytest
from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.build import local_label
from wheelgrid.core.cell import Cell
from wheelgrid.core.condition import Condition
from wheelgrid.core.errors import (
    BadInputError,
    BuildError,
    CouldNotCheckError,
    ExitCode,
    Fault,
    WheelgridError,
)
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.lifecycle import Stage, StageName, Sunset
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Abi
from wheelgrid.core.resources import compile_jobs
from wheelgrid.core.rung import Outcome, Rung, RungResult

CELL = Cell.parse("torch2.14.1-cp313-linux_x86_64-cuda13.0")


@pytest.mark.parametrize(
    ("text", "tag"),
    [("3.10", "cp310"), ("3.9", "cp39"), ("3.14t", "cp314t"), ("3.15", "cp315")],
)
def test_python_versions_keep_their_digits(text: str, tag: str) -> None:
    version = PythonVersion.parse(text)
    assert (str(version), version.tag) == (text, tag)
    assert PythonVersion.from_tag(tag) == version


def test_python_3_10_is_newer_than_3_9_and_older_than_its_free_threaded_sibling() -> None:
    order = ["3.14t", "3.9", "3.14", "3.10"]
    assert [str(v) for v in sorted(map(PythonVersion.parse, order))] == [
        "3.9",
        "3.10",
        "3.14",
        "3.14t",
    ]


@pytest.mark.parametrize("text", ["3", "3.1.2", "py3", "3.14T", "", "3.13 ", "cp313", "pypy3.10"])
def test_other_python_spellings_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a Python version"):
        PythonVersion.parse(text)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("cpu", "cpu"),
        ("cuda12.6", "cu126"),
        ("cuda13.0", "cu130"),
        ("rocm7.14", "rocm7.14"),
        ("xpu2026.1", "xpu"),
        ("mps", ""),
    ],
)
def test_accelerators_print_what_they_read_and_have_pytorchs_label(text: str, label: str) -> None:
    accelerator = Accelerator.parse(text)
    assert (str(accelerator), accelerator.label) == (text, label)


def test_cuda_12_10_is_newer_than_12_4() -> None:
    """Public case M17: compared as text, the answer would be the opposite."""
    assert Accelerator.parse("cuda9.2") < Accelerator.parse("cuda12.4")
    assert not Accelerator.parse("cuda12.10") < Accelerator.parse("cuda12.4")


@pytest.mark.parametrize("text", ["cu130", "cuda130", "rocm714", "cuda", "cpu1.0", "CUDA13.0", ""])
def test_compact_and_unknown_accelerators_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an accelerator"):
        Accelerator.parse(text)


def test_the_cell_id_keeps_dots_and_reads_back() -> None:
    assert CELL.id == "torch2.14.1-cp313-linux_x86_64-cuda13.0"
    assert Cell.parse(CELL.id) == CELL
    assert CELL.torch_minor == "2.14"


@pytest.mark.parametrize(
    "text",
    [
        "torch2.14.1-cp313-linux_x86_64",
        "torch2.14.1-py313-linux_x86_64-cpu",
        "torch2.14.1-cp313-solaris-cpu",
        "torch2.14.1-cp313-linux_x86_64-cu130",
        "torchx-cp313-linux_x86_64-cpu",
    ],
)
def test_wrong_cell_ids_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Cell.parse(text)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({}, True),
        ({"torch": (">=2.14",)}, True),
        ({"torch": (">=2.15",)}, False),
        ({"torch": ("==2.14.*",)}, True),
        ({"torch": ("2.14.1",)}, True),
        ({"torch": ("2.14",)}, False),
        ({"python": (">=3.9",)}, True),
        ({"python": ("3.1*",)}, True),
        ({"accelerator": ("cuda*",)}, True),
        ({"accelerator": ("cuda>=13.0",)}, True),
        ({"accelerator": ("cuda<13",)}, False),
        ({"accelerator": ("rocm<99",)}, False),
        ({"accelerator": ("cpu", "cuda13.0")}, True),
        ({"platform": ("linux_*",), "python": ("3.12",)}, False),
    ],
)
def test_conditions_compare_versions_as_versions(
    when: dict[str, tuple[str, ...]], *, expected: bool
) -> None:
    assert Condition.of(when).matches(CELL) is expected


def test_a_full_patch_version_is_no_condition_on_its_line() -> None:
    """Public case M16: a range holds for every patch of the line."""
    bumped = Cell.parse("torch2.14.2-cp313-linux_x86_64-cuda13.0")
    line = Condition.of({"torch": ("==2.14.*",)})
    assert line.matches(CELL)
    assert line.matches(bumped)


def test_conditions_refuse_unknown_axes_and_bad_ranges() -> None:
    with pytest.raises(ValueError, match="unknown axis"):
        Condition.of({"pyton": ("3.11",)})
    with pytest.raises(ValueError, match="not a version range"):
        Condition.of({"torch": (">=two",)})


def test_labels_sort_as_numbers() -> None:
    """Public case V04: with the dots deleted, 2.10 would sort below 2.8."""
    cuda = Accelerator.parse("cuda13.0")
    old, new = (local_label(Abi.LIBTORCH, cuda, Version(v)) for v in ("2.9.1", "2.14.0"))
    assert (old, new) == ("cu130torch2.9", "cu130torch2.14")
    assert Version(f"0.2+{old}") < Version(f"0.2+{new}")


def test_labels_name_only_what_the_binary_is_tied_to() -> None:
    cuda = Accelerator.parse("cuda13.0")
    assert local_label(Abi.LIBTORCH_STABLE, cuda, Version("2.13")) == "cu130"
    assert local_label(Abi.NONE, cuda, None) == ""
    assert local_label(Abi.PURE, cuda, None) == ""


@pytest.mark.parametrize(
    ("platform", "tag", "fits"),
    [
        (Platform.LINUX_X86_64, "manylinux_2_28_x86_64", True),
        (Platform.LINUX_X86_64, "manylinux_2_28_aarch64", False),
        (Platform.LINUX_X86_64, "musllinux_1_2_x86_64", False),
        (Platform.LINUX_X86_64, "linux_x86_64", True),
        (Platform.WIN_AMD64, "win_amd64", True),
        (Platform.WIN_AMD64, "win32", False),
        (Platform.MACOSX_ARM64, "macosx_14_0_arm64", True),
        (Platform.MACOSX_ARM64, "macosx_11_0_universal2", True),
        (Platform.MACOSX_ARM64, "macosx_11_0_x86_64", False),
        (Platform.MACOSX_ARM64, "any", True),
    ],
)
def test_wheel_platforms_fit_cells(platform: Platform, tag: str, *, fits: bool) -> None:
    assert platform.matches_wheel_platform(tag) is fits


def test_hosts_that_are_on_no_axis_have_no_platform() -> None:
    assert Platform.of_host("Linux", "x86_64") is Platform.LINUX_X86_64
    assert Platform.of_host("Linux", "riscv64") is None


@pytest.mark.parametrize(
    ("cores", "memory_gb", "reserve", "jobs"),
    [(32, 64, 0.0, 3), (32, 64, 0.2, 2), (96, 850, 0.0, 42), (96, 850, 0.2, 34), (2, 1, 0.2, 1)],
)
def test_compile_jobs_leave_a_margin(cores: int, memory_gb: int, reserve: float, jobs: int) -> None:
    """Public cases B01 and B02: 5 GB for each of 4 nvcc threads."""
    found = compile_jobs(
        cores=cores,
        memory_mib=memory_gb * 1000,
        per_thread_mib=5000,
        threads=4,
        reserve=reserve,
    )
    assert found == jobs


def test_a_rung_that_did_not_pass_must_say_why() -> None:
    with pytest.raises(ValueError, match="without a reason"):
        RungResult(rung=Rung.BUILT, outcome=Outcome.SKIPPED)


def _sunset() -> Sunset:
    source = Source(id="s", kind=Kind.CLAIM, source="https://example.org", date="2026-09-16")
    stages = (
        Stage(name=StageName.ANNOUNCED, on=date(2026, 9, 16), precision="day", source=source),
        Stage(name=StageName.NIGHTLIES_END, on=date(2026, 9, 21), precision="week", source=source),
        Stage(name=StageName.END_OF_LIFE, on=date(2026, 10, 31), precision="day", source=source),
    )
    return Sunset(
        id="python-3.10",
        axis="python",
        value="3.10",
        gone=Condition.of({"torch": (">=2.15",)}),
        last_release="2.14",
        reason="end of life",
        action="move on",
        stages=stages,
    )


@pytest.mark.parametrize(
    ("day", "stage", "ahead"),
    [
        ("2026-09-15", None, StageName.ANNOUNCED),
        ("2026-09-16", StageName.ANNOUNCED, StageName.NIGHTLIES_END),
        ("2026-09-25", StageName.NIGHTLIES_END, StageName.END_OF_LIFE),
        ("2026-12-01", StageName.END_OF_LIFE, None),
    ],
)
def test_sunset_stages_follow_the_day_that_is_given(
    day: str, stage: StageName | None, ahead: StageName | None
) -> None:
    as_of = date.fromisoformat(day)
    now, then = _sunset().stage(as_of), _sunset().next_stage(as_of)
    assert (now and now.name, then and then.name) == (stage, ahead)


def test_a_sunset_removes_only_cells_that_carry_its_value_and_come_after() -> None:
    sunset = _sunset()
    assert sunset.removes(Cell.parse("torch2.15.0-cp310-linux_x86_64-cpu"))
    assert not sunset.removes(Cell.parse("torch2.14.1-cp310-linux_x86_64-cpu"))
    assert not sunset.removes(Cell.parse("torch2.15.0-cp311-linux_x86_64-cpu"))
    assert sunset.stages[2].days_left(date(2026, 10, 1)) == 30


def test_exit_codes_are_unique_and_each_error_owns_one() -> None:
    assert len({int(code) for code in ExitCode}) == len(list(ExitCode))
    owned: list[type[WheelgridError]] = [
        BadInputError,
        BuildError,
        CouldNotCheckError,
    ]
    assert [e.exit_code for e in owned] == [2, 1, 3]


def test_faults_are_listed_in_the_order_of_the_file() -> None:
    late = Fault(file="a.yaml", line=9, column=1, message="second")
    early = Fault(file="a.yaml", line=2, column=5, message="first", hint="try this")
    text = str(BadInputError([late, early]))
    assert text == "a.yaml:2:5: first\n    hint: try this\na.yaml:9:1: second"


def test_family_versions() -> None:
    assert [f for f in Family if f.has_version] == [Family.CUDA, Family.ROCM, Family.XPU]
