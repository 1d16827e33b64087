"""Order of names that hold numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["by_number"]

_PARTS = re.compile(r"[0-9]+|[^0-9]+")


def by_number(names: Iterable[str]) -> list[str]:
    """Sorted with numbers as numbers: sm_90 before sm_100, gfx90a before gfx1100."""

    def key(name: str) -> list[tuple[int, str]]:
        return [(int(p), "") if p.isdigit() else (-1, p) for p in _PARTS.findall(name)]

    return sorted(set(names), key=key)
