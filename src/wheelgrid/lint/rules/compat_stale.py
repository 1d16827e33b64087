"""CP006: Statements about things that move are looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from wheelgrid.config.statements import Statement
from wheelgrid.core.errors import Fault
from wheelgrid.lint.rule import Context, Rule, Scope, Severity

__all__ = ["RULE"]

_MOVING = frozenset(
    {"torch_index", "family_status", "families_status", "package", "driver", "platforms"}
)
_OPEN_STATUSES = frozenset({"missing", "broken", "unsupported", "fallback", "preview"})


def _moves(statement: Statement, newest: str) -> bool:
    """Whether the fact can change without a new release of torch, or is about the newest one."""
    if statement.says == "status":
        is_open = statement.text("status") in _OPEN_STATUSES and not statement.text("closed_by")
        return is_open and statement.text("torch") == newest
    if statement.says == "partial":
        return not statement.text("closed_by") and statement.text("torch") in {"", newest}
    return statement.says in _MOVING


def _check(context: Context) -> Iterator[Fault]:
    newest = str(max(context.knowledge.torch, default=""))
    for statement in context.statements:
        if not _moves(statement, newest):
            continue
        age = (context.as_of - date.fromisoformat(statement.source.date)).days
        if age > context.stale_days:
            yield statement.fault(
                f"is {age} days old and about something that moves ({statement.says})",
                hint="look again: renew the date, or correct what it says",
                at="date",
            )


RULE = Rule(
    id="CP006",
    scope=Scope.ENTRY,
    severity=Severity.WARNING,
    summary="Statements about things that move are looked at again.",
    why=(
        "A file name of a release never changes; an index address, a support table or an open "
        "gap does. Old statements of the second kind are the ones that turn wrong in silence."
    ),
    fix="Read the source again and renew the date, or correct the statement.",
    bad='says: families_status, date: "2024-01-10"',
    good='says: families_status, date: "2026-12-01"',
    check=_check,
)
