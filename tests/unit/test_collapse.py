"""How far one wheel reaches: every kind of ABI, on small inventions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from wheelgrid.config.recipe import decode_recipe
from wheelgrid.config.yaml import Faults, parse
from wheelgrid.core.axis import Role
from wheelgrid.core.cell import Cell
from wheelgrid.core.recipe import Proof, Recipe, Unproven
from wheelgrid.planning.checks import colliding_builds
from wheelgrid.planning.collapse import collapse

RECIPE = """\
name: demo
version: "1.0"
summary: A test
source: {{kind: directory, path: source}}
abi: {{"*": {abi}}}
{more}
build: {{requires: {{"*": []}}}}
test: {{import: demo, scripts: []}}
"""
ROLES = {
    "torch": Role.TORCH,
    "python": Role.PYTHON,
    "accelerator": Role.ACCELERATOR,
    "platform": Role.PLATFORM,
    "cxx11_abi": Role.TEXT,
}
PYTHONS = ("cp311", "cp313", "cp314", "cp314t", "cp315", "cp315t", "cp316t")


def recipe(abi: str, more: str = "") -> Recipe:
    faults = Faults()
    item = parse(RECIPE.format(abi=abi, more=more), file="recipe.yaml", faults=faults)
    assert item is not None
    found = decode_recipe(item, "demo", ROLES)
    faults.check()
    assert found is not None
    return found


def cells(*accelerators: str, torches: tuple[str, ...] = ("2.14.1",)) -> list[Cell]:
    return [
        Cell.parse(f"torch{torch}-{python}-linux_x86_64-{accelerator}")
        for torch in torches
        for python in PYTHONS
        for accelerator in accelerators
    ]


def served(builds: tuple[object, ...]) -> dict[str, int]:
    return {b.id: len(b.cells) for b in builds}  # type: ignore[attr-defined]


def test_abi3_serves_default_builds_and_abi3t_free_threaded_ones_from_3_15_on() -> None:
    """PEP 803: before 3.15 each free-threaded Python needs a wheel of its own."""
    stable = 'stable: {python: "3.11", free_threaded: "3.15"}'
    builds = collapse(recipe("none", stable), cells("cpu"))
    assert served(builds) == {
        "demo-1.0-cp311.abi3-linux_x86_64-any": 4,
        "demo-1.0-cp314t-linux_x86_64-any": 1,
        "demo-1.0-cp315.abi3t-linux_x86_64-any": 2,
    }
    assert [b.abi_tag for b in builds] == ["abi3", "cp314t", "abi3t"]


@pytest.mark.parametrize("floor", ["3.13", "3.14", "3.14t"])
def test_abi3t_before_3_15_is_refused(floor: str) -> None:
    faults = Faults()
    text = RECIPE.format(abi="none", more=f'stable: {{free_threaded: "{floor}"}}')
    item = parse(text, file="recipe.yaml", faults=faults)
    assert item is not None
    decode_recipe(item, "demo", ROLES)
    assert "begins with 3.15 (PEP 803)" in str(faults.found[0])
    assert faults.found[0].line == 6


def test_one_wheel_of_a_cuda_major_is_built_with_its_oldest_toolkit() -> None:
    found = recipe("none", 'reach: {"cuda*": major}\nstable: {python: "3.11"}')
    only = [c for c in cells("cuda12.6", "cuda13.0", "cuda13.2") if str(c.python) == "3.13"]
    builds = collapse(found, only)
    assert [(b.id, str(b.accelerator), b.wheel_version) for b in builds] == [
        ("demo-1.0-cp311.abi3-linux_x86_64-cuda12", "cuda12.6", "1.0+cu12"),
        ("demo-1.0-cp311.abi3-linux_x86_64-cuda13", "cuda13.0", "1.0+cu13"),
    ]
    assert [len(b.cells) for b in builds] == [1, 2]


def test_torch_free_wheels_reach_all_accelerators_unless_the_recipe_says_otherwise() -> None:
    accelerators = ("cpu", "cuda13.0", "rocm7.14")
    assert len(collapse(recipe("none", 'stable: {python: "3.11"}'), cells(*accelerators))) == 1 + 3
    exact = recipe("none", 'stable: {python: "3.11"}\nreach: {"*": exact}')
    assert len(collapse(exact, cells(*accelerators))) == 3 * (1 + 3)


def test_the_cxx_abi_of_torch_can_meet_the_stable_abi_of_python() -> None:
    """Xformers did this before the stable ABI of libtorch: cp39-abi3, one wheel a torch line."""
    found = recipe("libtorch", 'stable: {python: "3.11"}')
    only = [c for c in cells("cpu", torches=("2.13.0", "2.14.1")) if not c.python.free_threaded]
    assert served(collapse(found, only)) == {
        "demo-1.0-torch2.13.0-cp311.abi3-linux_x86_64-cpu": 4,
        "demo-1.0-torch2.14.1-cp311.abi3-linux_x86_64-cpu": 4,
    }


def test_free_axes_that_a_recipe_does_not_use_are_pruned() -> None:
    base = Cell.parse("torch2.14.1-cp313-linux_x86_64-cpu")
    both = [replace(base, free=(("cxx11_abi", value),)) for value in ("FALSE", "TRUE")]
    assert [len(b.cells) for b in collapse(recipe("libtorch"), both)] == [2]
    builds = collapse(recipe("libtorch", "uses: [cxx11_abi]"), both)
    assert [b.wheel_version for b in builds] == [
        "1.0+cputorch2.14.cxx11.abifalse",
        "1.0+cputorch2.14.cxx11.abitrue",
    ]
    assert all(str(Version(b.wheel_version)) == b.wheel_version for b in builds)
    assert colliding_builds(builds) == []


def test_an_axis_that_a_recipe_uses_must_exist() -> None:
    faults = Faults()
    text = RECIPE.format(abi="libtorch", more="uses: [cxx11abi]")
    item = parse(text, file="recipe.yaml", faults=faults)
    assert item is not None
    decode_recipe(item, "demo", ROLES)
    assert "did you mean 'cxx11_abi'?" in str(faults.found[0])


def test_values_that_differ_only_in_punctuation_collide_and_are_found() -> None:
    base = Cell.parse("torch2.14.1-cp313-linux_x86_64-cpu")
    both = [replace(base, free=(("cxx11_abi", value),)) for value in ("a-b", "a.b")]
    builds = collapse(recipe("libtorch", "uses: [cxx11_abi]"), both)
    assert len(builds) == 2
    assert "two builds have one artifact name" in str(colliding_builds(builds)[0])


@pytest.mark.parametrize(
    ("proof", "builds"),
    [(Proof.PYTHON_STABLE_ABI, 7), (Proof.TORCH_STABLE_ABI, 2 * 4)],
)
def test_a_refuted_claim_gives_its_cells_the_builds_they_would_have_without_it(
    proof: Proof, builds: int
) -> None:
    found = recipe("libtorch-stable", 'stable: {torch: "2.13", python: "3.11"}')
    every = cells("cpu", "cuda13.0", torches=("2.13.0", "2.14.1"))
    refuted = Unproven(
        package="demo",
        version="1.0",
        accelerator="cpu",
        proof=proof,
        rule="WG205",
        why="uses PyFrame_GetBack",
        wheel_sha256="0" * 64,
    )
    before = collapse(found, every)
    after = collapse(found, every, [refuted])
    other = [b.id for b in after if b.folder == "cuda13.0"]
    assert other == [b.id for b in before if b.folder == "cuda13.0"]
    assert len([b for b in after if b.folder == "cpu"]) == builds
    assert sorted(c for b in after for c in b.cells) == sorted(every)
    assert collapse(found, every, [replace(refuted, version="0.9")]) == before
