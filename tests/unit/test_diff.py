"""What changes between two plans, and how it is told."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import date

import pytest

from wheelgrid.cli.diff_text import MAX_MARKDOWN, diff_lines, diff_markdown
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.grid import Removal
from wheelgrid.planning.diff import CellChange, Document, compare
from wheelgrid.planning.document import plan_document
from wheelgrid.planning.plan import Plan, make_plan

DAY = date(2026, 12, 1)


def without(plan: Plan, axis: str, value: str, *, reason: str = "", as_of: date = DAY) -> Document:
    """The plan document of a matrix that has lost a value."""
    axes = tuple(
        replace(a, values=tuple(v for v in a.values if v.text != value)) if a.name == axis else a
        for a in plan.matrix.axes
    )
    source = Source(id="r", kind=Kind.POLICY, source="the team", date="2026-12-01")
    removed = (Removal(axis=axis, value=value, reason=reason, source=source),) if reason else ()
    matrix = replace(plan.matrix, axes=axes, removed=removed)
    return plan_document(make_plan(matrix, plan.recipes, plan.knowledge, as_of=as_of))


def test_a_plan_does_not_differ_from_itself(plan: Plan) -> None:
    document = plan_document(plan)
    diff = compare(document, copy.deepcopy(document))
    assert not diff.changed
    assert diff.gained == diff.lost == diff.entering_sunset == ()
    assert "no cell, build or axis value differs" in "\n".join(diff_lines(diff, ()))


def test_a_removed_value_lists_its_cells_and_asks_for_a_reason(plan: Plan) -> None:
    """A maintainer asks why a torch row is dropped before agreeing."""
    before, after = plan_document(plan), without(plan, "torch", "2.13.0")
    diff = compare(before, after)
    gone = [c for c in plan.included if str(c.torch) == "2.13.0"]
    assert {change.id for change in diff.lost} == {c.id for c in gone}
    assert diff.unexplained == diff.lost
    assert diff.lost[0].why == "torch 2.13.0 left its axis, no reason given"
    assert diff.axes == (("torch", (), ("2.13.0",)),)
    assert all("torch2.13" in name or "-torch" not in name for name in diff.builds_removed)
    assert "lost without a reason" in diff_lines(diff, ())[-1]


def test_a_removal_with_a_reason_is_explained(plan: Plan) -> None:
    reason = "outside our support window of two lines"
    diff = compare(plan_document(plan), without(plan, "torch", "2.13.0", reason=reason))
    assert diff.unexplained == ()
    assert diff.lost[0].why == f"torch 2.13.0 left its axis: {reason}"


def test_the_way_back_mirrors_the_way_there(plan: Plan) -> None:
    before, after = plan_document(plan), without(plan, "python", "3.14t")
    there, back = compare(before, after), compare(after, before)
    assert {c.id for c in there.lost} == {c.id for c in back.gained}
    assert there.builds_removed == back.builds_added
    assert there.gained == back.lost == ()
    assert there.cost_before == back.cost_after


def test_a_build_that_serves_fewer_cells_is_a_change(plan: Plan) -> None:
    diff = compare(plan_document(plan), without(plan, "torch", "2.13.0"))
    changed = {
        change.id: {n: (a, b) for n, a, b in change.fields} for change in diff.builds_changed
    }
    fields = changed["regex-2026.9.3-cp312-linux_x86_64-any"]
    before, after = fields["cells served"]
    assert int(after) < int(before)


def test_a_stage_that_begins_between_two_days_is_shown(plan: Plan) -> None:
    early = make_plan(plan.matrix, plan.recipes, plan.knowledge, as_of=date(2026, 9, 25))
    late = make_plan(plan.matrix, plan.recipes, plan.knowledge, as_of=date(2026, 10, 6))
    diff = compare(plan_document(early), plan_document(late))
    assert not diff.changed
    cells = {c.id for c in diff.entering_sunset if c.code == "lifecycle.python-3.10"}
    assert cells == {c.id for c in plan.included if str(c.python) == "3.10"}


def test_markdown_is_cut_below_the_limit_and_says_how_much(plan: Plan) -> None:
    diff = compare(plan_document(plan), without(plan, "torch", "2.13.0"))
    lost = tuple(
        CellChange(id=f"os={'x' * 200},n={n}", code="axis", why=f"reason {n}") for n in range(900)
    )
    text = diff_markdown(replace(diff, lost=lost), ())
    assert len(text.encode()) < MAX_MARKDOWN + 200
    assert "lines are left out" in text


@pytest.mark.parametrize("value", ["<script>", "a|b", "`x`", "@someone", "[x](http://y)", "a\nb"])
def test_hostile_values_are_no_markup(plan: Plan, value: str) -> None:
    diff = compare(plan_document(plan), without(plan, "torch", "2.13.0"))
    lost = (CellChange(id=value, code="axis", why=value),)
    text = diff_markdown(replace(diff, lost=lost), ())
    assert value not in text
