"""`wheelgrid resolve` as operators run it: one file for a cell or why none, traps, exit codes.

Each case is one that people met; the source is the id of its parametrisation or named in it.
"""

from __future__ import annotations

import json
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from wheelgrid.cli.main import run

GOOD, FAILED, USAGE, UNKNOWN = 0, 1, 2, 3
CU130 = "torch2.14.1-cp313-linux_x86_64-cuda13.0"


class Resolve:
    """Runs the command on lists written here; JSON is checked against its schema."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def write(self, content: object, name: str = "files.txt") -> str:
        path = self.folder / name
        if isinstance(content, list) and content and isinstance(content[0], dict):
            path.write_text(json.dumps({"meta": {"api-version": "1.1"}, "files": content}))
        elif isinstance(content, list):
            path.write_text("\n".join(content) + "\n")
        else:
            path.write_text(str(content))
        return str(path)

    def __call__(self, cell: str, content: object, *more: str) -> tuple[int, Any]:
        arguments = [cell] if cell else []
        code = run(["resolve", *arguments, "--files", self.write(content), "--json", *more])
        found = json.loads(self.capsys.readouterr().out)
        schema = files("wheelgrid").joinpath("schemas/resolve.schema.json").read_text("utf-8")
        jsonschema.validate(found, json.loads(schema))
        return code, found

    def text(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["resolve", *arguments])
        shown = self.capsys.readouterr()
        return code, shown.out, shown.err


@pytest.fixture
def resolve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Resolve:
    return Resolve(tmp_path, capsys)


def codes(found: dict[str, Any]) -> set[str]:
    return {trap["code"] for trap in found["traps"]}


def whys(found: dict[str, Any]) -> dict[str, str]:
    return {f["file"]: f["why"] or f["for_cell_why"] for f in found["files"]}


FLASH = [
    f"flash_attn-2.8.3+cu{cu}torch{torch}cxx11abi{abi}-cp{python}-cp{python}-linux_x86_64.whl"
    for cu in ("12", "13")
    for torch in ("2.6", "2.13", "2.14")
    for abi in ("TRUE", "FALSE")
    for python in ("310", "311", "312", "313")
] + [
    f"flash_attn-2.8.3+{label}-cp313-cp313-{platform}.whl"
    for label in ("cu130torch2.14", "cu126torch2.14", "rocm7.14.torch2.14", "cputorch2.14")
    for platform in ("linux_x86_64", "win_amd64", "linux_aarch64")
]


@pytest.mark.parametrize(
    ("cell", "more", "file"),
    [
        (CU130, (), "flash_attn-2.8.3+cu130torch2.14-cp313-cp313-linux_x86_64.whl"),
        (
            "torch2.14.0-cp312-linux_x86_64-cuda12.6",
            (),
            "flash_attn-2.8.3+cu12torch2.14cxx11abiTRUE-cp312-cp312-linux_x86_64.whl",
        ),
        (
            "torch2.6.0-cp310-linux_x86_64-cuda12.4",
            ("--cxx11-abi", "false"),
            "flash_attn-2.8.3+cu12torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl",
        ),
        (
            "torch2.14.1-cp313-win_amd64-cuda13.0",
            (),
            "flash_attn-2.8.3+cu130torch2.14-cp313-cp313-win_amd64.whl",
        ),
        (
            "torch2.14.1-cp313-linux_aarch64-rocm7.14",
            (),
            "flash_attn-2.8.3+rocm7.14.torch2.14-cp313-cp313-linux_aarch64.whl",
        ),
        (
            "torch2.14.1-cp313-linux_x86_64-cpu",
            (),
            "flash_attn-2.8.3+cputorch2.14-cp313-cp313-linux_x86_64.whl",
        ),
    ],
)
def test_of_a_page_of_names_exactly_one_file_is_for_a_cell(
    resolve: Resolve, cell: str, more: tuple[str, ...], file: str
) -> None:
    """Dao-AILab/flash-attention#1297: dozens of files that only experts can choose from."""
    code, found = resolve(cell, FLASH, *more)
    assert (code, found["file"]) == (GOOD, file)
    assert found["pin"] == "flash-attn==" + file.split("-")[1].lower()


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("torch2.15.0-cp313-linux_x86_64-cuda13.0", "are for torch 2.6, 2.13, 2.14"),
        ("torch2.14.1-cp314-linux_x86_64-cuda13.0", "no wheel for Python 3.14 on linux_x86_64"),
        ("torch2.14.1-cp313-linux_x86_64-xpu2026.1", "not xpu2026.1"),
        ("torch2.6.0-cp311-linux_x86_64-cuda12.4", "differ in cxx11abi only"),
    ],
)
def test_where_no_file_is_for_the_cell_the_answer_says_why(
    resolve: Resolve, cell: str, words: str
) -> None:
    code, found = resolve(cell, FLASH)
    assert (code, found["file"], found["outcome"]) == (FAILED, None, "failed")
    assert words in found["why"]
    assert len(found["files"]) == len(FLASH)
    fitting = {f["file"] for f in found["files"] if f["for_cell"] == "yes"}
    assert {file for file, why in whys(found).items() if not why} == fitting


