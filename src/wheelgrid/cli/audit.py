"""`wheelgrid audit`: what a wheel really contains, against the rules and the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wheelgrid.cli.context import load_plan, now, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.core.errors import BadInputError, ExitCode, Fault
from wheelgrid.core.rung import Outcome
from wheelgrid.engines.builder import expected_of
from wheelgrid.inspect.audit import Audit, audit
from wheelgrid.inspect.findings import RULES, Expected

__all__ = ["command"]

AUDIT_SCHEMA_VERSION = 1


def _expected(plan_root: Path | None, wheel: Path, build_id: str) -> Expected | None:
    """What the plan asked for, when --build names it."""
    if not build_id:
        return None
    plan = load_plan(open_project(plan_root), now().date())
    for build in plan.builds:
        if build.id == build_id:
            return expected_of(build, plan.recipes[build.package])
    raise BadInputError(
        [
            Fault(
                file=str(wheel),
                message=f"no build {build_id!r} in the plan",
                hint="`wheelgrid plan --builds` lists them",
            )
        ]
    )


def _document(found: Audit) -> dict[str, Any]:
    return {
        "wheel": found.wheel,
        "outcome": str(found.outcome),
        "findings": [
            {
                "rule": f.rule,
                "level": str(f.level),
                "member": f.member,
                "message": f.message,
                "why": RULES[f.rule][0],
                "fix": RULES[f.rule][1],
            }
            for f in found.findings
        ],
    }


def _one_line(text: str) -> str:
    """Printable text on one line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _lines(found: Audit) -> list[str]:
    word = {"passed": "pass", "failed": "FAIL", "unknown": "could not check"}[found.outcome]
    lines = [f"{found.wheel}: {word}"]
    for finding in found.findings:
        why, fix = RULES[finding.rule]
        # Names in a wheel are hostile: a line break must not forge a line of this report.
        name = finding.member.encode("unicode_escape").decode("ascii")
        member = f"{name}: " if name else ""
        lines += [
            f"  {finding.rule} {finding.level}: {member}{_one_line(finding.message)}",
            f"      rule: {why}",
            f"      fix: {fix}",
        ]
    return lines


@click.command(name="audit", short_help="Check what a wheel contains.")
@click.argument("wheels", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--build", "build_id", default="", help="Also check it as this build of the plan.")
@json_option
@click.pass_obj
def command(root: Path | None, *, wheels: tuple[Path, ...], build_id: str, as_json: bool) -> int:
    """Read wheels whole and apply every rule. Exit 0 pass, 1 findings, 3 could not check."""
    audits: list[Audit] = []
    for wheel in wheels:
        if not wheel.is_file():
            raise BadInputError([Fault(file=str(wheel), message="no such file")])
        audits.append(audit(wheel, _expected(root, wheel, build_id)))
    if as_json:
        print_json(
            {"schema_version": AUDIT_SCHEMA_VERSION, "wheels": [_document(a) for a in audits]}
        )
    else:
        click.echo("\n".join(line for found in audits for line in _lines(found)))
    outcomes = {found.outcome for found in audits}
    if Outcome.FAILED in outcomes:
        return int(ExitCode.FAILURES)
    return int(ExitCode.COULD_NOT_CHECK if Outcome.UNKNOWN in outcomes else ExitCode.GOOD)
