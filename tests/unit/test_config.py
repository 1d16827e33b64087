"""Decoders: right values in, and for wrong input every fault at once, with its position."""

from __future__ import annotations

from pathlib import Path

import pytest

from wheelgrid.config.files import Project, find_project, read_yaml
from wheelgrid.config.matrix import decode_matrix, load_matrix
from wheelgrid.config.recipe import decode_recipe, load_recipes
from wheelgrid.config.yaml import MAX_BYTES, Faults, Item, parse
from wheelgrid.core.errors import BadInputError
from wheelgrid.core.matrix import Matrix
from wheelgrid.core.recipe import Abi, Recipe, SdistSource
from wheelgrid.core.rung import Rung

MATRIX = """\
schema: "1"
name: demo
axes:
  torch: ["2.14.1"]
  python: {python}
  accelerator: [cpu]
  platform: [linux_x86_64]
packages: [regex]
"""

RECIPE = """\
name: demo
version: "1.0"
summary: A demonstration
source: {kind: sdist, filename: demo-1.0.tar.gz, sha256: %s}
abi: {"*": none}
build:
  requires: {"*": ["setuptools==80.0.0"]}
test: {import: demo, scripts: [smoke.py]}
""" % ("0a" * 32)


def item(text: str, faults: Faults) -> Item:
    found = parse(text, file="matrix.yaml", faults=faults)
    assert found is not None, faults.found
    return found


def matrix_faults(text: str) -> list[str]:
    faults = Faults()
    parsed = parse(text, file="matrix.yaml", faults=faults)
    if parsed is not None:
        decode_matrix(parsed)
    return [str(fault) for fault in faults.found]


def recipe_faults(text: str) -> list[str]:
    faults = Faults()
    parsed = parse(text, file="recipe.yaml", faults=faults)
    if parsed is not None:
        decode_recipe(parsed, "demo")
    return [str(fault) for fault in faults.found]


def test_a_right_matrix_has_no_faults_and_keeps_its_order() -> None:
    faults = Faults()
    found = decode_matrix(item(MATRIX.format(python='["3.13", "3.10", "3.14t"]'), faults))
    assert faults.found == []
    assert isinstance(found, Matrix)
    assert found.axis_values("python") == ("3.13", "3.10", "3.14t")
    assert found.title == "demo"


def test_an_unquoted_python_is_refused_with_its_quoted_spelling() -> None:
    """Public case M01: never build a cell called 3.1, never guess back to 3.10."""
    found = matrix_faults(MATRIX.format(python="[3.9, 3.10, 3.11]"))
    assert len(found) == 3
    assert found[1].startswith("matrix.yaml:5:17: axes.python[1]: expected a string, but 3.10")
    assert "read as the number 3.1\n" in found[1]
    assert 'hint: write "3.10"' in found[1]


def test_every_wrong_entry_is_reported_in_one_pass() -> None:
    """Public case M02: commas for dots give integers, beside the floats."""
    found = matrix_faults(MATRIX.format(python="[3,6, 3,7, 3.9, 3.10]"))
    assert len(found) == 6
    assert "3 without quotes is read as the number 3" in found[0]


def test_duplicate_keys_are_faults_with_both_lines() -> None:
    found = matrix_faults(MATRIX.format(python='["3.13"]') + "name: again\n")
    assert found == [
        "matrix.yaml:9:1: name: duplicate key 'name'\n    hint: its first value is at line 2"
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("name: demo", "nmae: demo"), "unknown key 'nmae'\n    hint: did you mean 'name'?"),
        (("name: demo", "nmae: demo"), "missing key 'name'"),
        (("[cpu]", "[cu130]"), "'cu130' is not an accelerator"),
        (("[linux_x86_64]", "[linux_x86]"), "did you mean 'linux_x86_64'?"),
        (("[cpu]", "[cpu, cpu]"), "cpu is listed twice"),
        (("[cpu]", "[]"), "is empty: an axis needs at least one value"),
        (("[cpu]", "{a: b}"), "expected a list, found a mapping"),
        (('schema: "1"', 'schema: "2"'), "'2' is not one of the allowed values"),
        (("[regex]", "[Regex]"), "'Regex' is not normalised\n    hint: write 'regex'"),
        (("[regex]", '["../x"]'), "'../x' is not a distribution name"),
        (('["2.14.1"]', '["two"]'), "'two' is not a version"),
    ],
)
def test_wrong_fields_say_what_was_expected(change: tuple[str, str], expected: str) -> None:
    text = MATRIX.format(python='["3.13"]').replace(*change)
    assert any(expected in fault for fault in matrix_faults(text)), matrix_faults(text)