@pytest.mark.parametrize(
    ("label", "fits", "words"),
    [
        ("cu130torch2.14", "yes", ""),
        ("cu13torch2.14cxx11abitrue", "yes", ""),
        ("cu13torch2.14cxx11abifalse", "no", "cxx11abi false"),
        ("pt214cu130", "yes", ""),
        ("torch2.14.1cu130", "yes", ""),
        ("cuda13.0.torch2.14", "yes", ""),
        ("cu1210torch2.14", "no", "is for cuda12.10 or 121.0"),
        ("pt210cu130", "no", "is for torch 2.10 or 21.0 or 2.1.0"),
        ("cu130", "unknown", "names no torch"),
        ("torch2.14", "unknown", "names no accelerator"),
        ("cpu", "no", "is for cpu"),
        ("rocm7.10.0a20251120", "no", "is for rocm7.10.0"),
        ("xpu", "no", "is for xpu"),
        ("gitabc123", "unknown", "names no accelerator"),
    ],
)
def test_label_conventions(resolve: Resolve, label: str, fits: str, words: str) -> None:
    name = f"x-1.0+{label}-cp313-cp313-linux_x86_64.whl"
    code, found = resolve(CU130, [name])
    assert found["files"][0]["for_cell"] == fits
    assert words in found["files"][0]["for_cell_why"]
    assert code == {"yes": GOOD, "no": FAILED, "unknown": UNKNOWN}[fits]


def test_digits_without_dots_that_can_be_read_in_two_ways_are_said(resolve: Resolve) -> None:
    name = "x-1.0+pt210cu128-cp312-cp312-linux_x86_64.whl"
    code, found = resolve("torch2.10.0-cp312-linux_x86_64-cuda12.8", [name])
    assert (code, found["file"]) == (GOOD, name)
    assert "2.10 or 21.0 or 2.1.0" in next(
        t["message"] for t in found["traps"] if t["code"] == "label-note"
    )


@pytest.mark.parametrize(
    "source",
    ["flashinfer-ai/flashinfer#105", "NVIDIA/torch-harmonics#226"],
)
def test_a_wheel_that_names_no_torch_is_unknown_for_every_torch(
    resolve: Resolve, source: str
) -> None:
    """No label and no pin: unknown, never supported; a stable ABI must be said."""
    name = "harmonics-0.8.0+cu130-cp313-cp313-manylinux_2_28_x86_64.whl"
    for torch in ("2.10.0", "2.12.0"):
        cell = f"torch{torch}-cp313-linux_x86_64-cuda13.0"
        code, found = resolve(cell, [name])
        assert (code, found["state"], found["file"]) == (UNKNOWN, "unknown", None), source
        code, found = resolve(cell, [name], "--torch-abi", "stable")
        assert (code, found["state"]) == (GOOD, "built-for-it")


def test_an_installer_falls_back_to_a_yanked_sdist(resolve: Resolve) -> None:
    """pgmpy/pgmpy#1393: no wheel for the platform, a ten-year-old yanked sdist is left."""
    page = [
        {"filename": "torch-0.1.2.post1.tar.gz", "yanked": "cannot be built", "hashes": {"a": "b"}},
        {"filename": "torch-1.11.0-cp39-cp39-win_amd64.whl", "requires-python": ">=3.7"},
        {"filename": "torch-1.11.0-cp39-none-macosx_11_0_arm64.whl", "requires-python": ">=3.7"},
    ]
    cell = "torch1.11.0-cp39-linux_x86_64-cpu"
    code, found = resolve(cell, page)
    assert code == FAILED
    assert found["installer"] == {
        "file": "torch-0.1.2.post1.tar.gz",
        "kind": "sdist",
        "yanked": True,
    }
    trap = next(t for t in found["traps"] if t["code"] == "yanked-fallback")
    assert "would choose the yanked source distribution" in trap["message"]
    assert "cannot be built" in trap["message"]
    code, found = resolve(cell, page, "--only-binary")
    assert (code, found["installer"]["file"]) == (FAILED, None)


def test_without_a_wheel_for_the_python_an_installer_compiles(resolve: Resolve) -> None:
    """facebookresearch/xformers#1168."""
    names = [f"xformers-0.0.28-cp{n}-cp{n}-manylinux_2_28_x86_64.whl" for n in (310, 311, 312)]
    cell = "torch2.6.0-cp313-linux_x86_64-cuda12.6"
    code, found = resolve(cell, [*names, "xformers-0.0.28.tar.gz"])
    assert code == FAILED
    assert found["installer"]["file"] == "xformers-0.0.28.tar.gz"
    assert "builds-from-source" in codes(found)
    assert "no wheel for Python 3.13" in found["why"]
    assert found["pythons"]["newest_wheel"] == "3.12"


def test_both_ends_of_the_pythons_are_shown(resolve: Resolve) -> None:
    """pytorch/pytorch#111621: only the minimum was."""
    page = [
        {
            "filename": f"torch-2.1.0-cp{n}-cp{n}-manylinux_2_17_x86_64.whl",
            "requires-python": ">=3.8",
        }
        for n in (38, 39, 310, 311)
    ]
    code, found = resolve("torch2.1.0-cp312-linux_x86_64-cpu", page)
    assert code == FAILED
    assert found["pythons"] == {
        "requires_python": ">=3.8",
        "oldest_wheel": "3.8",
        "newest_wheel": "3.11",
        "open_ended": False,
    }
    assert "python-ceiling" in codes(found)


