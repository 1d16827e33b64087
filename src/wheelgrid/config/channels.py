"""Channels: named variants of a matrix, with axis values and entries of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from wheelgrid.config.axes import channel_axes
from wheelgrid.config.yaml import Item, nearest
from wheelgrid.core.axis import Axis

__all__ = ["SECTIONS", "Channels", "read_channels"]

SECTIONS = ("exclude", "tables", "include", "add")
"""What a channel may bring besides axis values; it adds to what the matrix says."""


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels of a matrix and of its imports. `chosen` is empty where there are none."""

    chosen: str
    overrides: Mapping[str, Mapping[str, Item]]
    sections: Mapping[str, Mapping[str, tuple[Item, ...]]]

    @property
    def names(self) -> tuple[str, ...]:
        """The channels in order; the first is the default."""
        return tuple(self.overrides)

    def axes(self, known: tuple[Axis, ...], zipped: frozenset[str]) -> dict[str, tuple[Axis, ...]]:
        """The axes of each channel; faults of all of them are recorded."""
        return {
            name: channel_axes(values, known, zipped) for name, values in self.overrides.items()
        }

    def of(self, channel: str) -> Callable[[str], tuple[Item, ...]]:
        """The lists that a channel brings, by section."""
        return lambda section: self.sections.get(channel, {}).get(section, ())

    def all(self, section: str) -> tuple[Item, ...]:
        """The lists of a section that any channel brings."""
        return tuple(item for own in self.sections.values() for item in own.get(section, ()))


def read_channels(sections: Iterable[Item], asked: str, item: Item) -> Channels:
    """Read `channels`; those of imported files come first, and later values win axis by axis.

    A channel that is asked for and is not there is a fault of `item`, or of the last section.
    """
    overrides: dict[str, dict[str, Item]] = {}
    own: dict[str, dict[str, tuple[Item, ...]]] = {}
    last = item
    for section in sections:
        last = section
        for name, child in section.entries().items():
            values = overrides.setdefault(name, {})
            for key, value in child.entries().items():
                if key not in SECTIONS:
                    values[key] = value
                    continue
                entries = own.setdefault(name, {})
                entries[key] = (*entries.get(key, ()), value)
    chosen = asked or next(iter(overrides), "")
    if chosen and chosen not in overrides:
        last.fault(f"no channel {chosen!r}", hint=nearest(chosen, list(overrides)))
    return Channels(chosen, overrides, own)
