"""The importer of GitHub workflows: what it reads, what it refuses, what it says."""

from __future__ import annotations

from datetime import date

import pytest

from wheelgrid.cli.import_check import cells_of
from wheelgrid.config.foreign import parse_foreign, plain_value
from wheelgrid.config.yaml import Faults
from wheelgrid.core.errors import BadInputError
from wheelgrid.importers.github import Options, import_workflow
from wheelgrid.importers.github_cells import equal, expand, fits
from wheelgrid.importers.report import Finding, Imported, Level, canonical


def workflow(matrix: str, *, on: str = "[push]") -> str:
    lines = "\n".join("        " + line for line in matrix.strip("\n").splitlines())
    return f"on: {on}\njobs:\n  build:\n    strategy:\n      matrix:\n{lines}\n"


def run(text: str, *, ranges: bool = False, job: str = "") -> tuple[list[Imported], list[Finding]]:
    options = Options(file="ci.yml", name="ci.yml", as_of="2026-12-01", job=job, ranges=ranges)
    return import_workflow(text, options)


def one(matrix: str, *, ranges: bool = False) -> Imported:
    results, _ = run(workflow(matrix), ranges=ranges)
    return results[0]


def codes(imported: Imported) -> list[str]:
    return [finding.code for finding in imported.findings]


def test_unquoted_310_is_an_error_with_line_and_column() -> None:
    """M01: YAML reads 3.10 as 3.1, and no cell of that name is ever made."""
    found = one("python: [3.9, 3.10, 3.11]")
    assert found.text == ""
    assert [(str(f.place), f.level) for f in found.findings] == [
        ("ci.yml:6:18", Level.ERROR),
        ("ci.yml:6:23", Level.ERROR),
        ("ci.yml:6:29", Level.ERROR),
    ]
    assert found.findings[1].message == (
        'number where a version string is required; YAML reads 3.10 as 3.1; write "3.10"'
    )


def test_every_number_is_reported_in_one_pass() -> None:
    """M02: commas for dots make integers; all six entries are named."""
    found = one("python: [3,6, 3,7, 3.9, 3.10]")
    assert [f.place.column for f in found.findings] == [18, 20, 23, 25, 28, 33]
    read = [f.message.split("; ")[1] for f in found.findings]
    assert read == [
        "YAML reads 3 as the integer 3",
        "YAML reads 6 as the integer 6",
        "YAML reads 3 as the integer 3",
        "YAML reads 7 as the integer 7",
        "YAML reads 3.9 as the number 3.9",
        "YAML reads 3.10 as 3.1",
    ]


def test_a_number_in_a_rule_taints_the_axis_too() -> None:
    """A float in exclude is reported, and the integers of that key with it."""
    found = one("python: ['3.10', 3]\nexclude:\n  - python: 3.10")
    assert [(f.place.line, f.level) for f in found.findings] == [
        (6, Level.ERROR),
        (8, Level.ERROR),
    ]


def test_whole_numbers_become_text_with_a_note() -> None:
    """`node: [18, 20]` is legitimate."""
    found = one("node: [18, 20]")
    assert found.cells == [{"node": "18"}, {"node": "20"}]
    assert codes(found) == ["number-as-text"]


def test_an_exclude_key_that_is_no_axis_is_refused_as_github_does() -> None:
    """M07: with the reason that GitHub gives."""
    found = one("include: [{service: a, build: false}]\nexclude: [{build: false}]")
    assert found.text == ""
    assert found.findings[0].level is Level.ERROR
    message = "Matrix exclude key 'build' does not match any key within the matrix"
    assert found.findings[0].message == message
    assert str(found.findings[0].place) == "ci.yml:7:20"


def test_a_partial_exclude_of_an_object_is_accepted() -> None:
    """M08: naming a part of an object excludes its cells."""
    found = one(
        "os: [{name: Windows, matrix: windows}, {name: Mac, matrix: mac}]\nv: ['1', '2']\n"
        "exclude: [{os: {matrix: windows}}]"
    )
    assert found.cells == [
        {"os": {"name": "Mac", "matrix": "mac"}, "v": "1"},
        {"os": {"name": "Mac", "matrix": "mac"}, "v": "2"},
    ]
    assert 'when: {os: {matrix: "windows"}}' in found.text


