"""`wheelgrid lint`: mistakes in matrix.yaml, recipes and compat/ that still decode."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import click

from wheelgrid.cli.context import as_of_option, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.recipe import load_recipes
from wheelgrid.config.statements import Statement
from wheelgrid.config.yaml import Faults, nearest
from wheelgrid.core.errors import ExitCode
from wheelgrid.lint.document import counts, findings_document, rules_document
from wheelgrid.lint.registry import all_rules, rule_by_id
from wheelgrid.lint.rule import STALE_DAYS, Context, Finding, Rule
from wheelgrid.lint.runner import exit_code, run_rules

__all__ = ["command", "load_context"]


def load_context(project: Project, as_of: date, *, stale_days: int = STALE_DAYS) -> Context:
    """Decode all that rules look at; BadInputError with every fault where that fails."""
    faults = Faults()
    matrix = load_matrix(project, faults)
    recipes = {}
    if matrix is not None:
        roles = {axis.name: axis.role for axis in matrix.axes}
        recipes = load_recipes(project, matrix.packages, faults, roles=roles)
    kept: list[Statement] = []
    knowledge = load_knowledge(project, faults, features=True, kept=kept)
    faults.check()
    assert matrix is not None  # noqa: S101 - a missing matrix is a fault
    return Context(
        matrix=matrix,
        recipes=recipes,
        knowledge=knowledge,
        statements=tuple(kept),
        as_of=as_of,
        stale_days=stale_days,
    )


def _rules(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> list[Rule]:
    del ctx, param
    found = []
    for name in names:
        rule = rule_by_id(name.upper())
        if rule is None:
            hint = nearest(name.upper(), [r.id for r in all_rules()])
            msg = f"no rule {name!r}; {hint}"
            raise click.BadParameter(msg)
        found.append(rule)
    return found


def _print_list(rules: Sequence[Rule]) -> None:
    for rule in rules:
        click.echo(f"{rule.id}  {rule.severity:<7}  {rule.scope:<6}  {rule.summary}")


def _print_findings(findings: Sequence[Finding], rules: Sequence[Rule]) -> None:
    for finding in findings:
        click.echo(str(finding))
    found = ", ".join(f"{number} {name}" for name, number in counts(findings).items())
    click.echo(f"{found} (from {len(rules)} rules)", err=True)


@click.command(name="lint", short_help="Check the data for mistakes that decode.")
@click.option("--list", "list_only", is_flag=True, help="List the rules; check nothing.")
@click.option(
    "--rule", "only", multiple=True, metavar="ID", callback=_rules, help="Only this rule; repeat."
)
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@click.option(
    "--stale-after",
    "stale_days",
    type=click.IntRange(min=1),
    default=STALE_DAYS,
    metavar="DAYS",
    show_default=True,
    help="Age at which a statement about something that moves is stale.",
)
@as_of_option
@json_option
@click.pass_obj
def command(
    root: Path | None,
    only: list[Rule],
    as_of: date,
    stale_days: int,
    *,
    list_only: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Check matrix.yaml, the recipes and compat/ against the lint rules.

    Exit codes: 0 nothing that fails, 1 findings, 2 a file does not decode. Each finding is
    FILE:LINE:COLUMN: RULE SEVERITY MESSAGE (HINT).
    """
    rules = sorted(only, key=lambda rule: rule.id) or all_rules()
    if list_only:
        if as_json:
            print_json(rules_document(rules))
        else:
            _print_list(rules)
        return int(ExitCode.GOOD)
    context = load_context(open_project(root), as_of, stale_days=stale_days)
    findings = run_rules(context, rules)
    if as_json:
        print_json(findings_document(context, rules, findings))
    else:
        _print_findings(findings, rules)
    return int(exit_code(findings, strict=strict))
