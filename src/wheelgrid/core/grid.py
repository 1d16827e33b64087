"""What a matrix says beyond its axes: exclusions, tables, rules, includes, derived attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from wheelgrid.core.axis import AxisValue, Place
from wheelgrid.core.condition import Condition, Pattern
from wheelgrid.core.evidence import Source

__all__ = [
    "Derived",
    "Entry",
    "Exclusion",
    "Otherwise",
    "Policy",
    "Removal",
    "Rule",
    "Severity",
    "Table",
    "TableRow",
]


class Otherwise(StrEnum):
    """What happens to a candidate that no row or rule fits."""

    KEEP = "keep"
    DROP = "drop"
    ERROR = "error"


class Severity(StrEnum):
    """How a matrix wants a kind of finding to be taken."""

    IGNORE = "ignore"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """A policy: these cells are not wanted, for this reason; `until` is its expiry."""

    id: str
    when: Condition
    reason: str
    source: Source
    until: date | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """For the cells that fit `when`, the values that the table's axis may have."""

    when: Condition
    values: tuple[Pattern, ...]
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A relation between axes: the first row that fits a candidate decides whether it stays."""

    id: str
    axis: str
    rows: tuple[TableRow, ...]
    otherwise: Otherwise
    reason: str
    source: Source
    until: date | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One of an ordered list: the first that fits a candidate includes or excludes it."""

    id: str
    when: Condition
    include: bool
    reason: str
    source: Source
    until: date | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One `include` or `add` row: values by axis, and further keys that become attributes."""

    values: Mapping[str, AxisValue]
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """An attribute that follows from a cell: the first row that fits gives its value, any data."""

    name: str
    rows: tuple[tuple[Condition, object], ...]
    otherwise: object
    must_fit: bool
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Why a value has left an axis: a diff asks for this."""

    axis: str
    value: str
    reason: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How strict the matrix is with itself."""

    dead_rules: Severity = Severity.ERROR
    expired_rules: Severity = Severity.WARN
    constant_axes: Severity = Severity.WARN
    knowledge: bool = True
