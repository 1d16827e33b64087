"""Decodes the axes of a matrix: their values, roles and zips, and what a channel changes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.axis import (
    IMPLICIT_ROLES,
    Axis,
    AxisValue,
    Place,
    Role,
    as_accelerator,
    as_platform,
    as_python,
    as_version,
)
from wheelgrid.core.platforms import Platform

__all__ = ["axes", "channel_axes", "place", "value", "zipped_names", "zips"]

_AXIS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
_GPU_ARCH = re.compile(r"(sm_[0-9]{2,3}[af]?|gfx[0-9a-f]{3,5}|[a-z][a-z0-9-]{1,30})\Z")
MAX_VALUES = 4096
"""Values of one axis; a longer list is a mistake or an attack."""
_FREE = "for values of another kind give the axis `role: text`"


def place(item: Item) -> Place:
    """Where a node is written."""
    line, column = item.position
    return Place(item.file, item.path, line, column)


def _checked(item: Item, text: str, role: Role) -> bool:
    """Whether text can be a value of the role; a fault says what is expected."""
    if role is Role.TORCH and as_version(text) is None:
        message, hint = f"{text[:80]!r} is not a version (PEP 440)", ""
    elif role is Role.PYTHON and as_python(text) is None:
        message, hint = f"{text!r} is not a Python version such as '3.13' or '3.14t'", ""
    elif role is Role.ACCELERATOR and as_accelerator(text) is None:
        message, hint = _why_not_accelerator(text), ""
    elif role is Role.PLATFORM and as_platform(text) is None:
        message, hint = f"unknown platform {text!r}", nearest(text, [str(p) for p in Platform])
    elif role is Role.GPU_ARCH and not _GPU_ARCH.match(text):
        message, hint = f"{text!r} is not a GPU architecture such as 'sm_90' or 'gfx942'", ""
    else:
        return True
    item.fault(message, hint=f"{hint}; {_FREE}" if hint else _FREE)
    return False


def _why_not_accelerator(text: str) -> str:
    try:
        Accelerator.parse(text)
    except ValueError as error:
        return str(error)
    return ""


def value(item: Item, role: Role) -> AxisValue | None:
    """One axis value: text, true or false, a mapping with attributes, or a list as GitHub's."""
    before = len(item.faults.found)
    given = item.plain()
    if len(item.faults.found) > before:
        return None
    if isinstance(given, list):
        return AxisValue(json.dumps(given), shown=given)
    if isinstance(given, bool):
        return AxisValue("true" if given else "false", shown=given)
    if isinstance(given, str):
        return AxisValue(_canonical(given, role)) if _checked(item, given, role) else None
    assert isinstance(given, dict)  # noqa: S101 - nothing else is left
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
    read: list[tuple[Item, AxisValue]] = []
    before = len(item.faults.found)
    for index, child in enumerate(item.items()):
        if index >= MAX_VALUES:
            child.fault(f"an axis has at most {MAX_VALUES} values")
            break
        one = value(child, role)
        if one is not None:
            read.append((child, one))
    found: dict[str, AxisValue] = {}
    values = _told_apart([one for _, one in read])
    for (child, _), one in zip(read, values, strict=True):
        if one.text in found and not repeats:
            child.fault(f"{one.text} is listed twice")
        found[one.text] = one
    if not found and len(item.faults.found) == before:
        item.fault("is empty: an axis needs at least one value")
    return values if repeats else tuple(found.values())


def _told_apart(values: list[AxisValue]) -> tuple[AxisValue, ...]:
    """Values where objects of one name are called by all that they say."""
    counts = Counter(value.text for value in values)
    return tuple(
        replace(value, text=json.dumps(value.shown, sort_keys=True))
        if counts[value.text] > 1 and isinstance(value.shown, dict)
        else value
        for value in values
    )


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


def channel_axes(
    given: Mapping[str, Item], known: tuple[Axis, ...], zipped: frozenset[str]
) -> tuple[Axis, ...]:
    """The axes with the values that one channel overrides; a known value keeps its attributes."""
    by_name = {axis.name: axis for axis in known}
    changed: dict[str, tuple[AxisValue, ...]] = {}
    for name, child in given.items():
        if name not in by_name:
            child.fault(f"unknown axis {name!r}", hint=nearest(name, list(by_name)))
            continue
        had = {value.text: value for value in by_name[name].values}
        values = _values(child, by_name[name].role, repeats=name in zipped)
        changed[name] = tuple(v if v.attributes else had.get(v.text, v) for v in values)
    return tuple(replace(a, values=changed[a.name]) if a.name in changed else a for a in known)


def zips(
    item: Item, known: tuple[Axis, ...], channels: Mapping[str, tuple[Axis, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Groups of axes that vary together; each a list of axes of one length, in every channel."""
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
        found.append(names)
        for channel, axes_there in channels.items() or [("", known)]:
            where = f" in channel {channel!r}" if channel else ""
            _zips_well(child, names, axes_there, where)
    return tuple(found)


def _zips_well(item: Item, names: tuple[str, ...], known: tuple[Axis, ...], where: str) -> None:
    """Fault zipped axes of unequal length, and rows that come twice."""
    sizes = {axis.name: len(axis.values) for axis in known if axis.name in names}
    if len(set(sizes.values())) > 1:
        text = ", ".join(f"{name} has {sizes[name]}" for name in names if name in sizes)
        item.fault(f"zipped axes need equally many values: {text}{where}")
    columns = [axis.texts for name in names for axis in known if axis.name == name]
    seen: set[tuple[str, ...]] = set()
    for row in zip(*columns, strict=False):
        if row in seen:
            item.fault(f"the row {', '.join(row)} is listed twice{where}")
        seen.add(row)


def zipped_names(item: Item | None) -> frozenset[str]:
    """The axes that a `zip` section names, before anything else is known; it records no fault."""
    if item is None or not item.is_list:
        return frozenset()
    groups = [child for child in item.items() if child.is_list]
    quiet = [replace(one, faults=Faults()) for group in groups for one in group.items()]
    return frozenset(one.text() for one in quiet)
