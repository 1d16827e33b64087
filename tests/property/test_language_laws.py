"""Laws of the matrix language, for any matrix."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from wheelgrid.core.axis import Axis, AxisValue, Role
from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.condition import Condition, Pattern
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.grid import Entry, Exclusion, Otherwise, Rule, Table, TableRow
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix
from wheelgrid.importers.github_cells import expand as github
from wheelgrid.planning.decide import Decided, decide
from wheelgrid.planning.listing import listing
from wheelgrid.planning.space import Space

NAMES = ("a", "b", "c")
VALUES = ("1", "2", "3")
SOURCE = Source(id="s", kind=Kind.POLICY, source="s", date="2026-12-01")
NOTHING = Knowledge(torch={}, accelerators={})
ROLES = dict.fromkeys(NAMES, Role.TEXT)

axes = st.lists(
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True),
    min_size=1,
    max_size=3,
).map(
    lambda lists: tuple(
        Axis(name=name, values=tuple(map(AxisValue, values)))
        for name, values in zip(NAMES, lists, strict=False)
    )
)
partial_rows = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES), min_size=1)
rows_with_more = st.dictionaries(
    st.sampled_from((*NAMES, "x", "y")), st.sampled_from(VALUES), min_size=1, max_size=4
)


def condition(row: dict[str, str]) -> Condition:
    return Condition.of({axis: (value,) for axis, value in row.items()}, ROLES)


def exclusions(rows: list[dict[str, str]], names: set[str]) -> tuple[Exclusion, ...]:
    kept = [{k: v for k, v in row.items() if k in names} for row in rows]
    return tuple(
        Exclusion(id=f"e{i}", when=condition(row), reason="r", source=SOURCE)
        for i, row in enumerate(kept)
        if row
    )


def entries(rows: list[dict[str, str]]) -> tuple[Entry, ...]:
    return tuple(Entry(values={k: AxisValue(v) for k, v in row.items()}) for row in rows)


def tables(draw: st.DrawFn, names: list[str]) -> tuple[Table, ...]:
    axis = draw(st.sampled_from(names))
    found = [
        TableRow(
            when=condition({k: v for k, v in row.items() if k in names}),
            values=tuple(Pattern(axis, v, Role.TEXT) for v in values),
        )
        for row, values in draw(
            st.lists(st.tuples(partial_rows, st.lists(st.sampled_from(VALUES))), max_size=3)
        )
    ]
    return (
        Table(
            id="t",
            axis=axis,
            rows=tuple(found),
            otherwise=draw(st.sampled_from([Otherwise.KEEP, Otherwise.DROP])),
            reason="r",
            source=SOURCE,
        ),
    )


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Axes with exclusions, a table, rules, whole rows and includes."""
    given_axes = draw(axes)
    names = [axis.name for axis in given_axes]
    add = [
        {name: row.get(name, "9") for name in names}
        for row in draw(st.lists(partial_rows, max_size=2))
    ]
    rules = tuple(
        Rule(
            id=f"r{i}",
            when=condition({k: v for k, v in row.items() if k in names}),
            include=include,
            reason="r",
            source=SOURCE,
        )
        for i, (row, include) in enumerate(
            draw(st.lists(st.tuples(partial_rows, st.booleans()), max_size=3))
        )
    )
    return Matrix(
        name="m",
        title="m",
        axes=given_axes,
        exclusions=exclusions(draw(st.lists(partial_rows, max_size=4)), set(names)),
        tables=tables(draw, names) if draw(st.booleans()) else (),
        rules=rules,
        rules_otherwise=draw(st.sampled_from([Otherwise.KEEP, Otherwise.DROP])),
        add=entries(add),
        include=entries(draw(st.lists(rows_with_more, max_size=3))),
    )


def made(matrix: Matrix) -> Decided:
    return decide(matrix, NOTHING, as_of=date(2026, 12, 1))


