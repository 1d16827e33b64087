"""One pass over a native file: device code is read where it lies, the rest is kept or passed by.

Containers of device code are found by their magic at places where linkers align them: CUDA's at
multiples of 8 (section 8-aligned, containers padded to 8), HIP's at multiples of 4096. What is
inside a container is never searched, as compressed code may hold any bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wheelgrid.inspect.gpu import cuda, rocm
from wheelgrid.inspect.gpu.payload import Budget
from wheelgrid.inspect.stream import ByteStream, Pages, TruncatedError

__all__ = ["Found", "Keep", "Ranges", "scan"]

_STEP = 8
_PAGE = 4096
_RARE = 1
"""The byte of CUDA's magic that is looked for: 0xED is rare in code and in zeros."""
_OVERLAP = 64
_MAX_CONTAINERS = 200_000
_MARK_BEFORE = 48 << 20
_MOST_KEPT = 2 << 30
"""Bytes of one file that are kept at most; tables beyond are then missing, which is said."""
Ranges = Sequence[tuple[int, int]]
"""Sorted, disjoint pairs of begin and end."""


@dataclass(slots=True)
class Found:
    """Device code in the order of the file; `damage` says what was cut off."""

    containers: list[cuda.Container] = field(default_factory=list)
    bundles: list[rocm.Bundle] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether there are more containers than any library has."""
        return len(self.containers) + len(self.bundles) > _MAX_CONTAINERS


def _cuda_places(window: bytes, offset: int, size: int) -> Iterator[int]:
    """Places in the window, 8-aligned in the file, where CUDA's magic stands."""
    first = -offset % _STEP
    lane = window[first + _RARE : size + _RARE : _STEP]
    needle = cuda.MAGIC[_RARE : _RARE + 1]
    hit = lane.find(needle)
    while hit >= 0:
        place = first + hit * _STEP
        if window.startswith(cuda.MAGIC, place):
            yield place
        hit = lane.find(needle, hit + 1)


def _hip_places(window: bytes, offset: int, size: int) -> Iterator[int]:
    """Places in the window, page-aligned in the file, where a HIP bundle begins."""
    first = -offset % _PAGE
    lane = window[first:size:_PAGE]
    for letter in (b"C", b"_"):
        hit = lane.find(letter)
        while hit >= 0:
            place = first + hit * _PAGE
            if window.startswith((rocm.CCOB_MAGIC, rocm.BUNDLE_MAGIC), place):
                yield place
            hit = lane.find(letter, hit + 1)


@dataclass(slots=True)
class Keep:
    """Which parts of a file are kept: `ranges`, and `all_ranges` from where `mark` is seen in them.

    Few files need most of their bytes looked at again; a name in their first tables tells which.
    """

    ranges: Ranges
    all_ranges: Ranges = ()
    mark: bytes = b""
    left: int = _MOST_KEPT

    def take(self, pages: Pages, data: memoryview, offset: int) -> None:
        """Keep what is to be kept of bytes that begin at `offset`, within bounds."""
        if self.left > 0:
            self.left -= _keep(pages, data, offset, self.ranges)
        if self.all_ranges and offset < _MARK_BEFORE and self.mark in bytes(data):
            self.ranges, self.all_ranges = self.all_ranges, ()


def _keep(pages: Pages, data: memoryview, offset: int, keep: Ranges) -> int:
    """Keep the parts of bytes that begin at `offset` and lie in a range; how many."""
    end = offset + len(data)
    kept = 0
    at = max(0, bisect_right(keep, (offset, 1 << 62)) - 1)
    for begin, stop in keep[at:]:
        if begin >= end:
            break
        low, high = max(begin, offset), min(stop, end)
        if low < high:
            pages.write(low, data[low - offset : high - offset])
            kept += high - low
    return kept


def _read_at(stream: ByteStream, found: Found, budget: Budget, *, kernels: bool) -> bool:
    """Read the container that the stream stands at; whether there was one."""
    if stream.peek(4) == cuda.MAGIC[:4]:
        container = cuda.read_container(stream, kernels=kernels, budget=budget)
        if container is not None:
            found.containers.append(container)
        return container is not None
    bundle = rocm.read_bundle(stream, kernels=kernels)
    if bundle is not None:
        found.bundles.append(bundle)
    return bundle is not None


def _places(window: bytes, offset: int, size: int) -> list[int]:
    """Places in the file where device code may begin, in order."""
    found = [*_cuda_places(window, offset, size), *_hip_places(window, offset, size)]
    return [offset + place for place in sorted(found)]


def scan(stream: ByteStream, pages: Pages, keep: Keep, *, kernels: bool = False) -> Found:
    """Pass over the whole stream, read device code, keep what is asked for."""
    found = Found()
    budget = Budget()
    while window := stream.window():
        base, size, view = stream.offset, len(window), memoryview(window)
        usable = size if size >= pages.size - base else size - _OVERLAP
        for place in _places(window, base, usable):
            if place < stream.offset or found.full:
                continue  # inside of what was read
            _pass_by(stream, pages, keep, view[stream.offset - base : place - base])
            try:
                _read_at(stream, found, budget, kernels=kernels)
            except TruncatedError as error:
                found.damage.append(f"device code at {place}: {error}")
        if stream.offset < base + usable:
            _pass_by(stream, pages, keep, view[stream.offset - base : usable])
    if found.full:
        found.damage.append(f"more than {_MAX_CONTAINERS} containers of device code")
    return found


def _pass_by(stream: ByteStream, pages: Pages, keep: Keep, data: memoryview) -> None:
    """Keep what is to be kept of the next bytes, and skip them."""
    keep.take(pages, data, stream.offset)
    stream.skip(len(data))
