"""Tags of a wheel name: pairs of Python and ABI tag that no interpreter has, unknown platforms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.tags import Tag

from wheelgrid.core.platform_tags import platform_fault
from wheelgrid.core.targets import ABI3T_SINCE

__all__ = ["PYTHON_TAG", "abi_faults", "platform_faults"]

PYTHON_TAG = re.compile(r"(?:py|cp|pp|ip|jy|graalpy|pyston)[0-9]{1,3}[a-z_0-9]*\Z", re.IGNORECASE)
_CPYTHON = re.compile(r"cp([0-9])([0-9]{0,3})\Z")
_ABI = re.compile(r"cp([0-9])([0-9]{1,3})([a-z]*)\Z")
_FIRST_FREE_THREADED = 13
_LAST_FLAGGED = 7
"""CPython 3.7 was the last with ABI flags other than `t` (pymalloc, debug, wide unicode)."""


def _pair(python: str, abi: str) -> tuple[str, str]:
    """What is wrong with one Python tag and ABI tag; empty where some CPython has the pair."""
    if re.match(r"cp[0-9]{2,4}t\Z", python):
        better = python.removesuffix("t")
        return "python-tag", (
            f"Python tag {python!r}: a free-threaded build says so in the ABI tag alone: "
            f"write {better}-{python}"
        )
    match = _CPYTHON.match(python)
    if abi in {"abi3", "abi3t"} and match is None:
        return "abi-pair", f"ABI {abi!r} needs a CPython tag such as 'cp311', not {python!r}"
    own = _ABI.match(abi)
    if match is None:
        return ("abi-pair", f"ABI {abi!r} does not go with Python {python!r}") if own else ("", "")
    release = (int(match[1]), int(match[2] or 0))
    if abi == "abi3t" and release < ABI3T_SINCE:
        return "abi3t", (
            f"{python}-abi3t: abi3t begins with Python 3.15 (PEP 803); before it, "
            "one wheel for each free-threaded Python, such as cp314-cp314t"
        )
    return _own_abi(python, abi, release, own) if own else ("", "")


def _own_abi(
    python: str, abi: str, release: tuple[int, int], own: re.Match[str]
) -> tuple[str, str]:
    """What is wrong with the ABI tag of one CPython beside a CPython tag."""
    if (int(own[1]), int(own[2])) != release:
        return "abi-pair", f"Python tag {python!r} and ABI tag {abi!r} are of two Pythons"
    if own[3] == "t" and release < (3, _FIRST_FREE_THREADED):
        return "abi-pair", f"ABI {abi!r}: free-threaded builds begin with Python 3.13"
    if own[3] not in {"", "t"} and release > (3, _LAST_FLAGGED):
        return "abi-pair", f"ABI {abi!r}: only the flag 't' is left since Python 3.8"
    return "", ""


def abi_faults(tags: frozenset[Tag]) -> Iterator[tuple[str, str]]:
    """Code and message for each pair that no interpreter asks for.

    In a compressed set only the product counts: `cp315-abi3.abi3t` is two good pairs; a pair is
    judged wrong only where its Python or its ABI has no good partner in the set.
    """
    pairs = sorted({(tag.interpreter, tag.abi) for tag in tags})
    bad = {pair: found for pair in pairs if (found := _pair(*pair))[0]}
    good = [pair for pair in pairs if pair not in bad]
    seen = set()
    for (python, abi), found in bad.items():
        if any(p == python for p, _ in good) and any(a == abi for _, a in good):
            continue
        if found not in seen:
            seen.add(found)
            yield found
    for python, abi in pairs:
        if _ABI.match(abi) and any(t.platform == "any" for t in tags if t.abi == abi):
            yield "abi-pair", f"{python}-{abi}-any: a binary ABI is for one platform, not for any"
            return


def platform_faults(text: str) -> tuple[str, str]:
    """What is wrong with a compressed set of platforms, and the set as it should be."""
    found, better = [], []
    for tag in text.split("."):
        message, suggestion = platform_fault(tag)
        better.append(suggestion or tag)
        if message:
            found.append(message)
    return "; ".join(found), ".".join(dict.fromkeys(better))
