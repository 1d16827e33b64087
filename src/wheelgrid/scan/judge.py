"""Judges mentions against the values that are in sunset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from wheelgrid.core.axis import as_accelerator, as_python
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.mention import Mention, What
from wheelgrid.scan.python_value import judge_python
from wheelgrid.scan.reliance import Reliance
from wheelgrid.scan.torch_value import (
    judge_accelerator,
    judge_macos,
    judge_missing_floor,
    judge_requirement,
)

__all__ = ["is_searched", "judge"]

_NAMES_ACCELERATOR = {
    What.TEXT, What.CUDA, What.ROCM, What.PYTHON, What.REQUIREMENT, What.SELECTOR, What.ENVIRONMENT,
}  # fmt: skip
_VERSION = re.compile(r"([0-9]+)\.([0-9]+t?)")
_NAMES_MACOS = {What.MACOS, What.TEXT, What.SELECTOR}


def is_searched(sunset: Sunset) -> bool:
    """Whether the scan knows how the value is written in other projects."""
    match sunset.axis:
        case "python":
            return as_python(sunset.value) is not None
        case "accelerator":
            found = as_accelerator(sunset.value)
            return found is not None and found.version is not None
        case "platform":
            return sunset.value.startswith("macosx_")
        case axis:
            return axis == "package"


def _needles(sunset: Sunset) -> tuple[str, ...]:
    """What a text must hold to name the value at all: a cheap look before the patterns."""
    if sunset.axis == "platform":
        return "macos", "apple-darwin"
    match = _VERSION.search(sunset.value)
    if match is None:
        return (sunset.value.lower(),)
    major, minor = match[1], match[2]
    return f"{major}.{minor}", f"{major}-{minor}", f"{major}{minor}"


def judge(
    mentions: Iterable[Mention],
    sunsets: tuple[Sunset, ...],
    *,
    admitted: frozenset[str],
    torch: bool,
) -> Iterator[Reliance]:
    """What the mentions rely on.

    `admitted` are the Pythons in sunset that the project admits; `torch` says whether it may use
    torch at all.
    """
    needles = {s.id: _needles(s) for s in sunsets}
    packages = {"torch", *(s.value.lower() for s in sunsets if s.axis == "package")}
    for mention in mentions:
        text = mention.text.lower()
        if mention.what is What.NO_REQUIRES_PYTHON:
            yield from judge_missing_floor(mention, sunsets)
            continue
        if mention.what is What.REQUIREMENT and any(name in text for name in packages):
            yield from judge_requirement(mention, sunsets, admitted)
        for sunset in sunsets:
            ranged = mention.what in {What.REQUIRES_PYTHON, What.MACOS, What.SELECTOR}
            if not ranged and not any(needle in text for needle in needles[sunset.id]):
                continue
            if sunset.axis == "python":
                yield from judge_python(mention, sunset)
            elif sunset.axis == "accelerator" and mention.what in _NAMES_ACCELERATOR:
                yield from judge_accelerator(mention, sunset)
            elif sunset.axis == "platform" and torch and mention.what in _NAMES_MACOS:
                yield from judge_macos(mention, sunset)