def test_an_older_release_is_taken_in_silence(resolve: Resolve) -> None:
    """A floor of the newest release (Python, or macOS 14) makes installers take an old one."""
    page = [
        {
            "filename": f"torch-{v}-cp310-cp310-{p}.whl",
            "requires-python": ">=3.10",
        }
        for v, p in (("2.11.0", "macosx_11_0_arm64"), ("2.15.0", "macosx_14_0_arm64"))
    ]
    cell = "torch2.15.0-cp310-macosx_arm64-mps"
    code, found = resolve(cell, page, "--macos", "13.0")
    assert code == FAILED
    assert found["installer"]["file"] == "torch-2.11.0-cp310-cp310-macosx_11_0_arm64.whl"
    trap = next(t for t in found["traps"] if t["code"] == "older-than-newest")
    assert "needs macOS 14.0, the target has macOS 13.0" in trap["message"]
    code, found = resolve(cell, page)
    assert (code, found["file"]) == (GOOD, "torch-2.15.0-cp310-cp310-macosx_14_0_arm64.whl")


@pytest.mark.parametrize(
    ("older", "newer", "cell"),
    [
        pytest.param(
            "torch-2.12.0+rocm7.15.0a20260728-cp312-cp312-linux_x86_64.whl",
            "torch-2.12.0+rocm10.1.0a20260807-cp312-cp312-linux_x86_64.whl",
            "torch2.12.0-cp312-linux_x86_64-rocm10.1",
            id="ROCm/TheRock#7183",
        ),
        pytest.param(
            "x-2.1.2+pt28cu128-cp312-cp312-linux_x86_64.whl",
            "x-2.1.2+pt210cu128-cp312-cp312-linux_x86_64.whl",
            "torch2.10.0-cp312-linux_x86_64-cuda12.8",
            id="building.yml@648dda3",
        ),
        pytest.param(
            "x-0.2+cu130torch29-cp312-cp312-linux_x86_64.whl",
            "x-0.2+cu130torch210-cp312-cp312-linux_x86_64.whl",
            "torch2.10.0-cp312-linux_x86_64-cuda13.0",
            id="digits after torch",
        ),
    ],
)
def test_the_newer_build_sorts_below_the_older(
    resolve: Resolve, older: str, newer: str, cell: str
) -> None:
    _, found = resolve(cell, [older, newer])
    assert found["file"] == newer
    assert found["installer"]["file"] == older
    assert {"label-order", "wrong-build", "open-label"} <= codes(found)


def test_labels_that_keep_their_dots_sort_as_numbers(resolve: Resolve) -> None:
    names = [f"x-0.2+cu130torch2.{n}-cp312-cp312-linux_x86_64.whl" for n in (9, 14)]
    code, found = resolve("torch2.14.1-cp312-linux_x86_64-cuda13.0", names)
    assert (code, found["installer"]["file"]) == (GOOD, names[1])
    assert "label-order" not in codes(found)


def test_build_inputs_are_pinned_with_their_label_and_a_stale_choice_fails(
    resolve: Resolve,
) -> None:
    """ROCm/vllm#1237: a frozen nightly line was taken for weeks."""
    page = [
        {
            "filename": "torch-2.12.0+rocm7.15.0a20260728-cp312-cp312-linux_x86_64.whl",
            "upload-time": "2026-07-28T00:00:00Z",
        },
        {
            "filename": "torch-2.12.0+rocm10.1.0a20260915-cp312-cp312-linux_x86_64.whl",
            "upload-time": "2026-09-15T00:00:00Z",
        },
    ]
    cell = "torch2.12.0-cp312-linux_x86_64-rocm10.1"
    stale = ("--package", "torch==2.12.*", "--stale-days", "14", "--as-of", "2026-09-16")
    code, found = resolve(cell, page, *stale)
    assert code == FAILED
    trap = next(t for t in found["traps"] if t["code"] == "stale-choice")
    assert "is 50 days old" in trap["message"]
    assert found["pin"] == "torch==2.12.0+rocm10.1.0a20260915"
    pinned = ("--package", found["pin"], *stale[2:])
    code, found = resolve(cell, page, *pinned)
    assert (code, found["traps"][0]["code"]) == (GOOD, "label-order")


