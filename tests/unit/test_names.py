"""Names, labels, tags and toolkits as values: tables of what each spelling means."""

from __future__ import annotations

import pytest
from packaging.tags import compatible_tags, cpython_tags
from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.cibuildwheel import (
    NotBuildableError,
    build_options,
    enable_groups,
    release_of,
)
from wheelgrid.core.label_order import label_faults
from wheelgrid.core.labels import accelerator_fit, parse_label, torch_fit
from wheelgrid.core.platform_tags import glibc_promise, platform_fault
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.targets import Floors, Target
from wheelgrid.core.toolkits import torch_toolkit
from wheelgrid.core.wheelname import file_part, index_folder
from wheelgrid.planning.arch_gaps import arch_gap


@pytest.mark.parametrize(
    ("text", "accelerator", "torch", "cxx11"),
    [
        ("cu130torch2.15", "cuda 13.0", "2.15", None),
        ("cu13torch2.14cxx11abiTRUE", "cuda 13.x", "2.14", True),
        ("cu12torch2.8cxx11abiFALSE", "cuda 12.x", "2.8", False),
        ("pt215cu130", "cuda 13.0", "2.15 or 21.5 or 2.1.5", None),
        ("torch213-cxx11-cu130-x86_64-linux", "cuda 13.0", "2.13 or 21.3 or 2.1.3", True),
        ("torch29-cxx98-rocm72-x86_64-linux", "rocm 7.2", "2.9", False),
        ("torch212-metal-aarch64-darwin", "mps", "2.12 or 21.2 or 2.1.2", None),
        ("rocm7.10.0a20251120", "rocm 7.10.0", "", None),
        ("rocm7.14.torch2.13", "rocm 7.14", "2.13", None),
        ("rocm710", "rocm 7.10 or 71.0 or 7.1.0", "", None),
        ("rocm7", "rocm 7.x", "", None),
        ("xpu", "xpu", "", None),
        ("xpu20260", "xpu 2026.0", "", None),
        ("xpu2026.1torch2.14", "xpu 2026.1", "2.14", None),
        ("cpu", "cpu", "", None),
        ("cu1210", "cuda 12.10 or 121.0", "", None),
        ("cu92", "cuda 9.2", "", None),
        ("arch75.torch222.cuda121", "cuda 12.1", "2.22 or 22.2 or 2.2.2", None),
        ("gpu", "", "", None),
        ("computecpu", "", "", None),
        ("", "", "", None),
    ],
)
def test_what_a_label_says(text: str, accelerator: str, torch: str, *, cxx11: bool | None) -> None:
    label = parse_label(text)
    shown = f"{label.family or ''} {label.toolkit or ''}".strip()
    assert (shown, str(label.torch or ""), label.cxx11_abi) == (accelerator, torch, cxx11)
    assert bool(label.ambiguities) == (" or " in shown + str(label.torch or ""))


def test_what_no_convention_knows_is_kept() -> None:
    assert parse_label("cu130torch2.14.gfx942.d20260101").rest == "gfx942 d20260101"


@pytest.mark.parametrize(
    ("label", "wanted", "fits"),
    [
        ("cu13", "cuda13.5", True),
        ("cu13", "cuda12.9", False),
        ("cu130", "cuda13.4", False),
        ("rocm7.10.0a20251120", "rocm7.10", True),
        ("xpu", "xpu2026.1", True),
        ("cpu", "cpu", True),
        ("torch2.14", "cuda13.0", None),
    ],
)
def test_fit_of_an_accelerator(label: str, wanted: str, *, fits: bool | None) -> None:
    assert accelerator_fit(parse_label(label), Accelerator.parse(wanted)).fits is fits


def test_fit_of_a_torch_is_by_release_line() -> None:
    label = parse_label("torch2.9.1")
    assert torch_fit(label, Version("2.9.0")).fits is True
    assert torch_fit(label, Version("2.10.0")).fits is False
    assert torch_fit(parse_label("cu130"), Version("2.9.0")).fits is None


def test_label_order_by_toolkit_torch_and_date() -> None:
    versions = {
        Version("1.0+rocm7.15"): "2026-07-28",
        Version("1.0+rocm10.1"): "2026-08-07",
        Version("2.0+b2"): "2026-01-01",
        Version("2.0+b10"): "2026-02-01",
        Version("3.0+cu12torch2.6"): "",
        Version("3.0+cu126torch2.6"): "",
        Version("4.0+cu126torch2.9"): "",
        Version("4.0+cu128torch2.14"): "",
    }
    found = label_faults(versions, versions)
    assert [(str(f.newer), str(f.older), f.by) for f in found] == [
        ("1.0+rocm10.1", "1.0+rocm7.15", "toolkit"),
        ("2.0+b10", "2.0+b2", "date of upload"),
    ]


@pytest.mark.parametrize("text", ["3.10", "3.12", "3.13t", "3.14", "3.14t", "3.15", "3.15t"])
@pytest.mark.parametrize("platform", list(Platform))
def test_tags_of_a_target_are_those_of_packaging_in_its_order(
    text: str, platform: Platform
) -> None:
    python = PythonVersion.parse(text)
    target = Target(python=python, platform=platform, floors=Floors(glibc=(2, 34)))
    expected = [
        *cpython_tags(python.release, [python.tag], target.platforms),
        *compatible_tags(python.release, python.interpreter_tag, target.platforms),
    ]
    if python.free_threaded and not any(t.abi == "abi3t" for t in expected):
        pytest.skip("this packaging is older than PEP 803")
    assert list(target.ranks) == list(dict.fromkeys(expected))


