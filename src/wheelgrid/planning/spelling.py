"""Spellings that compare or age badly: compact versions, text comparisons, pinned patches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from wheelgrid.core.axis import Place, Role, as_version
from wheelgrid.core.condition import Pattern, is_range
from wheelgrid.core.errors import Fault
from wheelgrid.core.matrix import Matrix
from wheelgrid.planning.checks import fault_at, stated

__all__ = ["compact_versions", "pinned_patches", "text_comparisons"]

_COMPACT = re.compile(r"(cu|cuda|rocm|xpu|torch|pt|py|cp)?[0-9]{2,4}\Z")
_PATCH = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+\Z")
_LOOSE_GLOB = re.compile(r"[0-9]+(\.[0-9]+)*[*?]\Z")
_CLASS_GLOB = re.compile(r"[0-9.]*\[[^\]]*\][0-9.*?]*\Z")


def compact_versions(matrix: Matrix) -> list[Fault]:
    """Versions without their dots: cu1210 can be 12.10 or 121.0, and sorts as a text."""
    return [
        fault_at(
            axis.place,
            f"axes.{axis.name}",
            f"{value.text!r} is a version without its dot: ambiguous, and compared as text",
            "write the dotted version, such as '12.6', and make labels with `derive`",
        )
        for axis in matrix.axes
        if axis.role is Role.TEXT
        for value in axis.values
        if _COMPACT.match(value.text)
        and re.search("cuda|torch|rocm|toolkit|version", axis.name)
        and not re.fullmatch(r"(19|20)[0-9]{2}", value.text)
    ]


def _patterns(matrix: Matrix) -> Iterator[tuple[str, Place, str, Pattern]]:
    """Every pattern of the matrix with the label and place of its rule."""
    for named in stated(matrix):
        for axis, alternatives in named.when.patterns:
            yield from ((named.label, named.place, axis, pattern) for pattern in alternatives)
    for table in matrix.tables:
        for row in table.rows:
            for axis, alternatives in (*row.when.patterns, (table.axis, row.values)):
                yield from ((f"tables {table.id}", row.place, axis, p) for p in alternatives)


def text_comparisons(matrix: Matrix) -> list[Fault]:
    """Patterns that compare versions as text, or compare what is no version as versions."""
    found = []
    for label, place, axis, pattern in _patterns(matrix):
        values = matrix.axis_values(axis)
        versions = [v for v in values if as_version(v) is not None]
        text = pattern.text.removeprefix("!")
        if "." not in axis and versions and (_LOOSE_GLOB.match(text) or _CLASS_GLOB.match(text)):
            caught = _caught(text, versions)
            if caught:
                message = f"glob {text!r} compares versions as text: it also fits {caught}"
                found.append(fault_at(place, label, message, "write a range such as '>=2.1,<2.2'"))
        elif is_range(text, Role.TEXT) and values and not versions and _is_free(matrix, axis):
            message = f"{text!r} is a version range, but no value of {axis} is a version"
            found.append(fault_at(place, label, message, f"values: {', '.join(values[:5])}"))
    return found


def _is_free(matrix: Matrix, axis: str) -> bool:
    return any(a.name == axis and a.role is Role.TEXT for a in matrix.axes)


def _caught(glob: str, versions: list[str]) -> str:
    """A version that a glob fits although it is of another line: `2.1*` and 2.10."""
    stem = re.split(r"[*?\[]", glob)[0].rstrip(".")
    for value in versions:
        line = value == stem or value.startswith(f"{stem}.")
        if fnmatchcase(value, glob) and not line:
            return value
    return ""


def pinned_patches(matrix: Matrix) -> list[Fault]:
    """Rules that name one patch version: they stop matching at the next patch release."""
    found = []
    for label, place, axis, pattern in _patterns(matrix):
        line = pattern.text.rpartition(".")[0]
        same = [v for v in matrix.axis_values(axis) if v.startswith(f"{line}.")]
        if _PATCH.match(pattern.text) and same == [pattern.text]:
            message = f"names {axis} {pattern.text} exactly: it misses the next patch release"
            found.append(fault_at(place, label, message, f"write '{line}.*'"))
    return found
