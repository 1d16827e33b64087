"""`wheelgrid audit`: what a wheel really contains, against the rules, the plan and a policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import click
from packaging.utils import canonicalize_name

from wheelgrid.cli.context import load_plan, now, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.config.audit_policy import load_policy
from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.recipe import load_recipes
from wheelgrid.config.yaml import Faults
from wheelgrid.core.arch_targets import parse_targets
from wheelgrid.core.audit_policy import NO_POLICY, AuditPolicy
from wheelgrid.core.errors import BadInputError, ExitCode, Fault
from wheelgrid.core.rung import Outcome
from wheelgrid.engines.builder import expected_of
from wheelgrid.engines.upstream import exports_of, requires_of, upstream_of
from wheelgrid.inspect.audit import Audit, audit
from wheelgrid.inspect.findings import RULES, Expected, Finding
from wheelgrid.inspect.subject import Upstream

__all__ = ["command"]

AUDIT_SCHEMA_VERSION = 2
_FEW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What the command line asks, read once for all wheels."""

    expected: Expected | None
    policy: AuditPolicy | None
    project: Project | None
    archs: str
    as_of: date
    upstream: Upstream | None


def _planned(root: Path | None, build_id: str, as_of: date) -> tuple[Expected, AuditPolicy]:
    """What the plan asks of a build: its wheel, and the policy of its recipe."""
    plan = load_plan(open_project(root), as_of)
    for build in plan.builds:
        if build.id == build_id:
            recipe = plan.recipes[build.package]
            toolchain = plan.matrix.toolchains.get(build.accelerator)
            return expected_of(build, recipe, toolchain), recipe.audit
    raise _bad(
        "--build", f"no build {build_id!r} in the plan", "`wheelgrid plan --builds` lists them"
    )


def _bad(where: str, message: str, hint: str = "") -> BadInputError:
    return BadInputError([Fault(file=where, message=message, hint=hint)])


def _project(root: Path | None) -> Project | None:
    """The project, where there is one; a root that is none is an error."""
    try:
        return open_project(root)
    except BadInputError:
        if root is not None:
            raise
        return None


def _upstream(project: Project | None, against: Path | None) -> Upstream | None:
    """What is known of torch: by the project's compat/, and of the torch to compare with."""
    found = None
    if project is not None:
        faults = Faults()
        knowledge = load_knowledge(project, faults, abi=True)
        faults.check()
        found = upstream_of(knowledge)
    if against is not None:
        base = found or Upstream()
        found = replace(base, exports=exports_of(against), requires=requires_of(against))
    return found


def _recipe_policy(project: Project | None, wheel: Path) -> AuditPolicy:
    """The policy in the recipe of the wheel's package."""
    if project is None:
        raise _bad(
            "--policy", "recipe: there is no project here", "run in a project, or --root DIR"
        )
    name = canonicalize_name(wheel.name.partition("-")[0])
    faults = Faults()
    recipes = load_recipes(project, (name,), faults)
    faults.check()
    return recipes[name].audit


def _policy(asked: _Asked, wheel: Path) -> AuditPolicy:
    """The policy for one wheel; targets on the command line win over those of a file."""
    policy = asked.policy
    if policy is None:
        policy = _recipe_policy(asked.project, wheel)
    if not asked.archs:
        return policy
    try:
        return replace(policy, archs=parse_targets(asked.archs))
    except ValueError as error:
        raise _bad("--archs", str(error)) from error


def _finding(found: Finding) -> dict[str, Any]:
    why, fix = RULES[found.rule]
    return {
        "rule": found.rule,
        "level": str(found.level),
        "member": found.member,
        "message": found.message,
        "why": why,
        "fix": fix,
    }


def _document(found: Audit) -> dict[str, Any]:
    return {
        "wheel": found.wheel,
        "outcome": str(found.outcome),
        "findings": [_finding(f) for f in found.findings],
        "waived": [
            {
                **_finding(w.finding),
                "reason": w.waiver.reason,
                "until": w.waiver.until.isoformat(),
                "link": w.waiver.link,
            }
            for w in found.waived
        ],
    }