def test_a_matrix_of_include_rows_only() -> None:
    """M10: two cells."""
    found = one("include: [{os: linux, torch: '2.14.0'}, {os: mac, torch: '2.14.0'}]")
    assert found.cells == [
        {"os": "linux", "torch": "2.14.0"},
        {"os": "mac", "torch": "2.14.0"},
    ]


def test_the_documented_example_of_github_has_six_cells() -> None:
    """The fruit and animal example of the GitHub documentation."""
    found = one(
        "fruit: [apple, pear]\nanimal: [cat, dog]\ninclude:\n  - color: green\n"
        "  - {color: pink, animal: cat}\n  - {fruit: apple, shape: circle}\n"
        "  - fruit: banana\n  - {fruit: banana, animal: cat}"
    )
    assert found.cells == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_an_include_that_agrees_decorates() -> None:
    """M11: four cells, one of which carries env=z."""
    found = one("os: [x, y]\nv: [a, b]\ninclude: [{os: x, v: a, env: z}]")
    assert len(found.cells) == 4
    assert [c for c in found.cells if "env" in c] == [{"os": "x", "v": "a", "env": "z"}]


def test_dead_redundant_and_duplicate_rules_are_dropped_and_named() -> None:
    """Each note names its own line and the line of the rule that already covers it."""
    found = one(
        "os: [a, b]\nv: ['1', '2']\nexclude:\n"
        "  - {v: '3'}\n  - {os: a, v: '1'}\n  - {os: a, v: '1'}\n  - {os: a}"
    )
    assert [(f.code, f.place.line) for f in found.findings] == [
        ("dead-exclude", 9),
        ("redundant-exclude", 10),
        ("duplicate-exclude", 11),
    ]
    assert "v has no value '3'" in found.findings[0].message
    assert found.findings[1].message.endswith("covered by the rule at line 12")
    assert found.findings[2].message.endswith("covered by the rule at line 10")
    assert found.text.count("- id:") == 1
    assert found.cells == [{"os": "b", "v": "1"}, {"os": "b", "v": "2"}]


def test_a_rule_that_two_others_cover_together_names_both() -> None:
    """No single rule covers it, so both lines are given."""
    found = one(
        "os: [a, b]\nv: ['1', '2']\nexclude: \n  - {os: a, v: '1'}\n  - {os: a, v: '2'}\n"
        "  - {os: a}"
    )
    notes = [f.message for f in found.findings]
    assert notes == [
        "this rule only repeats others and is dropped: covered by the rules at line 9, 10"
    ]


def test_an_exact_patch_version_is_noted_and_rewritten_on_request() -> None:
    """M16: the rule would stop matching after a patch bump."""
    matrix = (
        "torch-version: ['2.11.0', '2.12.1']\nv: [a, b]\nexclude: [{torch-version: '2.12.1', v: a}]"
    )
    plain, ranged = one(matrix), one(matrix, ranges=True)
    assert plain.findings[-1].message == (
        "this rule names torch 2.12.1 exactly: it will stop matching at 2.12.2; write 2.12.*"
    )
    assert '{torch-version: "2.12.1", v: "a"}' in plain.text
    assert '{torch-version: "2.12.*", v: "a"}' in ranged.text
    assert plain.cells == ranged.cells
    assert codes(ranged) == []


def test_a_range_that_would_change_the_cells_is_not_written() -> None:
    """Two patches of one minor: the exact version stays."""
    matrix = "t: ['2.12.1', '2.12.2']\nv: [a, b]\nexclude: [{t: '2.12.1', v: a}]"
    assert '{t: "2.12.1", v: "a"}' in one(matrix, ranges=True).text


@pytest.mark.parametrize(
    ("axis", "values", "short"),
    [
        ("cuda-version", "['126', '13.0']", "126"),
        ("x", "[cpu, cu1210]", "cu1210"),
        ("toolkit_short_version", "['128']", "128"),
        ("oneapi_version", "['2025']", ""),
        ("node", "['1210']", ""),
    ],
)
def test_compact_versions_are_noted(axis: str, values: str, short: str) -> None:
    """M17: the value stays as it is, the author is told."""
    found = one(f"{axis}: {values}")
    notes = [f.message for f in found.findings if f.code == "compact-version"]
    assert notes == ([f"compact spelling is ambiguous, use dotted: {short}"] if short else [])


