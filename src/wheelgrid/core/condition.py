"""Conditions on cells: per axis a version range, a glob or a list of these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Protocol

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.axis import IMPLICIT_ROLES, Role, as_accelerator, as_python, as_version
from wheelgrid.core.cell import AXES

__all__ = ["Condition", "Pattern", "Point", "is_range", "matching_key"]

_RANGE_START = ("<", ">", "=", "!=", "~=")
_PREFIX = re.compile(r"[0-9]+(\.[0-9]+)*\.\*\Z")


class Point(Protocol):
    """Anything that has a value on axes: a cell, a row, part of one."""

    def axis(self, name: str) -> str:
        """The value as text, also of an attribute (`gpu.arch`); KeyError where it has none."""
        ...


def _split(role: Role, text: str) -> tuple[str, str]:
    """Family and range of a pattern; the range is empty for an exact value or a glob."""
    if role is not Role.ACCELERATOR:
        return "", text if text.startswith(_RANGE_START) else ""
    for index, char in enumerate(text):
        if char in "<>=!~":
            return text[:index], text[index:]
    return "", ""


@lru_cache(maxsize=4096)
def _range(role: Role, text: str) -> tuple[str, SpecifierSet] | None:
    """The version range in a pattern; None for other patterns; ValueError for a bad one."""
    family, spec = _split(role, text)
    if not spec and role in {Role.TORCH, Role.TEXT} and _PREFIX.match(text):
        spec = f"=={text}"
    if not spec:
        return None
    try:
        return family, SpecifierSet(spec)
    except InvalidSpecifier as error:
        msg = f"{text!r} is not a version range such as '>=2.14'"
        raise ValueError(msg) from error


def _version(role: Role, family: str, value: str) -> Version | None:
    """What a range is compared with; None where the value is no version of that kind."""
    if role is Role.PYTHON:
        python = as_python(value)
        return None if python is None else Version(f"{python.major}.{python.minor}")
    if role is Role.ACCELERATOR:
        accelerator = as_accelerator(value)
        if accelerator is None or accelerator.family != family:
            return None
        return accelerator.version
    version = as_version(value)
    if version is None and role is Role.TEXT and (python := as_python(value)) is not None:
        return Version(f"{python.major}.{python.minor}")  # 3.14t is no version, and is 3.14
    return version


@lru_cache(maxsize=65536)
def _fits(role: Role, text: str, value: str) -> bool:
    """Whether a value fits one positive pattern: versions compare as versions, never as text."""
    if value == text:
        return True
    ranges = _range(role, text)
    if ranges is not None:
        version = _version(role, ranges[0], value)
        if version is not None:
            return ranges[1].contains(version, prereleases=True)
        return _split(role, text)[1] == "" and fnmatchcase(value, text)
    if fnmatchcase(value, text):
        return True
    wanted = as_version(text) if role is Role.TORCH else None
    return wanted is not None and wanted == as_version(value)


def is_range(text: str, role: Role = Role.TEXT) -> bool:
    """Whether a pattern compares versions."""
    return _range(role, text.removeprefix("!") if _is_negative(text) else text) is not None


def _is_negative(text: str) -> bool:
    return text.startswith("!") and not text.startswith("!=")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One alternative on one axis (or attribute, `gpu.arch`), kept as written.

    `!pattern` is negative: it takes away what the positive ones (or, without any, all) allow.
    """

    axis: str
    text: str
    role: Role | None = None

    def __post_init__(self) -> None:
        """Refuse text that can never be a value of the axis; ValueError says why."""
        if self.role is None:
            object.__setattr__(self, "role", IMPLICIT_ROLES.get(self.axis, Role.TEXT))
        _range(self._role, self._positive)

    @property
    def _role(self) -> Role:
        return self.role or Role.TEXT

    @property
    def negative(self) -> bool:
        """Whether the pattern takes away."""
        return _is_negative(self.text)

    @property
    def _positive(self) -> str:
        return self.text[1:] if self.negative else self.text

    def fits(self, value: str) -> bool:
        """Whether a value fits the pattern without its sign."""
        return _fits(self._role, self._positive, value)

    def matches(self, point: Point) -> bool:
        """Whether the point's value on this axis fits this pattern alone."""
        try:
            value = point.axis(self.axis)
        except KeyError:
            return False
        return self.fits(value) is not self.negative


def any_fits(patterns: tuple[Pattern, ...], value: str) -> bool:
    """Whether a value fits a list of patterns: any positive, and no negative one; none fits ()."""
    if not patterns:
        return False
    positive = [p for p in patterns if not p.negative]
    if positive and not any(p.fits(value) for p in positive):
        return False
    return not any(p.fits(value) for p in patterns if p.negative)


@dataclass(frozen=True, slots=True)
class Condition:
    """All named axes must fit, each by any of its patterns. Empty: every cell."""

    patterns: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()

    @classmethod
    def of(
        cls,
        mapping: Mapping[str, tuple[str, ...]],
        roles: Mapping[str, Role] | None = None,
    ) -> Condition:
        """Build from axis (or `axis.attribute`) to alternatives.

        `roles` names the axes there are; without it, the four standard ones. ValueError for
        unknown axes or bad ranges.
        """
        known = dict.fromkeys(AXES) if roles is None else roles
        unknown = sorted(name for name in mapping if name.partition(".")[0] not in known)
        if unknown:
            msg = f"unknown axis {unknown[0]!r}; the axes are {', '.join(known)}"
            raise ValueError(msg)
        return cls(
            tuple(
                (axis, tuple(Pattern(axis, text, _role(axis, roles)) for text in texts))
                for axis, texts in mapping.items()
            )
        )

    @property
    def axes(self) -> frozenset[str]:
        """The axes that it reads, attributes counted to theirs."""
        return frozenset(axis.partition(".")[0] for axis, _ in self.patterns)

    def both(self, other: Condition) -> Condition:
        """The condition that holds where both do."""
        return Condition(self.patterns + other.patterns)

    def matches(self, point: Point) -> bool:
        """Whether the point fits on every named axis; one without that axis does not."""
        for axis, alternatives in self.patterns:
            try:
                value = point.axis(axis)
            except KeyError:
                return False
            if not any_fits(alternatives, value):
                return False
        return True


def _role(axis: str, roles: Mapping[str, Role] | None) -> Role | None:
    if roles is None:
        return None
    return Role.TEXT if "." in axis else roles[axis]


def matching_key(patterns: Mapping[str, object], accelerator: Accelerator) -> list[str]:
    """The keys of an accelerator table (`*`, `cuda*`, `cuda13.0`) that fit, general first."""
    fits = [key for key in patterns if fnmatchcase(str(accelerator), key)]
    return sorted(fits, key=lambda key: (len(key.replace("*", "")), key))
