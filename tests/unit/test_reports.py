"""The report: states follow the evidence, pages are escaped, whole and linked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from wheelgrid.core.errors import BadInputError
from wheelgrid.core.evidence import Observation, Provenance
from wheelgrid.core.rung import RUNGS, Check, Outcome, Rung, RungResult
from wheelgrid.planning.plan import Plan
from wheelgrid.reports.model import Site, State, make_site
from wheelgrid.reports.site import MARKER, write_site

ROOT = Path(__file__).parents[2]
CELL = "torch2.13.0-cp311-linux_x86_64-cpu"
OTHER = "torch2.14.1-cp311-linux_x86_64-cpu"
HOSTILE = "</td><script>alert(1)</script> \"'javascript:x \x1b[31m\u202e" + "y" * 9000


def record(
    plan: Plan, package: str, *, cell: str = CELL, last: Outcome = Outcome.PASSED, why: str = ""
) -> Observation:
    """All rungs passed but the last, which is as asked."""
    rungs = [
        RungResult(rung=r, outcome=Outcome.PASSED, evidence=("torch==2.13.0+cpu",))
        for r in RUNGS[2:-1]
    ]
    check = Check(name="c", outcome=last, detail=why)
    rungs.append(RungResult(rung=Rung.EXECUTED, outcome=last, why=why, checks=(check,)))
    build = plan.build_of[package, cell]
    return Observation(
        package=package,
        package_version=build.wheel_version,
        cell=cell,
        build=build.id,
        key="0" * 64,
        wheel="x.whl",
        wheel_sha256="1" * 64,
        rungs=tuple(rungs),
        provenance=Provenance(
            time="2026-12-01T00:00:00+00:00",
            tool="wheelgrid 0",
            platform="linux_x86_64",
            python="3.11.7",
            host={"libc": "glibc 2.36"},
            inputs={"torch": "2.13.0+cpu"},
        ),
    )


def state_of(site: Site, cell: str) -> State:
    return next(v.state for v in site.cells if v.cell.id == cell)


def test_states_sum_to_all_candidates_and_nothing_is_passed_without_a_record(plan: Plan) -> None:
    site = make_site(plan, [])
    assert sum(count for _, count in site.state_counts) == len(plan.decisions)
    states = {state for state, _ in site.state_counts}
    assert not states & {State.PASSED, State.PARTIAL, State.BUILT, State.FAILED}


def test_a_cell_passes_when_all_its_packages_ran_there(plan: Plan) -> None:
    every = [record(plan, name) for name in plan.matrix.packages]
    assert state_of(make_site(plan, every), CELL) is State.PASSED
    assert state_of(make_site(plan, every[:2]), CELL) is State.PARTIAL


@pytest.mark.parametrize(
    ("last", "state"),
    [
        (Outcome.FAILED, State.FAILED),
        (Outcome.SKIPPED, State.BUILT),
        (Outcome.UNKNOWN, State.BUILT),
    ],
)
def test_failed_skipped_and_unknown_are_different_things(
    plan: Plan, last: Outcome, state: State
) -> None:
    site = make_site(plan, [record(plan, "torch-scatter", last=last, why="because")])
    assert state_of(site, CELL) is state


def test_a_torch_free_wheel_counts_elsewhere_as_derived_and_never_alone_as_passed(
    plan: Plan,
) -> None:
    site = make_site(plan, [record(plan, "regex")])
    other = "torch2.15.0-cp311-linux_x86_64-xpu2026.1"
    (item,) = [p for p in site.packages["regex"] if p.cell.id == other]
    assert (item.state, item.derived_from) == (State.PASSED, CELL)
    assert state_of(site, other) is State.PARTIAL
    scatter = [p for p in site.packages["torch-scatter"] if p.record is not None]
    assert scatter == []


def test_a_record_about_an_older_version_is_not_shown(plan: Plan) -> None:
    old = replace(record(plan, "torch-scatter"), build="torch-scatter-2.1.1-old")
    assert state_of(make_site(plan, [old]), CELL) is State.UNTESTED


def test_a_run_without_a_device_does_not_hide_one_with_it(plan: Plan) -> None:
    passed = record(plan, "gridprobe")
    later = replace(passed.provenance, time="2027-01-01T00:00:00+00:00")
    skipped = replace(
        record(plan, "gridprobe", last=Outcome.SKIPPED, why="no device"), provenance=later
    )
    every = [record(plan, n) for n in plan.matrix.packages if n != "gridprobe"]
    assert state_of(make_site(plan, [*every, passed, skipped]), CELL) is State.PASSED
    other = replace(skipped, wheel_sha256="2" * 64)
    assert state_of(make_site(plan, [*every, passed, other]), CELL) is State.PARTIAL


def test_the_first_sentence_counts_what_ran_apart_from_what_follows(
    plan: Plan, tmp_path: Path
) -> None:
    skipped = record(plan, "gridprobe", last=Outcome.SKIPPED, why="no device")
    site = make_site(plan, [record(plan, "regex", cell=OTHER), skipped])
    write_site(site, tmp_path / "site")
    text = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "In <b>1</b> cells packages ran and passed" in text
    cells = sum(p.state is State.PASSED for p in site.packages["regex"])
    assert f"in <b>{cells - 1}</b> more the same wheels pass by derivation" in text


def test_the_newest_record_of_a_cell_wins(plan: Plan) -> None:
    old = record(plan, "regex", last=Outcome.FAILED, why="x")
    new = replace(
        record(plan, "regex"),
        provenance=replace(old.provenance, time="2026-12-02T00:00:00+00:00"),
    )
    site = make_site(plan, [new, old])
    assert state_of(site, CELL) is State.PARTIAL


def test_published_is_passed_only_where_it_was_seen(plan: Plan) -> None:
    site = make_site(plan, [])

    def published(cell: str, package: str = "torch-scatter") -> RungResult:
        view = next(v for v in site.cells if v.cell.id == cell)
        (item,) = [p for p in view.packages if p.package == package]
        return next(r for r in item.rungs if r.rung is Rung.PUBLISHED)

    default = published("torch2.15.0-cp312-linux_x86_64-cuda13.2")
    assert default.outcome is Outcome.PASSED
    claimed = published("torch2.15.0-cp312-linux_x86_64-cuda13.0")
    assert claimed.outcome is Outcome.UNKNOWN
    assert claimed.why == "claimed, not seen: its index was not read"
    free = published("torch2.15.0-cp312-linux_x86_64-cuda13.0", "regex")
    assert (free.outcome, free.why) == (Outcome.SKIPPED, "the package needs no torch")


def test_a_sunset_counts_the_cells_that_ended_because_of_it(plan: Plan) -> None:
    sunsets = {view.sunset.id: view for view in make_site(plan, []).sunsets}
    heads = [d.headline.rule for d in plan.decisions if d.headline is not None]
    assert sunsets["python-3.10"].ended == heads.count("lifecycle.python-3.10") > 0
    assert sunsets["python-3.10"].stage == "end of life (2026-10-31)"


@pytest.fixture(scope="module")
def pages(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with passed, failed, skipped and hostile records."""
    records = [
        record(plan, "regex"),
        record(plan, "torch-scatter", last=Outcome.FAILED, why=HOSTILE),
        record(plan, "gridprobe", last=Outcome.SKIPPED, why="no device"),
    ]
    target = tmp_path_factory.mktemp("site") / "site"
    site = make_site(plan, records, unreadable=(("a/b.json", HOSTILE),))
    assert write_site(site, target) == len(list(target.rglob("*.html")))
    return target