@pytest.mark.parametrize(
    "matrix",
    [
        "os: [a]\nimages: ${{ fromJSON(needs.x.outputs.y) }}",
        "os: [a]\ninclude: ${{ fromJSON(inputs.z) }}",
        "os: [a]\ninclude:\n  - ${{ inputs.row }}",
        "os: [a]\nexclude: ${{ fromJSON(inputs.z) }}",
        '"${{ insert }}": [a]',
    ],
)
def test_what_is_decided_at_run_time_is_unknown(matrix: str) -> None:
    """Never evaluated, never an empty matrix."""
    found = one(matrix)
    assert found.text == ""
    assert [f.level for f in found.findings] == [Level.UNKNOWN]
    assert "could not expand: expression" in found.findings[0].message


def test_a_whole_matrix_of_an_expression_leaves_other_jobs() -> None:
    """One job is unknown, the other is imported."""
    text = (
        "on: push\njobs:\n  a:\n    strategy:\n      matrix: ${{ fromJSON(x) }}\n"
        "  b:\n    uses: ./.github/workflows/w.yml\n    strategy:\n      fail-fast: false\n"
        "      max-parallel: 2\n      matrix: {os: [x]}\n"
    )
    results, _ = run(text)
    assert [(r.job, bool(r.text)) for r in results] == [("a", False), ("b", True)]


def test_an_expression_in_a_value_stays_text() -> None:
    """Hostile text is quoted, and nothing of it is a key or a comment."""
    found = one("os: ['${{ github.event.issue.title }}', \"x\\n# y: z\"]")
    assert found.cells == [{"os": "${{ github.event.issue.title }}"}, {"os": "x\n# y: z"}]
    assert codes(found) == ["expression-as-text"]
    assert '"x\\n# y: z"' in found.text


@pytest.mark.parametrize(
    ("matrix", "code"),
    [
        ("os: ubuntu", "not-a-list"),
        ("os: {a: b}", "not-a-list"),
        ("os: []", "empty-axis"),
        ("os: [a]\nexclude: [{}]", "empty-row"),
        ("os: [a]\ninclude: [b]", "not-a-mapping"),
        ("os: [a]\nOS: [b]", "duplicate-axis"),
        ("exclude: []", "empty-matrix"),
    ],
)
def test_what_github_refuses_is_refused(matrix: str, code: str) -> None:
    """With a code of its own."""
    found = one(matrix)
    assert found.text == ""
    assert code in codes(found)


def test_null_has_no_form_in_our_language() -> None:
    """Said, not guessed."""
    found = one("a: [null, x]")
    assert found.text == ""
    assert found.findings[0].level is Level.UNKNOWN
    assert "null" in found.findings[0].message


def test_case_and_kind_are_compared_as_github_does() -> None:
    """`==` of GitHub's expressions ignores case and turns unlike types into numbers."""
    found = one(
        "OS: [Ubuntu, mac]\nn: [1, 2]\nexclude: [{os: ubuntu, n: '1'}]\n"
        "include: [{OS: UBUNTU, n: 2, x: y}]"
    )
    assert found.cells == [
        {"OS": "Ubuntu", "n": "2", "x": "y"},
        {"OS": "mac", "n": "1"},
        {"OS": "mac", "n": "2"},
    ]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("a", "A", True),
        ("18", 18, True),
        (True, 1, True),
        ("true", True, False),
        (None, "", True),
        (None, 0, True),
        ("0x10", 16, True),
        ({}, None, False),
        ("x", 0, False),
    ],
)
def test_equality_of_expressions(left: object, right: object, same: bool) -> None:
    """As ExpressionUtility of actions/runner compares."""
    assert equal(left, right) is same


def test_partial_match_reaches_into_lists() -> None:
    """Leaf by leaf; what is not there is null."""
    assert fits({"a": ["1", "2"]}, {"a": ["1"]})
    assert not fits({"a": ["1"]}, {"a": ["1", "2"]})
    assert fits({"a": "1"}, {"b": None})


def test_a_later_include_overwrites_an_earlier_one() -> None:
    """Values that includes add may be overwritten, those of axes never."""
    cells = expand({"a": ["x"]}, [], [{"e": "1"}, {"a": "x", "e": "2"}, {"e": "1"}])
    assert cells == [{"a": "x", "e": "1"}]


def test_a_product_that_no_machine_could_expand_is_unknown() -> None:
    """Ten axes of forty values: refused at once."""
    values = ", ".join(f"v{n}" for n in range(40))
    found = one("\n".join(f"a{n}: [{values}]" for n in range(10)))
    assert codes(found) == ["too-large"]