@pytest.mark.parametrize(
    ("name", "python", "fits"),
    [
        ("x-1.0-cp39-abi3-manylinux_2_28_x86_64.whl", "cp314", True),
        ("x-1.0-cp39-abi3-manylinux_2_28_x86_64.whl", "cp314t", False),
        ("x-1.0-cp314-cp314t-manylinux_2_28_x86_64.whl", "cp314t", True),
        ("x-1.0-cp314-cp314t-manylinux_2_28_x86_64.whl", "cp314", False),
        ("x-1.0-cp315-abi3-manylinux_2_28_x86_64.whl", "cp314", False),
        ("x-1.0-cp315-abi3.abi3t-manylinux_2_28_x86_64.whl", "cp315t", True),
        ("x-1.0-cp315-abi3.abi3t-manylinux_2_28_x86_64.whl", "cp316", True),
        ("x-1.0-cp315-abi3.abi3t-manylinux_2_28_x86_64.whl", "cp314t", False),
        ("x-1.0-cp315-abi3t-manylinux_2_28_x86_64.whl", "cp315", False),
    ],
)
def test_stable_abi_and_free_threading(
    resolve: Resolve, name: str, python: str, *, fits: bool
) -> None:
    """pypa/setuptools#4424 and PEP 803: abi3 is nothing for a free-threaded interpreter."""
    cell = f"torch2.14.1-{python}-linux_x86_64-cpu"
    code, found = resolve(cell, [name], "--torch-free", "x")
    assert code == (GOOD if fits else FAILED)
    assert found["files"][0]["installable"] is fits
    assert bool(found["files"][0]["why"]) is not fits


@pytest.mark.parametrize(
    ("version", "requirement", "code"),
    [
        ("2.14.0rc1", "torch>=2.14", FAILED),
        ("2.14.0.dev20260901+cu130", "torch>=2.14", FAILED),
        ("2.14.0.dev20260901+cu130", "torch>=2.14.0.dev0", GOOD),
        ("2.14.0+cu130", "torch>=2.14", GOOD),
    ],
)
def test_nightlies_need_a_dev_lower_bound(
    resolve: Resolve, version: str, requirement: str, code: int
) -> None:
    """pypa/pip#12902: a dev build does not satisfy the bound of its release."""
    name = f"torch-{version}-cp312-cp312-linux_x86_64.whl"
    cell = f"torch{version.partition('+')[0]}-cp312-linux_x86_64-cuda13.0"
    got, found = resolve(cell, [name], "--package", requirement)
    if "rc" not in version:
        assert got == code
    assert (found["installer"]["file"] == name) is (code == GOOD)
    hints = [t["hint"] for t in found["traps"] if t["code"] == "pre-release-bound"]
    assert hints == ([] if code == GOOD else ["nightlies need a dev lower bound: "
                                              "torch>=2.14.0.dev0"])  # fmt: skip


def test_pre_releases_are_taken_only_when_asked_for(resolve: Resolve) -> None:
    names = [f"x-{v}-py3-none-any.whl" for v in ("1.0", "2.0rc1")]
    assert resolve(CU130, names)[1]["installer"]["file"] == names[0]
    assert resolve(CU130, names, "--pre")[1]["installer"]["file"] == names[1]
    assert resolve(CU130, names[1:])[1]["installer"]["file"] == names[1]


def test_musl_cells_are_impossible_for_torch(resolve: Resolve) -> None:
    """astral-sh/uv#9901."""
    names = [
        "torch-2.14.1-cp313-cp313-manylinux_2_28_x86_64.whl",
        "torch-2.14.1-cp313-cp313-win_amd64.whl",
    ]
    code, found = resolve("torch2.14.1-cp313-musllinux_x86_64-cpu", names)
    assert code == FAILED
    assert "torch has no musllinux wheels" in found["traps"][0]["message"]
    assert "musl, which takes no manylinux wheel" in whys(found)[names[0]]


def test_a_newer_glibc_than_the_target_has(resolve: Resolve) -> None:
    name = "x-1.0+cu130torch2.14-cp313-cp313-manylinux_2_34_x86_64.whl"
    assert "needs glibc 2.34, the target has glibc 2.28" in resolve(CU130, [name])[1]["why"]
    assert resolve(CU130, [name], "--glibc", "2.39")[0] == GOOD


@pytest.mark.parametrize("tag", ["manylinux2014_x86_64", "manylinux_2_17_x86_64"])
def test_manylinux2014_is_glibc_2_17(resolve: Resolve, tag: str) -> None:
    name = f"x-1.0+cu130torch2.14-cp313-cp313-{tag}.whl"
    assert resolve(CU130, [name], "--glibc", "2.17")[0] == GOOD
    assert resolve(CU130, [name], "--glibc", "2.16")[0] == FAILED


def test_a_wheel_of_another_python_is_not_for_the_cell(resolve: Resolve) -> None:
    """meta-pytorch/torchcodec#390: cp39 came out of the job of Python 3.12."""
    name = "x-0.0.4+cu118-cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    code, found = resolve("torch2.5.1-cp312-linux_x86_64-cuda11.8", [name])
    assert (code, found["files"][0]["out"]) == (FAILED, "python-tag")
    assert "cp39-cp39, not cp312" in found["why"]


def test_support_needs_every_dependency_for_the_same_cell(resolve: Resolve) -> None:
    """vllm-project/vllm#48592: cu129 itself, but one dependency has no build of it."""
    cell = "torch2.9.1-cp312-linux_x86_64-cuda12.9"
    own = ["vllm-0.25.0+cu129torch2.9-cp312-cp312-manylinux_2_28_x86_64.whl"]
    codec = resolve.write(
        [f"torchcodec-0.9.0+{x}torch2.9-cp312-cp312-linux_x86_64.whl" for x in ("cu128", "cu130")],
        "codec.txt",
    )
    code, found = resolve(cell, own, "--with", "torchcodec==0.9.*", codec)
    assert (code, found["outcome"], found["own_outcome"]) == (FAILED, "failed", "passed")
    assert "not cuda12.9" in found["needs"][0]["why"]
    assert "; but torchcodec==0.9.*: no file is for the cell" in found["why"]
    assert resolve(cell, own)[0] == GOOD


