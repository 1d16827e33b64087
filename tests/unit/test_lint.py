"""Lint: each compat rule can fail and can pass, with a position; the runner orders and judges."""

from __future__ import annotations

import importlib
import json
import re
from datetime import date
from pathlib import Path

import pytest

from wheelgrid.cli.lint import load_context
from wheelgrid.config.files import Project
from wheelgrid.core.errors import ExitCode, Fault
from wheelgrid.lint import registry
from wheelgrid.lint.document import rules_page
from wheelgrid.lint.registry import all_rules, rule_by_id
from wheelgrid.lint.rule import Context, Finding, Rule, Scope, Severity
from wheelgrid.lint.runner import exit_code, run_rules

AS_OF = date(2026, 12, 1)
MATRIX = """\
schema: "1"
name: small
axes: {torch: ["2.14.1"], python: ["3.13"], accelerator: [cpu], platform: [linux_x86_64]}
"""
TORCH_HEAD = 'torch: "2.14.1"\nstatements:\n'
CUDA_HEAD = """\
accelerator: cuda
title: CUDA
statements:
  - {id: p, says: platforms, kind: claim, source: "https://example.org/a", date: "2026-09-01",
     values: [linux_x86_64]}
  - {id: t, says: toolkit_archs, version: "13.0", kind: observation, source: nvcc,
     date: "2026-09-01", values: [sm_75, sm_90]}
"""
FEATURE_HEAD = """\
feature: f
title: F
summary: A feature
since: "2.13"
stability: preview
accelerators: ["*"]
statements:
"""
CLAIM = 'kind: claim, source: "https://example.org/a", date: "2026-09-01"'
STATUS = "says: status, accelerator: 'xpu*', detail: raises"
PYTHONS = "says: pythons, platforms: [linux_x86_64]"


class Compat:
    """A project in which a test writes statements and asks one rule."""

    def __init__(self, root: Path) -> None:
        """Start with a matrix and no knowledge."""
        self.project = Project(root)
        (root / "matrix.yaml").write_text(MATRIX, encoding="utf-8")

    def write(self, name: str, head: str, *statements: str) -> None:
        path = self.project.compat / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"  - {{{row}}}\n" for row in statements)
        path.write_text(head + rows, encoding="utf-8")

    def torch(self, *statements: str) -> None:
        self.write("torch/2.14.1.yaml", TORCH_HEAD, *statements)

    def feature(self, *statements: str) -> None:
        self.write("features/f.yaml", FEATURE_HEAD, *statements)

    def index(self, *files: str) -> None:
        path = self.project.compat / "observations" / "index" / "torch.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"observed": "2026-12-01T00:00:00+00:00", "files": files}
        path.write_text(json.dumps(document), encoding="utf-8")

    def context(self, as_of: date = AS_OF) -> Context:
        return load_context(self.project, as_of)

    def found(self, rule: str, as_of: date = AS_OF) -> list[str]:
        known = rule_by_id(rule)
        assert known is not None
        return [str(f) for f in run_rules(self.context(as_of), [known])]


@pytest.fixture
def compat(tmp_path: Path) -> Compat:
    return Compat(tmp_path)


def test_cp001_a_claim_has_an_address_and_a_derived_statement_its_origin(compat: Compat) -> None:
    compat.torch(
        f"id: good, says: cxx_standard, value: '20', {CLAIM}",
        "id: rumour, says: cxx_standard, value: '20', kind: claim, source: heard it, "
        "date: '2026-09-01'",
        "id: old, says: cxx_standard, value: '20', kind: observation, source: x, "
        "date: '1999-01-01'",
        "id: blank, says: cxx_standard, value: '20', kind: observation, source: '', "
        "date: '2026-09-01'",
        "id: alone, says: cxx_standard, value: '20', kind: derived, source: x, date: '2026-09-01'",
        "id: lost, says: cxx_standard, value: '20', kind: derived, source: x, date: '2026-09-01', "
        "from: [nobody]",
        "id: loop, says: cxx_standard, value: '20', kind: derived, source: x, date: '2026-09-01', "
        "from: [loop]",
        "id: fine, says: cxx_standard, value: '20', kind: derived, source: x, date: '2026-09-01', "
        "from: [good]",
    )
    found = compat.found("CP001")
    assert len(found) == 6
    assert found[0].startswith(
        "compat/torch/2.14.1.yaml:4:72: CP001 error torch 2.14.1.rumour: is a claim, but its "
        "source 'heard it' is not an address"
    )
    text = "\n".join(found)
    for words in ("before there was a torch", "empty source", "from what", "'nobody'", "itself"):
        assert words in text
    assert "good" not in text.replace("good:", "good")
    assert "fine" not in text


