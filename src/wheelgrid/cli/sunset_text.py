"""What `wheelgrid sunset` says of the matrix, for people and as JSON."""

from __future__ import annotations

from datetime import date
from typing import Any

from wheelgrid.core.lifecycle import Stage, Sunset
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.sunsets import SunsetReport

__all__ = ["SUNSET_SCHEMA_VERSION", "matrix_document", "matrix_lines"]

SUNSET_SCHEMA_VERSION = 1


def _days(stage: Stage, as_of: date) -> str:
    left = stage.days_left(as_of)
    if left == 0:
        return "today"
    return f"in {left} days" if left > 0 else f"{-left} days ago"


def _now(report: SunsetReport, as_of: date) -> str:
    now = f"{report.stage.name.phrase} since {report.stage.when}" if report.stage else "nothing yet"
    ahead = report.ahead
    then = f"{ahead.name.phrase} {ahead.when}, {_days(ahead, as_of)}" if ahead else "none"
    return f"now: {now}; next: {then}"


def _switches(report: SunsetReport) -> list[str]:
    """The two switches: building and serving."""
    sunset = report.sunset
    until = f" until {sunset.build_until}" if sunset.build_until else ""
    build = f"on{until}" if report.built else f"off since {sunset.build_until}"
    last = f"torch {sunset.last_release} is the last version with {sunset.value}"
    end = f" until {sunset.serve_until}" if sunset.serve_until else ""
    serve = f"on{end}: published wheels stay on the index, and {last}"
    return [f"build: {build}", f"serve: {serve if report.served else 'off: wheels are taken down'}"]


def _report_lines(report: SunsetReport, as_of: date) -> list[str]:
    sunset = report.sunset
    lines = [
        f"{sunset.id}: {sunset.axis} {sunset.value}, {report.state}; "
        f"torch {sunset.last_release} is the last line with it",
        f"    {_now(report, as_of)}",
    ]
    for stage in sunset.stages:
        mark = "*" if stage in report.due else " "
        kind = f"{stage.source.kind}, {stage.source.date}: {stage.source.source}"
        lines.append(
            f"  {mark} {stage.name.phrase:15} {stage.when:18} {_days(stage, as_of):12} {kind}"
        )
    lines.append(f"    cells: {len(report.included)} included, {len(report.gone)} gone")
    lines += [f"    {line}" for line in _switches(report)]
    lines.append(f"    do: {sunset.action}")
    return lines


def matrix_lines(plan: Plan, reports: tuple[SunsetReport, ...], within: int) -> list[str]:
    """A block for each sunset, and one line that sums up."""
    lines = [line for r in reports for line in [*_report_lines(r, plan.as_of), ""]]
    due = sum(r.needs_action for r in reports)
    lines.append(
        f"as of {plan.as_of}: {len(reports)} sunsets on the axes of {plan.matrix.name}, "
        f"{due} with cells that still rely on them (* within {within} days)"
    )
    return lines


def _stage(stage: Stage, as_of: date) -> dict[str, Any]:
    return {
        "stage": str(stage.name),
        "date": stage.on.isoformat(),
        "precision": stage.precision,
        "days_left": stage.days_left(as_of),
        "kind": str(stage.source.kind),
        "source": stage.source.source,
        "said": stage.source.date,
    }


def _day(day: date | None) -> str | None:
    return day.isoformat() if day is not None else None


def _switch_document(report: SunsetReport, sunset: Sunset) -> dict[str, Any]:
    return {
        "build": report.built,
        "build_until": _day(sunset.build_until),
        "serve": report.served,
        "serve_until": _day(sunset.serve_until),
        "last_release": sunset.last_release,
    }


def _report_document(report: SunsetReport, as_of: date) -> dict[str, Any]:
    sunset = report.sunset
    return {
        "id": sunset.id,
        "axis": sunset.axis,
        "value": sunset.value,
        "state": str(report.state),
        "stage": str(report.stage.name) if report.stage else None,
        "next_stage": str(report.ahead.name) if report.ahead else None,
        "days_left": report.ahead.days_left(as_of) if report.ahead else None,
        "reason": sunset.reason,
        "action": sunset.action,
        "stages": [_stage(stage, as_of) for stage in sunset.stages],
        "due": [str(stage.name) for stage in report.due],
        "needs_action": report.needs_action,
        "included": list(report.included),
        "gone": list(report.gone),
        **_switch_document(report, sunset),
    }


def matrix_document(plan: Plan, reports: tuple[SunsetReport, ...], within: int) -> dict[str, Any]:
    """The same as a document with a schema."""
    return {
        "schema_version": SUNSET_SCHEMA_VERSION,
        "as_of": plan.as_of.isoformat(),
        "within": within,
        "sunsets": [_report_document(r, plan.as_of) for r in reports],
    }