def test_more_rules_than_can_be_checked_are_unknown() -> None:
    """A product times its rules is bounded, with include rows more tightly."""
    values = ", ".join(f"v{n}" for n in range(100))
    rules = "\n".join(f"  - {{a: v{n % 100}, b: v{n // 100}}}" for n in range(201))
    found = one(f"a: [{values}]\nb: [{values}]\ninclude: [{{x: y}}]\nexclude:\n{rules}")
    assert codes(found) == ["too-large"]


def test_more_than_256_jobs_are_a_warning() -> None:
    """GitHub refuses them; our language does not."""
    values = ", ".join(f"v{n}" for n in range(20))
    found = one(f"a: [{values}]\nb: [{values}]")
    assert len(found.cells) == 400
    assert [f.level for f in found.findings] == [Level.WARNING]


def test_a_trigger_filter_that_the_event_ignores_is_found() -> None:
    """M29: `create` takes no tags."""
    _, findings = run(workflow("os: [x]", on="{create: {tags: [v*]}, push: {tags: [v*]}}"))
    assert [(f.code, f.level, str(f.place)) for f in findings] == [
        ("ignored-trigger-filter", Level.WARNING, "ci.yml:1:15")
    ]
    assert findings[0].hint == "create takes no filter; use push: {tags: [...]}"


@pytest.mark.parametrize(
    ("on", "codes_found"),
    [
        ("push", []),
        ("[push, puhs]", ["unknown-trigger"]),
        ("{pull_request: {tags: [v*]}}", ["ignored-trigger-filter"]),
        ("{release: {branches: [main], types: [published]}}", ["ignored-trigger-filter"]),
        ("{schedule: [{cron: '0 0 * * *'}], workflow_dispatch: }", []),
        ("{push: {branches: [main], paths-ignore: [docs]}}", []),
    ],
)
def test_triggers(on: str, codes_found: list[str]) -> None:
    """Only filters that the event does not have."""
    _, findings = run(workflow("os: [x]", on=on))
    assert [f.code for f in findings] == codes_found


def test_an_unknown_job_names_the_nearest() -> None:
    """With the jobs that have a matrix."""
    with pytest.raises(BadInputError, match="did you mean 'build'"):
        run(workflow("os: [x]"), job="biuld")


def test_the_comment_above_a_rule_is_its_reason() -> None:
    """It holds for the rules after it that name the same axes."""
    found = one(
        "os: [a, b, c]\nv: [x, y]\nexclude:\n"
        "  # no runner\n  # yet\n  - os: a\n  - os: b\n  - v: x\n"
    )
    assert found.text.count('reason: "no runner yet"') == 2
    assert found.text.count('reason: "excluded by ci.yml"') == 1


def test_aliases_are_followed_and_bombs_are_not() -> None:
    """Anchors are allowed in workflows; growth by reference and cycles are not."""
    faults = Faults()
    assert parse_foreign("a: &x [1]\nb: *x\n", file="f", faults=faults) is not None
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)
    )
    assert parse_foreign(bomb, file="f", faults=faults) is None
    assert parse_foreign("a: &a [*a]\n", file="f", faults=faults) is None
    assert [f.message.split()[0] for f in faults.found] == ["has", "is"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("TRUE", True),
        ("012", 12),
        ("0o14", 12),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-12-01", "2026-12-01"),
        ("1e3", 1000.0),
        ("!!str 3.10", "3.10"),
        ("~", None),
    ],
)
def test_scalars_are_read_as_yaml_1_2(text: str, value: object) -> None:
    """GitHub's reader knows no `yes`, no sexagesimal and no dates."""
    node = parse_foreign(f"k: {text}", file="f", faults=Faults())
    assert node is not None
    inner = node.get("k")
    assert inner is not None
    assert (inner.value, type(inner.value)) == (value, type(value))


def test_duplicate_and_merge_keys_are_faults() -> None:
    """Both would change the meaning in silence."""
    faults = Faults()
    parse_foreign("a: 1\na: 2\nb: &b {x: 1}\nc: {<<: *b}\nd: !foo 1\n", file="f", faults=faults)
    assert [f.line for f in faults.found] == [2, 4, 5]


def test_pattern_and_text_of_equal_cells_are_canonical() -> None:
    """The digest does not depend on the order of keys."""
    assert canonical({"b": 1, "a": [True]}) == '{"a":[true],"b":1}'


