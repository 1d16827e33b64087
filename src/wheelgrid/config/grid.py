"""Decodes what a matrix says beyond its axes: exclusions, tables, rules, rows, attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from wheelgrid.config import fields
from wheelgrid.config.axes import place, value
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.axis import AxisValue, Role
from wheelgrid.core.condition import Condition
from wheelgrid.core.grid import (
    Derived,
    Entry,
    Exclusion,
    Otherwise,
    Removal,
    Rule,
    Table,
    TableRow,
)

__all__ = ["Scope", "derived", "entries", "exclusions", "removals", "rules", "tables"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What conditions may name: the axes with their roles, and the named groups.

    `taken` collects the ids of exclusions, tables and rules as they are read. `late` are the keys
    that only `include` rows bring: exclusions come first, so they cannot ask for them.
    """

    roles: Mapping[str, Role]
    groups: Mapping[str, Condition] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    late: frozenset[str] = frozenset()

    def fork(self) -> Scope:
        """A scope of its own for entries that never meet those of another channel."""
        return replace(self, taken=set(self.taken))

    def condition(self, item: Item) -> Condition:
        """A `when` mapping within this scope."""
        return fields.condition(item, self.roles, self.groups)

    def restriction(self, item: Item) -> Condition:
        """A `when` mapping of what takes candidates away."""
        given = replace(item, faults=Faults()).entries() if self.late else {}
        for name in sorted(self.late & given.keys()):
            message = f"unknown axis {name!r}: only `include` brings it, after all exclusions"
            replace(given[name], faults=item.faults).fault(
                message, hint="write whole rows with `add`"
            )
        known = {**dict.fromkeys(self.late, Role.TEXT), **self.roles}
        return fields.condition(item, known, self.groups)


_BASIS = ("id", "reason", "source", "date")


def _stated(
    item: Item, taken: set[str], scope_keys: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[tuple[Item, dict[str, Item]]]:
    """Entries that carry id, reason, source and date; ids are unique in the matrix."""
    for entry in item.items():
        given = entry.fields((*_BASIS, *scope_keys), ("note", "until", *optional))
        if not {*_BASIS, *scope_keys} <= given.keys():
            continue
        name = fields.identifier(given["id"])
        if name in taken:
            given["id"].fault(f"the id {name!r} is used twice")
        taken.add(name)
        yield entry, given


def _until(given: dict[str, Item]) -> object:
    return fields.day(given["until"]) if "until" in given else None


def exclusions(item: Item, scope: Scope) -> tuple[Exclusion, ...]:
    """The `exclude` list."""
    return tuple(
        Exclusion(
            id=given["id"].text(),
            when=scope.restriction(given["when"]),
            reason=given["reason"].text(),
            source=fields.source(given),
            until=_until(given),  # type: ignore[arg-type]
            place=place(entry),
        )
        for entry, given in _stated(item, scope.taken, ("when",))
    )


def _table_row(item: Item, axis: str, scope: Scope) -> TableRow | None:
    given = item.fields(("values",), ("when",))
    if "values" not in given:
        return None
    return TableRow(
        when=scope.restriction(given["when"]) if "when" in given else Condition(),
        values=fields.patterns(given["values"], axis, scope.roles),
        place=place(item),
    )


def tables(item: Item, scope: Scope) -> tuple[Table, ...]:
    """The `tables` list."""
    found = []
    for entry, given in _stated(item, scope.taken, ("axis", "rows"), ("otherwise",)):
        axis = given["axis"].text()
        if axis not in scope.roles:
            given["axis"].fault(f"unknown axis {axis!r}", hint=nearest(axis, list(scope.roles)))
            continue
        rows = [_table_row(row, axis, scope) for row in given["rows"].items()]
        otherwise = Otherwise.ERROR
        if "otherwise" in given:
            otherwise = Otherwise(given["otherwise"].choice([str(o) for o in Otherwise]))
        found.append(
            Table(
                id=given["id"].text(),
                axis=axis,
                rows=tuple(row for row in rows if row is not None),
                otherwise=otherwise,
                reason=given["reason"].text(),
                source=fields.source(given),
                until=_until(given),  # type: ignore[arg-type]
                place=place(entry),
            )
        )
    return tuple(found)


def rules(item: Item, scope: Scope) -> tuple[Rule, ...]:
    """The `rules` list, in the order in which they are asked."""
    return tuple(
        Rule(
            id=given["id"].text(),
            when=scope.restriction(given["when"]),
            include=given["then"].choice(["include", "exclude"]) == "include",
            reason=given["reason"].text(),
            source=fields.source(given),
            until=_until(given),  # type: ignore[arg-type]
            place=place(entry),
        )
        for entry, given in _stated(item, scope.taken, ("when", "then"))
    )


def _entry_value(item: Item, name: str, roles: Mapping[str, Role]) -> AxisValue | None:
    """A value of an include row; keys that are no axis may hold any data."""
    role = roles.get(name, Role.TEXT)
    if not item.is_list:
        return value(item, role)
    data = item.plain()
    return AxisValue(json.dumps(data, sort_keys=True), shown=data)


def _choices(
    item: Item, name: str, roles: Mapping[str, Role], *, spread: bool
) -> list[AxisValue | None]:
    """The values that one key of a row stands for."""
    if spread and item.is_list:
        return [value(one, roles.get(name, Role.TEXT)) for one in item.items()]
    return [_entry_value(item, name, roles)]


def entries(item: Item, roles: Mapping[str, Role], *, spread: bool) -> tuple[Entry, ...]:
    """`include` or `add` rows. With `spread`, a list stands for one row per value."""
    found: list[Entry] = []
    for row in item.items():
        given = {
            name: _choices(child, name, roles, spread=spread)
            for name, child in row.entries().items()
        }
        if not given:
            row.fault("is empty")
            continue
        for chosen in product(*given.values()):
            values = dict(zip(given, chosen, strict=True))
            kept = {name: one for name, one in values.items() if one is not None}
            found.append(Entry(values=kept, place=place(row)))
    return tuple(found)


def derived(item: Item, scope: Scope) -> tuple[Derived, ...]:
    """The `derive` mapping: attribute to first-match rows."""
    found = []
    for name, child in item.entries().items():
        given = child.fields(("rows",), ("otherwise",))
        if "rows" not in given:
            continue
        rows = []
        for row in given["rows"].items():
            parts = row.fields(("value",), ("when",))
            if "value" in parts:
                when = scope.condition(parts["when"]) if "when" in parts else Condition()
                rows.append((when, parts["value"].plain()))
        otherwise = given["otherwise"].plain() if "otherwise" in given else "error"
        found.append(
            Derived(
                name=name,
                rows=tuple(rows),
                otherwise=None if otherwise in ("error", "omit") else otherwise,
                must_fit=otherwise == "error",
                place=place(child),
            )
        )
    return tuple(found)


def removals(item: Item) -> tuple[Removal, ...]:
    """The `removed` list: axis values that are gone, and why."""
    needed = ("axis", "value", "reason", "source", "date")
    return tuple(
        Removal(
            axis=given["axis"].text(),
            value=given["value"].text(),
            reason=given["reason"].text(),
            source=fields.source(given),
        )
        for given in (entry.fields(needed, ("note",)) for entry in item.items())
        if set(needed) <= given.keys()
    )