def test_tiers_exclusions_and_toolchains_are_checked_together() -> None:
    text = MATRIX.format(python='["3.13"]') + (
        "exclude:\n"
        "  - {id: a, when: {pyton: x}, reason: r, source: s, date: 2026-09-01}\n"
        '  - {id: a, when: {}, reason: r, source: s, date: "2026-09-01"}\n'
        "tiers:\n"
        "  t:\n"
        "    - {packages: [regx], when: {}, until: built}\n"
        "toolchains:\n"
        "  cu13: {requires: [], archs: []}\n"
    )
    found = "\n".join(matrix_faults(text))
    for expected in (
        "unknown axis 'pyton'",
        "2026-09-01 without quotes is read as a date",
        "the id 'a' is used twice",
        "'regx' is not in packages\n    hint: did you mean 'regex'?",
        "a tier entry that stops early must say why",
        "'cu13' is not an accelerator",
    ):
        assert expected in found


def test_a_tier_entry_goes_all_the_way_unless_it_says_otherwise() -> None:
    faults = Faults()
    text = MATRIX.format(python='["3.13"]') + (
        "tiers: {t: [{packages: [regex], when: {}}, "
        "{packages: [regex], when: {}, until: audited, why: no device}]}\n"
        "exclude: [{id: a, when: {python: '3.13'}, reason: r, source: s, date: '2026-09-01'}]\n"
        "toolchains: {cuda13.0: {requires: [x==1], archs: ['9.0']}}\n"
    )
    found = decode_matrix(item(text, faults))
    assert faults.found == []
    assert found is not None
    assert found.tiers is not None
    assert [e.until for e in found.tiers["t"]] == [Rung.EXECUTED, Rung.AUDITED]
    assert found.exclusions[0].source.date == "2026-09-01"
    assert found.toolchains is not None
    assert next(iter(found.toolchains.values())).archs == ("9.0",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("a: [1, 2", "is not YAML"),
        ("a: &x 1\nb: *x\n", "uses a YAML alias"),
        ("[" * 60 + "]" * 60, "nested deeper than 40"),
        ("a: " + "x" * (MAX_BYTES + 1), "is larger than"),
        ("- not\n- a mapping\n", "expected a mapping, found a list"),
        ("1: x\n", "1 without quotes is read as the number 1"),
    ],
)
def test_hostile_and_broken_yaml_is_one_clear_fault(text: str, expected: str) -> None:
    found = matrix_faults(text)
    assert found
    assert expected in found[0]


def test_a_right_recipe() -> None:
    faults = Faults()
    found = decode_recipe(item(RECIPE, faults), "demo")
    assert faults.found == []
    assert isinstance(found, Recipe)
    assert isinstance(found.source, SdistSource)
    assert (found.max_jobs, found.memory_mib) == (1, 1024)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("0a" * 32, "abc"), "'abc' is not a SHA-256 digest"),
        (("demo-1.0.tar.gz", "demo.tar.gz"), "Invalid sdist filename"),
        (("setuptools==80.0.0", "setuptools>=80"), "'setuptools>=80' is not pinned"),
        (("setuptools==80.0.0", "setuptools==80.*"), "is not pinned"),
        (("setuptools==80.0.0", "setuptools==80,<81"), "is not pinned"),
        (("setuptools==80.0.0", "setuptools @ https://x.example/s.whl"), "is not pinned"),
        (("setuptools==80.0.0", "--index-url=x"), "is not a requirement"),
        (("setuptools==80.0.0", "set up"), "is not a requirement"),
        (("build:\n", 'build:\n  torch: {"*": cpuu}\n'), "'cpuu' is not an accelerator"),
        (('{"*": none}', '{"*": libtorch-stable}'), "libtorch-stable needs the floors"),
        (('{"*": none}', "{cpu: none}"), "needs a general entry '*'"),
        (('{"*": none}', '{"*": none, gpu: none}'), "'gpu' is not an accelerator pattern"),
        (('{"*": none}', '{"*": nonee}'), "did you mean 'none'?"),
        (("smoke.py", "../smoke.py"), "leaves the recipe's folder"),
        (("smoke.py", "/etc/passwd"), "leaves the recipe's folder"),
        (("name: demo", "name: other"), "is not the name of its folder 'demo'"),
        (("kind: sdist", "kind: git"), "'git' is not one of the allowed values"),
        (("import: demo", "imprt: demo"), "unknown key 'imprt'"),
    ],
)
def test_wrong_recipes_say_what_was_expected(change: tuple[str, str], expected: str) -> None:
    found = recipe_faults(RECIPE.replace(*change))
    assert any(expected in fault for fault in found), found


@pytest.mark.parametrize("memory", ["0", "-1", "many", ".inf"])
def test_resources_must_be_positive_numbers(memory: str) -> None:
    text = RECIPE.replace("build:\n", f"build:\n  memory_mib_per_job: {memory}\n")
    assert any("expected a number above zero" in f for f in recipe_faults(text))


def test_environment_names_are_checked() -> None:
    text = RECIPE.replace("build:\n", 'build:\n  env: {"*": {"A; rm": "1", OK: yes}}\n')
    found = "\n".join(recipe_faults(text))
    assert "'A; rm' is not an environment variable name" in found
    assert "yes without quotes is read as true/false" in found


