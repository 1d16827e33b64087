"""What the language reads: values, roles, channels, rows and attributes, and its faults."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from wheelgrid.config.files import Project
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.yaml import Faults
from wheelgrid.core.errors import BadInputError
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix
from wheelgrid.planning.checks import dead_conditions, refused
from wheelgrid.planning.plan import Plan, make_plan

DAY = date(2026, 12, 1)
BASIS = "reason: r, source: s, date: '2026-12-01'"


class Folder:
    """A folder of matrix files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def matrix(self, text: str, channel: str = "") -> Matrix:
        self.write("matrix.yaml", f'schema: "1"\nname: m\n{text}')
        faults = Faults()
        found = load_matrix(Project(self.path), faults, channel=channel)
        faults.check()
        assert found is not None
        return found

    def plan(self, text: str, channel: str = "") -> Plan:
        matrix = self.matrix(text, channel)
        if found := refused(matrix, {}, DAY):
            raise BadInputError(found)
        return make_plan(matrix, {}, Knowledge(torch={}, accelerators={}), as_of=DAY)

    def cells(self, text: str, channel: str = "") -> list[dict[str, object]]:
        decided = self.plan(text, channel).decided
        points = [decided.point(number) for number in decided.numbers()]
        return [{**point.values, **extra} for point, extra in points]

    def faults(self, text: str, channel: str = "") -> str:
        with pytest.raises(BadInputError) as caught:
            self.plan(text, channel)
        return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_objects_of_one_name_are_told_apart_by_all_they_say(folder: Folder) -> None:
    text = "axes: {os: [{name: linux, arch: x64}, {name: linux, arch: arm64}]}\n"
    assert folder.cells(text) == [
        {"os": {"name": "linux", "arch": "x64"}},
        {"os": {"name": "linux", "arch": "arm64"}},
    ]
    kept = folder.cells(text + f"exclude: [{{id: x, when: {{os: {{arch: arm64}}}}, {BASIS}}}]\n")
    assert kept == [{"os": {"name": "linux", "arch": "x64"}}]
    twice = "axes: {os: [{name: linux, arch: x64}, {name: linux, arch: x64}]}\n"
    assert "is listed twice" in folder.faults(twice)


def test_a_list_is_a_value_as_it_is_for_github(folder: Folder) -> None:
    text = "axes: {runs-on: [[self-hosted, gpu], ubuntu-24.04]}\n"
    assert folder.cells(text) == [{"runs-on": ["self-hosted", "gpu"]}, {"runs-on": "ubuntu-24.04"}]


def test_an_include_row_names_an_object_whole(folder: Folder) -> None:
    text = (
        "axes: {os: [{name: linux, arch: x64}, {name: linux, arch: arm64}]}\n"
        "include: [{os: {name: linux, arch: arm64}, slow: true}]\n"
    )
    assert [cell.get("slow") for cell in folder.cells(text)] == [None, True]


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ('"<3.12"', ["3.12", "3.13t"]),
        ('">=3.13"', ["3.11", "3.12"]),
        ('"3.13*"', ["3.11", "3.12"]),
        ('"!3.13t"', ["3.13t"]),
    ],
)
def test_a_free_threaded_python_compares_on_any_axis(
    folder: Folder, pattern: str, kept: list[str]
) -> None:
    text = (
        'axes: {python-version: ["3.11", "3.12", "3.13t"]}\n'
        f"exclude: [{{id: x, when: {{python-version: {pattern}}}, {BASIS}}}]\n"
    )
    assert [cell["python-version"] for cell in folder.cells(text)] == kept


def test_a_value_fits_itself_whatever_it_looks_like(folder: Folder) -> None:
    text = (
        'axes: {spec: ["torch[cuda]", ">=2.14", "3.10.* *_cpython", plain]}\n'
        'exclude: [{id: x, when: {spec: ["torch[cuda]", ">=2.14", "3.10.* *_cpython"]}, '
        f"{BASIS}}}]\n"
    )
    assert [cell["spec"] for cell in folder.cells(text)] == ["plain"]


