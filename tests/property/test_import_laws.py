"""Laws of the importers: what is written expands to what the foreign tool would run."""

from __future__ import annotations

from datetime import date
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from wheelgrid.cli.import_check import cells_of, check
from wheelgrid.importers.conda import CondaOptions, import_conda
from wheelgrid.importers.document import pattern, quoted
from wheelgrid.importers.github import Options, import_workflow
from wheelgrid.importers.report import Imported, Json, canonical
from wheelgrid.importers.selectors import Selectors

DAY = date(2026, 12, 1)
NAMES = ("os", "python", "torch-version", "cuda", "platform")
TEXTS = st.sampled_from(
    ["a", "b", "c", "2.12.1", "2.12.2", "2.13.0", "3.10", "*", "!x", "<1", "[y]", "", "é #"]
)
OBJECTS = st.dictionaries(st.sampled_from(["p", "q"]), TEXTS, min_size=1, max_size=2)
VALUES: st.SearchStrategy[Json] = st.one_of(TEXTS, st.booleans(), OBJECTS)


@st.composite
def matrices(draw: st.DrawFn) -> dict[str, Json]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    axes = {
        name: draw(st.lists(VALUES, min_size=1, max_size=3, unique_by=canonical)) for name in names
    }

    def value(name: str) -> Json:
        return draw(st.one_of(st.sampled_from(axes[name]), VALUES))

    def rule() -> dict[str, Json]:
        chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        return {name: value(name) for name in chosen}

    def row() -> dict[str, Json]:
        found = rule() if draw(st.booleans()) else {}
        extra = draw(st.dictionaries(st.sampled_from(["x", "y"]), VALUES, max_size=2))
        return {**found, **extra} or rule()

    found: dict[str, Json] = dict(axes)
    found["exclude"] = [rule() for _ in range(draw(st.integers(0, 3)))]
    found["include"] = [row() for _ in range(draw(st.integers(0, 3)))]
    return found


def leaf_equal(left: Json, right: Json) -> bool:
    """The comparison of GitHub for the values that the strategy makes."""
    if isinstance(left, str) and isinstance(right, str):
        return left.upper() == right.upper()
    numbers = []
    for value in (left, right):
        if isinstance(value, dict):
            return False
        if value is None or value == "":
            numbers.append(0.0)
        elif isinstance(value, bool):
            numbers.append(float(value))
        else:
            try:
                numbers.append(float(str(value)))
            except ValueError:
                return False
    return numbers[0] == numbers[1]


def fits(value: Json, wanted: Json) -> bool:
    if isinstance(wanted, dict):
        inner = value if isinstance(value, dict) else {}
        return all(fits(inner.get(key), part) for key, part in wanted.items())
    return leaf_equal(value, wanted)


def naive(matrix: dict[str, Json]) -> set[str]:
    """The documented algorithm, cell by cell."""
    axes = {k: v for k, v in matrix.items() if k not in {"include", "exclude"}}
    cells = [dict(zip(axes, row, strict=True)) for row in product(*axes.values())]  # type: ignore[arg-type]
    kept = [
        cell
        for cell in cells
        if not any(all(fits(cell[k], v) for k, v in r.items()) for r in matrix["exclude"])  # type: ignore[union-attr]
    ]
    found: list[tuple[dict[str, Json], dict[str, Json]]] = [(cell, {}) for cell in kept]
    added: list[dict[str, Json]] = []
    for row in matrix["include"]:  # type: ignore[union-attr]
        assert isinstance(row, dict)
        matched = False
        for cell, extra in found:
            if all(fits(cell[k], v) for k, v in row.items() if k in axes):
                matched = True
                extra.update({k: v for k, v in row.items() if k not in axes})
        if not matched:
            added.append(row)
    return {canonical({**cell, **extra}) for cell, extra in found} | set(map(canonical, added))


def as_yaml(value: Json) -> str:
    """Flow style, which is also how a workflow may be written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(k)}: {as_yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_yaml, value)) + "]"
    return quoted(str(value))


def imported(matrix: dict[str, Json], *, ranges: bool) -> Imported:
    text = f"on: push\njobs: {{b: {{strategy: {{matrix: {as_yaml(matrix)}}}}}}}\n"
    options = Options(file="w.yml", name="w.yml", as_of="2026-12-01", ranges=ranges)
    return import_workflow(text, options)[0][0]


@given(matrices(), st.booleans())
@settings(max_examples=300)
def test_the_matrix_written_expands_to_the_cells_of_github(
    matrix: dict[str, Json], ranges: bool
) -> None:
    """Axes, exclude, include, objects and awkward text; with and without ranges."""
    found = imported(matrix, ranges=ranges)
    assert found.text, found.findings
    expected = naive(matrix)
    assert {canonical(cell) for cell in found.cells} == expected
    check(found, file="w.yml", as_of=DAY)
    assert found.text, [str(f) for f in found.findings]
    written = list(map(canonical, cells_of(found.text, DAY)))
    assert len(written) == len(set(written))
    assert set(written) == expected


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=4))
def test_a_pattern_fits_its_own_text_only(text: str, others: list[str]) -> None:
    """Escaped so that neither globs nor ranges nor negation read it."""
    from wheelgrid.core.condition import Pattern

    escaped = Pattern("x", pattern(text))
    assert not escaped.negative
    assert escaped.fits(text)
    assert not any(escaped.fits(t) for t in others if t != text and t[1:] != text[1:])


@given(st.text(max_size=30))
def test_quoted_text_comes_back(text: str) -> None:
    """Whatever the text, our own strict reader gives it back."""
    from wheelgrid.config.yaml import Faults, parse

    if any("\ud800" <= char <= "\udfff" for char in text):
        return
    faults = Faults()
    item = parse(f"k: {quoted(text)}\n", file="f", faults=faults)
    assert item is not None
    assert item.entries()["k"].text() == text
    assert not faults.found


@st.composite
def zips(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[list[str]]]:
    count = draw(st.integers(1, 4))
    group = ["python", "numpy", "c"][: draw(st.integers(2, 3))]
    cell = st.sampled_from(["1", "2", "3.10", "None", "3.12.* *_cpython"])
    variables = {name: draw(st.lists(cell, min_size=count, max_size=count)) for name in group}
    variables["free"] = draw(st.lists(cell, min_size=1, max_size=2, unique=True))
    return variables, [group]


@given(zips())
def test_a_conda_file_expands_to_its_distinct_rows(
    given_file: tuple[dict[str, list[str]], list[list[str]]],
) -> None:
    """zip_keys with repeated values become tables, and still the same rows."""
    variables, groups = given_file
    text = "".join(f"{name}: {as_yaml(list(values))}\n" for name, values in variables.items())
    text += f"zip_keys: {as_yaml([list(group) for group in groups])}\n"
    options = CondaOptions(file="c.yaml", name="c.yaml", as_of="2026-12-01", platform="linux-64")
    found = import_conda(text, options)
    rows = zip(*(variables[name] for name in groups[0]), strict=True)
    expected = {
        canonical({**dict(zip(groups[0], row, strict=True)), "free": free})
        for row in rows
        for free in variables["free"]
    }
    assert {canonical(cell) for cell in found.cells} == expected
    check(found, file="c.yaml", as_of=DAY)
    assert found.text, [str(f) for f in found.findings]


@given(st.text(alphabet="linuxos64 notand()==\"'.,<>py1", max_size=40))
def test_a_selector_holds_or_is_refused(text: str) -> None:
    """No input escapes as another error."""
    try:
        assert isinstance(Selectors("linux-64").holds(text), bool)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either outcome is fine
