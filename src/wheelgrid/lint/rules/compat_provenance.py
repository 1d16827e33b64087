"""CP001: Every statement says where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.config.statements import Statement
from wheelgrid.core.errors import Fault
from wheelgrid.core.evidence import Kind
from wheelgrid.lint.rule import Context, Rule, Scope, Severity

__all__ = ["RULE"]

_ADDRESS = re.compile(r"https?://[^\s/]+\.[^\s]+\Z")
_FIRST = "2016-08-24"  # the first release of torch; nothing here is older


def _derived(statement: Statement, ids: set[tuple[str, str]]) -> Iterator[Fault]:
    given = statement.plain("from")
    names = [str(name) for name in given] if isinstance(given, list) else []
    if not names:
        yield statement.fault(
            "is derived, but does not say from what", hint="add from: [id of a statement]"
        )
    for name in names:
        if name == statement.source.id:
            yield statement.fault("is derived from itself", at="from")
        elif (statement.item.file, name) not in ids:
            yield statement.fault(
                f"is derived from {name!r}, which is no statement of this file", at="from"
            )


def _check(context: Context) -> Iterator[Fault]:
    ids = {(s.item.file, s.source.id) for s in context.statements}
    for statement in context.statements:
        source = statement.source
        if source.kind is Kind.CLAIM and not _ADDRESS.match(source.source):
            yield statement.fault(
                f"is a claim, but its source {source.source!r} is not an address",
                hint="give the page, issue or file (with its commit) that says so",
                at="source",
            )
        elif not source.source.strip():
            yield statement.fault("has an empty source", at="source")
        if source.kind is Kind.POLICY:
            yield statement.fault("is a policy: that belongs into matrix.yaml", at="kind")
        if source.date < _FIRST:
            yield statement.fault(f"is dated {source.date}, before there was a torch", at="date")
        if source.kind is Kind.DERIVED:
            yield from _derived(statement, ids)


RULE = Rule(
    id="CP001",
    scope=Scope.ENTRY,
    severity=Severity.ERROR,
    summary="Every statement says where it comes from.",
    why=(
        "A table without sources cannot be corrected: nobody can tell a fact from a guess. A "
        "claim has an address, an observation the artefact that was looked at, a derived "
        "statement the ids that it follows from."
    ),
    fix="Write the address, the artefact or `from`. Without any of them, delete the statement.",
    bad='{id: a, says: cxx_standard, value: "20", kind: claim, source: I remember it, date: ...}',
    good="source: https://github.com/pytorch/pytorch/pull/194367",
    check=_check,
)