def test_an_empty_list_of_patterns_is_a_fault_and_an_empty_list_of_values_keeps_none(
    folder: Folder,
) -> None:
    axes = "axes: {os: [a, b], cuda: ['12.6', '13.0']}\n"
    empty = folder.faults(f"{axes}exclude: [{{id: x, when: {{os: []}}, {BASIS}}}]\n")
    assert "exclude[0].when.os: is an empty list, which fits nothing" in empty
    rows = "rows: [{when: {os: a}, values: []}, {values: '*'}]"
    table = f"tables: [{{id: t, axis: cuda, {rows}, {BASIS}}}]\n"
    assert {cell["os"] for cell in folder.cells(axes + table)} == {"b"}


def test_a_value_of_another_kind_is_told_how_to_be_free(folder: Folder) -> None:
    text = "axes: {platform: [linux, windows], python: ['3.10.* *_cpython']}\n"
    said = folder.faults(text)
    assert "unknown platform 'linux'" in said
    assert said.count("for values of another kind give the axis `role: text`") == 3
    free = (
        "axes: {platform: {role: text, values: [linux, windows]}, "
        "python: {role: text, values: ['3.10.* *_cpython']}}\n"
    )
    assert len(folder.cells(free)) == 2


def test_whole_rows_have_roles_by_name_unless_roles_says_otherwise(folder: Folder) -> None:
    rows = "add: [{platform: linux, torch: '2.14.0'}, {platform: windows, torch: '2.14.0'}]\n"
    assert "unknown platform 'linux'" in folder.faults(rows)
    assert len(folder.cells(rows + "roles: {platform: text}\n")) == 2
    assert "no row has a key 'plattform'" in folder.faults(rows + "roles: {plattform: text}\n")
    axis = "axes: {platform: {role: text, values: [linux]}}\nroles: {platform: text}\n"
    assert "'platform' is an axis" in folder.faults(axis)


def test_four_axes_without_their_roles_are_no_stack(folder: Folder) -> None:
    text = (
        "axes: {torch: ['2.14.0'], python: ['3.13'], accelerator: [cpu], "
        "platform: {role: text, values: [linux]}}\n"
    )
    plan = folder.plan(text)
    assert not plan.matrix.is_stack
    assert plan.points[0].id == "torch=2.14.0,python=3.13,accelerator=cpu,platform=linux"


CHANNELS = (
    "channels:\n  release: {}\n"
    "  nightly: {cuda: ['13.0', '13.4'], "
    f"exclude: [{{id: late, when: {{cuda: '13.4', os: windows}}, {BASIS}}}], "
    "add: [{os: macos}], include: [{os: macos, runner: big}]}\n"
    "axes: {os: [linux, windows], cuda: ['12.6', '13.0']}\n"
)


def test_a_channel_brings_values_rules_and_rows_of_its_own(folder: Folder) -> None:
    assert len(folder.cells(CHANNELS)) == 4
    assert folder.cells(CHANNELS, "nightly") == [
        {"os": "linux", "cuda": "13.0"},
        {"os": "linux", "cuda": "13.4"},
        {"os": "windows", "cuda": "13.0"},
        {"os": "macos", "runner": "big"},
    ]


def test_a_channel_may_be_rows_alone(folder: Folder) -> None:
    text = (
        "channels:\n  pull-request: {add: [{PY_VER: '3.12'}]}\n"
        "  nightly: {add: [{PY_VER: ['3.12', '3.13']}]}\n"
    )
    assert folder.cells(text) == [{"PY_VER": "3.12"}]
    assert len(folder.cells(text, "nightly")) == 2


def test_faults_of_every_channel_are_reported(folder: Folder) -> None:
    text = (
        "axes: {os: [a, b], image: [x, y]}\nzip: [[os, image]]\n"
        "channels: {one: {}, two: {os: [a]}, three: {system: [a]}, "
        f"four: {{exclude: [{{id: x, when: {{oss: a}}, {BASIS}}}]}}}}\n"
    )
    said = folder.faults(text)
    assert "zipped axes need equally many values: os has 1, image has 2 in channel 'two'" in said
    assert "unknown axis 'system'" in said
    assert "unknown axis 'oss'" in said


def test_a_value_keeps_its_attributes_in_every_channel(folder: Folder) -> None:
    text = (
        "axes: {gpu: [{value: h100, arch: sm_90}, {value: l4, arch: sm_89}]}\n"
        "channels: {all: {}, few: {gpu: [h100, b200]}}\n"
        f"exclude: [{{id: x, when: {{gpu: {{arch: sm_90}}}}, {BASIS}}}]\n"
    )
    assert folder.cells(text, "few") == [{"gpu": "b200"}]


