"""What `wheelgrid sunset --files` says of a project's releases, for people and as JSON."""

from __future__ import annotations

from datetime import date
from typing import Any

from wheelgrid.cli.sunset_text import SUNSET_SCHEMA_VERSION
from wheelgrid.planning.releases import ReleasePlan

__all__ = ["releases_document", "releases_lines"]

_SHOWN = 10


def _versions(versions: tuple[object, ...]) -> str:
    more = f" and {len(versions) - _SHOWN} more" if len(versions) > _SHOWN else ""
    return ", ".join(map(str, versions[-_SHOWN:])) + more


def _actions(plan: ReleasePlan) -> list[str]:
    found = []
    if plan.publish:
        found.append(
            f"publish {plan.project} {plan.publish} (or whatever comes after {plan.newest}) with "
            f"Requires-Python: {plan.floor}"
        )
    if plan.yank:
        found.append(
            f"yank {plan.project} {_versions(plan.yank)}: without Requires-Python it cannot be "
            "repaired, only taken out of the way"
        )
    return [f"    {number}. {text}" for number, text in enumerate(found, 1)] or ["    nothing"]


def _lines(plan: ReleasePlan) -> list[str]:
    value = plan.sunset.value
    lines = [f"{plan.project}, for the sunset of {plan.sunset.axis} {value} ({plan.sunset.id}):"]
    if plan.unknown:
        lines.append(f"  the list does not say Requires-Python of: {_versions(plan.unknown)}")
    lacking = _versions(plan.lacking) if plan.lacking else "none"
    lines += [f"  releases without Requires-Python: {lacking}", "  do:"]
    lines += _actions(plan)
    lines += [
        f"  pip on Python {value} picks:",
        f"    before:              {plan.before}",
        f"    with the new floor:  {plan.published}",
        f"    after the yank:      {plan.after}",
    ]
    return lines


def releases_lines(plans: list[ReleasePlan], as_of: date) -> list[str]:
    """A block for each project and Python in sunset."""
    lines = [line for plan in plans for line in [*_lines(plan), ""]]
    due = sum(plan.needs_action for plan in plans)
    lines.append(f"as of {as_of}: {len(plans)} release plans, {due} with something to do")
    return lines


def _document(plan: ReleasePlan) -> dict[str, Any]:
    return {
        "project": plan.project,
        "sunset": plan.sunset.id,
        "value": plan.sunset.value,
        "newest": str(plan.newest),
        "publish": {"version": plan.publish, "requires_python": plan.floor},
        "yank": [str(v) for v in plan.yank],
        "lacking": [str(v) for v in plan.lacking],
        "unknown": [str(v) for v in plan.unknown],
        "picks": {"before": plan.before, "published": plan.published, "after": plan.after},
        "needs_action": plan.needs_action,
    }


def releases_document(plans: list[ReleasePlan], as_of: date, within: int) -> dict[str, Any]:
    """The same as a document with a schema."""
    return {
        "schema_version": SUNSET_SCHEMA_VERSION,
        "as_of": as_of.isoformat(),
        "within": within,
        "releases": [_document(plan) for plan in plans],
    }
