"""Runs rules over a context and puts what they find in order."""

from __future__ import annotations

from collections.abc import Iterable

from wheelgrid.core.errors import ExitCode
from wheelgrid.lint.rule import Context, Finding, Rule, Severity

__all__ = ["exit_code", "run_rules"]


def run_rules(context: Context, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Every finding of the rules, in the order of files and lines."""
    found = [Finding(rule=rule, fault=fault) for rule in rules for fault in rule.check(context)]
    return tuple(
        sorted(
            found,
            key=lambda f: (
                *(f.fault.file, f.fault.line, f.fault.column),
                *(f.rule.id, f.fault.path, f.fault.message),
            ),
        )
    )


def exit_code(findings: Iterable[Finding], *, strict: bool = False) -> ExitCode:
    """FAILURES for any error, or any warning when strict; information fails nothing."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    if any(finding.rule.severity in failing for finding in findings):
        return ExitCode.FAILURES
    return ExitCode.GOOD
