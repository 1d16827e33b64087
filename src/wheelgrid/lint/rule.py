"""What a lint rule is, what it is given and what it yields.

A rule is one module in `lint/rules/` with a module-level `RULE`. Its `check` takes the context
and yields faults; the runner adds the rule's id and severity. Nothing else is needed: modules are
found by name, the reference page and `lint --list` are made from the rule itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property

from wheelgrid.config.statements import Statement
from wheelgrid.core.build import Build
from wheelgrid.core.errors import Fault
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix
from wheelgrid.core.recipe import Recipe
from wheelgrid.planning.decide import Decided, decide
from wheelgrid.planning.plan import make_plan

__all__ = ["STALE_DAYS", "Context", "Finding", "Rule", "Scope", "Severity"]

STALE_DAYS = 365
"""Days after which a statement about something that moves is called stale."""


class Scope(StrEnum):
    """What a rule looks at: one file, one statement, the decoded matrix, or all files together."""

    FILE = "file"
    ENTRY = "entry"
    MATRIX = "matrix"
    TREE = "tree"


class Severity(StrEnum):
    """error fails `wheelgrid lint`; warning only with --strict; info is shown."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, kw_only=True)
class Context:
    """All that rules may look at. Everything is decoded; `as_of` is the only clock."""

    matrix: Matrix
    recipes: Mapping[str, Recipe]
    knowledge: Knowledge
    statements: tuple[Statement, ...]
    as_of: date
    stale_days: int = STALE_DAYS

    @cached_property
    def builds(self) -> tuple[Build, ...]:
        """The builds of the included cells."""
        return make_plan(self.matrix, self.recipes, self.knowledge, as_of=self.as_of).builds

    @cached_property
    def decided(self) -> Decided:
        """Every candidate of the matrix decided, made once for all rules that ask."""
        return decide(self.matrix, self.knowledge, as_of=self.as_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that must hold. `bad` and `good` are examples, as they stand in a file."""

    id: str
    scope: Scope
    severity: Severity
    summary: str
    why: str
    fix: str
    bad: str
    good: str
    check: Callable[[Context], Iterable[Fault]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found, and where."""

    rule: Rule
    fault: Fault

    def __str__(self) -> str:
        """Format as `file:line:column: ID severity message (hint)`."""
        fault = self.fault
        place = f"{fault.file}:{fault.line}:{fault.column}" if fault.line else fault.file
        path = f"{fault.path}: " if fault.path else ""
        hint = f" ({fault.hint})" if fault.hint else ""
        return f"{place}: {self.rule.id} {self.rule.severity} {path}{fault.message}{hint}"