def test_a_glibc_installs_all_older_floors_and_their_legacy_names() -> None:
    target = Target(
        python=PythonVersion(3, 12),
        platform=Platform.LINUX_X86_64,
        floors=Floors(glibc=(2, 17)),
    )
    assert target.platforms[:2] == ("manylinux_2_17_x86_64", "manylinux2014_x86_64")
    assert "manylinux1_x86_64" in target.platforms
    assert "manylinux_2_28_x86_64" not in target.platforms
    assert target.platforms[-1] == "linux_x86_64"
    assert glibc_promise("manylinux2014_aarch64") == (2, 17)


@pytest.mark.parametrize(
    ("tag", "better"),
    [
        ("linux_amd64", "linux_x86_64"),
        ("manylinux_2_28_arm64", "manylinux_2_28_aarch64"),
        ("manylinux2_28_x86_64", "manylinux_2_28_x86_64"),
        ("manylinux_2_28", "manylinux_2_28_x86_64"),
        ("win_x86_64", "win_amd64"),
        ("macosx_110_0_arm64", "macosx_11_0_arm64"),
        ("macosx_14_arm64", "macosx_14_0_arm64"),
        ("macosx_14_5_arm64", "macosx_14_0_arm64"),
        ("macosx_14_0_aarch64", "macosx_14_0_arm64"),
        ("solaris", ""),
    ],
)
def test_platforms_that_no_installer_asks_for(tag: str, better: str) -> None:
    message, suggestion = platform_fault(tag)
    assert tag in message
    assert suggestion == better
    assert not better or platform_fault(better) == ("", "")


@pytest.mark.parametrize(
    ("version", "python", "options"),
    [
        ("2.20.0", "3.13t", {"CIBW_FREE_THREADED_SUPPORT": "1"}),
        ("2.20.0", "3.13", {}),
        ("2.19.2", "3.13t", {"CIBW_FREE_THREADED_SUPPORT": "1", "CIBW_PRERELEASE_PYTHONS": "1"}),
        ("2.22.0", "3.13t", {"CIBW_ENABLE": "cpython-freethreading"}),
        ("3.0.1", "3.14t", {"CIBW_ENABLE": "cpython-freethreading cpython-prerelease"}),
        ("3.0.1", "3.14", {"CIBW_ENABLE": "cpython-prerelease"}),
        ("3.3.1", "3.13t", {"CIBW_ENABLE": "cpython-freethreading"}),
        ("3.3.1", "3.14t", {}),
        ("4.1.0", "3.15t", {"CIBW_ENABLE": "cpython-prerelease"}),
        ("4.2.0", "3.14t", {}),
        ("4.3.5", "3.15t", {}),
    ],
)
def test_options_of_the_cibuildwheel_that_is_pinned(
    version: str, python: str, options: dict[str, str]
) -> None:
    """vapoursynth/vapoursynth#1257: 4.2 exits on the group that 3.x needed for 3.13t."""
    found = build_options(Version(version), PythonVersion.parse(python))
    assert found == options
    assert set(found.get("CIBW_ENABLE", "").split()) <= enable_groups(Version(version))


@pytest.mark.parametrize(
    ("version", "python"),
    [("2.20.0", "3.14t"), ("3.4.1", "3.15"), ("4.2.0", "3.13t"), ("4.2.0", "3.8")],
)
def test_pythons_that_a_cibuildwheel_cannot_build(version: str, python: str) -> None:
    with pytest.raises(NotBuildableError, match=f"does not build Python {python}"):
        build_options(Version(version), PythonVersion.parse(python))


def test_a_cibuildwheel_that_nobody_looked_at_is_not_guessed() -> None:
    with pytest.raises(ValueError, match="its options are unknown"):
        release_of(Version("2.18.0"))


@pytest.mark.parametrize(
    ("torch", "listed", "expected"),
    [
        ("2.6.0", "11.8 12.4 12.6", "12.6"),
        ("2.7.1", "11.8 12.6 12.8", "12.8"),
        ("2.8.0", "12.6 12.8 12.9", "12.9"),
        ("2.9.1", "12.6 12.8 13.0", "12.8"),
        ("2.10.0", "12.6 12.8 13.0", "12.8"),
        ("2.15.0", "13.0 13.2", None),
    ],
)
def test_the_torch_of_a_toolkit_is_the_highest_listed_not_above_it(
    torch: str, listed: str, expected: str | None
) -> None:
    """_build.yml @0251105: the toolkit is 12.9.1, the torch wheel is of another CUDA."""
    found = torch_toolkit(Version("12.9.1"), map(Version, listed.split()))
    assert (str(found) if found else None) == expected, torch


def test_gpus_that_torch_serves_and_the_wheel_does_not() -> None:
    """PozzettiAndrea/cuda-wheels#13: no kernel image on Turing."""
    torch = ("sm_75", "sm_80", "sm_86", "sm_90")
    found = arch_gap(["8.0", "8.6", "8.9", "9.0"], torch)
    assert (found.missing, found.minimum) == (("7.5",), "8.0")
    newer = ("sm_75", "sm_80", "sm_100a", "sm_120")
    assert arch_gap(["7.5", "9.0+PTX"], newer).missing == ("8.0",)
    assert arch_gap(["gfx942"], ("gfx90a", "gfx942")).missing == ("gfx90a",)


@pytest.mark.parametrize(
    ("name", "folder", "part"),
    [
        ("Flash_Attn", "flash-attn", "flash_attn"),
        ("torch.scatter", "torch-scatter", "torch_scatter"),
        ("My__Pkg", "my-pkg", "my_pkg"),
    ],
)
def test_spellings_of_a_project(name: str, folder: str, part: str) -> None:
    assert (index_folder(name), file_part(name)) == (folder, part)
