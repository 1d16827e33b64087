"""Knowledge answers with a source, and with None where nothing is said."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from packaging.version import Version

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.evidence import Kind
from wheelgrid.core.feature import FeatureStatus
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.vendor import applies, range_of
from wheelgrid.planning.plan import Plan

LINUX = Platform.LINUX_X86_64
CLAIM = 'kind: claim, source: "https://example.org", date: "2026-09-01"'
SEEN = 'kind: observation, source: seen, date: "2026-08-01"'


def cuda(version: str) -> Accelerator:
    return Accelerator.parse(f"cuda{version}")


@pytest.fixture
def known(plan: Plan) -> Knowledge:
    """What ships."""
    return plan.knowledge


def read(root: Path, **files: str) -> tuple[Knowledge, str]:
    """Knowledge of a few files (`torch__a` is torch/a.yaml), and their faults."""
    project = Project(root)
    for name, text in files.items():
        path = project.compat / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    faults = Faults()
    found = load_knowledge(project, faults, features=True)
    return found, "\n".join(map(str, faults.found))


def test_a_toolkit_says_what_it_compiles_for(known: Knowledge) -> None:
    cuda13 = known.toolkit_archs(Version("13.0.1"))
    assert cuda13 is not None
    assert "sm_70" not in cuda13[0]
    assert min(cuda13[0], key=lambda arch: int(arch[3:])) == "sm_75"
    assert cuda13[1].kind is Kind.OBSERVATION
    cuda12 = known.toolkit_archs(Version("12.6"))
    assert cuda12 is not None
    assert {"sm_50", "sm_60", "sm_70"} <= cuda12[0]
    assert known.toolkit_archs(Version("99.0")) is None
    assert known.toolkit_archs(Version("7.14"), Family.ROCM) is None


@pytest.mark.parametrize(
    ("toolkit", "rubin"), [("13.0", False), ("13.3", False), ("13.4", True), ("13.5", True)]
)
def test_rubin_begins_with_toolkit_13_4(known: Knowledge, toolkit: str, *, rubin: bool) -> None:
    archs = known.toolkit_archs(Version(toolkit))
    assert archs is not None
    assert ("sm_107" in archs[0]) is rubin


def test_sm_101_was_renamed_in_cuda_13_only(known: Knowledge) -> None:
    new = known.renamed_arch("sm_101", cuda("13.0"))
    assert new is not None
    assert new[0] == "sm_110"
    assert known.renamed_arch("sm_101", cuda("12.9")) is None
    assert known.renamed_arch("sm_90", cuda("13.0")) is None
    old, cuda13 = known.toolkit_archs(Version("12.9")), known.toolkit_archs(Version("13.0"))
    assert old is not None
    assert cuda13 is not None
    assert "sm_101" in old[0] - cuda13[0]
    assert "sm_110" in cuda13[0] - old[0]


@pytest.mark.parametrize(
    ("accelerator", "floor"),
    [
        ("cuda12.6", "2.17"),
        ("cuda13.0", "2.28"),
        ("cuda13.5", "2.28"),
        ("rocm7.14", "2.28"),
        ("cpu", "2.28"),
        ("mps", None),
        ("rocm9.9", None),
    ],
)
def test_the_glibc_floor_is_that_of_the_toolkit(
    known: Knowledge, accelerator: str, floor: str | None
) -> None:
    found = known.glibc_floor(Accelerator.parse(accelerator))
    assert (found[0] if found else None) == floor


def test_drivers_by_major_line(known: Knowledge) -> None:
    for toolkit, driver in (("13.2", "580"), ("12.8", "525"), ("11.8", "450")):
        found = known.driver_floor(cuda(toolkit), "linux")
        assert found is not None
        assert found[0] == driver
    assert known.driver_floor(cuda("13.2"), "macos") is None
    macos = known.driver_floor(Accelerator.parse("mps"), "macos")
    assert macos is not None
    assert macos[0] == "14"
    assert known.driver_floor(Accelerator.parse("xpu2026.1"), "linux") is None


def test_volta_left_the_cuda_12_8_builds_with_2_11(known: Knowledge) -> None:
    def archs(torch: str) -> tuple[str, ...]:
        found = known.torch_archs(Version(torch), cuda("12.8"), LINUX)
        assert found is not None
        return found[0]

    assert "sm_70" not in archs("2.7.1")
    assert "sm_70" in archs("2.8.0")
    assert "sm_70" in archs("2.10.0")
    assert "sm_70" not in archs("2.11.0")


def test_an_observed_arch_list_beats_the_claim_of_ptx(known: Knowledge) -> None:
    seen = known.torch_archs(Version("2.14.1"), cuda("13.0"), LINUX)
    assert seen is not None
    assert (seen[1], seen[2].kind) == ((), Kind.OBSERVATION)
    claimed = known.torch_archs(Version("2.12.1"), cuda("13.0"), LINUX)
    assert claimed is not None
    assert claimed[1] == ("compute_120",)
    assert known.torch_archs(Version("9.9"), cuda("13.0"), LINUX) is None
    assert known.torch_archs(Version("2.14.1"), cuda("13.0"), Platform.MACOSX_ARM64) is None


@pytest.mark.parametrize(
    ("name", "arch"),
    [("H100", "sm_90"), ("v100", "sm_70"), ("Rubin", "sm_107"), ("mi300x", "gfx942"), ("B580", "")],
)
def test_products_have_targets(known: Knowledge, name: str, arch: str) -> None:
    found = known.gpu(name)
    assert (found[0] if found else "") == arch


def test_python_3_14_begins_with_torch_2_9(known: Knowledge) -> None:
    first = known.first_torch_with_python(PythonVersion(3, 14))
    assert first is not None
    assert (first[0], first[1].kind) == (Version("2.9.0"), Kind.OBSERVATION)
    on_windows = known.first_torch_with_python(PythonVersion(3, 13), Platform.WIN_AMD64)
    assert on_windows is not None
    assert on_windows[0] == Version("2.6.0")  # 2.5 had cp313 for Linux only
    assert known.first_torch_with_python(PythonVersion(3, 99)) is None


def test_free_threaded_3_13_ends_before_2_12_1(known: Knowledge) -> None:
    last = known.last_torch_with_python(PythonVersion(3, 13, free_threaded=True))
    assert last is not None
    assert last[0] == Version("2.12.0")
    ten = known.last_torch_with_python(PythonVersion(3, 10), LINUX)
    assert ten is not None
    assert ten[0] == Version("2.14.1")
    assert known.last_torch_with_python(PythonVersion(3, 99)) is None


@pytest.mark.parametrize(
    ("accelerator", "first", "last"),
    [
        ("cuda11.8", "2.0.0", "2.7.1"),
        ("cuda12.6", "2.6.0", "2.14.1"),
        ("cuda12.8", "2.7.0", "2.11.0"),
        ("cuda13.0", "2.9.0", "2.15.0"),
        ("rocm7.2", "2.11.0", "2.13.0"),  # the blog lists it for 2.14; a denial outweighs that
    ],
)
def test_when_a_build_began_and_ended(
    known: Knowledge, accelerator: str, first: str, last: str
) -> None:
    began = known.first_torch_with_accelerator(Accelerator.parse(accelerator))
    ended = known.last_torch_with_accelerator(Accelerator.parse(accelerator))
    assert began is not None
    assert ended is not None
    assert (str(began[0]), str(ended[0])) == (first, last)


def test_a_build_that_never_was_has_no_first_release(known: Knowledge) -> None:
    assert known.first_torch_with_accelerator(cuda("31.0")) is None
    assert known.last_torch_with_accelerator(cuda("31.0")) is None


def test_companions_and_plain_values_are_kept(known: Knowledge) -> None:
    release = known.torch[Version("2.10.0")]
    found = {name: spec for c in release.companions for name, spec in c.values.items()}
    assert found["nvidia-nccl-cu12"] == "==2.27.5"
    assert found["triton"] == "==3.6.0"
    assert found["torchvision"] == "==0.25.*"
    standard, released = release.stated("cxx_standard"), release.stated("released")
    assert standard is not None
    assert released is not None
    assert (standard.value, released.value) == ("17", "2026-01-21")
    assert release.stated("nothing") is None
    newer = known.torch[Version("2.13.0")].stated("cxx_standard")
    assert newer is not None
    assert newer.value == "20"


def test_lives_of_python_and_legacy_manylinux_names(known: Knowledge) -> None:
    ten, nine = known.pythons[PythonVersion(3, 10)], known.pythons[PythonVersion(3, 9)]
    assert (ten.end_of_life, ten.precision) == (date(2026, 10, 31), "month")
    assert (nine.end_of_life, nine.precision) == (date(2025, 10, 31), "day")
    assert ten.has_ended(date(2026, 10, 31))
    assert not ten.has_ended(date(2026, 10, 30))
    assert known.pythons[PythonVersion(3, 13)].free_threaded == "experimental"
    aliases = {tag.alias: tag.glibc for tag in known.manylinux if tag.alias}
    assert aliases == {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}


def test_run_rules_cover_every_vendor(known: Knowledge) -> None:
    assert {rule.family for rule in known.run_rules} == {"cuda", "rocm", "xpu", "mps"}
    families = {rule.image: dict(rule.members) for rule in known.run_rules}
    assert families["cubin-f"]["sm_120f"] == ("sm_120", "sm_121")
    assert {rule.match for rule in known.run_rules if rule.image == "cubin"} == {"same-major"}


def test_the_sunsets_of_the_stack_are_there(known: Knowledge) -> None:
    ids = {sunset.id for sunset in known.sunsets}
    assert ids >= {
        *("python-3.10", "python-3.13t", "cuda12.6", "cuda12.8"),
        *("volta-cuda12.8", "rocm7.2", "torchaudio"),
    }


def test_a_sunset_of_an_axis_that_a_cell_lacks_concerns_nobody(plan: Plan) -> None:
    torchaudio = next(s for s in plan.knowledge.sunsets if s.id == "torchaudio")
    assert not torchaudio.concerns(plan.decisions[0].cell)


def test_a_range_statement_holds_for_every_known_release_in_it(tmp_path: Path) -> None:
    known, faults = read(
        tmp_path,
        torch__one='torch: "2.13.0"\nstatements: []\n',
        torch__two='torch: "2.14.1"\nstatements: []\n',
        torch__all='torch: ">=2.13"\nstatements:\n'
        f"  - {{id: a, says: cxx_standard, value: '20', {CLAIM}}}\n"
        f"  - {{id: b, says: cxx_standard, value: '23', torch: '>=2.14', {SEEN}}}\n",
    )
    assert faults == ""
    values = {
        str(torch): [s.value for s in release.plain["cxx_standard"]]
        for torch, release in known.torch.items()
    }
    assert values == {"2.13.0": ["20"], "2.14.1": ["20", "23"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torch: '>=x'\nstatements: []\n", "is not a version or a range"),
        (
            f"torch: '2.13.0'\nstatements:\n  - {{id: a, says: cxx_standard, value: '20', "
            f"torch: '>=2.14', {CLAIM}}}\n",
            "does not fit torch 2.13.0, which the file is about",
        ),
        (
            f"torch: '2.13.0'\nstatements:\n  - {{id: a, says: cxx_standard, value: '20', "
            f"torch: newest, {CLAIM}}}\n",
            "is not a version or a range",
        ),
    ],
)
def test_a_bad_range_is_a_fault(tmp_path: Path, text: str, words: str) -> None:
    assert words in read(tmp_path, torch__a=text)[1]


def test_an_exact_statement_beats_a_range_and_a_seen_one_both(tmp_path: Path) -> None:
    def floor(value: str, version: str, kind: str) -> str:
        return (
            f"  - {{id: g{value}, says: glibc_floor, value: '2.{value}', version: '{version}', "
            f"{kind}}}\n"
        )

    head = (
        "accelerator: cuda\ntitle: C\nstatements:\n"
        f"  - {{id: p, says: platforms, values: [linux_x86_64], {CLAIM}}}\n"
    )
    wide, exact = floor("17", ">=12", CLAIM), floor("28", "13.0", CLAIM)
    known, _ = read(tmp_path, accelerators__cuda=head + wide + exact)
    found = known.glibc_floor(cuda("13.0"))
    assert found is not None
    assert found[0] == "2.28"
    known, _ = read(tmp_path, accelerators__cuda=head + exact + floor("31", ">=12", SEEN))
    found = known.glibc_floor(cuda("13.0"))
    assert found is not None
    assert found[0] == "2.31"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("says: glibc_floor, value: '2.28', version: new", "is not a version or a range"),
        ("says: driver, minimum: {linux: '580', amiga: '1'}", "'amiga' is not a system"),
        ("says: families_status, os: linux, status: perfect, names: [a]", "'perfect' is not one"),
        ("says: glibc_floor, value: '2.28', of: weather", "'weather' is not one"),
    ],
)
def test_vendor_statements_are_checked(tmp_path: Path, statement: str, words: str) -> None:
    text = (
        "accelerator: cuda\ntitle: C\nstatements:\n"
        f"  - {{id: p, says: platforms, values: [linux_x86_64], {CLAIM}}}\n"
        f"  - {{id: x, {statement}, {CLAIM}}}\n"
    )
    assert words in read(tmp_path, accelerators__cuda=text)[1]


FEATURE = """\
feature: f
title: F
summary: s
since: "2.14"
stability: preview
accelerators: ["*"]
statements:
  - {{id: a, says: status, torch: "2.13", accelerator: "xpu*", detail: d, {fields}, {claim}}}
