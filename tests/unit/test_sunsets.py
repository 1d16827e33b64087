"""Sunsets on a day: stages, states, the two switches; and what they ask of releases."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.lifecycle import State, Sunset, build_ended
from wheelgrid.core.platforms import Platform
from wheelgrid.core.wheelname import read_name
from wheelgrid.planning.plan import Plan, make_plan
from wheelgrid.planning.releases import ReleasePlan, plan_releases
from wheelgrid.planning.sunsets import sunset_reports

DAY = date(2026, 12, 1)


@pytest.fixture
def old_python(plan: Plan) -> Sunset:
    return next(s for s in plan.knowledge.sunsets if s.id == "python-3.10")


def with_switches(plan: Plan, sunset: Sunset, *, as_of: date = DAY, **switches: object) -> Plan:
    changed = replace(sunset, **switches)  # type: ignore[arg-type]
    sunsets = tuple(changed if s.id == sunset.id else s for s in plan.knowledge.sunsets)
    knowledge = replace(plan.knowledge, sunsets=sunsets)
    return make_plan(plan.matrix, plan.recipes, knowledge, as_of=as_of)


@pytest.mark.parametrize(
    ("day", "state", "now", "ahead", "left"),
    [
        (date(2026, 9, 15), State.NOT_ANNOUNCED, None, "announced", 1),
        (date(2026, 9, 16), State.ANNOUNCED, "announced", "nightlies_end", 5),
        (date(2026, 9, 25), State.UNDER_WAY, "nightlies_end", "ci_removed", 3),
        (date(2026, 10, 30), State.UNDER_WAY, "branch_cut", "end_of_life", 1),
        (date(2026, 10, 31), State.COMPLETE, "end_of_life", None, None),
    ],
)
def test_the_day_alone_says_how_far_a_sunset_is(
    old_python: Sunset,
    day: date,
    state: State,
    now: str | None,
    ahead: str | None,
    left: int | None,
) -> None:
    stage, following = old_python.stage(day), old_python.next_stage(day)
    assert old_python.state(day) is state
    assert (stage and stage.name) == now
    assert (following and following.name) == ahead
    assert (following and following.days_left(day)) == left


def test_dropping_a_value_from_building_leaves_its_wheels_served(
    plan: Plan, old_python: Sunset
) -> None:
    """S05: two switches. No cp310 build is made any more; the cells and old wheels stay."""
    before = with_switches(plan, old_python, build_until=DAY)
    after = with_switches(plan, old_python, build_until=date(2026, 11, 30))

    def cells(of: Plan) -> set[str]:
        return {c.id for b in of.builds for c in b.cells if str(c.python) == "3.10"}

    assert cells(before)
    assert cells(after) == set()
    assert {c.id for c in after.included} == {c.id for c in before.included}
    old = next(c for c in after.included if str(c.python) == "3.10")
    assert after.gap(plan.matrix.packages[0], old) == (
        "python 3.10 is not built after 2026-11-30; wheels that are published stay as the last "
        "version"
    )
    [report] = [r for r in sunset_reports(after, within=0) if r.sunset.id == "python-3.10"]
    assert (report.built, report.served) == (False, True)


def test_a_build_for_several_pythons_no_longer_reaches_down_to_the_old_one(
    plan: Plan, old_python: Sunset
) -> None:
    after = with_switches(plan, old_python, build_until=date(2026, 1, 1))
    assert all(str(c.python) != "3.10" for b in after.builds for c in b.cells)
    served = {(b.package, c.id) for b in after.builds for c in b.cells}
    kept = {(b.package, c.id) for b in plan.builds for c in b.cells if str(c.python) != "3.10"}
    assert served == kept


@pytest.mark.parametrize(
    ("switches", "served"),
    [
        ({}, True),
        ({"serve": False}, False),
        ({"serve": False, "serve_until": date(2027, 1, 1)}, True),
        ({"serve_until": date(2026, 11, 1)}, False),
    ],
)
def test_serving_ends_only_where_it_is_said(
    old_python: Sunset, switches: dict[str, object], served: bool
) -> None:
    assert replace(old_python, **switches).is_served(DAY) is served  # type: ignore[arg-type]
    assert replace(old_python, serve=False).is_served(date(2026, 10, 30))


def test_only_cells_with_the_value_stop_being_built(plan: Plan, old_python: Sunset) -> None:
    ended = (replace(old_python, build_until=date(2026, 1, 1)),)
    for cell in plan.included:
        found = build_ended(ended, cell, DAY)
        assert (found is not None) == (str(cell.python) == "3.10")


LIFECYCLE = """\
sunsets:
  - id: a
    axis: python
    value: "3.10"
    applies_to: {torch: ">=2.15"}
    last_release: "2.14"
    serve: drop
    build_until: "2026-10-31"
    serve_until: "2027-01-31"
    reason: r
    action: a
    stages: []
