"""Decodes the language of a matrix: axes, tables, rules, includes, derived attributes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from wheelgrid.config import fields
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.axis import (
    IMPLICIT_ROLES,
    Axis,
    AxisValue,
    Place,
    Role,
    as_accelerator,
    as_python,
    as_version,
)
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

__all__ = ["Scope", "axes", "channel_axes", "derived", "entries", "exclusions", "removals"]
__all__ += ["place", "rules", "tables", "zipped_names", "zips"]

_AXIS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_GPU_ARCH = re.compile(r"(sm_[0-9]{2,3}[af]?|gfx[0-9a-f]{3,5}|[a-z][a-z0-9-]{1,30})\Z")
MAX_VALUES = 4096
"""Values of one axis; a longer list is a mistake or an attack."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What conditions may name: the axes with their roles, and the named groups."""

    roles: Mapping[str, Role]
    groups: Mapping[str, Condition] = field(default_factory=dict)

    def condition(self, item: Item) -> Condition:
        """A `when` mapping within this scope."""
        return fields.condition(item, self.roles, self.groups)


def place(item: Item) -> Place:
    """Where a node is written."""
    line, column = item.position
    return Place(item.file, item.path, line, column)


def _checked(item: Item, text: str, role: Role) -> bool:
    """Whether text can be a value of the role; a fault says what is expected."""
    if role is Role.TORCH and as_version(text) is None:
        item.fault(f"{text[:80]!r} is not a version (PEP 440)")
    elif role is Role.PYTHON and as_python(text) is None:
        item.fault(f"{text!r} is not a Python version such as '3.13' or '3.14t'")
    elif role is Role.ACCELERATOR and as_accelerator(text) is None:
        fields.accelerator(item)
    elif role is Role.PLATFORM:
        return fields.platform(item) is not None
    elif role is Role.GPU_ARCH and not _GPU_ARCH.match(text):
        item.fault(f"{text!r} is not a GPU architecture such as 'sm_90' or 'gfx942'")
    else:
        return True
    return False


def value(item: Item, role: Role) -> AxisValue | None:
    """One axis value: text, true or false, or a mapping with attributes."""
    if item.is_list:
        item.fault("expected one value, found a list")
        return None
    before = len(item.faults.found)
    given = item.plain()
    if len(item.faults.found) > before:
        return None
    if isinstance(given, bool):
        return AxisValue("true" if given else "false", shown=given)
    if isinstance(given, str):
        return AxisValue(_canonical(given, role)) if _checked(item, given, role) else None
    assert isinstance(given, dict)  # noqa: S101 - a list was refused above
    inner = item.entries()
    if "value" in inner:
        text = inner["value"].text()
        if not _checked(inner["value"], text, role):
            return None
        return AxisValue(_canonical(text, role), attributes=given)
    name = given.get("name")
    text = name if isinstance(name, str) and name else json.dumps(given, sort_keys=True)
    return AxisValue(text, attributes=given, shown=given)


def _canonical(text: str, role: Role) -> str:
    """The one spelling of a value: `2.13.00` and `2.13.0` are one torch."""
    version = as_version(text) if role is Role.TORCH else None
    return text if version is None else str(version)


def _values(item: Item, role: Role, *, repeats: bool) -> tuple[AxisValue, ...]:
    """A non-empty list of values; each once, unless the axis is zipped: then rows are unique."""
    found: list[AxisValue] = []
    seen: set[str] = set()
    before = len(item.faults.found)
    for index, child in enumerate(item.items()):
        if index >= MAX_VALUES:
            child.fault(f"an axis has at most {MAX_VALUES} values")
            break
        one = value(child, role)
        if one is None:
            continue
        if one.text in seen and not repeats:
            child.fault(f"{one.text} is listed twice")
            continue
        seen.add(one.text)
        found.append(one)
    if not found and len(item.faults.found) == before:
        item.fault("is empty: an axis needs at least one value")
    return tuple(found)


def axes(item: Item, zipped: frozenset[str] = frozenset()) -> tuple[Axis, ...]:
    """The `axes` mapping: a list of values, or `{role, values}`."""
    found: list[Axis] = []
    for name, child in item.entries().items():
        if not _AXIS_NAME.match(name):
            child.fault(f"{name!r} is not an axis name: letters, digits, '_' and '-'")
            continue
        role, values = IMPLICIT_ROLES.get(name, Role.TEXT), child
        if child.is_mapping and "values" in child.entries():
            given = child.fields(("values",), ("role",))
            if "role" in given:
                role = Role(given["role"].choice([str(r) for r in Role]))
            values = given["values"]
        elif child.is_mapping:
            hint = "write [a, b], or {role: python, values: [a, b]}"
            child.fault("expected a list, found a mapping", hint=hint)
            continue
        listed = _values(values, role, repeats=name in zipped)
        found.append(Axis(name=name, values=listed, role=role, place=place(child)))
    taken: dict[Role, str] = {}
    for axis in found:
        if axis.role is not Role.TEXT and axis.role in taken:
            item.fault(f"axes {taken[axis.role]!r} and {axis.name!r} both have role {axis.role}")
        taken.setdefault(axis.role, axis.name)
    return tuple(found)