def test_cp002_one_source_says_one_thing_once(compat: Compat) -> None:
    compat.torch(
        f"id: a, says: cxx_standard, value: '20', {CLAIM}",
        f"id: b, says: cxx_standard, value: '20', {CLAIM}",
        f"id: c, says: cxx_standard, value: '17', {CLAIM}",
    )
    assert [("torch 2.14.1.b" in f, "'a'" in f) for f in compat.found("CP002")] == [(True, True)]


def test_cp003_partial_names_what_is_missing(compat: Compat) -> None:
    compat.feature(
        f"id: a, says: partial, missing: [some], {CLAIM}",
        f"id: b, says: partial, missing: [eig and eigvals], {CLAIM}",
    )
    assert ["'some' does not say what is missing" in f for f in compat.found("CP003")] == [True]


def test_cp004_a_closed_gap_names_the_version_that_closed_it(compat: Compat) -> None:
    works = f"id: w, {STATUS}, torch: '2.14.0.dev20260706', status: supported, {CLAIM}"
    compat.feature(f"id: gap, {STATUS}, torch: '2.13', status: missing, {CLAIM}", works)
    (found,) = compat.found("CP004")
    assert "f is missing on xpu* in torch 2.13, and supported in 2.14.0.dev20260706" in found
    assert 'add closed_by: "2.14"' in found
    closed = f"id: gap, {STATUS}, torch: '2.13', status: missing, closed_by: '2.14', {CLAIM}"
    compat.feature(closed, works)
    assert compat.found("CP004") == []
    compat.feature(closed.replace("'2.14'", "'2.13'"), works)
    assert "closed by the older or same 2.13" in compat.found("CP004")[0]


def test_cp004_another_vendor_or_an_older_release_closes_nothing(compat: Compat) -> None:
    compat.feature(
        f"id: gap, {STATUS}, torch: '2.13', status: missing, {CLAIM}",
        f"id: older, {STATUS}, torch: '2.12', status: supported, {CLAIM}",
        "id: other, says: status, accelerator: cuda13.0, detail: works, torch: '2.14', "
        f"status: supported, {CLAIM}",
    )
    assert compat.found("CP004") == []


def test_cp005_unknown_is_not_no(compat: Compat) -> None:
    compat.feature(
        f"id: guess, says: status, accelerator: cpu, torch: '2.14', status: unsupported, "
        f"detail: not tested here, {CLAIM}",
        f"id: mute, says: status, accelerator: cpu, torch: '2.14', status: broken, "
        f"detail: ' ', {CLAIM}",
        f"id: real, says: status, accelerator: cpu, torch: '2.14', status: unsupported, "
        f"detail: 'raises: unknown backend type', {CLAIM}",
        f"id: open, says: status, accelerator: cpu, torch: '2.14', status: not_run, "
        f"detail: not tested here, {CLAIM}",
        "id: derived, says: status, accelerator: cpu, torch: '2.14', status: unsupported, "
        "detail: was not tried, kind: derived, source: x, date: '2026-09-01', from: [real]",
    )
    compat.torch(
        "id: none, says: not_published, accelerator: cuda13.9, platforms: [linux_x86_64], "
        f"because: probably dropped, {CLAIM}",
        "id: empty, says: accelerators, family: rocm, platforms: [linux_x86_64], values: [], "
        f"note: its wheels are unclear, {CLAIM}",
    )
    found = "\n".join(compat.found("CP005"))
    assert len(found.splitlines()) == 4
    for name in (".guess", ".mute", ".none", ".empty"):
        assert name in found


def test_cp006_only_what_moves_grows_stale(compat: Compat) -> None:
    compat.write("accelerators/cuda.yaml", CUDA_HEAD)
    compat.torch(f"id: a, says: cxx_standard, value: '20', {CLAIM}")
    assert compat.found("CP006") == []
    found = compat.found("CP006", date(2027, 12, 1))
    assert len(found) == 1
    assert "accelerator cuda.p: is 456 days old" in found[0]


