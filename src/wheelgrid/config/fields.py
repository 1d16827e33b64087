"""Fields that several files share: conditions, sources, versions, dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelgrid.config.yaml import Item, nearest
from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.axis import IMPLICIT_ROLES, Role
from wheelgrid.core.cell import AXES
from wheelgrid.core.condition import Condition, Pattern
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

__all__ = [
    "STANDARD_ROLES",
    "accelerator",
    "accelerator_key",
    "axis_values",
    "condition",
    "day",
    "family",
    "identifier",
    "package_name",
    "patterns",
    "pinned",
    "platform",
    "platforms",
    "python",
    "source",
    "version",
]

T = TypeVar("T")

STANDARD_ROLES = {axis: IMPLICIT_ROLES[axis] for axis in AXES}
"""The axes of a stack, for files that are not written for one matrix."""

_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}\Z")
_ACCELERATOR_KEY = re.compile(r"(\*|(cpu|mps|cuda|rocm|xpu)[0-9.]*\*?)\Z")


def version(item: Item) -> Version | None:
    """A PEP 440 version, written in quotes."""
    text = item.text()
    if not text:
        return None
    try:
        return Version(text)
    except (InvalidVersion, ValueError):  # ValueError: a number of thousands of digits
        item.fault(f"{text[:80]!r} is not a version (PEP 440)")
        return None


def _parsed(item: Item, parse: Callable[[str], T]) -> T | None:
    text = item.text()
    return item.build(lambda: parse(text)) if text else None


def python(item: Item) -> PythonVersion | None:
    """A Python version such as "3.13" or "3.14t"."""
    return _parsed(item, PythonVersion.parse)


def accelerator(item: Item) -> Accelerator | None:
    """An accelerator such as cuda13.0."""
    return _parsed(item, Accelerator.parse)


def platform(item: Item) -> Platform | None:
    """A platform of the closed set."""
    text = item.text()
    known = [str(p) for p in Platform]
    if text in known:
        return Platform(text)
    if text:
        item.fault(f"unknown platform {text!r}", hint=nearest(text, known))
    return None


def platforms(item: Item) -> frozenset[Platform]:
    """A list of platforms."""
    return frozenset(p for p in map(platform, item.items()) if p is not None)


def family(item: Item) -> Family:
    """A vendor runtime without version."""
    return Family(item.choice([str(f) for f in Family]))


def identifier(item: Item) -> str:
    """A stable id: lower-case letters, digits, dot, dash, underscore."""
    text = item.text()
    if text and not _IDENTIFIER.match(text):
        item.fault(f"{text!r} is not an id: use lower-case letters, digits, '.', '-' and '_'")
    return text


def package_name(item: Item) -> str:
    """A distribution name in its normalised spelling (PEP 503)."""
    text = item.text()
    if not text:
        return ""
    try:
        normal = canonicalize_name(text, validate=True)
    except InvalidName:
        item.fault(f"{text!r} is not a distribution name")
        return ""
    if normal != text:
        item.fault(f"{text!r} is not normalised", hint=f"write {normal!r}")
    return normal


def pinned(item: Item) -> tuple[str, ...]:
    """Requirements that each name one exact version; anything else is a fault."""
    found = []
    for child in item.items():
        text = child.text()
        if not text:
            continue
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            child.fault(f"{text!r} is not a requirement: {error}")
            continue
        clauses = list(requirement.specifier)
        exact = len(clauses) == 1 and clauses[0].operator in {"==", "==="}
        if requirement.url or not exact or clauses[0].version.endswith(".*"):
            child.fault(f"{text!r} is not pinned", hint=f"write {requirement.name}==VERSION")
        found.append(text)
    return tuple(found)


def accelerator_key(item: Item, key: str) -> str:
    """A key of an accelerator table: `*`, `cpu`, `cuda*`, `cuda13.0`."""
    if not _ACCELERATOR_KEY.match(key):
        item.fault(
            f"{key!r} is not an accelerator pattern", hint="such as '*', 'cpu', 'cuda*', 'cuda13.0'"
        )
    return key


def axis_values(item: Item, parse: Callable[[Item], T | None]) -> tuple[T, ...]:
    """A non-empty list of one axis; duplicates are faults."""
    found: list[T] = []
    for child in item.items():
        value = parse(child)
        if value is None:
            continue
        if value in found:
            child.fault(f"{value} is listed twice")
            continue
        found.append(value)
    if not found and not item.faults.found:
        item.fault("is empty: an axis needs at least one value")
    return tuple(found)


def _flatten(item: Item, axis: str) -> Iterator[tuple[str, Item]]:
    """An axis and its patterns; a mapping asks for attributes: `gpu: {arch: sm_90}`."""
    if not item.is_mapping:
        yield axis, item
        return
    for key, child in item.entries().items():
        yield from _flatten(child, f"{axis}.{key}")


def patterns(item: Item, axis: str, roles: Mapping[str, Role]) -> tuple[Pattern, ...]:
    """A pattern or a list of them for one axis."""
    children = item.items() if item.is_list else iter([item])
    role = Role.TEXT if "." in axis else roles[axis]
    found = []
    for child in children:
        value = child.plain()
        if isinstance(value, bool):
            value = "true" if value else "false"
        if not isinstance(value, str):
            child.fault("expected a pattern, found a list or a mapping")
            continue
        pattern = child.build(lambda text=value: Pattern(axis, text, role))  # type: ignore[misc]
        if pattern is not None:
            found.append(pattern)
    return tuple(found)


def condition(
    item: Item,
    roles: Mapping[str, Role] | None = None,
    groups: Mapping[str, Condition] | None = None,
) -> Condition:
    """A `when` mapping: axis to a pattern, a list of alternatives or a mapping of attributes.

    `group: NAME` stands for the named condition, unless there is an axis of that name.
    """
    known = STANDARD_ROLES if roles is None else roles
    found = Condition()
    for axis, child in item.entries().items():
        if axis == "group" and axis not in known:
            named = child.text()
            if named in (groups or {}):
                found = found.both((groups or {})[named])
            else:
                child.fault(f"no group {named!r}", hint=nearest(named, list(groups or {})))
            continue
        if axis not in known:
            child.fault(f"unknown axis {axis!r}", hint=nearest(axis, list(known)))
            continue
        for name, leaf in _flatten(child, axis):
            alternatives = patterns(leaf, name, known)
            if leaf.is_list and not leaf.node.value:
                leaf.fault("is an empty list, which fits nothing", hint="leave the axis out")
            if alternatives:
                found = found.both(Condition(((name, alternatives),)))
    return found


def day(item: Item) -> date:
    """A day as "YYYY-MM-DD"; a fault gives the earliest date."""
    text = item.text()
    try:
        return date.fromisoformat(text)
    except ValueError:
        if text:
            item.fault(f"{text!r} is not a date such as '2026-09-21'")
        return date.min


def source(fields: dict[str, Item], *, default_id: str = "", dated: str = "date") -> Source:
    """The kind, source and date that every statement carries."""
    kind = fields["kind"].choice([str(k) for k in Kind]) if "kind" in fields else str(Kind.POLICY)
    when = day(fields[dated]) if dated in fields else date.min
    return Source(
        id=identifier(fields["id"]) if "id" in fields else default_id,
        kind=Kind(kind),
        source=fields["source"].text() if "source" in fields else "",
        date=when.isoformat(),
        note=fields["note"].text() if "note" in fields else "",
    )
