"""Real matrices of other projects, imported: the same cells, by the digest of the originals.

Each folder of imports/ holds a workflow or build.toml (its matrix as published, the steps left
out) and the matrix.yaml that `wheelgrid import` writes. `pytest --update-golden` rewrites those.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wheelgrid.cli.main import cli
from wheelgrid.importers.report import cells_sha256

HERE = Path(__file__).parent / "imports"
DAY = ["--as-of", "2026-12-01"]

# Cells and digest of each original: rows as JSON, keys sorted, no spaces; lines sorted; sha256.
WORKFLOWS = {
    "flash-attention-wheels": (
        56,
        "a0e39d6df85735ee694e4c3a4aceff5d16bc6e5c5b4b86587a025b6a9b3792d0",
    ),
    "mamba-wheels": (
        68,
        "33f5ae3f92dbd1418bf3704a1c96ee70199e5db2312f004eda92abc06ac79121",
    ),
    "causal-conv1d-wheels": (
        68,
        "33f5ae3f92dbd1418bf3704a1c96ee70199e5db2312f004eda92abc06ac79121",
    ),
    "pytorch-scatter-wheels": (
        50,
        "9d27a9b21b32dd37b82b59fdc6bb479a372043b69242c11cccf8cfe07de6b005",
    ),
    "bitsandbytes-build-cpu": (
        5,
        "123ecf28bd69ad62aec898013fb491dce2750f5019ce003ba08b4f64cf07e95c",
    ),
    "bitsandbytes-build-xpu": (
        4,
        "163a4bde73a7b253b578ee1025a8419cefddfe19d0617a8287f4cc3a71ba1cca",
    ),
    "bitsandbytes-build-rocm": (
        7,
        "f425ac715e708dd989041851641901f5ce3c6a514fc73521fe34d494fa2fa20b",
    ),
    "bitsandbytes-build-wheels": (
        5,
        "123ecf28bd69ad62aec898013fb491dce2750f5019ce003ba08b4f64cf07e95c",
    ),
    "bitsandbytes-audit-wheels": (
        2,
        "b5fee338965bcdf13b283245e35d9de2e824277a95bb9acf2c77eb38feda1c8d",
    ),
    "xformers-rocm-build": (
        2,
        "d6ee67f06682f0a26c7991cc4639e290421e4ac75d764a676b28db6b4ec9deff",
    ),
}
KERNELS = {
    "kernels-relu": (
        26,
        "6b5b798302be21c17e08853ef7cb25626dca9497d15bd8f2aa55cc8321afad34",
    ),
    "kernels-relu-specific-torch": (
        16,
        "0d6afe65f55ad88fe94e67cc05d2421d9d6759f163120b2c35286253f76793d5",
    ),
    "kernels-relu-torch-bounds": (
        8,
        "7a0869267e1f7339bbbf0f43fafa72569344d0607ba176a1aaee9fa1ee3b8b5e",
    ),
    "kernels-relu-metal-cpp": (
        2,
        "4dd9ee75ad89dca54b64de48836ccc765cc55d8e5ed9baa88cadd1e914b11486",
    ),
    "kernels-cutlass-gemm": (
        14,
        "d54c20efca47bfdd1684fec715e944f919e5886f6a6dc40c7bc73e028d7971ef",
    ),
}
ALL_SETS = (28, "a62ff112ed1c9eef062a7567b553259a22867fa2bd024c95bb568e5a782c45e0")
VERSIONS = HERE / "kernels" / "versions.nix"


def wheelgrid(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def digest_of_plan(matrix: Path) -> tuple[int, str]:
    """The cells that `wheelgrid plan --cells` prints: what a user of the file gets."""
    shown = wheelgrid("--root", str(matrix), "plan", "--cells", *DAY)
    cells = [json.loads(line) for line in shown.stdout.splitlines()]
    return len(cells), cells_sha256(cells)


def check_golden(shown: str, path: Path, *, update: bool) -> None:
    if update:
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8"), (
        f"{path.name} differs: review, then `nox -s tests -- tests/golden --update-golden`"
    )


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_a_workflow_gives_the_cells_that_github_runs(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = HERE / name
    shown = wheelgrid("import", "github-workflow", str(folder / "workflow.yml"), *DAY)
    check_golden(
        shown.stdout, folder / "matrix.yaml", update=request.config.getoption("--update-golden")
    )
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(shown.stdout, encoding="utf-8")
    assert digest_of_plan(matrix) == WORKFLOWS[name]


@pytest.mark.parametrize("name", sorted(KERNELS))
@pytest.mark.parametrize("versions", ["versions.nix", "versions.yaml"])
def test_a_kernel_gives_the_sets_that_its_builder_makes(
    name: str, versions: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = HERE / name
    arguments = ["--versions", str(HERE / "kernels" / versions)]
    shown = wheelgrid("import", "kernels", str(folder / "build.toml"), *arguments, *DAY)
    text = shown.stdout.replace("versions.yaml", "versions.nix")
    check_golden(text, folder / "matrix.yaml", update=request.config.getoption("--update-golden"))
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(shown.stdout, encoding="utf-8")
    assert digest_of_plan(matrix) == KERNELS[name]


def test_a_versions_list_alone_gives_every_set() -> None:
    shown = json.loads(wheelgrid("import", "kernels", str(VERSIONS), "--json", *DAY).stdout)
    matrix = shown["matrices"][0]
    assert (len(matrix["cells"]), matrix["cells_sha256"]) == ALL_SETS


@pytest.mark.parametrize(
    ("name", "options", "count"),
    [
        ("linux-64", [], 4),
        ("win-arm64", [], 1),
        ("linux-64-cuda", ["--set", "CF_CUDA_ENABLED=True", "--set", "BUILD=linux"], 8),
    ],
)
def test_a_conda_file_gives_the_variants_of_a_platform(
    name: str, options: list[str], count: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    platform = name.removesuffix("-cuda")
    file = HERE / "conda" / "conda_build_config.yaml"
    arguments = ["conda_build_config", str(file), "--platform", platform, *options]
    shown = wheelgrid("import", *arguments, *DAY)
    golden = HERE / "conda" / f"{name}.yaml"
    check_golden(shown.stdout, golden, update=request.config.getoption("--update-golden"))
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(shown.stdout, encoding="utf-8")
    assert digest_of_plan(matrix)[0] == count


def test_scatter_has_two_dead_and_four_redundant_rules_of_fourteen() -> None:
    file = HERE / "pytorch-scatter-wheels" / "workflow.yml"
    shown = json.loads(wheelgrid("import", "github-workflow", str(file), "--json", *DAY).stdout)
    codes = [finding["code"] for finding in shown["findings"]]
    assert codes.count("dead-exclude") == 2
    assert codes.count("redundant-exclude") == 4
    assert shown["matrices"][0]["document"].count("- id:") == 8


def test_no_folder_is_without_a_test() -> None:
    names = {path.name for path in HERE.iterdir()}
    assert names == {*WORKFLOWS, *KERNELS, "kernels", "conda"}