def test_a_dependency_that_lacks_the_python_makes_the_cell_impossible(resolve: Resolve) -> None:
    """pytorch/torchtitan#4180."""
    cell = "torch2.14.1-cp310-linux_x86_64-cpu"
    page = [{"filename": "torchdata-0.12.0-py3-none-any.whl", "requires-python": ">=3.11"}]
    needs = resolve.write(page, "torchdata.json")
    own = ["torchtitan-0.2.0-py3-none-any.whl"]
    code, found = resolve(cell, own, "--with", "torchdata", needs)
    assert code == FAILED
    assert "torchdata 0.12.0" in found["needs"][0]["why"]
    assert "Requires-Python >=3.11, not 3.10" in found["needs"][0]["why"]
    assert resolve(cell.replace("cp310", "cp311"), own, "--with", "torchdata", needs)[0] == GOOD


def test_what_an_old_pip_gets_before_and_after_a_release_is_yanked(resolve: Resolve) -> None:
    """Kozea/pygal#525: publishing N+1 with the floor is not enough, N must be yanked."""
    page: list[dict[str, object]] = [
        {"filename": "x-1.0-py3-none-any.whl", "requires-python": ">=3.9"},
        {"filename": "x-2.0-py3-none-any.whl"},
        {"filename": "x-2.1-py3-none-any.whl", "requires-python": ">=3.11"},
    ]
    cell = "torch2.14.1-cp310-linux_x86_64-cpu"
    _, before = resolve(cell, page)
    assert before["installer"]["file"] == "x-2.0-py3-none-any.whl"
    trap = next(t for t in before["traps"] if t["code"] == "no-requires-python")
    assert ": 2.0" in trap["message"]
    assert "yank" in trap["hint"]
    page[1]["yanked"] = "no Requires-Python"
    _, after = resolve(cell, page)
    assert after["installer"]["file"] == "x-1.0-py3-none-any.whl"
    assert whys(after)["x-2.0-py3-none-any.whl"] == "is yanked: no Requires-Python"


RECORD = {
    "schema_version": 1,
    "kind": "observation",
    "package": "x",
    "package_version": "1.0",
    "build": "x-1.0-torch2.10.0-cp312-linux_x86_64-cuda13.0",
    "key": "0" * 64,
    "wheel": "x-1.0+cu130torch2.10-cp312-cp312-linux_x86_64.whl",
    "wheel_sha256": "0" * 64,
    "cell": "torch2.12.0-cp312-linux_x86_64-cuda13.0",
    "provenance": {
        "time": "2026-11-30T10:00:00+00:00",
        "tool": "wheelgrid 0.1.0",
        "platform": "linux_x86_64",
        "python": "3.12.1",
        "host": {},
        "inputs": {},
    },
}


@pytest.mark.parametrize(
    ("outcome", "code", "state", "words"),
    [
        ("passed", GOOD, "works-not-built-for-it", "works, not built for it: 2 of 2 checks"),
        ("failed", FAILED, "none", "was tried, failed: 0 of 2 checks passed on 2026-11-30 (cuda)"),
    ],
)
def test_works_but_not_built_for_it_is_a_state_with_evidence(
    resolve: Resolve, tmp_path: Path, outcome: str, code: int, state: str, words: str
) -> None:
    """unslothai/unsloth#7495: torch 2.10 wheels pass on 2.12; another project's do not."""
    cell, name = str(RECORD["cell"]), str(RECORD["wheel"])
    got, found = resolve(cell, [name])
    assert (got, found["state"]) == (FAILED, "none")
    checks = [{"name": n, "outcome": outcome, "device": "cuda"} for n in ("a", "b")]
    rung = {"rung": "executed", "outcome": outcome, "why": "seen", "checks": checks}
    folder = tmp_path / "runs" / "x"
    folder.mkdir(parents=True)
    (folder / f"{cell}.json").write_text(json.dumps({**RECORD, "rungs": [rung]}))
    got, found = resolve(cell, [name], "--records", str(folder.parent))
    assert (got, found["state"]) == (code, state)
    assert words in found["why"]
    near = cell.replace("2.12.0", "2.13.0")
    assert resolve(near, [name], "--records", str(folder.parent))[1]["state"] == "none"


def wheel(folder: Path, name: str, metadata: str) -> None:
    parts = name.split("-")
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr(f"{parts[0]}-{parts[1]}.dist-info/METADATA", metadata)


