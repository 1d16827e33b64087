"""CP010: Lists are in order and name everything once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from wheelgrid.core.accelerator import Family
from wheelgrid.core.axis import as_accelerator, as_python
from wheelgrid.core.errors import Fault
from wheelgrid.core.platforms import Platform
from wheelgrid.lint.rule import Context, Rule, Scope, Severity

__all__ = ["RULE"]

_DIGITS = re.compile(r"([0-9]+)")
_PLATFORMS = [str(platform) for platform in Platform]
_FAMILIES = [str(family) for family in Family]


def _natural(text: str) -> tuple[object, ...]:
    return tuple(int(p) if p.isdigit() else p for p in _DIGITS.split(text))


def _key(values: list[str]) -> Callable[[str], object]:
    """How values of this kind are ordered: versions as versions, platforms as declared."""
    if all(value in _PLATFORMS for value in values):
        return _PLATFORMS.index
    if all(as_python(value) for value in values):
        return as_python
    accelerators = [as_accelerator(value) for value in values]
    if all(accelerators):
        return lambda value: (
            _FAMILIES.index(value.rstrip("0123456789.")),
            as_accelerator(value).version if "." in value else None,  # type: ignore[union-attr]
        )
    return _natural


def _check(context: Context) -> Iterator[Fault]:
    for statement in context.statements:
        for field in ("platforms", "values", "ptx"):
            given = statement.plain(field)
            if not isinstance(given, list):
                continue
            values = [str(value) for value in given]
            twice = sorted({value for value in values if values.count(value) > 1})
            if twice:
                yield statement.fault(f"{field} names {', '.join(twice)} twice", at=field)
                continue
            ordered = sorted(values, key=_key(values))  # type: ignore[arg-type]
            if values != ordered:
                shown = ", ".join(f'"{v}"' if v[:1].isdigit() else v for v in ordered)
                hint = f"{field}: [{shown}]"
                yield statement.fault(f"{field} is not in order", hint=hint, at=field)


RULE = Rule(
    id="CP010",
    scope=Scope.ENTRY,
    severity=Severity.WARNING,
    summary="Lists are in order and name everything once.",
    why="A sorted list shows at a glance what is missing, and a change to it is one line of diff.",
    fix="Write the list as the hint shows it: versions compare as versions, 3.9 before 3.10.",
    bad='values: ["3.10", "3.9"]',
    good='values: ["3.9", "3.10"]',
    check=_check,
)
