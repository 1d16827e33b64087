"""The schema of matrix.yaml says what the decoder reads, key for key."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from wheelgrid.config import axes, matrix
from wheelgrid.config.yaml import Faults, parse
from wheelgrid.render.matrix_schema import matrix_page, matrix_schema

ROOT = Path(__file__).parents[2]
MATRICES = sorted(
    path
    for path in [ROOT / "matrix.yaml", *(ROOT / "tests" / "golden").rglob("*.yaml")]
    if 'schema: "1"' in path.read_text(encoding="utf-8")
)
PROPERTIES = matrix_schema()["properties"]


def decoded_keys(text: str) -> set[str]:
    """The keys that the decoder names when it meets an unknown one."""
    faults = Faults()
    item = parse(text, file="matrix.yaml", faults=faults)
    assert item is not None
    matrix.decode_matrix(item)
    hints = [f.hint for f in faults.found if "unknown key 'zzz'" in f.message]
    assert hints, faults.found
    return set(hints[0].removeprefix("known: ").split(", "))


def test_top_level_keys_are_those_of_the_decoder() -> None:
    assert set(PROPERTIES) == decoded_keys('schema: "1"\nname: m\nzzz: 1\n')


@pytest.mark.parametrize("section", ["exclude", "tables", "rules", "removed"])
def test_entry_keys_are_those_of_the_decoder(section: str) -> None:
    text = f'schema: "1"\nname: m\naxes: {{os: [a]}}\n{section}: [{{zzz: a}}]\n'
    assert set(PROPERTIES[section]["items"]["properties"]) == decoded_keys(text)


@pytest.mark.parametrize(
    ("section", "entry"),
    [("derive", "{x: {zzz: a}}"), ("policy", "{zzz: a}"), ("toolchains", "{cuda13.0: {zzz: a}}")],
)
def test_mapping_keys_are_those_of_the_decoder(section: str, entry: str) -> None:
    schema = PROPERTIES[section]
    inner = schema.get("additionalProperties") or schema
    text = f'schema: "1"\nname: m\naxes: {{os: [a]}}\n{section}: {entry}\n'
    assert set(inner["properties"]) == decoded_keys(text)


@pytest.mark.parametrize("path", MATRICES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_matrix_of_the_repository_fits_the_schema(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(matrix_schema()).validate(document)


@pytest.mark.parametrize(
    "text",
    [
        'schema: "1"\nname: m\n',
        'schema: "1"\nname: M M\naxes: {os: [a]}\n',
        'schema: "1"\nname: m\naxes: {python: [3.10]}\n',
        'schema: "1"\nname: m\naxes: {os: [a]}\nexclude: [{when: {os: a}}]\n',
        'schema: "1"\nname: m\naxes: {os: [a]}\nrules_otherwise: maybe\n',
    ],
)
def test_what_the_decoder_refuses_the_schema_refuses_too(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), matrix_schema())
    faults = Faults()
    item = parse(text, file="matrix.yaml", faults=faults)
    assert item is not None
    matrix.decode_matrix(item)
    assert faults.found


def test_every_field_has_a_description_on_the_page() -> None:
    page = matrix_page("preface")
    assert "|  |" not in page
    for name in (*PROPERTIES, "otherwise", "until", "archs"):
        assert f"| `{name}` |" in page
    assert axes.MAX_VALUES == 4096