def _one_line(text: str) -> str:
    """Printable text on one line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _head(rule: str, level: str, members: list[str], message: str) -> str:
    # Names in a wheel are hostile: a line break must not forge a line of this report.
    names = [m.encode("unicode_escape").decode("ascii") for m in members if m]
    more = f" and {len(names) - _FEW} more files" if len(names) > _FEW else ""
    place = f"{', '.join(names[:_FEW])}{more}: " if names else ""
    return f"  {rule} {level}: {place}{_one_line(message)}"


def _lines(found: Audit) -> list[str]:
    """One block per rule; files with the same finding share a line."""
    word = {"passed": "pass", "failed": "FAIL", "unknown": "could not check"}[found.outcome]
    rules: dict[str, dict[tuple[str, str], list[str]]] = {}
    for finding in found.findings:
        same = rules.setdefault(finding.rule, {})
        same.setdefault((finding.level, finding.message), []).append(finding.member)
    lines = [f"{found.wheel}: {word}"]
    for rule, texts in rules.items():
        why, fix = RULES[rule]
        for (level, message), members in texts.items():
            lines.append(_head(rule, level, members, message))
        lines += [f"      rule: {why}", f"      fix: {fix}"]
    for one in found.waived:
        excepted = one.finding
        level = f"excepted {excepted.level}"
        lines += [
            _head(excepted.rule, level, [excepted.member], excepted.message),
            f"      until {one.waiver.until}: {_one_line(one.waiver.reason)} ({one.waiver.link})",
        ]
    return lines


def _code(outcomes: set[Outcome]) -> int:
    if Outcome.FAILED in outcomes:
        return int(ExitCode.FAILURES)
    return int(ExitCode.COULD_NOT_CHECK if Outcome.UNKNOWN in outcomes else ExitCode.GOOD)


def _asked(
    root: Path | None,
    *,
    build_id: str,
    policy: str,
    archs: str,
    against: Path | None,
    as_of: date,
) -> _Asked:
    """Read what the options name; all of it is wrong input where it cannot be read."""
    project = _project(root)
    expected, planned = _planned(root, build_id, as_of) if build_id else (None, NO_POLICY)
    chosen: AuditPolicy | None = planned
    if policy == "recipe" and not build_id:
        chosen = None
    elif policy and policy != "recipe":
        chosen = load_policy(Path(policy))
    if against is not None and not against.exists():
        raise _bad("--against", f"{against}: no such file or folder")
    return _Asked(
        expected=expected,
        policy=chosen,
        project=project,
        archs=archs,
        as_of=as_of,
        upstream=_upstream(project, against),
    )


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date:
    del ctx, param
    try:
        return now().date() if value is None else date.fromisoformat(value)
    except ValueError:
        msg = f"{value!r} is not a date such as 2026-12-01"
        raise click.BadParameter(msg) from None


@click.command(name="audit", short_help="Check what a wheel contains.")
@click.argument("wheels", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--build", "build_id", default="", help="Also check it as this build of the plan.")
@click.option("--policy", default="", metavar="recipe|FILE", help="Ceilings, floors, exceptions.")
@click.option("--archs", default="", metavar="LIST", help='Declared GPU targets: "8.0 9.0+PTX".')
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="TORCH",
    help="A torch wheel or folder whose exports must have what the wheel needs.",
)
@click.option("--as-of", callback=_day, metavar="DATE", help="Day for exceptions; default: today.")
@json_option
@click.pass_obj
def command(
    root: Path | None,
    *,
    wheels: tuple[Path, ...],
    build_id: str,
    policy: str,
    archs: str,
    against: Path | None,
    as_of: date,
    as_json: bool,
) -> int:
    """Read wheels whole and apply every rule. Exit 0 pass, 1 findings, 3 could not check.

    What is known of torch comes from the compat/ of the project; outside of one, rules that need it
    are left out, and said to be.
    """
    asked = _asked(
        root, build_id=build_id, policy=policy, archs=archs, against=against, as_of=as_of
    )
    audits: list[Audit] = []
    for wheel in wheels:
        if not wheel.is_file():
            raise _bad(str(wheel), "no such file")
        audits.append(
            audit(
                wheel,
                asked.expected,
                policy=_policy(asked, wheel),
                as_of=asked.as_of,
                upstream=asked.upstream,
            )
        )
    if asked.project is None:
        text = "no project here: what compat/ knows of torch was not compared (WG413, WG414, WG416)"
        click.echo(f"note: {text}", err=True)
    if as_json:
        documents = [_document(a) for a in audits]
        print_json({"schema_version": AUDIT_SCHEMA_VERSION, "wheels": documents})
    else:
        click.echo("\n".join(line for found in audits for line in _lines(found)))
    return _code({found.outcome for found in audits})
