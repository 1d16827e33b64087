"""Order of names that hold numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["by_number"]

_GFX = re.compile(r"gfx([0-9a-f]+)(.*)")
_PARTS = re.compile(r"[0-9]+|[^0-9]+")


def by_number(names: Iterable[str]) -> list[str]:
    """Sorted with numbers as numbers: sm_90 before sm_100, gfx908 before gfx90a and gfx1100."""

    def key(name: str) -> list[tuple[int, str]]:
        if gfx := _GFX.match(name):
            return [(-1, "gfx"), (int(gfx[1], 16), gfx[2])]
        return [(int(p), "") if p.isdigit() else (-1, p) for p in _PARTS.findall(name)]

    return sorted(set(names), key=key)
