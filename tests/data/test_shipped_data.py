"""The repository's own data: it decodes, it is sourced, and it names no machine."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from wheelgrid.cli.render import derived_files
from wheelgrid.core.evidence import Kind
from wheelgrid.core.recipe import DirectorySource
from wheelgrid.engines.records import read_records
from wheelgrid.planning.checks import dead_conditions
from wheelgrid.planning.plan import Plan

ROOT = Path(__file__).parents[2]


def test_matrix_recipes_and_compat_belong_together(plan: Plan) -> None:
    assert {f.name for f in (ROOT / "recipes").iterdir()} == set(plan.matrix.packages)
    assert {str(t) for t in plan.knowledge.torch} >= set(plan.matrix.axis_values("torch"))
    assert dead_conditions(plan.matrix, plan.recipes) == []


def test_each_torch_2_14_feature_has_an_entry(plan: Plan) -> None:
    features = {f.id: f for f in plan.knowledge.features}
    assert set(features) >= {
        "nccl2",
        "reconfigure",
        "rma-windows",
        "flight-recorder-hook",
        "nvgemm",
        "dynamic-spec",
        "mps-linalg",
        "rocm-therock",
        "xpu-graphs",
        "inductor-rubin",
        "python-3.10-sunset",
    }
    for feature in features.values():
        assert feature.statuses, feature.id
        for status in feature.statuses:
            assert status.source.source
            assert status.source.date >= "2016-08-24"  # the first torch; a missing date is 0001
            assert status.source.kind in {Kind.CLAIM, Kind.OBSERVATION, Kind.DERIVED}


def test_the_python_3_10_sunset_has_its_published_dates(plan: Plan) -> None:
    sunsets = {s.id: s for s in plan.knowledge.sunsets}
    stages = {str(s.name): (s.on.isoformat(), s.precision) for s in sunsets["python-3.10"].stages}
    assert sunsets["python-3.10"].last_release == "2.14"
    assert stages["nightlies_end"] == ("2026-09-21", "week")
    assert stages["ci_removed"][0] == "2026-09-28"
    assert stages["branch_cut"][0] == "2026-10-05"


def test_every_recipe_has_tests_and_agrees_with_its_source(plan: Plan) -> None:
    for recipe in plan.recipes.values():
        folder = ROOT / "recipes" / recipe.folder
        assert recipe.tests, f"{recipe.name} has no test"
        assert recipe.import_name
        if isinstance(recipe.source, DirectorySource):
            project = tomllib.loads((folder / recipe.source.path / "pyproject.toml").read_text())
            assert project["project"]["version"] == str(recipe.version)
            assert project["project"]["name"] == recipe.name


def test_committed_records_are_sound_and_follow_the_schema() -> None:
    schema = json.loads(
        files("wheelgrid").joinpath("schemas/observation.schema.json").read_text(encoding="utf-8")
    )
    folder = ROOT / "compat" / "observations" / "runs"
    records = list(read_records(folder))
    for path, record in records:
        assert not isinstance(record, ValueError), f"{path}: {record}"
        assert path == folder / record.package / f"{record.cell}.json"
        jsonschema.validate(json.loads(path.read_bytes()), schema)


@pytest.mark.parametrize("name", sorted(derived_files()))
def test_derived_files_are_up_to_date(name: str) -> None:
    path = ROOT / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    assert text == derived_files()[name], f"{name} is out of date: run `wheelgrid render`"


def test_schemas_are_valid_schemas() -> None:
    for path in (ROOT / "src" / "wheelgrid" / "schemas").glob("*.json"):
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_bytes()))


def test_the_field_guide_names_every_field_of_the_matrix() -> None:
    text = (ROOT / "matrix.yaml").read_text(encoding="utf-8")
    guide = text.partition("\nschema:")[0]
    for name in ("schema", "axes", "packages", "exclude", "when", "tiers", "toolchains"):
        assert re.search(rf"^#   {name}\b", guide, re.MULTILINE), name
