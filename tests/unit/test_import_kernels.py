"""The importer of kernels: the versions list in its four syntaxes, and what a kernel builds."""

from __future__ import annotations

import pytest

from wheelgrid.core.errors import BadInputError
from wheelgrid.importers.kernels import compare_versions, import_kernels
from wheelgrid.importers.nix import read_nix_records
from wheelgrid.importers.report import Imported
from wheelgrid.importers.versions import read_versions

NIX = """# a list
[
  {
    torchVersion = "2.12"; /* why */
    cudaVersion = "12.6";
    systems = [ "x86_64-linux" "aarch64-linux" ];
    bundleBuild = true;
    tvmFfiVersion = "0.1";
  }
  { torchVersion = "2.13"; cpu = true; systems = [ "x86_64-linux" ]; bundleBuild = false; }
]
"""
YAML = """
- {torch: "2.12", cuda: "12.6", systems: [x86_64-linux, aarch64-linux], bundle: true,
   tvm_ffi: "0.1"}
- {torch: "2.13", cpu: true, system: x86_64-linux}
"""
JSON = """[
 {"torch": "2.12", "cuda": "12.6", "systems": ["x86_64-linux", "aarch64-linux"], "bundle": true,
  "tvm_ffi": "0.1"},
 {"torch": "2.13", "cpu": true, "systems": ["x86_64-linux"]}]"""
TOML = """
[[sets]]
torch = "2.12"
cuda = "12.6"
systems = ["x86_64-linux", "aarch64-linux"]
bundle = true
tvm_ffi = "0.1"
[[sets]]
torch = "2.13"
cpu = true
systems = ["x86_64-linux"]
"""
LIST = """
- {torch: "2.11", cuda: "12.6", systems: [x86_64-linux], bundle: true}
- {torch: "2.12", cuda: "12.6", systems: [x86_64-linux, aarch64-linux], bundle: true}
- {torch: "2.12", cuda: "13.0", systems: [x86_64-linux], bundle: true, tvm_ffi: "0.1"}
- {torch: "2.12", rocm: "7.2", systems: [x86_64-linux], bundle: true}
- {torch: "2.12", cpu: true, systems: [x86_64-linux], bundle: false}
"""


def kernel(build: str, *, bundle: bool = True, versions: str = LIST) -> Imported:
    return import_kernels(
        build,
        versions,
        names=("build.toml", "versions.yaml"),
        files=("build.toml", "versions.yaml"),
        bundle=bundle,
    )


def short(imported: Imported) -> list[str]:
    return [f"{c['torch']} {c['backend']}{c['version']} {c['system']}" for c in imported.cells]


@pytest.mark.parametrize(
    ("text", "file"), [(NIX, "v.nix"), (YAML, "v.yaml"), (JSON, "v.json"), (TOML, "v.toml")]
)
def test_the_four_syntaxes_say_the_same(text: str, file: str) -> None:
    """Both spellings of the names are read."""
    found = read_versions(text, file=file)
    assert [(s.torch, s.backend, s.version, s.systems, s.bundle, s.tvm_ffi) for s in found] == [
        ("2.12", "cuda", "12.6", ("x86_64-linux", "aarch64-linux"), True, "0.1"),
        ("2.13", "cpu", "", ("x86_64-linux",), False, ""),
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[ { a = import ./x; } ]", "v.nix:1:9"),
        ('[\n { a = "${x}"; } ]', "v.nix:2:8"),
        ("[ { a = 1; } ]", "v.nix:1:9"),
        ("let x = 1; in [ ]", "v.nix:1:1"),
        ('[ { a = "b" } ]', "v.nix:1:13"),
        ('[ { a = "b"; a = "c"; } ]', "v.nix:1:14"),
        ("[ ] [ ]", "v.nix:1:5"),
        ("[ { a = [ [ ] ]; } ]", "v.nix:1:11"),
        ("", "v.nix:1:1"),
    ],
)
def test_anything_but_plain_records_is_refused(text: str, place: str) -> None:
    """Nothing of Nix is evaluated; the place is given."""
    with pytest.raises(BadInputError) as caught:
        read_nix_records(text, file="v.nix")
    assert str(caught.value).startswith(place)


def test_all_faults_of_a_list_are_reported_together() -> None:
    """Numbers, unknown names, two backends and missing names."""
    text = """
- {torch: 2.10, cuda: "12.6", systems: [x], bundle: true}
- {torch: "2.12", cuda: "12.6", rocm: "7.2", systems: [x]}
- {torhc: "2.12", cpu: true, systems: []}
"""
    with pytest.raises(BadInputError) as caught:
        read_versions(text, file="v.yaml")
    assert [(f.line, f.message) for f in caught.value.faults] == [
        (2, "torch: number where a version string is required: 2.1"),
        (3, "expected exactly one backend, found cuda, rocm"),
        (4, "unknown name 'torhc'"),
        (4, "missing name 'torch'"),
        (4, "systems: expected a list of strings, found []"),
    ]


