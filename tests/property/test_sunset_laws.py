"""Laws of sunsets and of the scan: time only moves on, and no file makes the scan fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wheelgrid.core.lifecycle import State
from wheelgrid.planning.plan import Plan, make_plan
from wheelgrid.scan.mention import Source
from wheelgrid.scan.patterns import accelerator_in, python_in
from wheelgrid.scan.project import scan_project
from wheelgrid.scan.readers import reader_of
from wheelgrid.scan.toml_places import leaves

NAMES = [
    "pyproject.toml", "Pipfile", "setup.py", "noxfile.py", "setup.cfg", "tox.ini", "tox.toml",
    "PKG-INFO", "meta.yaml", "conda_build_config.yaml", "environment.yml", "Dockerfile",
    ".github/workflows/a.yml", ".pre-commit-config.yaml", ".python-version", ".tool-versions",
    "requirements.txt", "build.sh", "uv.toml", "mise.toml",
]  # fmt: skip
PIECES = [
    "python", "3.10", "cp310", "py{39,310}", "=", ":", "[", "]", "{", "}", '"', "'", "\n", " ", "-",
    "#", "torch", ">=", "jobs", "matrix", "cu126", "setup(", ")", ",", "[project]", "<<", "&a",
    "*a", "requires-python", "|", ">", "\t", "\\", "é", "\x00", '"""', "f'", "^", "~", "==", "[[",
]  # fmt: skip
DAYS = st.dates(date(2026, 1, 1), date(2027, 12, 31))


@given(DAYS, st.integers(0, 500))
@settings(max_examples=60)
def test_a_later_day_never_goes_back(plan: Plan, as_of: date, later: int) -> None:
    order = list(State)
    after = as_of + timedelta(days=later)
    for one in plan.knowledge.sunsets:
        assert order.index(one.state(after)) >= order.index(one.state(as_of))
        assert one.is_built(as_of) >= one.is_built(after)
        stage, then = one.stage(as_of), one.stage(after)
        assert stage is None or (then is not None and then.on >= stage.on)


@given(DAYS, st.integers(0, 400), st.sampled_from(["python-3.10", "cuda12.6"]))
@settings(max_examples=8)
def test_a_sunset_never_revives_a_cell_or_a_build(
    plan: Plan, until: date, later: int, name: str
) -> None:
    """Taking sunsets away only adds cells; a build switch only takes builds away, for good."""

    def made(as_of: date, *, with_sunsets: bool = True) -> Plan:
        sunsets = tuple(
            replace(s, build_until=until) if s.id == name else s
            for s in plan.knowledge.sunsets
            if with_sunsets
        )
        knowledge = replace(plan.knowledge, sunsets=sunsets)
        return make_plan(plan.matrix, plan.recipes, knowledge, as_of=as_of)

    def cells(of: Plan) -> set[str]:
        return {c.id for c in of.included}

    def built(of: Plan) -> set[tuple[str, str]]:
        return {(b.package, c.id) for b in of.builds for c in b.cells}

    today, after, free = (
        made(until),
        made(until + timedelta(days=later)),
        made(until, with_sunsets=False),
    )
    assert cells(after) == cells(today) <= cells(free)
    assert built(after) <= built(today) <= built(free)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bytes], Path]:
    root = tmp_path_factory.mktemp("scan")

    def write(name: str, data: bytes) -> Path:
        for old in root.rglob("*"):
            if old.is_file():
                old.unlink()
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
        return root

    return write


@given(
    st.sampled_from(NAMES),
    st.one_of(
        st.binary(max_size=300),
        st.lists(st.sampled_from(PIECES), max_size=60).map(lambda p: "".join(p).encode()),
    ),
)
@settings(max_examples=400)
def test_no_bytes_make_the_scan_raise_and_it_says_the_same_twice(
    plan: Plan, project: Callable[[str, bytes], Path], name: str, data: bytes
) -> None:
    root = project(name, data)
    scan = scan_project(root, plan.knowledge.sunsets)
    assert scan == scan_project(root, plan.knowledge.sunsets)
    assert len(scan.looked_at) + len(scan.unread) == 1
    lines = data.count(b"\n") + data.count(b"\r") + 1
    for one in scan.found:
        assert 1 <= one.line <= lines + 1
        assert one.column >= 1


@given(st.sampled_from(NAMES), st.text(max_size=200))
def test_every_reader_takes_any_text(name: str, text: str) -> None:
    reader = reader_of(name)
    assert reader is not None
    for one in reader(Source(name, text)):
        assert one.file == name


TOML = st.recursive(
    st.one_of(st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), max_size=8)),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.sampled_from("abcde"), TOML), max_size=5, unique_by=lambda p: p[0]))
def test_the_place_of_a_toml_value_holds_its_text(pairs: list[tuple[str, object]]) -> None:
    def written(value: object) -> str:
        if isinstance(value, list):
            return "[\n  " + ", # x\n".join(map(written, value)) + "]"
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    text = "".join(f"{name} = {written(value)}\n" for name, value in pairs)
    rows = text.splitlines()
    for leaf in leaves(text)[0]:
        rest = rows[leaf.line - 1][leaf.column - 1 :]
        plain = leaf.text.replace("\\", "\\\\").replace('"', '\\"')
        assert rest.startswith(f'{plain}"')


@given(st.integers(8, 99), st.integers(8, 99))
def test_a_pattern_finds_its_own_version_and_no_other(wanted: int, other: int) -> None:
    for form in ("python3.{}", "python:3.{}-slim", "cp3{}-cp3{}", "--python 3.{}", "py3{}-x"):
        text = form.replace("{}", str(other))
        assert bool(python_in(f"3.{wanted}", text)) == (wanted == other)


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_toolkit_pattern_finds_its_own_version_and_no_other(wanted: int, other: int) -> None:
    for form in ("cu12{}", "cuda12.{}", "nvidia/cuda:12.{}.1-devel", "cuda-nvcc-12-{}"):
        text = form.replace("{}", str(other))
        assert bool(accelerator_in("cuda", f"12.{wanted}", text)) == (wanted == other)
