"""What lint prints: the JSON document, the list of rules, and their reference page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from wheelgrid.lint.rule import Context, Finding, Rule, Severity

__all__ = ["LINT_SCHEMA_VERSION", "counts", "findings_document", "rules_document", "rules_page"]

LINT_SCHEMA_VERSION = 1


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings of each severity, zeros included."""
    found = Counter(finding.rule.severity for finding in findings)
    return {str(severity): found[severity] for severity in Severity}


def findings_document(
    context: Context, rules: Sequence[Rule], findings: Sequence[Finding]
) -> dict[str, object]:
    """What `wheelgrid lint --json` prints."""
    return {
        "schema_version": LINT_SCHEMA_VERSION,
        "as_of": context.as_of.isoformat(),
        "rules": [rule.id for rule in rules],
        "counts": counts(findings),
        "findings": [
            {
                "rule": finding.rule.id,
                "severity": str(finding.rule.severity),
                "file": finding.fault.file,
                "line": finding.fault.line,
                "column": finding.fault.column,
                "path": finding.fault.path,
                "message": finding.fault.message,
                "hint": finding.fault.hint,
            }
            for finding in findings
        ],
    }


def rules_document(rules: Iterable[Rule]) -> dict[str, object]:
    """What `wheelgrid lint --list --json` prints."""
    return {
        "schema_version": LINT_SCHEMA_VERSION,
        "rules": [
            {
                "id": rule.id,
                "scope": str(rule.scope),
                "severity": str(rule.severity),
                "summary": rule.summary,
                "why": rule.why,
                "fix": rule.fix,
                "bad": rule.bad,
                "good": rule.good,
            }
            for rule in rules
        ],
    }


def _section(rule: Rule) -> str:
    return (
        f"## {rule.id}\n\n{rule.summary}\n\n"
        f"Severity: {rule.severity}. Looks at: {rule.scope}.\n\n"
        f"**Why.** {rule.why}\n\n**How to fix.** {rule.fix}\n\n"
        f"Bad:\n\n```yaml\n{rule.bad.strip()}\n```\n\nGood:\n\n```yaml\n{rule.good.strip()}\n```\n"
    )


def rules_page(rules: Sequence[Rule]) -> str:
    """The reference page in Markdown."""
    rows = "".join(f"| [{r.id}](#{r.id.lower()}) | {r.severity} | {r.summary} |\n" for r in rules)
    head = (
        "# Lint rules\n\n"
        "What `wheelgrid lint` checks in `matrix.yaml`, the recipes and `compat/`: mistakes that "
        "still decode. An error fails the command (exit code 1), a warning only with `--strict`; "
        "`info` is shown. Each rule is one module in `src/wheelgrid/lint/rules/`.\n\n"
        f"| rule | severity | what must hold |\n|---|---|---|\n{rows}\n"
    )
    return head + "\n".join(map(_section, rules))
