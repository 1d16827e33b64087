"""Conditions on cells: per axis a version range, a glob or a list of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.cell import AXES, Cell

__all__ = ["Condition", "Pattern", "matching_key"]

_RANGE_START = ("<", ">", "=", "!", "~")


def _family_range(text: str) -> tuple[str, str]:
    """Split `cuda>=13.0` into family and range; the range is empty for a plain glob."""
    for index, char in enumerate(text):
        if char in _RANGE_START:
            return text[:index], text[index:]
    return text, ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One alternative on one axis, kept as written."""

    axis: str
    text: str

    def __post_init__(self) -> None:
        """Refuse text that can never be a value of the axis; ValueError says why."""
        self._ranges()

    def _ranges(self) -> SpecifierSet | None:
        """The version range in the text, or None for an exact value or a glob."""
        spec = self.text
        if self.axis == "accelerator":
            _, spec = _family_range(self.text)
        if not spec or not spec.startswith(_RANGE_START):
            return None
        try:
            return SpecifierSet(spec)
        except InvalidSpecifier as error:
            msg = f"{self.text!r} is not a version range such as '>=2.14'"
            raise ValueError(msg) from error

    def matches(self, cell: Cell) -> bool:
        """Whether the cell's value on this axis fits: versions compare as versions."""
        ranges = self._ranges()
        if ranges is None:
            return fnmatchcase(cell.axis(self.axis), self.text) or self._equal_version(cell)
        version = self._version(cell)
        return version is not None and ranges.contains(version, prereleases=True)

    def _version(self, cell: Cell) -> Version | None:
        """The version that a range is compared with; None where the axis value has none."""
        if self.axis == "torch":
            return cell.torch
        if self.axis == "python":
            return Version(f"{cell.python.major}.{cell.python.minor}")
        family, _ = _family_range(self.text)
        return cell.accelerator.version if cell.accelerator.family == family else None

    def _equal_version(self, cell: Cell) -> bool:
        """`2.13` written for torch 2.13.0 is equal by PEP 440, though not as text."""
        if self.axis != "torch":
            return False
        try:
            return Version(self.text) == cell.torch
        except InvalidVersion:
            return False


@dataclass(frozen=True, slots=True)
class Condition:
    """All named axes must fit, each by any of its patterns. Empty: every cell."""

    patterns: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()

    @classmethod
    def of(cls, mapping: Mapping[str, tuple[str, ...]]) -> Condition:
        """Build from axis to alternatives; ValueError for unknown axes or bad ranges."""
        unknown = sorted(set(mapping) - set(AXES))
        if unknown:
            msg = f"unknown axis {unknown[0]!r}; the axes are {', '.join(AXES)}"
            raise ValueError(msg)
        return cls(
            tuple((axis, tuple(Pattern(axis, t) for t in texts)) for axis, texts in mapping.items())
        )

    def matches(self, cell: Cell) -> bool:
        """Whether the cell fits on every named axis."""
        return all(any(p.matches(cell) for p in alternatives) for _, alternatives in self.patterns)


def matching_key(patterns: Mapping[str, object], accelerator: Accelerator) -> list[str]:
    """The keys of an accelerator table (`*`, `cuda*`, `cuda13.0`) that fit, general first."""
    fits = [key for key in patterns if fnmatchcase(str(accelerator), key)]
    return sorted(fits, key=lambda key: (len(key.replace("*", "")), key))