@pytest.mark.parametrize(
    ("label", "requires", "fits", "trap"),
    [
        ("cu130torch2.14", "torch==2.14.*", "yes", False),
        ("cu130torch2.14", "torch>=2.10", "yes", True),
        ("cu130torch2.14", "torch==2.13.*", "no", False),
        ("cu130", "torch==2.14.*", "yes", False),
        ("cu130", "torch>=2.10", "unknown", False),
    ],
)
def test_a_folder_of_wheels_is_judged_by_its_metadata_too(
    tmp_path: Path, resolve: Resolve, label: str, requires: str, fits: str, *, trap: bool
) -> None:
    """NVIDIA/torch-harmonics#226: the wheel must name its torch and pin it."""
    folder = tmp_path / "dist"
    text = f"Name: x\nVersion: 1.0+{label}\nRequires-Python: >=3.11\nRequires-Dist: {requires}\n"
    wheel(folder, f"x-1.0+{label}-cp313-cp313-linux_x86_64.whl", text)
    code = run(["resolve", CU130, "--files", str(folder), "--json"])
    found = json.loads(resolve.capsys.readouterr().out)
    assert found["files"][0]["for_cell"] == fits
    assert ("torch-unpinned" in codes(found)) is trap
    assert code == {"yes": GOOD, "no": FAILED, "unknown": UNKNOWN}[fits]


def test_dependencies_in_the_same_folder_are_followed(tmp_path: Path, resolve: Resolve) -> None:
    folder = tmp_path / "dist"
    head = "Version: 1.0\nRequires-Python: >=3.9\n"
    more = "Requires-Dist: b\nRequires-Dist: w; sys_platform == 'win32'\n"
    wheel(folder, "a-1.0-py3-none-any.whl", f"Name: a\n{head}{more}")
    wheel(folder, "b-1.0-py3-none-any.whl", f"Name: b\n{head}Requires-Dist: c>=2\n")
    wheel(folder, "c-1.0-py3-none-any.whl", f"Name: c\n{head}Requires-Dist: d\n")
    code = run(["resolve", CU130, "--files", str(folder), "--package", "a", "--json"])
    found = json.loads(resolve.capsys.readouterr().out)
    assert code == FAILED
    assert [(n["project"], n["outcome"]) for n in found["needs"]] == [
        ("b", "passed"),
        ("c", "failed"),
    ]
    assert "1.0 is not >=2" in found["needs"][1]["why"]
    assert found["unlisted"] == []


def test_html_pages_and_release_assets_are_read_too(resolve: Resolve) -> None:
    page = (
        "<!DOCTYPE html><html><body>"
        '<a href="../x/torch_x-1.0%2Bcu130torch2.14-cp313-cp313-linux_x86_64.whl#sha256=00" '
        'data-requires-python="&gt;=3.11">f</a><br>'
        '<a href="torch_x-1.1%2Bcu130torch2.14-cp313-cp313-linux_x86_64.whl" data-yanked="bad">g'
        "</a></body></html>"
    )
    code, found = resolve(CU130, page)
    assert code == GOOD
    assert found["file"] == "torch_x-1.0+cu130torch2.14-cp313-cp313-linux_x86_64.whl"
    assert found["pythons"]["requires_python"] == ">=3.11"
    assets = json.dumps({"assets": [{"name": found["file"]}, {"name": "x.whl.asc"}]})
    code, found = resolve(CU130, assets)
    assert (code, len(found["files"])) == (GOOD, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["torch2.14"], "is not a cell id such as"),
        ([CU130, "--package", "=="], "is not a requirement"),
        ([CU130, "--glibc", "new"], "is not a version such as 2.28"),
        ([CU130, "--as-of", "x"], "is not a date"),
        ([], "needs a CELL"),
    ],
)
def test_usage_errors(resolve: Resolve, arguments: list[str], words: str) -> None:
    path = resolve.write(["x-1.0-py3-none-any.whl"])
    code, _, err = resolve.text(*arguments, "--files", path)
    assert code == USAGE
    assert words in err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"files": [', "files.txt:1:"),
        ('{"files": [{"filename": 1}]}', "files[0]: has no filename"),
        ('{"x": 1}', "has no list of files"),
        (
            '{"files": [{"filename": "a-1-py3-none-any.whl", "yanked": 3, "upload-time": []}]}',
            "files[0].upload-time: expected a string",
        ),
        ("[" * 100_000, "files.txt: is not JSON"),
    ],
)
def test_pages_that_cannot_be_read_are_refused_with_their_place(
    resolve: Resolve, content: str, words: str
) -> None:
    code, _, err = resolve.text(CU130, "--files", resolve.write(content))
    assert code == USAGE
    assert words in err


def test_messages_stay_short_however_long_the_list(resolve: Resolve) -> None:
    names = [f"x-1.0+cu130torch2.{n}-cp313-cp313-linux_x86_64.whl" for n in range(500)]
    _, found = resolve(CU130, names)
    assert "and 492 more" in next(t["message"] for t in found["traps"] if t["code"] == "open-label")
    assert max(len(t["message"]) for t in found["traps"]) < 500


def test_names_cannot_forge_lines_of_the_answer(resolve: Resolve) -> None:
    page = json.dumps({"files": [{"filename": "x\nfor cell   evil-1.0.whl\x1b[2J"}]})
    _, out, _ = resolve.text(CU130, "--files", resolve.write(page), "--package", "x")
    assert "\x1b" not in out
    assert "for cell   evil-1.0.whl" not in out.splitlines()


