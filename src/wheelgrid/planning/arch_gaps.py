"""GPUs that torch has code for and a wheel of the same toolkit has not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from wheelgrid.planning.archs import has_code, toolkit_target

__all__ = ["ArchGap", "arch_gap"]

_SM = re.compile(r"sm_([0-9]+)([0-9])[af]?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchGap:
    """`missing` are targets that torch ships and the wheel cannot run on, oldest first.

    `minimum` is the oldest GPU of the wheel, as vendors write it: `8.0`, `gfx942`; empty without
    targets. Of AMD's targets none is older than another: there it is all of them.
    """

    missing: tuple[str, ...]
    minimum: str


def _number(arch: str) -> tuple[int, int, str]:
    match = _SM.match(arch)
    return (int(match[1]), int(match[2]), arch) if match else (0, 0, arch)


def _dotted(arch: str) -> str:
    match = _SM.match(arch)
    return f"{match[1]}.{match[2]}" if match else arch


def arch_gap(declared: Iterable[str], shipped: Iterable[str]) -> ArchGap:
    """Compare a wheel's list (`8.0 9.0a 12.0+PTX`, or `sm_80`, `gfx942`) with torch's.

    A target counts as there when code for it can run: sm_80 serves 8.6, PTX serves newer ones.
    """
    texts = list(declared)
    values = [toolkit_target(text) for text in texts]
    ptx = [v for text, v in zip(texts, values, strict=True) if text.endswith("+PTX")]
    plain = {re.sub("(sm_[0-9]+)[af]$", r"\1", toolkit_target(s)) for s in shipped}
    missing = sorted((s for s in plain if not has_code(s, values, ptx)), key=_number)
    ordered = sorted(values, key=_number)
    cuda = [v for v in ordered if _SM.match(v)]
    minimum = _dotted(cuda[0]) if cuda else ", ".join(ordered)
    return ArchGap(missing=tuple(map(_dotted, missing)), minimum=minimum)
