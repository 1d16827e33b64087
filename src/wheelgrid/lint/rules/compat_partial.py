"""CP003: Partial support lists what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.core.errors import Fault
from wheelgrid.lint.rule import Context, Rule, Scope, Severity

__all__ = ["RULE"]

_VAGUE = re.compile(
    r"\W*(some|various|several|other|tbd|todo|unknown|etc|things|\?)?\W*\Z", re.IGNORECASE
)


def _check(context: Context) -> Iterator[Fault]:
    for statement in context.statements:
        if statement.says != "partial":
            continue
        listed = statement.plain("missing")
        for name in listed if isinstance(listed, list) else [listed]:
            if _VAGUE.match(str(name)):
                yield statement.fault(
                    f"{name!r} does not say what is missing",
                    hint="name an operator, a type, a shape or a platform",
                    at="missing",
                )


RULE = Rule(
    id="CP003",
    scope=Scope.ENTRY,
    severity=Severity.ERROR,
    summary="Partial support lists what is missing.",
    why='"Partial" alone helps nobody to decide: the reader needs to know which part.',
    fix="List the operators, types, shapes or platforms that do not work.",
    bad="missing: [some]",
    good="missing: [eig and eigvals, float64]",
    check=_check,
)