"""


def test_the_switches_are_read_from_the_file_and_bad_days_are_faults(tmp_path: Path) -> None:
    (tmp_path / "compat").mkdir()
    path = tmp_path / "compat" / "lifecycle.yaml"
    path.write_text(LIFECYCLE, encoding="utf-8")
    faults = Faults()
    [sunset] = load_knowledge(Project(tmp_path), faults).sunsets
    faults.check()
    assert (sunset.serve, sunset.build_until) == (False, date(2026, 10, 31))
    assert sunset.serve_until == date(2027, 1, 31)
    path.write_text(LIFECYCLE.replace("2027-01-31", "2027-02-31"), encoding="utf-8")
    load_knowledge(Project(tmp_path), faults)
    assert [(f.line, "2027-02-31" in f.message) for f in faults.found] == [(9, True)]


def listed(name: str, requires: str = "", *, yanked: bool = False) -> ListedFile:
    return ListedFile(
        name=read_name(name),
        requires_python=requires,
        yanked="bad" if yanked else None,
        knows_python=True,
    )


def planned(sunset: Sunset, *files: ListedFile) -> ReleasePlan:
    found = plan_releases(files, "x", sunset, platform=Platform.LINUX_X86_64)
    assert found is not None
    return found


def test_merging_the_fix_is_not_enough(old_python: Sunset) -> None:
    """S04: N without Requires-Python, N+1 with >=3.11: pip on 3.10 takes N until it is yanked."""
    found = planned(
        old_python,
        listed("x-1.0-py3-none-any.whl", ">=3.8"),
        listed("x-1.1-py3-none-any.whl"),
        listed("x-1.2-py3-none-any.whl", ">=3.11"),
    )
    assert (found.publish, found.floor) == ("", ">=3.11")
    assert list(map(str, found.yank)) == ["1.1"]
    assert (found.before, found.published) == ("x-1.1-py3-none-any.whl",) * 2
    assert found.after == "x-1.0-py3-none-any.whl"


def test_before_the_fix_both_actions_are_named(old_python: Sunset) -> None:
    """S02: which releases that are out lack Requires-Python."""
    found = planned(old_python, listed("x-0.9.tar.gz"), listed("x-1.0.tar.gz"))
    assert list(map(str, found.lacking)) == ["0.9", "1.0"]
    assert (found.publish, list(map(str, found.yank))) == ("1.1", ["1.0"])
    assert (found.before, found.published, found.after) == (
        "x-1.0.tar.gz",
        "x-1.0.tar.gz",
        "x-0.9.tar.gz",
    )


def test_a_release_with_wheels_for_the_old_python_is_not_yanked(old_python: Sunset) -> None:
    found = planned(
        old_python,
        listed("x-1.0-cp310-cp310-manylinux_2_28_x86_64.whl"),
        listed("x-1.1-cp311-cp311-manylinux_2_28_x86_64.whl"),
        listed("x-1.1.tar.gz"),
    )
    assert list(map(str, found.yank)) == ["1.1"]
    assert found.after == "x-1.0-cp310-cp310-manylinux_2_28_x86_64.whl"


def test_nothing_is_to_do_where_every_release_says_its_range(old_python: Sunset) -> None:
    found = planned(old_python, listed("x-1.0.tar.gz", ">=3.8"), listed("x-1.1.tar.gz", ">=3.11"))
    assert not found.needs_action
    assert found.lacking == ()
    assert found.after == "x-1.0.tar.gz"


def test_yanked_files_and_other_projects_do_not_count(old_python: Sunset) -> None:
    found = planned(
        old_python,
        listed("x-1.1.tar.gz", yanked=True),
        listed("y-9.tar.gz"),
        listed("x-1.0.tar.gz", ">=3.11"),
    )
    assert (str(found.newest), found.lacking, found.after) == ("1.0", (), "nothing")
    files = (listed("y-1.tar.gz"),)
    assert plan_releases(files, "x", old_python, platform=Platform.LINUX_X86_64) is None


def test_names_alone_do_not_say_requires_python(old_python: Sunset) -> None:
    found = planned(old_python, ListedFile(name=read_name("x-1.0.tar.gz")))
    assert (list(map(str, found.unknown)), found.lacking, found.yank) == (["1.0"], (), ())
