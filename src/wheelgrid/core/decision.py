"""Decisions: every candidate cell is included or excluded, with reason and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.evidence import Source

__all__ = ["Decision", "Note", "Reason", "Ruling"]


class Reason(StrEnum):
    """Why a cell is excluded, most specific first: the order picks the headline."""

    POLICY = "policy"
    PLATFORM_WITHOUT_RUNTIME = "platform-without-runtime"
    ARCH_NOT_IN_TOOLKIT = "arch-not-in-toolkit"
    SUNSET = "sunset"
    ACCELERATOR_NOT_PUBLISHED = "accelerator-not-published"
    NO_WHEEL_PYTHON = "no-wheel-python"
    ARCH_NOT_IN_TORCH = "arch-not-in-torch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One reason why a cell cannot be, the fact or rule behind it, and its sources.

    `disagrees` holds sources that say otherwise; they were outweighed, not dropped.
    """

    reason: Reason
    rule: str
    message: str
    sources: tuple[Source, ...]
    disagrees: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something a reader of an included cell must know: a sunset ahead, an unknown."""

    rule: str
    message: str
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Exactly one for each candidate: included where no ruling excludes it.

    `extra` holds what `include` rows and `derive` add to the cell; it is no part of its identity.
    """

    cell: Cell | Row
    rulings: tuple[Ruling, ...] = ()
    notes: tuple[Note, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def included(self) -> bool:
        """Whether the cell is part of the desired state."""
        return not self.rulings

    @property
    def headline(self) -> Ruling | None:
        """The most specific ruling, or None for an included cell."""
        order = list(Reason)
        return min(self.rulings, key=lambda r: order.index(r.reason), default=None)
