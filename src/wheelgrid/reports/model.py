"""The published view as values: what every page shows, computed from plan and records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from wheelgrid.core.build import Build
from wheelgrid.core.cell import Cell
from wheelgrid.core.decision import Decision, Reason
from wheelgrid.core.disagreement import Disagreement, disagreements
from wheelgrid.core.evidence import Kind, Observation, Source, is_weaker
from wheelgrid.core.knowledge import Feature, Knowledge
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.core.recipe import Abi
from wheelgrid.core.rung import RUNGS, Outcome, Rung, RungResult
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.reuse import Reuse, newest_reuse

__all__ = ["CellView", "Matrix", "PackageCell", "Row", "Site", "State", "TorchBlock", "make_site"]


class State(StrEnum):
    """What one cell shows in a table, weakest evidence first."""

    FAILED = "failed"
    PASSED = "passed"
    PARTIAL = "partial"
    REUSED = "reused"
    BUILT = "built"
    UNTESTED = "untested"
    NO_BUILD = "no-build"
    GAP = "gap"
    SUNSET = "sunset"
    EXCLUDED = "excluded"

    @property
    def glyph(self) -> str:
        """One character, so that colour is never alone."""
        return {
            State.FAILED: "✕",
            State.PASSED: "✓",
            State.PARTIAL: "◐",
            State.REUSED: "↻",
            State.BUILT: "▣",
            State.UNTESTED: "?",
            State.NO_BUILD: "○",
            State.GAP: "∅",
            State.SUNSET: "☾",
            State.EXCLUDED: "–",
        }[self]

    @property
    def meaning(self) -> str:
        """The state in words, for legends."""
        return {
            State.FAILED: "a rung failed",
            State.PASSED: "every package that has a build here was executed and passed",
            State.PARTIAL: "some packages passed, or all by derivation alone; the rest is untested",
            State.REUSED: "works, not built for it: a wheel of another build was executed here",
            State.BUILT: "a wheel was built and audited, not executed",
            State.UNTESTED: "nothing was built or executed: unknown, not unsupported",
            State.NO_BUILD: "wanted, but no recipe covers it",
            State.GAP: "upstream publishes no such torch",
            State.SUNSET: "ended, or ends, by a dated sunset",
            State.EXCLUDED: "excluded by policy, or no such runtime on the platform",
        }[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageCell:
    """One package in one cell: every rung, and the record behind them.

    `derived_from` names the cell in which it was seen, when that is another one: neither
    torch nor accelerator touches the package, so the observation holds here too. `reuse` is what a
    record says of a wheel that was not built for this cell and was executed in it.
    """

    package: str
    cell: Cell
    build: Build | None
    gap: str
    rungs: tuple[RungResult, ...]
    record: Observation | None = None
    derived_from: str = ""
    reuse: Reuse | None = None

    @property
    def state(self) -> State:
        """The state that its highest evidence gives: its own wheel first, then another's."""
        own = self._own_state
        reused = self.reuse is not None and self.reuse.outcome is Outcome.PASSED
        return State.REUSED if reused and own in {State.NO_BUILD, State.UNTESTED} else own

    @property
    def _own_state(self) -> State:
        if self.build is None:
            return State.NO_BUILD
        outcomes = {r.rung: r.outcome for r in self.rungs}
        if Outcome.FAILED in outcomes.values():
            return State.FAILED
        if outcomes.get(Rung.EXECUTED) is Outcome.PASSED:
            return State.PASSED
        return State.BUILT if outcomes.get(Rung.AUDITED) is Outcome.PASSED else State.UNTESTED

    @property
    def stops(self) -> RungResult | None:
        """The first rung that did not pass: why the climb ends there."""
        return next((r for r in self.rungs if r.outcome is not Outcome.PASSED), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """One candidate cell with its decision and its packages (none when excluded)."""

    cell: Cell
    decision: Decision
    packages: tuple[PackageCell, ...]

    @property
    def state(self) -> State:
        """What the matrix shows for it."""
        headline = self.decision.headline
        if headline is not None:
            return {
                Reason.SUNSET: State.SUNSET,
                Reason.ACCELERATOR_NOT_PUBLISHED: State.GAP,
                Reason.NO_WHEEL_PYTHON: State.GAP,
            }.get(headline.reason, State.EXCLUDED)
        states = {p.state for p in self.packages if p.build is not None or p.reuse is not None}
        if not states:
            return State.NO_BUILD
        if State.FAILED in states:
            return State.FAILED
        ran_here = any(p.record is not None and not p.derived_from for p in self.packages)
        if states == {State.PASSED} and ran_here:
            return State.PASSED
        if State.PASSED in states:
            return State.PARTIAL
        if State.REUSED in states:
            return State.REUSED
        return State.BUILT if State.BUILT in states else State.UNTESTED

    @property
    def counts(self) -> str:
        """`3/4`: packages executed and passed, of those that have a build here."""
        have = [p for p in self.packages if p.build is not None]
        return f"{sum(p.state is State.PASSED for p in have)}/{len(have)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One platform and accelerator; cells in the order of the Python axis."""

    platform: str
    accelerator: str
    cells: tuple[CellView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchBlock:
    """One torch release. `hidden` rows have no cell that could ever be: named, not drawn."""

    torch: str
    rows: tuple[Row, ...]
    hidden: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SunsetView:
    """A sunset with what it means for this matrix as of the report's day."""

    sunset: Sunset
    stage: str
    next_stage: str
    ended: int
    ahead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The table of the first page."""

    pythons: tuple[str, ...]
    blocks: tuple[TorchBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything that the site shows."""

    title: str
    as_of: date
    matrix: Matrix
    cells: tuple[CellView, ...]
    packages: Mapping[str, tuple[PackageCell, ...]]
    sunsets: tuple[SunsetView, ...]
    features: tuple[Feature, ...]
    plan: Plan
    unreadable: tuple[tuple[str, str], ...]
    refuted: tuple[Disagreement, ...] = ()

    @property
    def state_counts(self) -> list[tuple[State, int]]:
        """How many candidates are in each state; they sum to all."""
        counts = Counter(view.state for view in self.cells)
        return [(state, counts[state]) for state in State if counts[state]]


def _statement(source: Source) -> str:
    return f"{source.kind}, {source.date}: {source.source}"


def _published(cell: Cell, knowledge: Knowledge) -> RungResult:
    """Whether torch is published for the cell: seen in an index, claimed, or not known."""
    release = knowledge.torch.get(cell.torch)
    if release is None:
        why = f"nothing is known of torch {cell.torch}"
        return RungResult(rung=Rung.PUBLISHED, outcome=Outcome.UNKNOWN, why=why)
    seen = [
        s.source
        for s in release.pythons
        if s.source.kind is Kind.OBSERVATION
        and cell.platform in s.platforms
        and cell.python in s.values
    ]
    default = release.default_accelerator(cell.platform)
    if seen and default is not None and default[0] == cell.accelerator:
        evidence = tuple(_statement(s) for s in (*seen, default[1]))
        return RungResult(rung=Rung.PUBLISHED, outcome=Outcome.PASSED, evidence=evidence)
    claims = tuple(
        _statement(p.source)
        for p in release.published
        if p.positive and cell.accelerator in p.values and cell.platform in p.platforms
    )
    why = "claimed, not seen: its index was not read" if claims else "no statement about it"
    return RungResult(rung=Rung.PUBLISHED, outcome=Outcome.UNKNOWN, why=why, evidence=claims)


def _needs(build: Build, plan: Plan) -> str:
    """What somebody needs to climb on: said where nobody has looked yet."""
    needs = "" if build.abi is Abi.PURE else f" on {build.platform}"
    compiled = build.abi.uses_torch and build.accelerator.family.has_version
    if compiled and build.accelerator not in (plan.matrix.toolchains or {}):
        needs += f" with a toolchain for {build.accelerator}, which matrix.yaml does not have"
    return f"no record: nobody has built it{needs}"


def _rungs(
    cell: Cell, plan: Plan, record: Observation | None, build: Build
) -> tuple[RungResult, ...]:
    declared = RungResult(rung=Rung.DECLARED, outcome=Outcome.PASSED, evidence=(build.id,))
    found = {Rung.DECLARED: declared, Rung.PUBLISHED: _published(cell, plan.knowledge)}
    if record is not None:
        found |= {r.rung: r for r in record.rungs}
    resolved = found.get(Rung.RESOLVED)
    torch = tuple(e for e in resolved.evidence if e.startswith("torch==")) if resolved else ()
    if build.abi is Abi.NONE:
        why = "the package needs no torch"
        skipped = RungResult(rung=Rung.PUBLISHED, outcome=Outcome.SKIPPED, why=why)
        found[Rung.PUBLISHED] = skipped
    elif torch:
        # It was installed, so it is published: better evidence than any statement.
        passed = RungResult(rung=Rung.PUBLISHED, outcome=Outcome.PASSED, evidence=torch)
        found[Rung.PUBLISHED] = passed
    missing = _needs(build, plan) if record is None else "the record does not say"
    return tuple(
        found.get(rung, RungResult(rung=rung, outcome=Outcome.UNKNOWN, why=missing))
        for rung in RUNGS
    )


class _Records:
    """Records by build and cell; by build alone for wheels that torch does not touch.

    The build id holds the package's version: a record about an older one is not shown.
    """

    def __init__(self, records: Iterable[Observation], builds: Iterable[Build] = ()) -> None:
        """Of two records of the same thing, the one that is not weaker counts."""
        self.planned = frozenset(build.id for build in builds)
        self.exact: dict[object, Observation] = {}
        self.by_build: dict[object, Observation] = {}
        self.by_place: dict[tuple[str, str], list[Observation]] = {}
        for record in sorted(records, key=lambda r: r.provenance.time):
            self.by_place.setdefault((record.package, record.cell), []).append(record)
            for table, key in (
                (self.exact, (record.build, record.cell)),
                (self.by_build, record.build),
            ):
                before = table.get(key)
                if before is None or not is_weaker(record, before):
                    table[key] = record

    def reused(self, package: str, cell: Cell, own: str) -> Reuse | None:
        """What was seen here of a wheel that the plan builds for other cells; never inferred."""
        return newest_reuse(
            record
            for record in self.by_place.get((package, cell.id), ())
            if record.build != own and record.build in self.planned
        )

    def find(self, build: Build, cell: Cell) -> tuple[Observation | None, str]:
        """The record for a cell, and the cell it was made in when that is another."""
        exact = self.exact.get((build.id, cell.id))
        if exact is not None:
            return exact, ""
        other = self.by_build.get(build.id)
        if build.abi is Abi.NONE and other is not None:
            return other, other.cell
        return None, ""


def _view(cell: Cell, decision: Decision, plan: Plan, records: _Records) -> CellView:
    if not decision.included:
        return CellView(cell=cell, decision=decision, packages=())
    packages: list[PackageCell] = []
    for name in plan.matrix.packages:
        build = plan.build_of.get((name, cell.id))
        if build is None:
            packages.append(
                PackageCell(
                    package=name,
                    cell=cell,
                    build=None,
                    gap=plan.gap(name, cell),
                    rungs=(),
                    reuse=records.reused(name, cell, ""),
                )
            )
            continue
        record, derived_from = records.find(build, cell)
        packages.append(
            PackageCell(
                package=name,
                cell=cell,
                build=build,
                gap="",
                rungs=_rungs(cell, plan, record, build),
                record=record,
                derived_from=derived_from,
                reuse=records.reused(name, cell, build.id),
            )
        )
    return CellView(cell=cell, decision=decision, packages=tuple(packages))


def _matrix(plan: Plan, views: tuple[CellView, ...]) -> Matrix:
    rows: dict[str, dict[tuple[str, str], list[CellView]]] = {}
    platforms = plan.matrix.axis_values("platform")
    accelerators = plan.matrix.axis_values("accelerator")
    ordered = sorted(
        views,
        key=lambda v: (
            platforms.index(str(v.cell.platform)),
            accelerators.index(str(v.cell.accelerator)),
        ),
    )
    for view in ordered:
        cell = view.cell
        # Values on free axes make rows of their own.
        name = " ".join([str(cell.accelerator), *(f"{n}={v}" for n, v in cell.free)])
        row = rows.setdefault(str(cell.torch), {})
        row.setdefault((str(cell.platform), name), []).append(view)
    blocks: list[TorchBlock] = []
    for torch in plan.matrix.axis_values("torch"):
        by_place = rows.get(torch, {})
        shown: list[Row] = []
        hidden: list[str] = []
        for (platform, accelerator), cells in by_place.items():
            if all(_impossible(view.decision) for view in cells):
                hidden.append(f"{platform} {accelerator}")
            else:
                shown.append(Row(platform=platform, accelerator=accelerator, cells=tuple(cells)))
        blocks.append(TorchBlock(torch=torch, rows=tuple(shown), hidden=tuple(hidden)))
    pythons = tuple(str(p) for p in plan.matrix.python)
    return Matrix(pythons=pythons, blocks=tuple(blocks))


def _impossible(decision: Decision) -> bool:
    headline = decision.headline
    return headline is not None and headline.reason is Reason.PLATFORM_WITHOUT_RUNTIME


def _sunset(sunset: Sunset, plan: Plan) -> SunsetView:
    concerned = [d for d in plan.decisions if sunset.concerns(d.cell)]
    stage, ahead = sunset.stage(plan.as_of), sunset.next_stage(plan.as_of)
    return SunsetView(
        sunset=sunset,
        stage=f"{stage.name.phrase} ({stage.when})" if stage else "not announced",
        next_stage=f"{ahead.name.phrase} ({ahead.when}, in {ahead.days_left(plan.as_of)} days)"
        if ahead
        else "",
        ended=sum(
            d.headline is not None and d.headline.rule == f"lifecycle.{sunset.id}"
            for d in concerned
        ),
        ahead=sum(d.included for d in concerned),
    )


def _refuted(plan: Plan) -> tuple[Disagreement, ...]:
    """Claims about the releases of this matrix that what was seen speaks against."""
    releases = plan.knowledge.torch
    texts = set(plan.matrix.axis_values("torch"))
    shown = replace(
        plan.knowledge, torch={v: known for v, known in releases.items() if str(v) in texts}
    )
    return tuple(found for found in disagreements(shown) if found.is_observed)


def make_site(
    plan: Plan, records: Iterable[Observation], *, unreadable: tuple[tuple[str, str], ...] = ()
) -> Site:
    """Join the plan with what was recorded. Records that cannot be read are shown as such."""
    found = _Records(records, plan.builds)
    views = tuple(_view(d.cell, d, plan, found) for d in plan.decisions if isinstance(d.cell, Cell))
    packages = {
        name: tuple(p for view in views for p in view.packages if p.package == name)
        for name in plan.matrix.packages
    }
    on_axis = [s for s in plan.knowledge.sunsets if s.value in plan.matrix.axis_values(s.axis)]
    return Site(
        title=plan.matrix.title,
        as_of=plan.as_of,
        matrix=_matrix(plan, views),
        cells=views,
        packages=packages,
        sunsets=tuple(_sunset(s, plan) for s in on_axis),
        features=plan.knowledge.features,
        plan=plan,
        unreadable=unreadable,
        refuted=_refuted(plan),
    )
