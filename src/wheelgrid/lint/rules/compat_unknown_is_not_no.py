"""CP005: A no is said by a source; what nobody looked at is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.config.statements import Statement
from wheelgrid.core.errors import Fault
from wheelgrid.core.evidence import Kind
from wheelgrid.lint.rule import Context, Rule, Scope, Severity

__all__ = ["RULE"]

_NO = frozenset({"unsupported", "missing", "broken", "not_applicable", "build_absent"})
_GUESS = re.compile(
    r"\b((is|are|support) unknown|unknown whether|untested|unclear|probably|presumably"
    r"|not (been )?(tested|tried|run|known|checked|verified|looked at)"
    r"|no (record|data|information|source|statement)|nobody (has )?(tried|tested|looked))\b",
    re.IGNORECASE,
)


def _is_no(statement: Statement) -> bool:
    if statement.says == "not_published":
        return True
    if statement.says == "accelerators":
        return statement.plain("values") == []
    return statement.says == "status" and statement.text("status") in _NO


def _reason(statement: Statement) -> tuple[str, str]:
    """The field that gives the reason of a no, and its text."""
    field = {"not_published": "because", "status": "detail"}.get(statement.says, "note")
    return field, statement.text(field)


def _check(context: Context) -> Iterator[Fault]:
    for statement in filter(_is_no, context.statements):
        field, reason = _reason(statement)
        if statement.source.kind is Kind.DERIVED and statement.plain("from"):
            continue  # CP001 looks at what it follows from
        guess = _GUESS.search(reason)
        if guess:
            yield statement.fault(
                f"says no, because {guess[0]!r}: that is unknown, not unsupported",
                hint="use status not_run or needs_hardware, or leave the statement out",
                at=field,
            )
        elif not reason.strip() and statement.says != "accelerators":
            yield statement.fault("says no without a reason", at=field)


RULE = Rule(
    id="CP005",
    scope=Scope.ENTRY,
    severity=Severity.ERROR,
    summary="A no is said by a source; what nobody looked at is unknown.",
    why=(
        "An empty place in a table reads as a no. Cells are then dropped that work, and nobody "
        "tries them again."
    ),
    fix=(
        "Say `not_run` or `needs_hardware`, or leave the statement out. For a no, quote what the "
        "source says: an error, a refusal by design, a list without it."
    ),
    bad="status: unsupported, detail: not tested on this GPU",
    good='status: unsupported, detail: "raises RuntimeError: not implemented for XPU"',
    check=_check,
)