def test_cp006_an_open_gap_of_the_newest_release_grows_stale(compat: Compat) -> None:
    compat.torch(f"id: a, says: cxx_standard, value: '20', {CLAIM}")
    rows = (
        f"id: gap, {STATUS}, torch: '2.14.1', status: missing, {CLAIM}",
        f"id: part, says: partial, missing: [eig], {CLAIM}",
        f"id: done, {STATUS}, torch: '2.14.1', status: broken, closed_by: '2.15', {CLAIM}",
        f"id: old, {STATUS}, torch: '2.13', status: missing, {CLAIM}",
    )
    compat.feature(*rows)
    found = compat.found("CP006", date(2028, 1, 1))
    assert [re.findall(r"feature f\.(\w+)", f) for f in found] == [["gap"], ["part"]]


def test_cp007_a_refuted_claim_is_kept_and_both_lists_are_shown(compat: Compat) -> None:
    compat.torch(f"id: page, {PYTHONS}, values: ['3.7', '3.8', '3.9'], {CLAIM}")
    compat.index(*(f"torch-2.14.1-cp3{m}-cp3{m}-manylinux_2_28_x86_64.whl" for m in (8, 9, 10, 11)))
    (found,) = compat.found("CP007")
    assert (
        "Pythons of torch 2.14.1 on linux_x86_64: claimed but absent: 3.7; "
        "present but not claimed: 3.10, 3.11" in found
    )
    assert compat.found("CP008") == []
    release = next(iter(compat.context().knowledge.torch.values()))
    assert len(release.pythons) == 2


def test_cp007_one_finding_for_many_platforms(compat: Compat) -> None:
    claim = f"values: ['3.9'], {CLAIM}"
    compat.torch(f"id: page, says: pythons, platforms: [linux_x86_64, win_amd64], {claim}")
    compat.index(
        "torch-2.14.1-cp310-cp310-manylinux_2_28_x86_64.whl",
        "torch-2.14.1-cp310-cp310-win_amd64.whl",
    )
    (found,) = compat.found("CP007")
    assert "torch 2.14.1 on linux_x86_64, win_amd64" in found


def test_cp008_two_claims_that_differ_are_information(compat: Compat) -> None:
    listing = "says: accelerators, family: rocm, platforms: [linux_x86_64]"
    compat.torch(
        f"id: page, {listing}, values: [rocm7.14], {CLAIM}",
        f"id: blog, {listing}, values: [rocm7.2, rocm7.14], {CLAIM}",
        f"id: r1, says: released, 'on': '2026-09-30', {CLAIM}",
        f"id: r2, says: released, 'on': '2026-10-01', {CLAIM}",
    )
    found = compat.found("CP008")
    assert "only blog says: rocm7.2" in found[0]
    assert "claimed 2026-09-30, r2 claims 2026-10-01" in found[1]
    assert compat.found("CP007") == []


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        (">=2.14,<2.13", True),
        (">2.14,<2.14", True),
        ("==2.14.*,>=2.15", True),
        ("~=2.14.0,<2.14", True),
        ("==2.14.1,>2.14.1", True),
        (">=2.14,<=2.14", False),
        (">=2.13,<2.14", False),
        ("==2.14.*", False),
        ("!=2.14.*", False),
        ("2.14", False),
    ],
)
def test_cp009_a_range_holds_something(compat: Compat, text: str, *, empty: bool) -> None:
    compat.feature(f"id: a, {STATUS}, torch: '{text}', status: missing, {CLAIM}")
    assert bool(compat.found("CP009")) is empty


def test_cp009_nothing_works_before_it_exists_and_no_python_dies_unborn(compat: Compat) -> None:
    compat.feature(f"id: a, {STATUS}, torch: '2.12', status: supported, {CLAIM}")
    life = f"says: python, python: '3.13', free_threaded: none, {CLAIM}"
    compat.write(
        "pythons.yaml",
        "statements:\n",
        f"id: p, {life}, released: '2026-10-01', end_of_life: '2024-10'",
    )
    found = compat.found("CP009")
    assert "works in torch 2.12, but f is said to exist since 2.13" in found[0]
    assert "Python 3.13 ends on 2024-10-31, before it began" in found[1]