"""


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("status: not_applicable", "must name what serves instead"),
        ("status: missing, replacement: ck", "missing has no replacement"),
        ("status: broken, replacement: ck", "broken has no replacement"),
        ("status: supported, closed_by: '2.14'", "is no gap that a version could close"),
        ("status: not_applicable, replacement: ck, closed_by: '2.14'", "is no gap"),
        ("status: missing, closed_by: soon", "is not a version"),
        ("status: not_applicable, replacement: composable kernel", ""),
        ("status: missing, closed_by: '2.14'", ""),
        ("status: broken", ""),
    ],
)
def test_absent_by_design_missing_and_broken_are_three_things(
    tmp_path: Path, fields: str, words: str
) -> None:
    _, faults = read(tmp_path, features__f=FEATURE.format(fields=fields, claim=CLAIM))
    assert (words in faults) if words else faults == ""


def test_a_gap_ends_with_the_version_that_closed_it(known: Knowledge) -> None:
    feature = next(f for f in known.features if f.id == "xpu-flash-attention-head-dim-256")
    gap: FeatureStatus = feature.statuses[0]
    assert (gap.status, gap.closed_by) == ("missing", "2.14")
    assert not gap.is_closed_in(Version("2.13.0"))
    assert gap.is_closed_in(Version("2.14.0.dev20260706"))
    assert gap.is_closed_in(Version("2.15.0"))
    assert gap.speaks_of(Version("2.13.0"), "xpu2026.0")
    assert not gap.speaks_of(Version("2.13.0"), "cuda13.0")
    assert not gap.speaks_of(Version("2.14.0"), "xpu2026.1")


@pytest.mark.parametrize(
    ("text", "version", "fits"),
    [
        ("", None, True),
        ("13.0", None, False),
        ("13.0", "13.0.1", True),
        ("13.0", "13.1", False),
        (">=13", "13.4", True),
        ("2.14.0.dev1", "2.14.0.dev1", True),
        ("2.14.0.dev1", "2.14.0", False),
    ],
)
def test_what_a_version_statement_is_about(text: str, version: str | None, *, fits: bool) -> None:
    assert applies(text, Version(version) if version else None) is fits


@pytest.mark.parametrize("text", ["x", "13.x", ">=", "13 0"])
def test_what_is_no_version_statement(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version or a range"):
        range_of(text)


def test_old_macos_wheels_say_their_python_in_the_first_tag(known: Knowledge) -> None:
    found = known.torch[Version("2.5.1")].pythons_on(Platform.MACOSX_ARM64)
    assert found is not None
    assert found.values == {PythonVersion(3, minor) for minor in (9, 10, 11, 12)}
