"""How a plan reads in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from wheelgrid.core.cell import Cell
from wheelgrid.core.decision import Decision, Reason
from wheelgrid.core.evidence import Source
from wheelgrid.core.rung import Outcome
from wheelgrid.engines.store import Action, Store
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.published import Published
from wheelgrid.planning.select import select_tier

__all__ = [
    "axis_lines",
    "build_lines",
    "matrix_table",
    "summary",
    "tier_lines",
    "why_not_lines",
    "with_published",
]

_LETTER = {
    Reason.POLICY: "X",
    Reason.PLATFORM_WITHOUT_RUNTIME: "-",
    Reason.ARCH_NOT_IN_TOOLKIT: "G",
    Reason.SUNSET: "S",
    Reason.ACCELERATOR_NOT_PUBLISHED: "A",
    Reason.NO_WHEEL_PYTHON: "P",
    Reason.ARCH_NOT_IN_TORCH: "T",
}
_MEANING = {
    "o": "included",
    "S": "sunset",
    "A": "torch has no such build",
    "P": "torch has no wheel for this Python",
    "G": "the toolkit does not compile for this GPU",
    "T": "torch has no code for this GPU",
    "X": "policy",
}
_SHOWN_CELLS = 4000
"""Above this many candidates a terminal gets counts, not a table."""


def _letter(decision: Decision) -> str:
    headline = decision.headline
    if headline is None:
        return "o" if not decision.notes else "o*"
    return _LETTER[headline.reason]


def matrix_table(plan: Plan) -> list[str]:
    """One block per torch, one row per platform and accelerator, one column per Python."""
    if not plan.matrix.is_stack or plan.decided.size > _SHOWN_CELLS:
        return []
    pythons = [str(p) for p in plan.matrix.python]
    blocks: dict[str, dict[str, dict[str, str]]] = {}
    for decision in plan.decisions:
        cell = decision.cell
        if not isinstance(cell, Cell):
            continue
        free = " ".join(f"{name}={value}" for name, value in cell.free)
        row = f"{cell.platform} {cell.accelerator} {free}".rstrip()
        block = blocks.setdefault(str(cell.torch), {})
        block.setdefault(row, {})[str(cell.python)] = _letter(decision)
    lines: list[str] = []
    seen: set[str] = set()
    for torch, rows in blocks.items():
        lines.append(f"\ntorch {torch}".ljust(31) + " ".join(p.rjust(5) for p in pythons))
        for name, letters in sorted(rows.items(), key=lambda pair: _row_order(plan, pair[0])):
            seen.update(letter.rstrip("*") for letter in letters.values())
            if set(letters.values()) != {"-"}:
                shown = " ".join(letters.get(p, "").rjust(5) for p in pythons)
                lines.append(f"  {name}".ljust(30) + shown)
    legend = ", ".join(f"{letter} {text}" for letter, text in _MEANING.items() if letter in seen)
    lines.append(f"\n{legend}; * with a note: `wheelgrid explain CELL`.")
    if "-" in seen:
        lines.append("Rows of accelerators that do not exist on a platform are left out.")
    return lines


def _row_order(plan: Plan, name: str) -> tuple[int, int, str]:
    platform, accelerator, *free = name.split(" ", 2)
    platforms = plan.matrix.axis_values("platform")
    accelerators = plan.matrix.axis_values("accelerator")
    where = accelerators.index(accelerator) if accelerator in accelerators else len(accelerators)
    system = platforms.index(platform) if platform in platforms else len(platforms)
    return where, system, " ".join(free)


def summary(plan: Plan) -> list[str]:
    """Counts: candidates, reasons, packages and builds, and what collapsing saves."""
    included, total = plan.decided.included_count, plan.decided.size
    reasons = ", ".join(f"{n} {reason}" for reason, n in plan.excluded_by_reason().items())
    channel = f", channel {plan.matrix.channel}" if plan.matrix.channel else ""
    lines = [
        f"{plan.matrix.title} as of {plan.as_of}{channel}: {total} candidates = "
        f"{included} included + {total - included} excluded",
        f"excluded: {reasons or 'none'}",
    ]
    if plan.matrix.packages:
        served = sum(len(b.cells) for b in plan.builds)
        saved = f", {1 - len(plan.builds) / served:.0%} fewer wheels than cells" if served else ""
        lines.append(
            f"{len(plan.matrix.packages)} packages in these cells: {served} package cells, "
            f"served by {len(plan.builds)} builds{saved}"
        )
    return lines


def axis_lines(plan: Plan) -> list[str]:
    """The included cells of each axis value: what a row or column of the matrix holds."""
    if plan.matrix.is_stack or plan.decided.included_count > _SHOWN_CELLS:
        return []
    lines = ["\nincluded cells by axis value:"]
    for axis in plan.matrix.axes:
        counts = Counter(
            point.axis(axis.name) for point in plan.points if axis.name in point.values
        )
        lines.append(f"  {axis.name}: " + ", ".join(f"{v} {counts[v]}" for v in axis.texts))
    return lines


def _source(source: Source) -> str:
    return f"{source.kind}, {source.date}: {source.source}"


def why_not_lines(plan: Plan) -> list[str]:
    """Excluded cells by reason and rule, with counts that add up, an example and its source."""
    lines: list[str] = []
    rules = plan.excluded_by_rule()
    for reason, count in sorted(plan.excluded_by_reason().items(), key=lambda p: (-p[1], p[0])):
        lines.append(f"{reason}: {count}")
        for (other, rule), cells in rules.items():
            if other != reason:
                continue
            decision = _example(plan, other, rule)
            ruling = decision.headline
            lines.append(f"  {cells:>7}  {rule}")
            if ruling is not None:
                lines.append(f"           e.g. {decision.cell.id}: {ruling.message}")
                lines += [f"           {_source(s)}" for s in ruling.sources[:2]]
    included, total = plan.decided.included_count, plan.decided.size
    excluded = " + ".join(str(n) for n in plan.excluded_by_reason().values()) or "0"
    lines.append(f"{total} candidates = {included} included + {excluded} excluded")
    return lines


def _example(plan: Plan, reason: Reason, rule: str) -> Decision:
    mask = plan.decided.excluded_by.get((reason, rule), 0)
    if mask:
        return plan.decided.decision((mask & -mask).bit_length() - 1)
    numbers = range(plan.decided.space.size, plan.decided.size)
    found = [plan.decided.decision(n) for n in numbers]
    return next(d for d in found if d.headline is not None and d.headline.rule == rule)


def with_published(actions: list[Action], published: Published) -> list[Action]:
    """Builds that are published need nothing: a published file is never replaced."""
    found = []
    for action in actions:
        name = published.file_of(action.build) if action.sign != "=" else ""
        done = replace(action, sign="=", why=f"published as {name}") if name else action
        found.append(done)
    return found


def build_lines(
    actions: list[Action], tests: Mapping[tuple[str, str], tuple[date, Outcome]]
) -> list[str]:
    """Every build with its action, and how many of its cells have been tested, when last."""
    lines = []
    for action in actions:
        build = action.build
        seen = [tests[key] for c in build.cells if (key := (build.package, c.id)) in tests]
        tested = f"; tested in {len(seen)} of {len(build.cells)} cells" if seen else ""
        if seen:
            tested += f", last {max(day for day, _ in seen)}"
        failed = sum(outcome is Outcome.FAILED for _, outcome in seen)
        lines.append(
            f"{action.sign} {build.id}: {action.why}{tested}"
            + (f", {failed} failed" if failed else "")
        )
    return lines


def tier_lines(plan: Plan, store: Store, actions: list[Action], tier: str) -> list[str]:
    """What each build of a tier needs on this machine."""
    units = select_tier(plan, tier)
    wanted = {u.build.id for u in units if u.cell.platform == store.host.platform}
    lines = [f"\nbuilds of tier {tier!r} on this machine:"]
    lines += [f"  {a.sign} {a.build.id}: {a.why}" for a in actions if a.build.id in wanted]
    others = Counter(a.sign for a in actions if a.build.id not in wanted)
    if others:
        text = ", ".join(f"{n} {sign}" for sign, n in sorted(others.items()))
        lines.append(f"other builds: {text} (list them with --builds)")
    lines.append("+ build, ~ rebuild, = up to date, - retire, ! cannot be built here")
    return lines
