"""The bytes of one Mach-O image, and names in its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.formats.names import Budget, Names
from wheelgrid.inspect.stream import Readable

__all__ = ["Image", "Place", "check_count", "names_at", "plain"]

_MOST_NAMES = 200_000


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes of an image, from its start."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Image:
    """The bytes of one image in its file: `begin` to `begin + size`."""

    pages: Readable
    begin: int = field(kw_only=True)
    size: int = field(kw_only=True)
    order: str = field(kw_only=True)
    wide: bool = field(kw_only=True)
    budget: Budget = field(kw_only=True)

    def read(self, offset: int, size: int) -> bytes:
        """Bytes by their place in the image; NotReadableError outside it."""
        self.check(Place(offset, size))
        return self.pages.read(self.begin + offset, size)

    def check(self, place: Place) -> None:
        """NotReadableError for a place outside the image."""
        if place.offset + place.size > self.size:
            msg = f"bytes {place.offset} to {place.offset + place.size} of an image of {self.size}"
            raise NotReadableError(msg)


def plain(name: str) -> str:
    """A symbol without the underscore that the C compiler puts before each."""
    return name.removeprefix("_")


def check_count(places: set[int]) -> None:
    """NotReadableError for more places of names than any library has."""
    if len(places) > _MOST_NAMES:
        msg = f"more than {_MOST_NAMES} symbols of one kind"
        raise NotReadableError(msg)


def names_at(image: Image, table: Place, places: set[int]) -> Iterator[str]:
    """Names in a table of names, read in the order of the file."""
    image.check(table)
    names, begin = Names(image.pages, image.budget), image.begin + table.offset
    for place in sorted(places):
        if place >= table.size:
            msg = f"a name at {place} of a table of {table.size} bytes"
            raise NotReadableError(msg)
        yield plain(names.get(begin + place, begin + table.size))
