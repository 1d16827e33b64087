"""`wheelgrid plan`: the expanded matrix, its builds and what each of them needs."""

from __future__ import annotations

from collections import Counter
from datetime import date
from itertools import groupby
from pathlib import Path

import click

from wheelgrid.cli.context import as_of_option, json_option, load_plan, open_project, print_json
from wheelgrid.core.decision import Decision, Reason
from wheelgrid.engines.store import Action, Store
from wheelgrid.planning.document import plan_document
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.select import select_tier

__all__ = ["command"]

_LETTER = {
    Reason.POLICY: "X",
    Reason.PLATFORM_WITHOUT_RUNTIME: "-",
    Reason.SUNSET: "S",
    Reason.ACCELERATOR_NOT_PUBLISHED: "A",
    Reason.NO_WHEEL_PYTHON: "P",
}
_MEANING = {
    "o": "included",
    "S": "sunset",
    "A": "torch has no such build",
    "P": "torch has no wheel for this Python",
    "X": "policy",
}


def _letter(decision: Decision) -> str:
    headline = decision.headline
    if headline is None:
        return "o" if not decision.notes else "o*"
    return _LETTER[headline.reason]


def _matrix_table(plan: Plan) -> list[str]:
    """One block per torch, one row per platform and accelerator, one column per Python."""
    pythons = [str(p) for p in plan.matrix.python]
    lines: list[str] = []
    by_torch = groupby(plan.decisions, key=lambda d: d.cell.torch)
    for torch, group in by_torch:
        lines.append(f"\ntorch {torch}".ljust(31) + " ".join(p.rjust(5) for p in pythons))
        rows = groupby(group, key=lambda d: (d.cell.platform, d.cell.accelerator))
        for (platform, accelerator), row in rows:
            letters = [_letter(d) for d in row]
            if set(letters) == {"-"}:
                continue
            name = f"  {platform} {accelerator}".ljust(30)
            lines.append(name + " ".join(letter.rjust(5) for letter in letters))
    legend = ", ".join(f"{letter} {meaning}" for letter, meaning in _MEANING.items())
    lines.append(f"\n{legend}; * with a note: `wheelgrid explain CELL`.")
    lines.append("Rows of accelerators that do not exist on a platform are left out.")
    return lines


def _summary(plan: Plan) -> list[str]:
    included, total = len(plan.included), len(plan.decisions)
    reasons = ", ".join(f"{n} {reason}" for reason, n in plan.excluded_by_reason().items())
    served = sum(len(b.cells) for b in plan.builds)
    return [
        f"{plan.matrix.title} as of {plan.as_of}: {total} candidates = {included} included + "
        f"{total - included} excluded",
        f"excluded: {reasons or 'none'}",
        f"{len(plan.matrix.packages)} packages in these cells: {served} package cells, "
        f"served by {len(plan.builds)} builds",
    ]


def _tier_lines(plan: Plan, store: Store, actions: list[Action], tier: str) -> list[str]:
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


@click.command(name="plan", short_help="Expand and decide the matrix.")
@click.option("--builds", is_flag=True, help="List every build with its action.")
@click.option("--tier", default="stack", show_default=True, help="Tier whose builds are listed.")
@as_of_option
@json_option
@click.pass_obj
def command(root: Path | None, *, builds: bool, tier: str, as_of: date, as_json: bool) -> int:
    """Expand the axes, decide every candidate, collapse into builds, compare with dist/."""
    project = open_project(root)
    plan = load_plan(project, as_of)
    if as_json:
        print_json(plan_document(plan))
        return 0
    store = Store(project, plan)
    actions = store.actions()
    lines = _summary(plan) + _matrix_table(plan)
    if builds:
        lines += ["", *(f"{a.sign} {a.build.id}: {a.why}" for a in actions)]
    elif tier in (plan.matrix.tiers or {}):
        lines += _tier_lines(plan, store, actions, tier)
    for wheel in store.retired():
        lines.append(f"- {wheel.relative_to(project.root)}: no build of the plan makes it")
    click.echo("\n".join(lines))
    return 0