class Links(HTMLParser):
    """Collects ids, links and what no page may have."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        for name in ("href", "src"):
            if values.get(name):
                self.links.append(str(values[name]))
        if tag in {"script", "iframe", "object"} or any(n.startswith("on") for n in values):
            self.bad.append(tag)


def parsed(page: Path) -> Links:
    links = Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def test_no_page_has_script_and_hostile_text_stays_text(pages: Path) -> None:
    for page in pages.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert parsed(page).bad == [], page
        assert not re.search(r"[\x1b\u202e]", text), page
    cell = (pages / "c" / CELL / "index.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in cell
    assert "more characters" in cell


def test_every_link_inside_the_site_leads_to_a_page_and_a_place(pages: Path) -> None:
    found = {page.resolve(): parsed(page) for page in pages.rglob("*.html")}
    for page, links in found.items():
        for link in links.links:
            if link.startswith("https://") or link == "data:,":
                continue  # a source, or the empty icon
            assert not re.match(r"[a-z]+:", link), f"{page}: {link}"
            path, _, fragment = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), f"{page}: {link}"
            if fragment:
                assert fragment in found[target].ids, f"{page}: {link}"


def test_states_are_words_and_glyphs_not_colour_alone(pages: Path) -> None:
    text = (pages / "index.html").read_text(encoding="utf-8")
    for state in (State.PARTIAL, State.FAILED, State.SUNSET, State.GAP, State.UNTESTED):
        assert f"{state.glyph}</i> {state}" in text
    assert "<caption>" in text
    assert 'scope="row"' in text


def test_the_same_input_gives_the_same_bytes_and_stale_pages_vanish(
    plan: Plan, tmp_path: Path
) -> None:
    target = tmp_path / "site"
    write_site(make_site(plan, [record(plan, "regex")]), target)
    first = {p.relative_to(target): p.read_bytes() for p in target.rglob("*") if p.is_file()}
    (target / "c" / "stale.html").write_text("old", encoding="utf-8")
    write_site(make_site(plan, [record(plan, "regex")]), target)
    second = {p.relative_to(target): p.read_bytes() for p in target.rglob("*") if p.is_file()}
    assert first == second
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_a_folder_of_somebody_else_is_not_replaced(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(BadInputError, match=f"it has no {MARKER} file"):
        write_site(make_site(plan, []), tmp_path)
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_the_data_document_has_every_cell(pages: Path, plan: Plan) -> None:
    data = json.loads((pages / "data" / "site.json").read_bytes())
    assert set(data["cells"]) == {d.cell.id for d in plan.decisions}
    assert data["cells"][CELL]["packages"]["torch-scatter"]["state"] == "failed"
    assert data["cells"]["torch2.15.0-cp310-linux_x86_64-cpu"]["reason"] == "sunset"


def test_the_first_page_stays_small(pages: Path) -> None:
    assert (pages / "index.html").stat().st_size < 500 * 1024


def test_the_style_sheet_knows_every_state() -> None:
    css = (ROOT / "src/wheelgrid/reports/templates/style.css").read_text(encoding="utf-8")
    missing = [s for s in State if f".s-{s}" not in css]
    assert missing == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_colour_schemes_are_declared(scheme: str) -> None:
    css = (ROOT / "src/wheelgrid/reports/templates/style.css").read_text(encoding="utf-8")
    declared: Callable[[str], bool] = lambda text: bool(  # noqa: E731
        re.search(rf"color-scheme:[^;]*{text}", css)
    )
    assert declared(scheme)


def test_a_wheel_that_works_where_it_was_not_built_for_has_a_state_of_its_own(plan: Plan) -> None:
    """unslothai/unsloth#7495: torch2.10 wheels pass on 2.12; seen, never inferred."""
    cell = "torch2.14.1-cp311-linux_x86_64-cpu"
    checks = tuple(Check(name=f"c{n}", outcome=Outcome.PASSED) for n in range(3))
    other = Observation(
        package="torch-scatter",
        package_version="2.1.2+cputorch2.13",
        cell=cell,
        build="torch-scatter-2.1.2-torch2.13.0-cp311-linux_x86_64-cpu",
        key="k",
        wheel="torch_scatter-2.1.2+cputorch2.13-cp311-cp311-manylinux_2_34_x86_64.whl",
        wheel_sha256="0" * 64,
        rungs=(RungResult(rung=Rung.EXECUTED, outcome=Outcome.PASSED, checks=checks),),
        provenance=Provenance(
            time="2026-11-30T10:00:00+00:00",
            tool="wheelgrid",
            platform="linux_x86_64",
            python="3.11.7",
            host={},
            inputs={},
        ),
    )
    views = {v.cell.id: v for v in make_site(plan, [other]).cells}
    [scatter] = [p for p in views[cell].packages if p.package == "torch-scatter"]
    assert scatter.state is State.REUSED
    assert views[cell].state is State.REUSED
    assert str(scatter.reuse) == (
        "works, not built for it: 3 of 3 checks passed on 2026-11-30 (cpu)"
    )
    neighbour = views["torch2.15.0-cp311-linux_x86_64-cpu"]
    assert neighbour.state is State.UNTESTED
    failed = replace(
        other,
        rungs=(
            RungResult(
                rung=Rung.EXECUTED, outcome=Outcome.FAILED, why="undefined symbol", checks=checks
            ),
        ),
    )
    views = {v.cell.id: v for v in make_site(plan, [failed]).cells}
    assert views[cell].state is State.UNTESTED