@given(axes, st.lists(partial_rows, max_size=4), st.lists(rows_with_more, max_size=4))
@settings(max_examples=200)
def test_exclude_and_include_are_those_of_github(
    given_axes: tuple[Axis, ...], exclude: list[dict[str, str]], include: list[dict[str, str]]
) -> None:
    names = {axis.name for axis in given_axes}
    rules = exclusions(exclude, names)
    matrix = Matrix(
        name="m", title="m", axes=given_axes, exclusions=rules, include=entries(include)
    )
    decided = made(matrix)
    decisions = [decided.decision(number) for number in decided.numbers()]
    ours = [{**d.cell.values, **d.extra} for d in decisions]
    kept = [{k: v for k, v in row.items() if k in names} for row in exclude]
    theirs = github(
        {axis.name: list(axis.texts) for axis in given_axes},
        [row for row in kept if row],
        include,
    )
    assert ours == theirs


@given(matrices())
@settings(max_examples=200)
def test_sets_and_single_decisions_agree_and_the_sums_hold(matrix: Matrix) -> None:
    decided = made(matrix)
    by_set = {n: rule for (_, rule), mask in decided.excluded_by.items() for n in numbers(mask)}
    for number in range(decided.space.size):
        decision = decided.decision(number)
        head = decision.headline
        assert by_set.get(number) == (None if head is None else head.rule)
        assert bool(decided.kept >> number & 1) is decision.included
    excluded = sum(mask.bit_count() for mask in decided.excluded_by.values())
    assert excluded + decided.kept.bit_count() == decided.space.size
    assert decided.included_count == len(list(decided.numbers()))


def numbers(mask: int) -> list[int]:
    return [n for n in range(mask.bit_length()) if mask >> n & 1]


@given(matrices())
@settings(max_examples=100)
def test_the_list_names_every_candidate_in_order_with_its_headline(matrix: Matrix) -> None:
    decided = made(matrix)
    decisions = [decided.decision(number) for number in range(decided.size)]
    expected = [
        (d.cell.id, "included", "")
        if d.headline is None
        else (d.cell.id, str(d.headline.reason), d.headline.rule)
        for d in decisions
    ]
    assert list(listing(decided)) == expected


@given(matrices())
@settings(max_examples=100)
def test_numbers_and_candidates_are_inverse(matrix: Matrix) -> None:
    space = Space(matrix)
    for number, candidate in enumerate(space.candidates()):
        assert {k: v.text for k, v in space.candidate(number).values.items()} == {
            k: v.text for k, v in candidate.values.items()
        }
        values = {name: value.text for name, value in candidate.values.items()}
        found = space.number(values)
        assert found is not None
        assert found <= number


@given(matrices(), partial_rows)
@settings(max_examples=100)
def test_an_exclusion_never_adds_and_its_place_in_the_list_changes_nothing(
    matrix: Matrix, row: dict[str, str]
) -> None:
    plain = replace(matrix, include=())
    extra = exclusions([row], {axis.name for axis in matrix.axes})
    first = replace(plain, exclusions=extra + plain.exclusions)
    last = replace(plain, exclusions=plain.exclusions + extra)
    assert made(first).kept == made(last).kept
    assert made(first).kept & ~made(plain).kept == 0


@given(
    st.lists(
        st.tuples(st.text(min_size=1, max_size=8), st.text(max_size=12)),
        min_size=1,
        max_size=4,
        unique_by=lambda pair: pair[0],
    )
)
def test_row_ids_round_trip_whatever_the_values_are(pairs: list[tuple[str, str]]) -> None:
    clean = tuple(
        (n.encode("utf-8", "ignore").decode() or "n", v.encode("utf-8", "ignore").decode())
        for n, v in pairs
    )
    row = Row(pairs=clean)
    assert Row.parse(row.id) == row
    assert not set(row.id) & set(' \t\n"<>|*?\\/$`')
    cell = replace(Cell.parse("torch2.14.1-cp314t-linux_x86_64-rocm7.14"), free=clean)
    assert Cell.parse(cell.id) == cell