def test_cp010_lists_are_in_the_order_of_versions(compat: Compat) -> None:
    compat.torch(
        f"id: a, {PYTHONS}, values: ['3.10', '3.9'], {CLAIM}",
        f"id: b, {PYTHONS}, values: ['3.9', '3.10', '3.13t'], {CLAIM}",
        "id: c, says: pythons, platforms: [win_amd64, linux_x86_64], values: ['3.9'], " + CLAIM,
        "id: d, says: accelerators, family: cuda, platforms: [linux_x86_64], "
        f"values: [cuda13.0, cuda12.6], {CLAIM}",
        "id: e, says: gpu_archs, accelerator: cuda13.0, platforms: [linux_x86_64], "
        f"values: [sm_100, sm_90], ptx: [], {CLAIM}",
        "id: f, says: gpu_archs, accelerator: cuda13.0, platforms: [linux_x86_64], "
        f"values: [sm_90, sm_90], ptx: [], {CLAIM}",
    )
    found = compat.found("CP010")
    assert [re.findall(r"torch 2\.14\.1\.(\w)", f)[0] for f in found] == ["a", "c", "d", "e", "f"]
    assert 'values: ["3.9", "3.10"]' in found[0]
    assert "values: [sm_90, sm_100]" in found[3]
    assert "names sm_90 twice" in found[4]


def test_cp011_nothing_is_dated_after_today(compat: Compat) -> None:
    compat.torch(f"id: a, says: cxx_standard, value: '20', {CLAIM}")
    assert compat.found("CP011", date(2026, 9, 1)) == []
    assert "which is after 2026-08-31" in compat.found("CP011", date(2026, 8, 31))[0]


def test_cp012_accelerators_of_torch_are_known(compat: Compat) -> None:
    compat.write("accelerators/cuda.yaml", CUDA_HEAD)
    listing = "says: accelerators, platforms: [linux_x86_64]"
    compat.torch(
        f"id: a, {listing}, family: cuda, values: [cuda13.0, cuda31.0], {CLAIM}",
        f"id: b, {listing}, family: rocm, values: [rocm7.14], {CLAIM}",
        f"id: c, {listing}, family: cuda, values: [cuda31.0], {CLAIM}",
    )
    found = compat.found("CP012")
    assert len(found) == 2
    assert "cuda31.0, but no statement says which GPU targets" in found[0]
    assert "there is no compat/accelerators/rocm.yaml" in found[1]


def test_every_rule_explains_itself_and_has_its_own_id() -> None:
    assert len(all_rules()) == len({rule.id for rule in all_rules()})
    for rule in all_rules():
        assert re.fullmatch(r"(CP|MX)[0-9]{3}", rule.id)
        for text in (rule.summary, rule.why, rule.fix, rule.bad, rule.good):
            assert text.strip(), rule.id
        assert rule.bad != rule.good
        assert f"## {rule.id}\n" in rules_page(all_rules())


def test_every_compat_rule_has_a_test_that_it_can_fail() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for rule in all_rules():
        if rule.id.startswith("CP"):
            assert f"def test_{rule.id.lower()}_" in text, rule.id


def test_two_rules_of_one_id_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type("Module", (), {"RULE": all_rules()[0]})
    monkeypatch.setattr(importlib, "import_module", lambda _: module)
    registry.all_rules.cache_clear()
    with pytest.raises(ValueError, match="two lint rules have the id"):
        registry.all_rules()
    monkeypatch.undo()
    registry.all_rules.cache_clear()
    assert len(all_rules()) > 10


def a_rule(severity: Severity, *faults: Fault) -> Rule:
    return Rule(
        id=f"XX{len(faults)}",
        scope=Scope.TREE,
        severity=severity,
        summary="s",
        why="w",
        fix="f",
        bad="b",
        good="g",
        check=lambda _: faults,
    )


def test_findings_come_in_the_order_of_files_and_lines(compat: Compat) -> None:
    late, early = Fault(file="b", line=2, message="m"), Fault(file="a", line=9, message="m")
    found = run_rules(compat.context(), [a_rule(Severity.ERROR, late, early)])
    assert [str(f) for f in found] == ["a:9:0: XX2 error m", "b:2:0: XX2 error m"]


@pytest.mark.parametrize(
    ("severity", "strict", "code"),
    [
        (Severity.ERROR, False, ExitCode.FAILURES),
        (Severity.WARNING, False, ExitCode.GOOD),
        (Severity.WARNING, True, ExitCode.FAILURES),
        (Severity.INFO, True, ExitCode.GOOD),
    ],
)
def test_only_errors_fail_unless_strict(severity: Severity, code: int, *, strict: bool) -> None:
    finding = Finding(rule=a_rule(severity), fault=Fault(file="a", message="m"))
    assert exit_code([finding], strict=strict) == code
    assert exit_code([], strict=strict) == ExitCode.GOOD


def test_the_shipped_data_has_no_errors(repository: Path) -> None:
    context = load_context(Project(repository), AS_OF)
    errors = [str(f) for f in run_rules(context, all_rules()) if f.rule.severity is Severity.ERROR]
    assert errors == []
    assert len(context.statements) > 200