def test_the_text_answer_and_its_bytes_are_stable(resolve: Resolve) -> None:
    path = resolve.write(FLASH)
    first = resolve.text(CU130, "--files", path)
    assert first == resolve.text(CU130, "--files", path)
    assert first[0] == GOOD
    assert first[1].startswith(f"cell       {CU130} (glibc 2.28)\n")
    assert "pin        flash-attn==2.8.3+cu130torch2.14\n" in first[1]


# --check: names for publishing ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "code", "words", "better"),
    [
        pytest.param(
            "tinycudann-1.7+arch75+torch222+cuda121-cp310-cp310-linux_x86_64.whl",
            "plus",
            "write 1.7+arch75.torch222.cuda121",
            "tinycudann-1.7+arch75.torch222.cuda121-cp310-cp310-linux_x86_64.whl",
            id="OutofAi/tiny-cuda-nn-wheels#2",
        ),
        pytest.param(
            "torch_xla-nightly-cp311-cp311-linux_x86_64.whl",
            "version",
            "2.15.0.dev20261130",
            "",
            id="pytorch/xla#7697",
        ),
        pytest.param(
            "llama_cpp_python-0.3.5-cp313-cp313-linux_amd64-noavx.whl",
            "variant",
            "a build tag must start with a digit; variant information goes in the local label",
            "llama_cpp_python-0.3.5+noavx-cp313-cp313-linux_x86_64.whl",
            id="acon96/home-llm#271",
        ),
        pytest.param(
            "x-1.0-cu130-cp312-cp312-linux_x86_64.whl",
            "build-tag",
            "a build tag must start with a digit; variant information goes in the local label",
            "x-1.0+cu130-cp312-cp312-linux_x86_64.whl",
            id="acon96/home-llm#271, third part",
        ),
        pytest.param(
            "Sasview-6.1.1.whl", "parts", "wrong number of parts", "", id="SasView/sasview#3644"
        ),
        pytest.param(
            "x-1.0_1-cp310-cp310-linux_x86_64.whl",
            "version",
            "is not a version",
            "x-1.0.1-cp310-cp310-linux_x86_64.whl",
            id="pypa/packaging#873, underscore",
        ),
        ("flash-attn-2.8.3-cp312-cp312-win_amd64.whl", "name-dash", "has dashes",
         "flash_attn-2.8.3-cp312-cp312-win_amd64.whl"),
        ("My__Pkg-1.0-py3-none-any.whl", "name", "write 'my_pkg'", "my_pkg-1.0-py3-none-any.whl"),
        ("x-1.0-cp312-cp312-linux_x86_64.exe", "not-a-distribution", "", ""),
        ("x-1.0-py3.11.egg", "old-format", "build a wheel", ""),
        ("x-1.0-py3-none-any-cu130_torch2.15.whl", "variant", "draft PEP 825",
         "x-1.0+cu130.torch2.15-py3-none-any.whl"),
    ],
)  # fmt: skip
def test_names_that_installers_refuse(
    resolve: Resolve, name: str, code: str, words: str, better: str
) -> None:
    got, found = resolve("", [name], "--check")
    file = found["files"][0]
    assert got == FAILED
    assert not file["readable"]
    fault = next(f for f in file["faults"] if f["code"] in {code, "old-format"})
    assert words in fault["message"]
    assert fault["suggestion"] == better
    assert not better or resolve("", [better], "--check")[1]["files"][0]["readable"]


@pytest.mark.parametrize(
    ("name", "words", "better"),
    [
        ("foo-01.0.0-py3-none-any.whl", "write 1.0.0", "foo-1.0.0-py3-none-any.whl"),
        (
            "torch-2.13.0+CU130-cp313-cp313-linux_x86_64.whl",
            "write 2.13.0+cu130",
            "torch-2.13.0+cu130-cp313-cp313-linux_x86_64.whl",
        ),
        (
            "protobuf-4.21.0_rc_2-cp310-abi3-win_amd64.whl",
            "write 4.21.0rc2",
            "protobuf-4.21.0rc2-cp310-abi3-win_amd64.whl",
        ),
        ("x-0.2+cu130torch29-cp312-cp312-linux_x86_64.whl", "leaves out the dot of torch 2.9",
         "x-0.2+cu130torch2.9-cp312-cp312-linux_x86_64.whl"),
        ("x-2.1.2+pt210cu128-cp312-cp312-linux_x86_64.whl", "can be 2.10 or 21.0",
         "x-2.1.2+torch2.10.cu128-cp312-cp312-linux_x86_64.whl"),
        ("Flash_Attn-1.0-py3-none-any.whl", "write 'flash_attn'",
         "flash_attn-1.0-py3-none-any.whl"),
        ("x-1.0-cp314-abi3t-win_amd64.whl", "abi3t begins with Python 3.15", ""),
        ("x-1.0-cp313-abi3t-win_amd64.whl", "one wheel for each free-threaded Python", ""),
        ("x-1.0-cp314t-cp314t-win_amd64.whl", "write cp314-cp314t", ""),
        ("x-1.0-cp312-cp311-win_amd64.whl", "are of two Pythons", ""),
        ("x-1.0-cp312-cp312-any.whl", "is for one platform, not for any", ""),
        ("x-1.0-cp312-cp312-macosx_110_0_arm64.whl", "a separator was lost",
         "x-1.0-cp312-cp312-macosx_11_0_arm64.whl"),
        ("x-1.0-cp312-cp312-linux_arm64.whl", "not arm64",
         "x-1.0-cp312-cp312-linux_aarch64.whl"),
    ],
)  # fmt: skip
def test_names_that_installers_forgive_are_not_published(
    resolve: Resolve, name: str, words: str, better: str
) -> None:
    """pypa/packaging#873 and relatives: read, but `str(Version)` must give the name back."""
    got, found = resolve("", [name], "--check")
    file = found["files"][0]
    assert (got, file["readable"], file["publishable"]) == (FAILED, True, False)
    assert any(words in f["message"] for f in file["faults"])
    assert {f["suggestion"] for f in file["faults"]} == {better}