def test_backends_and_bounds_decide() -> None:
    """As nix-builder/lib/build.nix filters, and each row left out has its reason."""
    found = kernel(
        '[general]\nname = "relu"\nbackends = ["cuda", "rocm"]\n'
        '[general.cuda]\nmaxver = "12.9"\n[torch]\nminver = "2.12"\n'
    )
    assert short(found) == [
        "2.12 cuda12.6 x86_64-linux",
        "2.12 cuda12.6 aarch64-linux",
        "2.12 rocm7.2 x86_64-linux",
    ]
    assert [f.message for f in found.findings] == [
        "1 left out: CUDA 13.0 is outside general.cuda 11.8 to 12.9",
        "1 left out: backend cpu is not in general.backends",
        "1 left out: torch 2.11 is outside torch 2.12 to 99.9",
    ]


def test_a_set_outside_the_bundle_needs_asking() -> None:
    """The bundle is the default; `--all-sets` has the rest."""
    build = '[general]\nbackends = ["cpu", "rocm"]\n'
    assert short(kernel(build)) == ["2.12 rocm7.2 x86_64-linux"]
    assert len(kernel(build, bundle=False).cells) == 2


def test_the_stable_abi_builds_only_the_newest_torch() -> None:
    """For each backend version and system; a mapping names the backends."""
    one = kernel('[general]\nbackends = ["cuda", "rocm"]\n[torch]\nstable-abi = "2.11"\n')
    assert "2.11 cuda12.6 x86_64-linux" not in short(one)
    assert len(one.cells) == 4
    other = kernel('[general]\nbackends = ["cuda"]\n[torch.stable-abi]\nrocm = "2.11"\n')
    assert len(other.cells) == 4


def test_a_tvm_ffi_kernel_needs_a_set_with_that_version() -> None:
    """Sets without it are left out."""
    found = kernel('[general]\nbackends = ["cuda"]\n[tvm-ffi]\n')
    assert short(found) == ["2.12 cuda13.0 x86_64-linux"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        ("[general]\n", "general.backends is missing"),
        ('[general]\nbackends = ["cude"]\n', "unknown backend 'cude'"),
        ('[general]\nbackends = ["cuda"]\n[torch]\nminver = 2.10\n', "number where a version"),
        ('[general]\nbackends=["cuda"]\n[torch]\nminver="2.9"\nmaxver="2.8"\n', "is above maxver"),
        ("[general\n", "is not TOML"),
    ],
)
def test_a_bad_build_toml_is_refused(build: str, message: str) -> None:
    """With what is wrong."""
    with pytest.raises(BadInputError, match=message):
        kernel(build)


def test_nothing_left_is_an_error() -> None:
    """An empty matrix is no answer."""
    found = kernel('[general]\nbackends = ["xpu"]\n')
    assert found.text == ""
    assert found.findings[-1].code == "empty"


def test_a_row_listed_twice_is_written_once() -> None:
    """With a note of its place."""
    twice = LIST + '- {torch: "2.12", rocm: "7.2", systems: [x86_64-linux], bundle: true}\n'
    found = kernel('[general]\nbackends = ["rocm"]\n', versions=twice)
    assert len(found.cells) == 1
    first = found.findings[0]
    assert (first.code, first.place.line) == ("duplicate-row", 7)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("2.10", "2.9", 1),
        ("2.12", "2.12", 0),
        ("2.12", "2.12.0", -1),
        ("2.3pre1", "2.3", -1),
        ("2.3", "2.3.1", -1),
        ("2.3a", "2.3.1", -1),
        ("2.3.1", "2.3a", 1),
    ],
)
def test_versions_compare_as_in_nix(left: str, right: str, order: int) -> None:
    """The examples of `builtins.compareVersions`, and versions as numbers, not text."""
    assert compare_versions(left, right) == order
    assert compare_versions(right, left) == -order


@pytest.mark.parametrize(
    ("text", "file", "message"),
    [
        ("a: {b: c}\nd: e", "v.yaml", "expected a list of records"),
        ("- a", "v.yaml", "expected a mapping"),
        ('{"a": {"b": 1}}', "v.json", "expected a list of records"),
        ("{", "v.json", "is not JSON"),
        ("a = ", "v.toml", "is not TOML"),
        ('[{"torch": "2.1", "cpu": "yes", "systems": ["x"]}]', "v.json", "expected true or false"),
        ('[ { a = "b"; } ] %', "v.nix", "'%' is not read"),
    ],
)
def test_a_broken_list_is_refused(text: str, file: str, message: str) -> None:
    """In each syntax."""
    with pytest.raises(BadInputError, match=message):
        read_versions(text, file=file)