def test_a_rule_that_only_another_channel_needs_is_alive(folder: Folder) -> None:
    text = (
        "axes: {os: [a, b]}\nchannels: {release: {}, nightly: {os: [a, b, c]}}\n"
        f"exclude: [{{id: x, when: {{os: c}}, {BASIS}}}]\n"
    )
    assert len(folder.cells(text)) == len(folder.cells(text, "nightly")) == 2
    assert "fits no cell" in folder.faults(text.replace("os: c}", "os: d}"))


def test_channels_of_files_are_joined_axis_by_axis(folder: Folder) -> None:
    folder.write("pythons.yaml", "axes: {py: [a, b]}\nchannels: {all: {}, new: {py: [b, c]}}\n")
    text = "import: [pythons.yaml]\naxes: {cuda: [x]}\nchannels: {new: {cuda: [x, y]}}\n"
    assert len(folder.cells(text)) == 2
    assert [tuple(c.values()) for c in folder.cells(text, "new")] == [
        ("b", "x"),
        ("b", "y"),
        ("c", "x"),
        ("c", "y"),
    ]


def test_a_shared_rule_may_have_nothing_to_do_here(folder: Folder) -> None:
    rule = f"exclude: [{{id: x, when: {{os: solaris}}, {BASIS}}}]\n"
    folder.write("shared.yaml", rule + "derive: {small: {rows: [{value: true}]}}\n")
    text = "import: [shared.yaml]\naxes: {os: [linux]}\n"
    assert folder.cells(text) == [{"os": "linux", "small": True}]
    assert len(dead_conditions(folder.matrix(text), {})) == 1
    own = f"exclude: [{{id: y, when: {{os: solaris}}, {BASIS}}}]\n"
    assert "fits no cell" in folder.faults(text + own)


def test_an_id_names_one_rule_in_all_lists_and_files(folder: Folder) -> None:
    folder.write("shared.yaml", f"exclude: [{{id: x, when: {{os: a}}, {BASIS}}}]\n")
    axes = "axes: {os: [a, b]}\n"
    rules = f"rules: [{{id: x, when: {{os: b}}, then: include, {BASIS}}}]\n"
    assert "the id 'x' is used twice" in folder.faults("import: [shared.yaml]\n" + axes + rules)


def test_include_decorates_whole_rows_too(folder: Folder) -> None:
    text = (
        "axes: {os: [a], v: ['1']}\nadd: [{os: b, v: '2', extra: x}, {os: c}]\n"
        "include: [{os: b, runner: big}, {extra: y, seen: true}, {os: c, v: '9'}]\n"
    )
    assert folder.cells(text) == [
        {"os": "a", "v": "1", "extra": "y", "seen": True},
        {"os": "b", "v": "2", "extra": "x", "runner": "big"},
        {"os": "c", "extra": "y", "seen": True},
        {"os": "c", "v": "9"},
    ]


def test_a_fault_in_a_row_is_reported_once(folder: Folder) -> None:
    said = folder.faults("add: [{os: a, os: b}, {v: 1}]\ninclude: [{os: a, w: 2}]\n")
    assert said.count("duplicate key 'os'") == 1
    assert said.count("is read as the number") == 2


def test_the_id_of_a_row_does_not_depend_on_how_it_is_written(folder: Folder) -> None:
    plan = folder.plan("axes: {os: [a], v: ['1']}\nadd: [{note: x, v: '2', os: b}]\n")
    assert [point.id for point in plan.points] == ["os=a,v=1", "os=b,v=2,note=x"]


def test_a_derived_attribute_holds_any_data_and_must_reach_included_rows(folder: Folder) -> None:
    text = (
        "axes: {os: [a, b]}\nderive:\n"
        "  archs: {rows: [{when: {os: a}, value: [sm_80, sm_90]}], otherwise: []}\n"
        "  fast: {rows: [{when: {os: a}, value: true}], otherwise: omit}\n"
    )
    assert folder.cells(text) == [
        {"os": "a", "archs": ["sm_80", "sm_90"], "fast": True},
        {"os": "b", "archs": []},
    ]
    strict = "axes: {os: [a]}\nderive: {x: {rows: [{when: {os: a}, value: y}]}}\n"
    assert folder.cells(strict) == [{"os": "a", "x": "y"}]
    said = folder.faults(strict + "include: [{os: z}]\n")
    assert "derive.x: no row fits 1 cells, for example os=z" in said