def channel_axes(item: Item, known: tuple[Axis, ...], zipped: frozenset[str]) -> tuple[Axis, ...]:
    """The axes with the values that one channel overrides."""
    by_name = {axis.name: axis for axis in known}
    changed: dict[str, tuple[AxisValue, ...]] = {}
    for name, child in item.entries().items():
        if name not in by_name:
            child.fault(f"unknown axis {name!r}", hint=nearest(name, list(by_name)))
            continue
        changed[name] = _values(child, by_name[name].role, repeats=name in zipped)
    return tuple(replace(a, values=changed[a.name]) if a.name in changed else a for a in known)


def zips(item: Item, known: tuple[Axis, ...]) -> tuple[tuple[str, ...], ...]:
    """Groups of axes that vary together; each a list of axes of one length."""
    lengths = {axis.name: len(axis.values) for axis in known}
    used: set[str] = set()
    found: list[tuple[str, ...]] = []
    for child in item.items():
        if not child.is_list:
            # conda's zip_keys may be written flat, and some tools then ignore it in silence.
            child.fault("zip is a list of lists of axes", hint="write [[a, b]], not [a, b]")
            continue
        names = child.texts()
        for name in names:
            if name not in lengths:
                child.fault(f"unknown axis {name!r}", hint=nearest(name, list(lengths)))
            elif name in used:
                child.fault(f"axis {name!r} is zipped twice")
            used.add(name)
        sizes = {name: lengths[name] for name in names if name in lengths}
        if len(set(sizes.values())) > 1:
            text = ", ".join(f"{name} has {size}" for name, size in sizes.items())
            child.fault(f"zipped axes need equally many values: {text}")
        found.append(names)
        _unique_rows(child, names, known)
    return tuple(found)


def _unique_rows(item: Item, names: tuple[str, ...], known: tuple[Axis, ...]) -> None:
    columns = [axis.texts for name in names for axis in known if axis.name == name]
    seen: set[tuple[str, ...]] = set()
    for row in zip(*columns, strict=False):
        if row in seen:
            item.fault(f"the row {', '.join(row)} is listed twice")
        seen.add(row)


def zipped_names(item: Item | None) -> frozenset[str]:
    """The axes that a `zip` section names, before anything else is known; it records no fault."""
    if item is None or not item.is_list:
        return frozenset()
    groups = [child for child in item.items() if child.is_list]
    quiet = [replace(one, faults=Faults()) for group in groups for one in group.items()]
    return frozenset(one.text() for one in quiet)


_BASIS = ("id", "reason", "source", "date")


def _stated(
    item: Item, scope_keys: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[tuple[Item, dict[str, Item]]]:
    """Entries that carry id, reason, source and date; ids are unique in their list."""
    seen: set[str] = set()
    for entry in item.items():
        given = entry.fields((*_BASIS, *scope_keys), ("note", "until", *optional))
        if not {*_BASIS, *scope_keys} <= given.keys():
            continue
        name = fields.identifier(given["id"])
        if name in seen:
            given["id"].fault(f"the id {name!r} is used twice")
        seen.add(name)
        yield entry, given


def _until(given: dict[str, Item]) -> object:
    return fields.day(given["until"]) if "until" in given else None


def exclusions(item: Item, scope: Scope) -> tuple[Exclusion, ...]:
    """The `exclude` list."""
    return tuple(
        Exclusion(
            id=given["id"].text(),
            when=scope.condition(given["when"]),
            reason=given["reason"].text(),
            source=fields.source(given),
            until=_until(given),  # type: ignore[arg-type]
            place=place(entry),
        )
        for entry, given in _stated(item, ("when",))
    )


def _table_row(item: Item, axis: str, scope: Scope) -> TableRow | None:
    given = item.fields(("values",), ("when",))
    if "values" not in given:
        return None
    return TableRow(
        when=scope.condition(given["when"]) if "when" in given else Condition(),
        values=fields.patterns(given["values"], axis, scope.roles),
        place=place(item),
    )


def tables(item: Item, scope: Scope) -> tuple[Table, ...]:
    """The `tables` list."""
    found = []
    for entry, given in _stated(item, ("axis", "rows"), ("otherwise",)):
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
            when=scope.condition(given["when"]),
            include=given["then"].choice(["include", "exclude"]) == "include",
            reason=given["reason"].text(),
            source=fields.source(given),
            until=_until(given),  # type: ignore[arg-type]
            place=place(entry),
        )
        for entry, given in _stated(item, ("when", "then"))
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
                rows.append((when, parts["value"].text()))
        otherwise = given["otherwise"].text() if "otherwise" in given else "error"
        found.append(
            Derived(
                name=name,
                rows=tuple(rows),
                otherwise=None if otherwise in {"error", "omit"} else otherwise,
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