def test_tables_go_from_general_to_specific(repository: Path) -> None:
    faults = Faults()
    recipes = load_recipes(Project(repository), ("gridprobe", "torch-linear-assignment"), faults)
    assert faults.found == []
    from wheelgrid.core.accelerator import Accelerator

    cuda, cpu = Accelerator.parse("cuda13.0"), Accelerator.parse("cpu")
    gridprobe, assignment = recipes["gridprobe"], recipes["torch-linear-assignment"]
    assert gridprobe.env_for(cuda) == {"GRIDPROBE_ACCELERATOR": "cuda"}
    assert gridprobe.build_torch_for(cuda) == "cpu"
    assert assignment.abi_for(cpu) is Abi.PURE
    assert assignment.abi_for(cuda) is Abi.LIBTORCH
    assert assignment.extensions_for(cpu) == ()
    assert assignment.extensions_for(cuda) == ("torch_linear_assignment._backend",)
    assert assignment.requires_for(cuda)[-1] == "ninja==1.13.2"
    assert assignment.build_torch_for(cuda) == "same"


def test_the_project_is_found_from_below_and_missed_with_a_hint(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    with pytest.raises(BadInputError, match="not found in"):
        find_project(below)
    (tmp_path / "matrix.yaml").touch()
    found = find_project(below)
    assert found.root == tmp_path
    assert found.dist == tmp_path / "dist"
    assert found.work == tmp_path / ".wheelgrid"


def test_files_that_cannot_be_read_are_faults(tmp_path: Path) -> None:
    faults = Faults()
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff\n")
    assert read_yaml(tmp_path / "none.yaml", root=tmp_path, faults=faults) is None
    assert read_yaml(tmp_path / "bytes.yaml", root=tmp_path, faults=faults) is None
    assert [str(f) for f in faults.found] == [
        "none.yaml: cannot be read: No such file or directory",
        "bytes.yaml: is not UTF-8: byte 3 is 0xff",
    ]


def test_a_package_without_recipe_is_a_fault(tmp_path: Path) -> None:
    faults = Faults()
    assert load_recipes(Project(tmp_path), ("nothing",), faults) == {}
    assert "recipes/nothing/recipe.yaml: not found" in str(faults.found[0])


def test_faults_of_all_files_come_together(tmp_path: Path) -> None:
    (tmp_path / "matrix.yaml").write_text("schema: 1\naxes: {python: [3.10]}\n", encoding="utf-8")
    faults = Faults()
    assert load_matrix(Project(tmp_path), faults) is None
    with pytest.raises(BadInputError) as caught:
        faults.check()
    messages = [f.message for f in caught.value.faults]
    for expected in ("missing key 'name'", "expected a string, but 1 without quotes is read as"):
        assert any(expected in message for message in messages)
    assert sum("without quotes" in m for m in messages) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: !!python/object:os.system x\n", "expected a string"),
        ("axes: {python: !!binary aGk=}\n", "expected"),
        ("schema: ~\n", "without quotes is read as nothing"),
        ("schema: [1]\n", "expected a string, found a list"),
        ("schema: 1_000\n", "read as the number"),
        ("axes: nothing\n", "expected a mapping, found 'nothing'"),
        ("packages: {}\n", "expected a list, found a mapping"),
        ("toolchains: {cuda13.0: {}}\n", "missing key 'requires'"),
        ("tiers: {t: [{}]}\n", "missing key 'when'"),
        ("exclude: [{}]\n", "missing key 'when'"),
    ],
)
def test_odd_nodes_are_faults_never_crashes(text: str, words: str) -> None:
    assert words in "\n".join(matrix_faults(text))


def test_a_recipe_for_another_version_than_its_sdist_is_refused() -> None:
    found = "\n".join(recipe_faults(RECIPE.replace('version: "1.0"', 'version: "2.0"')))
    assert "demo-1.0.tar.gz is demo 1.0, the recipe is demo 2.0" in found
    found = "\n".join(recipe_faults(RECIPE.replace("demo-1.0.tar.gz", "../x/demo-1.0.tar.gz")))
    assert "is not a bare file name" in found


def test_files_that_a_recipe_names_must_be_there(tmp_path: Path) -> None:
    folder = tmp_path / "recipes" / "demo"
    folder.mkdir(parents=True)
    text = RECIPE.replace(
        next(line for line in RECIPE.splitlines() if line.startswith("source")),
        "source: {kind: directory, path: sorce}\npatches: [none.patch]",
    )
    (folder / "recipe.yaml").write_text(text, encoding="utf-8")
    faults = Faults()
    load_recipes(Project(tmp_path), ("demo",), faults)
    found = "\n".join(str(f) for f in faults.found)
    for words in ("smoke.py: no such file", "none.patch: no such file", "has neither pyproject"):
        assert words in found


def test_stable_recipes_and_directory_sources() -> None:
    text = RECIPE.replace('{"*": none}', '{"*": libtorch-stable}') + (
        'stable: {torch: "2.13", python: "3.11"}\n'
    )
    assert recipe_faults(text) == []
    assert any(
        "missing key 'path'" in f
        for f in recipe_faults(RECIPE.replace("kind: sdist", "kind: directory"))
    )