def test_values_that_axes_cannot_hold_become_whole_rows() -> None:
    """Lists as values, and two objects of one name; anchors are followed."""
    found = one("a: [&x ['80', '90'], ['100'], *x]\nos: [U, w]\nexclude: [{os: u, a: ['80']}]")
    assert found.cells == [
        {"a": ["80", "90"], "os": "w"},
        {"a": ["100"], "os": "U"},
        {"a": ["100"], "os": "w"},
    ]
    assert codes(found) == ["duplicate-value", "whole-rows"]
    assert '  - {a: ["80", "90"], os: "w"}' in found.text
    named = one("c: [{name: a, x: '1'}, {name: a, x: '2'}]")
    assert codes(named) == ["whole-rows"]
    assert len(cells_of(named.text, date(2026, 12, 1))) == 2


def test_a_name_with_a_meaning_may_have_other_values_in_rows() -> None:
    """`platform: linux-x64` is no platform of ours; the row stays as it is."""
    found = one(
        "include:\n  - {platform: linux-x64, python: '3.10', torch: '2.14.1'}\n"
        "  - {platform: linux-x64, python: 'pypy3.9', accelerator: cpu, gpu_arch: sm_90}\n"
        "  - {platform: mac, flags: [a, {b: '${{ x }}'}], debug: false}"
    )
    assert codes(found) == ["expression-as-text"]
    written = cells_of(found.text, date(2026, 12, 1))
    assert sorted(map(canonical, written)) == sorted(map(canonical, found.cells))


def test_include_rows_without_effect_or_twice_are_said() -> None:
    """The cells stay the same."""
    found = one("os: [a]\ninclude: [{os: a}, {os: b}, {os: b}]")
    assert found.cells == [{"os": "a"}, {"os": "b"}]
    assert codes(found) == ["include-without-effect", "duplicate-include"]


def test_nothing_left_is_a_warning() -> None:
    """A matrix of no cells is legal, and a mistake."""
    found = one("os: [a]\nexclude: [{os: a}]")
    assert codes(found) == ["no-cells"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not YAML"),
        ("a: '\u0000'", "is not YAML"),
        ("", "is empty"),
        ("? [a]\n: b", "a key must be text"),
        ("x" * (4 * 1024 * 1024 + 1), "is larger than"),
        ("[" * 70 + "]" * 70, "is nested deeper"),
        ("[" * 100_000, "is not YAML"),
    ],
)
def test_broken_files_are_faults(text: str, message: str) -> None:
    """Never a traceback."""
    faults = Faults()
    parse_foreign(text, file="f", faults=faults)
    assert len(faults.found) == 1
    assert message in faults.found[0].message


@pytest.mark.parametrize(
    ("text", "shown"),
    [(".inf", "inf"), ("-.INF", "-inf"), (".NaN", "nan"), ("9" * 500, "9" * 500)],
)
def test_awkward_numbers(text: str, shown: str) -> None:
    """Numbers of thousands of digits stay text."""
    assert str(plain_value(text)) == shown


def test_a_workflow_needs_jobs_with_a_matrix() -> None:
    """Each kind of file that is none."""
    for text, message in {
        "a: b": "has no jobs",
        "jobs: {a: {steps: []}}": "has no job with a matrix",
        "jobs: [a]": "has no jobs",
    }.items():
        with pytest.raises(BadInputError, match=message):
            run(text)


def test_a_strategy_that_is_an_expression_is_unknown() -> None:
    """The matrix is in there, or not: nobody can tell."""
    results, findings = run("jobs: {a: {strategy: '${{ fromJSON(x) }}'}}")
    assert [f.level for f in results[0].findings] == [Level.UNKNOWN]
    assert findings == []


def test_a_matrix_that_is_no_mapping_is_an_error() -> None:
    """With what was found."""
    results, _ = run("jobs: {a: {strategy: {matrix: [os]}}}")
    assert results[0].findings[0].message == "expected a mapping, found a list"


def test_rules_with_the_same_values_have_ids_of_their_own() -> None:
    """Ids are made from values; two axes can share them."""
    found = one("a: [x, y]\nb: [x, y]\nexclude: [{a: x}, {b: x}]")
    assert [line for line in found.text.splitlines() if "- id" in line] == [
        '  - id: "x"',
        '  - id: "x-2"',
    ]
