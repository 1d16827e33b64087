"""Laws of the matrix language, for any matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from wheelgrid.core.axis import Axis, AxisValue, Role
from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.condition import Condition, Pattern
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.grid import Derived, Entry, Exclusion, Otherwise, Rule, Table, TableRow
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


def zipped(draw: st.DrawFn, given_axes: tuple[Axis, ...]) -> tuple[tuple[str, ...], ...]:
    """Perhaps a zip of the axes that are as long as the first."""
    names = [a.name for a in given_axes if len(a.values) == len(given_axes[0].values)]
    return (tuple(names),) if len(names) > 1 and draw(st.booleans()) else ()


def derived(draw: st.DrawFn, names: list[str]) -> tuple[Derived, ...]:
    rows = draw(st.lists(st.tuples(partial_rows, st.sampled_from(VALUES)), max_size=3))
    return (
        Derived(
            name="d",
            rows=tuple(
                (condition({k: v for k, v in row.items() if k in names}), value)
                for row, value in rows
            ),
            otherwise=draw(st.sampled_from([None, "else"])),
            must_fit=False,
        ),
    )


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Axes, zipped or not, with exclusions, a table, rules, whole rows, includes and more."""
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
        zips=zipped(draw, given_axes),
        derived=derived(draw, names),
        exclusions=exclusions(draw(st.lists(partial_rows, max_size=4)), set(names)),
        tables=tables(draw, names) if draw(st.booleans()) else (),
        rules=rules,
        rules_otherwise=draw(st.sampled_from([Otherwise.KEEP, Otherwise.DROP])),
        add=entries(add),
        include=entries(draw(st.lists(rows_with_more, max_size=3))),
    )


def made(matrix: Matrix) -> Decided:
    return decide(matrix, NOTHING, as_of=date(2026, 12, 1))


class Reference:
    """The language in plain loops over plain rows, as its documentation says it."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix

    @staticmethod
    def fits(row: dict[str, str], when: Condition) -> bool:
        return all(row.get(axis) in {p.text for p in ps} for axis, ps in when.patterns)

    def candidates(self) -> list[dict[str, str]]:
        columns = {axis.name: axis.texts for axis in self.matrix.axes}
        rows = [dict(zip(columns, values, strict=True)) for values in product(*columns.values())]
        for group in self.matrix.zips:
            together = set(zip(*(columns[name] for name in group), strict=True))
            rows = [row for row in rows if tuple(row[name] for name in group) in together]
        whole = [{name: v.text for name, v in entry.values.items()} for entry in self.matrix.add]
        return rows + whole

    def excluded(self, row: dict[str, str]) -> bool:
        matrix = self.matrix
        if any(self.fits(row, exclusion.when) for exclusion in matrix.exclusions):
            return True
        for table in matrix.tables:
            first = next((r for r in table.rows if self.fits(row, r.when)), None)
            if first is None and table.otherwise is Otherwise.DROP:
                return True
            if first and row[table.axis] not in {p.text for p in first.values}:
                return True
        if not matrix.rules:
            return False
        rule = next((r for r in matrix.rules if self.fits(row, r.when)), None)
        return matrix.rules_otherwise is Otherwise.DROP if rule is None else not rule.include

    def cells(self) -> list[dict[str, object]]:
        originals = [row for row in self.candidates() if not self.excluded(row)]
        keys = {axis.name for axis in self.matrix.axes}
        extras: list[dict[str, str]] = [{} for _ in originals]
        appended = []
        for entry in self.matrix.include:
            values = {name: value.text for name, value in entry.values.items()}
            taken = False
            for row, extra in zip(originals, extras, strict=True):
                if all(row.get(n) == v for n, v in values.items() if n in keys or n in row):
                    extra.update({n: v for n, v in values.items() if n not in row})
                    taken = True
            if not taken:
                appended.append(values)
        rows = list(zip(originals, extras, strict=True)) + [(row, {}) for row in appended]
        return [{**row, **extra, **self.attributes(row)} for row, extra in rows]

    def attributes(self, row: dict[str, str]) -> dict[str, object]:
        found = {
            one.name: next((v for when, v in one.rows if self.fits(row, when)), one.otherwise)
            for one in self.matrix.derived
        }
        return {name: value for name, value in found.items() if value is not None}


def repr_of(row: Mapping[str, object]) -> str:
    return repr(sorted(row.items()))


@given(matrices())
@settings(max_examples=300)
def test_plain_loops_over_plain_rows_give_the_same_cells(matrix: Matrix) -> None:
    decided = made(matrix)
    points = [decided.point(number) for number in decided.numbers()]
    ours = [{**point.values, **extra} for point, extra in points]
    theirs = Reference(matrix).cells()
    order = Reference(matrix).candidates()
    assert sorted(map(repr_of, ours)) == sorted(map(repr_of, theirs))
    kept = [row for row in order if not Reference(matrix).excluded(row)]
    assert [point.values for point, _ in points[: len(kept)]] == kept


@given(matrices(), st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_the_order_of_exclusions_and_of_tables_changes_nothing(
    matrix: Matrix, random: Random
) -> None:
    shuffled = list(matrix.exclusions)
    random.shuffle(shuffled)
    other = replace(matrix, exclusions=tuple(shuffled), tables=matrix.tables[::-1])
    assert made(other).kept == made(matrix).kept


@given(matrices(), st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_first_match_rows_that_never_meet_may_change_places(matrix: Matrix, random: Random) -> None:
    axis = matrix.axes[0]
    rows = [
        TableRow(when=condition({axis.name: value}), values=(Pattern(axis.name, value, Role.TEXT),))
        for value in axis.texts
    ]
    table = Table(
        id="t2",
        axis=axis.name,
        rows=tuple(rows),
        otherwise=Otherwise.KEEP,
        reason="r",
        source=SOURCE,
    )
    random.shuffle(rows)
    shuffled = replace(table, rows=tuple(rows))
    first, second = replace(matrix, tables=(table,)), replace(matrix, tables=(shuffled,))
    assert made(first).kept == made(second).kept


@given(matrices(), partial_rows, st.booleans())
@settings(max_examples=100)
def test_what_comes_after_a_rule_for_every_cell_is_never_asked(
    matrix: Matrix, row: dict[str, str], include: bool
) -> None:
    every = Rule(id="all", when=Condition(), include=include, reason="r", source=SOURCE)
    names = {axis.name for axis in matrix.axes}
    late = Rule(
        id="late",
        when=condition({k: v for k, v in row.items() if k in names}),
        include=not include,
        reason="r",
        source=SOURCE,
    )
    until = replace(matrix, rules=(*matrix.rules, every))
    assert made(replace(until, rules=(*until.rules, late))).kept == made(until).kept


@given(matrices())
@settings(max_examples=100)
def test_an_id_finds_its_candidate(matrix: Matrix) -> None:
    decided = made(matrix)
    for number in range(decided.size):
        cell = decided.decision(number).cell
        assert isinstance(cell, Row)
        assert Row.parse(cell.id) == cell
        found = decided.find({name: cell.axis(name) for name in cell.values})
        assert found is not None
        assert decided.decision(found).cell.id == cell.id


@given(matrices())
@settings(max_examples=100)
def test_an_attribute_that_must_follow_is_missing_only_with_a_fault(matrix: Matrix) -> None:
    strict = tuple(replace(one, otherwise=None, must_fit=True) for one in matrix.derived)
    decided = made(replace(matrix, derived=strict))
    missing = [n for n in decided.numbers() if "d" not in decided.point(n)[1]]
    assert bool(decided.faults()) is bool(missing)


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
