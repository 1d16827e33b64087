"""Which Python a cibuildwheel selector takes: `cp310-*`, `cp3{9,10}-*`, `cp31[0-2]-*`.

cibuildwheel expands braces as a shell does and matches the rest as `fnmatch` (its selector.py).
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

__all__ = ["selects"]

_BRACES = re.compile(r"\{([^{}]{0,200})\}")
_STEPS = re.compile(r"([0-9]{1,3})\.\.([0-9]{1,3})\Z")
_TAKES_ALL = {"*", "cp*", "cp3*", "?p*", "*p3*", "cp3?*"}
"""Selectors that take every Python say nothing about one; the range of the project decides."""
_PYTHON = re.compile(r"(?:\[[^\]]{1,20}\]|[^-])*")  # a dash inside [0-2] ends nothing
_LONGEST = 200
_MOST = 200


def _parts(inner: str) -> list[str]:
    steps = _STEPS.match(inner)
    if steps:
        first, last = int(steps[1]), int(steps[2])
        return [str(n) for n in range(first, min(last, first + _MOST) + 1)]
    return inner.split(",")


def _expand(word: str) -> list[str]:
    """Every spelling of a word with braces; what is too long or too many is left as it is."""
    found, done = [word], False
    while not done and len(found) <= _MOST:
        done, wider = True, []
        for one in found:
            match = _BRACES.search(one)
            if match is None:
                wider.append(one)
                continue
            done = False
            wider += [one[: match.start()] + p + one[match.end() :] for p in _parts(match[1])]
        found = wider
    return found[:_MOST]


def selects(text: str, version: str) -> str:
    """The word of a selector that takes a Python by name or narrow pattern; empty if none does."""
    tag = "cp" + version.replace(".", "")
    for word in text.split()[:_MOST]:
        for one in _expand(word) if len(word) <= _LONGEST else ():
            match = _PYTHON.match(one)
            python = match[0] if match else ""
            if python not in _TAKES_ALL and fnmatchcase(tag, python):
                return word
    return ""
