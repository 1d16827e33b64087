"""CP002: One source says one thing once."""

from __future__ import annotations

import json
from collections.abc import Iterator

from wheelgrid.core.errors import Fault
from wheelgrid.lint.rule import Context, Rule, Scope, Severity

__all__ = ["RULE"]

_FREE = frozenset({"id", "note", "date", "kind"})


def _check(context: Context) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for statement in context.statements:
        facts = {name: statement.plain(name) for name in statement.fields if name not in _FREE}
        key = json.dumps([statement.about, facts], sort_keys=True, default=str)
        if key in first:
            yield statement.fault(
                f"says the same as {first[key]!r}, from the same source",
                hint="keep one of them",
            )
        else:
            first[key] = statement.source.id


RULE = Rule(
    id="CP002",
    scope=Scope.FILE,
    severity=Severity.WARNING,
    summary="One source says one thing once.",
    why="A copy is corrected in one place and stays wrong in the other.",
    fix="Delete one of the two. If they differ in what they are about, write that difference down.",
    bad="two statements with the same `says`, values and source",
    good="one statement; another source that says the same is a statement of its own",
    check=_check,
)
