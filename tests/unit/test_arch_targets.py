"""Declared GPU targets: what is read, how it is normalised, what is said of it."""

from __future__ import annotations

import pytest

from wheelgrid.core.accelerator import Family
from wheelgrid.core.arch_targets import family_of_target, parse_targets


@pytest.mark.parametrize(
    ("text", "machine", "ptx", "normal"),
    [
        ("8.0 9.0 12.0+PTX", "sm_80 sm_90 sm_120", "compute_120", "8.0 9.0 12.0+PTX"),
        ("8.0;9.0a, 10.0f", "sm_80 sm_90a sm_100f", "", "8.0 9.0a 10.0f"),
        ("sm_90a compute_120", "sm_90a", "compute_120", "9.0a 12.0+PTX"),
        ("Ampere", "sm_80 sm_86", "compute_86", "8.0 8.6+PTX"),
        ("gfx942;gfx90a:xnack+", "gfx942 gfx90a:xnack+", "", "gfx942 gfx90a:xnack+"),
        ("gfx9-4-generic", "gfx9-4-generic", "", "gfx9-4-generic"),
        ("pvc,bmg-g21", "pvc bmg-g21", "", "pvc bmg-g21"),
        ("", "", "", ""),
    ],
)
def test_lists_as_people_write_them(text: str, machine: str, ptx: str, normal: str) -> None:
    found = parse_targets(text)
    assert found.machine == tuple(machine.split())
    assert found.ptx == tuple(ptx.split())
    assert found.normal == tuple(normal.split())


@pytest.mark.parametrize("text", ["hooper", "9", "90", "sm_9x", "8.0 ninety", "1.2.3", "gfx"])
def test_words_that_are_no_target(text: str) -> None:
    with pytest.raises(ValueError, match="is no GPU target"):
        parse_targets(text)


def test_a_list_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 100"):
        parse_targets("8.0 " * 1000)


def test_the_list_of_xformers() -> None:
    """Public case W05."""
    found = parse_targets("7.5 8.0+PTX 8.0 9.0a 10.0a 10.3a 11.0a 12.0a 12.1a")
    assert set(found.normal) == {
        "7.5", "8.0", "8.0+PTX", "9.0a", "10.0a", "10.3a", "11.0a", "12.0a", "12.1a",
    }  # fmt: skip
    assert "8.0 is named twice" in found.notes
    assert any("a future 12.2, falls back to JIT from the PTX of 8.0" in n for n in found.notes)


def test_what_exact_targets_leave_without_code() -> None:
    (note,) = parse_targets("9.0a").notes
    assert note.endswith("a future 9.1, has no code: no PTX is declared")
    assert parse_targets("9.0 12.0+PTX").notes == ()


def test_targets_by_vendor() -> None:
    found = parse_targets("9.0+PTX gfx942 pvc")
    assert found.of(Family.CUDA) == ("sm_90", "compute_90")
    assert found.of(Family.ROCM) == ("gfx942",)
    assert found.of(Family.XPU) == ("pvc",)
    assert family_of_target("lto_90") is Family.CUDA