@pytest.mark.parametrize(
    "name",
    [
        "x-1.0-1-cp312-cp312-linux_x86_64.whl",
        "x-0.0.4+cu118-cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "x-1.0-cp315-abi3.abi3t-manylinux_2_28_x86_64.whl",
        "flash_attn-2.8.3+cu130torch2.14-cp312-cp312-musllinux_1_2_x86_64.whl",
        "x-1!2.0rc1.post2.dev3+a.1-py2.py3-none-any.whl",
        "x-1.0.tar.gz",
        "x-1.0-cp313-cp313-pyodide_2025_0_wasm32.whl",
        "x-1.0-pp310-pypy310_pp73-macosx_11_0_arm64.whl",
        "x-1.0-graalpy311-graalpy242_311_native-win_amd64.whl",
    ],
)
def test_right_names_pass(resolve: Resolve, name: str) -> None:
    got, found = resolve("", [name], "--check")
    assert (got, found["files"][0]["faults"], found["good"]) == (GOOD, [], True)


@pytest.mark.parametrize(
    ("name", "folder", "part"),
    [
        ("Flash_Attn", "flash-attn", "flash_attn"),
        ("torch.scatter", "torch-scatter", "torch_scatter"),
        ("My__Pkg", "my-pkg", "my_pkg"),
    ],
)
def test_three_spellings_of_one_name(resolve: Resolve, name: str, folder: str, part: str) -> None:
    """pypa/pip#5006: metadata, file name and index URL."""
    _, found = resolve("", [f"{name}-1.0-py3-none-any.whl"], "--check")
    file = found["files"][0]
    assert file["index_folder"] == folder
    assert file["faults"][0]["suggestion"] == f"{part}-1.0-py3-none-any.whl"


def test_compressed_tag_sets_are_taken_apart(resolve: Resolve) -> None:
    name = "x-0.0.4+cu118-cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    assert resolve("", [name], "--check")[1]["files"][0]["tags"] == [
        "cp39-cp39-manylinux2014_x86_64",
        "cp39-cp39-manylinux_2_17_x86_64",
    ]


def test_every_fault_of_a_name_is_reported_at_once(resolve: Resolve) -> None:
    name = "Llama_CPP-v01.0-cu130-cp313-cp312-linux_amd64.whl"
    faults = resolve("", [name], "--check")[1]["files"][0]["faults"]
    assert {f["code"] for f in faults} == {
        "name-not-normalised",
        "version-not-normalised",
        "build-tag",
        "abi-pair",
        "platform-tag",
    }


def test_orders_that_invert_fail_the_check(resolve: Resolve) -> None:
    names = [f"torch-2.12.0+rocm{v}-cp312-cp312-linux_x86_64.whl" for v in ("7.15", "10.1")]
    got, found = resolve("", names, "--check")
    assert got == FAILED
    assert [(o["newer"], o["by"]) for o in found["order"]] == [("2.12.0+rocm10.1", "toolkit")]


def test_assets_are_compared_with_the_record_byte_for_byte(resolve: Resolve) -> None:
    """SasView/sasview#3644: the release page shows a shortened name."""
    built = "sasview-6.1.1-py3-none-any.whl"
    record = resolve.write([built], "record.txt")
    got, found = resolve("", ["Sasview-6.1.1.whl"], "--check", "--same-as", record)
    assert got == FAILED
    assert found["missing"] == [{"file": built, "renamed_to": "Sasview-6.1.1.whl"}]
    assert found["extra"] == ["Sasview-6.1.1.whl"]
    assert resolve("", [built], "--check", "--same-as", record)[0] == GOOD


def test_wheels_whose_metadata_says_another_version_fail_the_check(
    tmp_path: Path, resolve: Resolve
) -> None:
    """PozzettiAndrea/cuda-wheels#2 and flash-attention-prebuild-wheels#56: renamed by hand."""
    folder = tmp_path / "dist"
    name = "cc_torch-0.2+cu130torch2.9-cp312-cp312-linux_x86_64.whl"
    wheel(folder, name, "Name: cc_torch\nVersion: 0.2\n")
    code, out, _ = resolve.text("--check", "--files", str(folder))
    assert code == FAILED
    assert "METADATA has Version 0.2, the file 0.2+cu130torch2.9" in out
    assert "no Requires-Python" in out
    wheel(folder, name, "Name: cc_torch\nVersion: 0.2+cu130torch2.9\nRequires-Python: >=3.11\n")
    assert resolve.text("--check", "--files", str(folder))[0] == GOOD
