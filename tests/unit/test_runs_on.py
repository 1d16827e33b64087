"""Will a library run on a GPU: each rule, each state, and the laws of the judgement."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from wheelgrid.cli.gpu_names import find_device, known_devices
from wheelgrid.cli.runs_on import command
from wheelgrid.cli.runs_on_text import gpu_lines, matrix_lines
from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.accelerator import Family
from wheelgrid.core.errors import BadInputError
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.run_rules import Device, reads_isa, rule_for, rule_of, runs
from wheelgrid.inspect.device_code import CodeGroup, DeviceCode, Image, ImageKind
from wheelgrid.inspect.run_fit import How, Terms
from wheelgrid.inspect.run_verdict import STATE_ORDER, RunState, Verdict
from wheelgrid.inspect.runs_on import judge
from wheelgrid.inspect.wheel_verdict import judge_wheel
from wheelgrid.render.runs_on_schema import runs_on_schema

ROOT = Path(__file__).parents[2]
FULL, JIT, PARTIAL = RunState.FULL, RunState.JIT, RunState.PARTIAL
NONE, UNKNOWN, NOT_APPLICABLE = RunState.NONE, RunState.UNKNOWN, RunState.NOT_APPLICABLE


def _load() -> Knowledge:
    faults = Faults()
    found = load_knowledge(Project(ROOT), faults, features=True)
    faults.check()
    return found


KNOWN = _load()
TERMS = Terms(rules=KNOWN.run_rules, drivers=KNOWN.accelerators[Family.CUDA].drivers)


def with_driver(driver: str) -> Terms:
    return Terms(rules=TERMS.rules, drivers=TERMS.drivers, driver=Version(driver))


def device(target: str) -> Device:
    return find_device(target, KNOWN)


def image(text: str) -> Image:
    """`sm_90a`, `compute_90@8.0` (PTX of that ISA), `lto_80`, `gfx942`, `spirv`, else AOT."""
    target, _, isa = text.partition("@")
    numbers = tuple(int(part) for part in isa.split(".")) if isa else ()
    for start, kind in (
        ("sm_", ImageKind.CUBIN),
        ("compute_", ImageKind.PTX),
        ("lto_", ImageKind.LTO),
        ("gfx", ImageKind.CODE_OBJECT),
        ("macOS", ImageKind.METALLIB),
        ("iOS", ImageKind.METALLIB),
    ):
        if target.startswith(start):
            return Image(kind=kind, target=target, isa=numbers)
    if target in {"spirv", "generic-ir"}:
        return Image(kind=ImageKind(target))
    return Image(kind=ImageKind.AOT, target=target)


def group(
    texts: str, kernels: str | None = None, *, units: int = 1, linked: bool = True
) -> CodeGroup:
    return CodeGroup(
        images=frozenset(map(image, texts.split())),
        kernels=frozenset(kernels.split()) if kernels is not None else None,
        containers=units,
        loadable=linked,
    )


def library(*groups: CodeGroup, path: str = "libx.so", cuda: str = "") -> DeviceCode:
    return DeviceCode(path=path, groups=groups, runtimes={"cuda": cuda} if cuda else {})


def state(texts: str, target: str, terms: Terms = TERMS) -> RunState:
    return judge(library(group(texts, "k")), device(target), terms).state


@pytest.mark.parametrize(
    ("images", "target", "expected"),
    [
        ("sm_80", "sm_80", FULL),
        ("sm_80", "sm_86", FULL),
        ("sm_80", "sm_89", FULL),
        ("sm_80", "sm_90", NONE),
        ("sm_86", "sm_80", NONE),
        ("sm_100", "sm_103", FULL),
        ("sm_100", "sm_107", FULL),
        ("sm_100", "sm_110", NONE),
        ("sm_120", "sm_121", FULL),
        ("sm_121", "sm_120", NONE),
    ],
)
def test_a_plain_cubin_runs_on_its_major_and_not_below(
    images: str, target: str, expected: RunState
) -> None:
    """Blackwell Compatibility Guide, application compatibility."""
    assert state(images, target) is expected


@pytest.mark.parametrize(
    ("images", "target", "expected"),
    [
        ("sm_80", "sm_87", NONE),
        ("sm_86", "sm_87", NONE),
        ("sm_87", "sm_87", FULL),
        ("sm_87", "sm_89", NONE),
        ("sm_110", "sm_110", FULL),
        ("sm_101", "sm_110", FULL),
        ("sm_100", "sm_101", NONE),
        ("sm_70", "sm_72", NONE),
        ("compute_80@8.0", "sm_87", JIT),
    ],
)
def test_tegra_parts_run_their_own_cubins_only(
    images: str, target: str, expected: RunState
) -> None:
    """CUDA C++ Programming Guide, binary compatibility: not between desktop and Tegra."""
    assert state(images, target) is expected


def test_a_target_that_a_rule_is_not_known_to_hold_for_is_warned_of() -> None:
    verdict = judge(library(group("sm_80", "k")), device("sm_88"), TERMS)
    assert verdict.state is FULL
    assert "not known to hold for sm_88" in verdict.warnings[0]
    assert judge(library(group("sm_88", "k")), device("sm_88"), TERMS).warnings == ()


@pytest.mark.parametrize(
    ("images", "target", "expected"),
    [
        ("sm_90a", "sm_90", FULL),
        ("sm_100a", "sm_100", FULL),
        ("sm_100a", "sm_103", NONE),
        ("sm_120a", "sm_121", NONE),
        ("sm_100f", "sm_100", FULL),
        ("sm_100f", "sm_103", FULL),
        ("sm_100f", "sm_107", FULL),
        ("sm_100f", "sm_110", NONE),
        ("sm_103f", "sm_100", NONE),
        ("sm_103f", "sm_107", FULL),
        ("sm_120f", "sm_120", FULL),
        ("sm_120f", "sm_121", FULL),
        ("sm_121f", "sm_120", NONE),
        ("sm_110f", "sm_110", FULL),
        ("sm_999f", "sm_100", UNKNOWN),
    ],
)
def test_exact_and_family_cubins(images: str, target: str, expected: RunState) -> None:
    """CUDA Programming Guide, table of family-specific compatibility."""
    assert state(images, target) is expected


@pytest.mark.parametrize(
    ("images", "target", "expected"),
    [
        ("compute_80@8.0", "sm_80", JIT),
        ("compute_80@8.0", "sm_121", JIT),
        ("compute_90@8.0", "sm_89", NONE),
        ("compute_90a@8.0", "sm_90", JIT),
        ("compute_90a@8.0", "sm_100", NONE),
        ("compute_100f@9.0", "sm_103", JIT),
        ("compute_100f@9.0", "sm_120", NONE),
        ("sm_90 compute_80@8.0", "sm_90", FULL),
        ("sm_90 compute_80@8.0", "sm_100", JIT),
    ],
)
def test_ptx_runs_on_anything_newer_unless_it_is_exact_or_of_a_family(
    images: str, target: str, expected: RunState
) -> None:
    assert state(images, target) is expected


@pytest.mark.parametrize(
    ("isa", "driver", "expected"),
    [
        ("9.0", "580.65.06", JIT),
        ("9.0", "579", NONE),
        ("8.8", "575", JIT),
        ("8.5", "560", JIT),
        ("9.5", "615.10", NONE),
        ("9.5", "700", UNKNOWN),
    ],
)
def test_ptx_needs_a_driver_that_knows_its_version(
    isa: str, driver: str, expected: RunState
) -> None:
    """PTX ISA, release history: PTX 9.0 came with CUDA 13.0 and r580."""
    assert state(f"compute_90@{isa}", "sm_120", with_driver(driver)) is expected


def test_what_ptx_needs_is_said_with_its_source() -> None:
    (need,) = judge(library(group("compute_90@9.0", "k")), device("H200"), TERMS).needs
    assert str(need) == "driver 580 or newer (PTX ISA 9.0, CUDA 13.0)"
    assert need.source is not None
    assert need.source.source.startswith("https://docs.nvidia.com/cuda/parallel-thread-execution/")
    old = judge(library(group("compute_90@9.0", "k")), device("H200"), with_driver("570"))
    assert "needs driver 580 or newer" in old.reason


def test_the_floor_of_the_runtime_is_asked_of_the_driver() -> None:
    code = library(group("sm_90", "k"), cuda="13")
    assert judge(code, device("H200"), with_driver("580")).state is FULL
    old = judge(code, device("H200"), with_driver("575.57"))
    assert (old.state, old.reason) == (
        NONE,
        "the driver is too old: 575.57, needs driver 580 or newer (CUDA 13 runtime)",
    )
    assert [str(need) for need in judge(code, device("H200"), TERMS).needs] == [
        "driver 580 or newer (CUDA 13 runtime)"
    ]
    assert judge(library(group("sm_90", "k"), cuda="99"), device("H200"), TERMS).needs == ()


def test_linker_input_is_not_loadable() -> None:
    """In bitsandbytes for CUDA 13, PTX is only in __nv_relfatbin: there is no JIT fallback."""
    relocatable = group("compute_120@9.0 sm_120", "k", linked=False)
    linked = group("sm_75 sm_120", "k")
    both = judge(library(relocatable, linked), device("sm_121"), TERMS)
    assert both.state is FULL
    assert "1 unit not counted" in both.warnings[0]
    assert judge(library(relocatable, linked), device("sm_90"), TERMS).state is NONE
    alone = judge(library(relocatable), device("sm_120"), TERMS)
    assert (alone.state, alone.applied[0].rule and alone.applied[0].rule.id) == (NONE, "lto-ir")
    assert judge(library(group("lto_90", "k")), device("sm_90"), TERMS).state is NONE
    assert judge(library(group("lto_90 sm_90", "k")), device("sm_90"), TERMS).state is FULL


@pytest.mark.parametrize(
    ("images", "target", "expected"),
    [
        ("gfx942", "gfx942", FULL),
        ("gfx942", "gfx950", NONE),
        ("gfx9-4-generic", "gfx950", FULL),
        ("gfx9-4-generic", "gfx90a", NONE),
        ("gfx10-3-generic", "gfx1035", FULL),
        ("gfx11-generic", "gfx1151", FULL),
        ("gfx12-generic", "gfx1201", FULL),
        ("gfx90a", "gfx90a:xnack+", FULL),
        ("gfx90a:xnack+", "gfx90a:xnack+", FULL),
        ("gfx90a:xnack-", "gfx90a:xnack+", NONE),
        ("gfx90a:xnack+", "gfx90a", NONE),
        ("gfx90a:xnack+ gfx90a:xnack-", "gfx90a", FULL),
        ("gfx90a:sramecc+:xnack-", "gfx90a:xnack-:sramecc+", FULL),
        ("gfx9-4-generic:xnack-", "gfx942:xnack-", FULL),
    ],
)
def test_code_objects_run_on_their_target_group_and_modes(
    images: str, target: str, expected: RunState
) -> None:
    """LLVM AMDGPUUsage: target ids, and generic targets of code object version 6."""
    assert state(images, target) is expected


def test_modes_that_were_not_said_are_judged_by_the_worse() -> None:
    verdict = judge(library(group("gfx90a:xnack+", "k")), device("gfx90a"), TERMS)
    assert verdict.warnings[0] == "this is as gfx90a:xnack-; FULL as gfx90a:xnack+"


@pytest.mark.parametrize(
    ("images", "target", "expected"),
    [
        ("spirv", "pvc", JIT),
        ("generic-ir", "lnl-m", JIT),
        ("pvc", "pvc", FULL),
        ("pvc", "bmg-g21", NONE),
        ("pvc spirv", "bmg-g21", JIT),
        ("bmg-g21", "20.1.0", FULL),
        ("bmg-g21", "bmg", NONE),
        ("bmg-g21 bmg-g31", "bmg", FULL),
        ("bmg", "bmg-g31", FULL),
        ("dg2", "dg2-g10", FULL),
        ("dg2-g10", "ats-m150", FULL),
        ("mtl-u", "arl-s", FULL),
        ("mtl-u", "mtl-h", NONE),
    ],
)
def test_spirv_runs_on_any_and_ahead_of_time_on_its_device(
    images: str, target: str, expected: RunState
) -> None:
    assert state(images, target) is expected


def test_a_metallib_needs_its_system_and_its_version() -> None:
    code = library(group("macOS@14.0.0", "k"))
    assert judge(code, device("m3"), TERMS).state is FULL
    assert judge(code, device("mps"), Terms(rules=TERMS.rules, macos=Version("13.6"))).state is NONE
    assert judge(code, device("mps"), Terms(rules=TERMS.rules, macos=Version("14.0"))).state is FULL
    assert judge(library(group("iOS@17.0.0", "k")), device("m1 pro"), TERMS).state is NONE


def test_without_a_rule_nothing_is_said() -> None:
    verdict = judge(library(group("sm_90", "k")), device("sm_90"), Terms(rules=()))
    assert verdict.state is UNKNOWN
    rule = rule_for(TERMS.rules, "cubin", "sm_1.x", device("sm_90"))
    assert rule is not None
    assert runs(rule, "sm_1.x", "sm_90") is None


def test_each_kernel_counts_and_never_the_union_of_targets() -> None:
    """As in marlin: one kernel of many is built for fewer GPUs than the rest."""
    code = library(group("sm_75 sm_80", "a b c"), group("sm_80", "d e", units=2))
    verdict = judge(code, device("sm_75"), TERMS)
    assert verdict.state is PARTIAL
    assert verdict.lacking.kernels == ("d", "e")
    assert (verdict.lacking.containers, verdict.lacking.unlisted) == (2, 0)
    assert verdict.reason == (
        "2 of 5 kernels without an image for sm_75 (may be intended: dispatch by architecture)"
    )
    assert [(a.image.target, str(a.how), a.kernels) for a in verdict.applied] == [
        ("sm_75", "native", 3),
        ("sm_80", "not", 2),
    ]


def test_where_kernels_were_not_listed_units_are_counted() -> None:
    code = library(group("sm_75 sm_80", units=7), group("sm_80", units=3))
    verdict = judge(code, device("sm_75"), TERMS)
    assert (verdict.state, verdict.kernels, verdict.containers) == (PARTIAL, None, 10)
    assert (verdict.lacking.kernels, verdict.lacking.unlisted) == ((), 3)
    assert verdict.reason.startswith("3 of 10 units without an image")


def test_a_kernel_that_another_unit_has_code_for_is_told_apart() -> None:
    code = library(group("sm_80 sm_90", "shared a"), group("sm_90a", "shared b"))
    lacking = judge(code, device("sm_80"), TERMS).lacking
    assert (lacking.kernels, lacking.elsewhere) == (("b",), ("shared",))


def test_units_without_kernels_do_not_count() -> None:
    code = library(group("sm_80", "a"), group("sm_90", ""))
    assert judge(code, device("sm_80"), TERMS).state is FULL
    assert judge(library(group("sm_80", "")), device("sm_80"), TERMS).state is NOT_APPLICABLE


def test_some_kernels_by_ptx_is_jit() -> None:
    code = library(group("sm_90 compute_90@9.0", "a"), group("compute_80@9.0", "b c"))
    verdict = judge(code, device("H100"), TERMS)
    assert verdict.state is JIT
    assert verdict.reason == (
        "2 of 3 kernels compiled by the driver from compute_80; the rest by sm_90"
    )


def test_other_vendors_are_not_merged() -> None:
    code = library(group("gfx942", "k"))
    assert judge(code, device("H200"), TERMS).reason == "device code for rocm only"
    mixed = library(group("gfx942", "k"), group("sm_80", "k"))
    assert judge(mixed, device("gfx942"), TERMS).state is FULL
    assert judge(mixed, device("sm_90"), TERMS).state is NONE


def test_notes_of_the_reader_are_kept() -> None:
    code = DeviceCode(path="x", groups=(group("pvc", "k"),), notes=("kernels were not paired",))
    assert judge(code, device("pvc"), TERMS).warnings == ("kernels were not paired",)


def test_what_was_not_read_is_unknown() -> None:
    code = DeviceCode(path="x", groups=(group("sm_90", "k"),), unread=("container at 64: cut off",))
    verdict = judge(code, device("sm_90"), TERMS)
    assert verdict.state is UNKNOWN
    assert "container at 64: cut off; what was read: FULL" in verdict.reason


def torch_2_14_1() -> tuple[DeviceCode, ...]:
    """As libtorch_cuda of 2.14.1+cu130, its sets of targets; 15 of its kernels lack sm_75."""
    base = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
    late = "sm_80 sm_86 sm_90 sm_100 sm_120"
    main = library(
        group(base, "a b c", units=430),
        group(f"{base} sm_90a sm_100a sm_103f", "gemm", units=3),
        group(late, " ".join(f"k{n}" for n in range(15))),
        path="torch/lib/libtorch_cuda.so",
        cuda="13",
    )
    linalg = library(group(late, "potrf", units=65), path="torch/lib/libtorch_cuda_linalg.so")
    return main, linalg, DeviceCode(path="torch/_C.so")


def test_torch_2_14_1_is_judged_as_it_is() -> None:
    targets = ("sm_80", "sm_75", "sm_107", "sm_110", "sm_87")
    wheel = {t: judge_wheel(torch_2_14_1(), device(t), TERMS) for t in targets}
    assert {target: v.state for target, v in wheel.items()} == {
        "sm_80": FULL,
        "sm_75": PARTIAL,
        "sm_107": FULL,
        "sm_110": NONE,
        "sm_87": NONE,
    }
    main, linalg, plain = wheel["sm_75"].libraries
    assert (main.state, len(main.lacking.kernels)) == (PARTIAL, 15)
    assert (linalg.state, plain.state) == (NONE, NOT_APPLICABLE)
    rubin = wheel["sm_107"].libraries[0]
    assert rubin.reason == "all of 19 kernels by sm_100, sm_103f, no image of sm_107 itself"
    assert {a.rule.id for a in rubin.applied if a.rule} == {"cubin", "cubin-family"}
    assert [str(need) for need in wheel["sm_80"].needs] == ["driver 580 or newer (CUDA 13 runtime)"]


def test_variants_of_a_library_count_as_the_best_of_them() -> None:
    """As in bitsandbytes: one library for each toolkit, of which a program loads one."""
    codes = (
        library(group("sm_70 sm_90", "k"), path="b/libb_cuda118.so", cuda="11"),
        library(group("sm_90 sm_120", "k"), path="b/libb_cuda130.so", cuda="13"),
        library(group("gfx942", "k"), path="b/libb_rocm70.so"),
        library(path="b/libb_cpu.so"),
    )
    blackwell = judge_wheel(codes, device("RTX 5090"), TERMS)
    assert (blackwell.state, blackwell.counted) == (FULL, ("b/libb_cuda130.so",))
    assert blackwell.reason.startswith("the best of 2 variants, b/libb_cuda130.so")
    assert [v.state for v in blackwell.libraries] == [NONE, FULL, NOT_APPLICABLE, NOT_APPLICABLE]
    assert judge_wheel(codes, device("MI300X"), TERMS).counted == ("b/libb_rocm70.so",)
    assert judge_wheel(codes, device("pvc"), TERMS).reason == "device code for cuda, rocm only"


def test_libraries_side_by_side_are_not_averaged() -> None:
    codes = (
        library(group("sm_80", "k"), path="fa2.so"),
        library(group("sm_90a", "k"), path="fa3.so"),
    )
    verdict = judge_wheel(codes, device("sm_80"), TERMS)
    assert verdict.state is PARTIAL
    assert verdict.reason == "of 2 libraries with code for it: 1 FULL, 1 NONE"


def test_a_wheel_without_device_code() -> None:
    assert judge_wheel((), device("sm_80"), TERMS).state is NOT_APPLICABLE
    triton = DeviceCode(path="Python files", jit_sources=("triton",))
    verdict = judge_wheel((triton,), device("sm_80"), TERMS)
    assert (verdict.state, verdict.reason) == (
        UNKNOWN,
        "no device code in the wheel; triton may make code when it runs",
    )


@pytest.mark.parametrize(
    ("text", "family", "target"),
    [
        ("H200", "cuda", "sm_90"),
        ("h200", "cuda", "sm_90"),
        ("9.0", "cuda", "sm_90"),
        ("sm_90a", "cuda", "sm_90"),
        ("compute_120", "cuda", "sm_120"),
        ("MI300X", "rocm", "gfx942"),
        ("gfx90a:xnack+", "rocm", "gfx90a:xnack+"),
        ("Arc B580", "xpu", "bmg"),
        ("20.1.0", "xpu", "bmg-g21"),
        ("M3 Max", "mps", "macOS"),
        ("mps", "mps", "macOS"),
    ],
)
def test_devices_are_named_as_people_name_them(text: str, family: str, target: str) -> None:
    found = find_device(text, KNOWN)
    assert (str(found.family), found.target) == (family, target)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("H20O", "'H200'"), ("sm_9o", "'sm_90'"), ("gfx94", "gfx94"), ("sm_90:xnack+", ""), ("", "")],
)
def test_an_unknown_device_is_refused_with_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(BadInputError) as caught:
        find_device(text, KNOWN)
    assert hint in caught.value.faults[0].hint


def test_all_devices_are_those_of_compat() -> None:
    found = {d.target: d for d in known_devices(KNOWN)}
    assert {"sm_60", "sm_90", "sm_107", "gfx942", "pvc", "macOS"} <= found.keys()
    assert found["sm_90"].products == ("H100", "H200", "GH200")
    assert found["sm_107"].products == ("Rubin", "Vera Rubin")


def test_the_history_of_ptx_is_in_order_and_whole() -> None:
    rule = rule_of(KNOWN.run_rules, Family.CUDA, "ptx-isa")
    assert rule is not None
    drivers = [release.driver for release in rule.releases]
    assert drivers == sorted(drivers)
    by_isa = {str(r.isa): (str(r.toolkit), str(r.driver)) for r in rule.releases}
    assert by_isa["7.0"] == ("11.0", "445")
    assert by_isa["8.6"] == ("12.7", "565")
    assert by_isa["9.4"] == ("13.4", "615")
    assert reads_isa((), Version("9.0"), Version("580")) is None


TARGETS = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a"]
TARGETS += ["sm_100f", "sm_103f", "sm_110", "sm_120", "sm_120f", "compute_75@7.8", "compute_90@9.0"]
TARGETS += ["compute_90a@8.0", "compute_100f@9.4", "lto_90"]
GPUS = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_90", "sm_100", "sm_103", "sm_107", "sm_110"]
image_sets = st.sets(st.sampled_from(TARGETS), min_size=1).filter(
    lambda found: any(not text.startswith("lto") for text in found)
)
groups_of_kernels = st.lists(
    st.tuples(image_sets, st.sets(st.sampled_from("abcdefgh"), min_size=1)), min_size=1, max_size=5
)
terms = st.sampled_from([TERMS, with_driver("450"), with_driver("580"), with_driver("615")])


def _library(rows: list[tuple[set[str], set[str]]]) -> DeviceCode:
    return library(*(group(" ".join(images), " ".join(names)) for images, names in rows))


@given(groups_of_kernels, st.sampled_from(GPUS), st.sampled_from(TARGETS), st.integers(0, 4), terms)
def test_one_more_image_never_makes_a_verdict_worse(
    rows: list[tuple[set[str], set[str]]], target: str, added: str, at: int, by: Terms
) -> None:
    before = judge(_library(rows), device(target), by)
    at %= len(rows)
    more = [*rows[:at], (rows[at][0] | {added}, rows[at][1]), *rows[at + 1 :]]
    after = judge(_library(more), device(target), by)
    assert STATE_ORDER.index(after.state) >= STATE_ORDER.index(before.state)
    assert set(after.lacking.kernels) <= set(before.lacking.kernels)


@given(groups_of_kernels, st.sampled_from(GPUS), terms)
def test_the_kernels_that_lack_an_image_are_exactly_listed(
    rows: list[tuple[set[str], set[str]]], target: str, by: Terms
) -> None:
    """Against each unit alone, which either runs or does not."""
    alone = [(judge(_library([row]), device(target), by).state, row[1]) for row in rows]
    there = {name for found, names in alone if found is not NONE for name in names}
    lost = {name for found, names in alone if found is NONE for name in names}
    verdict = judge(_library(rows), device(target), by)
    assert set(verdict.lacking.kernels) == lost - there
    assert set(verdict.lacking.elsewhere) == lost & there
    assert (verdict.state is PARTIAL) == bool(lost and there)
    assert (verdict.state is NONE) == (not there)


@given(groups_of_kernels, st.sampled_from(GPUS), terms)
def test_every_verdict_names_its_rules_and_their_sources(
    rows: list[tuple[set[str], set[str]]], target: str, by: Terms
) -> None:
    verdict = judge(_library(rows), device(target), by)
    assert verdict.applied
    for row in verdict.applied:
        assert row.rule is not None
        assert row.rule.text
        assert row.rule.source.date
    used = sum(a.containers for a in verdict.applied if a.how in {How.NATIVE, How.COMPILED})
    assert used + verdict.lacking.containers == verdict.containers == len(rows)


def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, codes: tuple[DeviceCode, ...], *options: str
) -> int:
    """The command on constructed device code; the wheel itself is not read."""
    module = ModuleType("wheelgrid.inspect.wheel_code")
    module.device_code = lambda path: codes if path else ()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wheelgrid.inspect.wheel_code", module)
    wheel = tmp_path / "x-1-py3-none-any.whl"
    wheel.touch()
    result = command.main([str(wheel), *options], standalone_mode=False, obj=ROOT)
    assert isinstance(result, int)
    return result


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--gpu", "H200"], 0),
        (["--gpu", "sm_75"], 1),
        (["--gpu", "H200", "--gpu", "sm_110"], 1),
        (["--gpu", "H200", "--driver", "R570"], 1),
        (["--all"], 0),
        ([], 0),
    ],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str], expected: int
) -> None:
    assert run(monkeypatch, tmp_path, torch_2_14_1(), *options) == expected


def test_what_could_not_be_told_has_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = (DeviceCode(path="x.so", unread=("cut off",)),)
    assert run(monkeypatch, tmp_path, broken, "--gpu", "H200") == 3
    assert run(monkeypatch, tmp_path, broken) == 3


def test_all_wrong_names_are_reported_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError) as caught:
        run(monkeypatch, tmp_path, (), "--gpu", "H20O", "--gpu", "gfx94x")
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize("options", [["--gpu", "sm_75", "--gpu", "m3"], ["--all"]])
def test_json_follows_its_schema(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
) -> None:
    run(monkeypatch, tmp_path, torch_2_14_1(), *options, "--driver", "580", "--json")
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, runs_on_schema())
    jsonschema.Draft202012Validator.check_schema(runs_on_schema())
    assert document["rules"]["cubin"]["kind"] == "claim"


def test_text_for_one_gpu_escapes_names_and_lists_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, tmp_path, torch_2_14_1(), "--gpu", "sm_75")
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "x-1-py3-none-any.whl on sm_75 (T4, RTX 20 series): PARTIAL"
    assert out.count("             lacks k0") == 1
    assert "  -        1 files without device code for cuda" in out
    assert any(line.startswith("  rule     cubin: A cubin for sm_MN runs") for line in out)
    triton = DeviceCode(path="Python files", jit_sources=("triton",))
    said = gpu_lines(
        "w", judge_wheel((*torch_2_14_1(), triton), device("sm_80"), TERMS), kernels=True
    )
    assert "  jit      triton may make more code when it runs: not judged" in said
    evil = library(group("sm_80", "a"), group("sm_90", "b\n  FULL"), path="x\n  FULL")
    lines = gpu_lines("w", judge_wheel((evil,), device("sm_80"), TERMS), kernels=True)
    assert not any("\n" in line for line in lines)


def test_the_matrix_has_a_row_for_each_gpu_and_a_column_for_each_library() -> None:
    found = [judge_wheel(torch_2_14_1(), device(t), TERMS) for t in ("sm_75", "sm_80", "gfx942")]
    assert matrix_lines("torch.whl", found) == [
        "torch.whl",
        "  [1] torch/lib/libtorch_cuda.so",
        "  [2] torch/lib/libtorch_cuda_linalg.so",
        "  target  wheel    [1]      [2]   products",
        "  sm_75   PARTIAL  PARTIAL  NONE  T4, RTX 20 series",
        "  sm_80   FULL     FULL     FULL  A100",
        "  gfx942  NONE     -        -     MI325X, MI300X, MI300A",
    ]


def test_a_verdict_is_a_value() -> None:
    one = judge(torch_2_14_1()[0], device("sm_80"), TERMS)
    assert isinstance(one, Verdict)
    assert one == judge(torch_2_14_1()[0], device("sm_80"), TERMS)
