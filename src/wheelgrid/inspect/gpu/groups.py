"""Containers of CUDA that are built alike, counted, with the section that they lie in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wheelgrid.inspect.gpu.coverage import ImageKey, cover
from wheelgrid.inspect.gpu.cuda import Container, ImageKind

__all__ = ["CudaGroup", "Place", "group"]

Place = tuple[str, int, int]
"""A named part of a file: name, begin, end."""


@dataclass(frozen=True, slots=True)
class CudaGroup:
    """Containers with the same images in one section, which is empty outside of all sections.

    Each translation unit has one container, so a group is a set of units built alike. `kernels`
    is None where they were not listed.
    """

    section: str
    images: frozenset[ImageKey]
    containers: int
    kernels: frozenset[str] | None = None

    @property
    def loadable(self) -> bool:
        """Whether the driver gets it: relocatable code is input of the linker alone."""
        return not self.section.startswith("__nv_rel")


def _by_section(
    sections: Sequence[Place], found: Sequence[Container]
) -> dict[str, list[Container]]:
    """Containers by section; most lie where the one before does."""
    parts: dict[str, list[Container]] = {}
    begin = end = 0
    name = ""
    for container in found:
        if not begin <= container.offset < end:
            name, begin, end = next(
                (s for s in sections if s[1] <= container.offset < s[2]), ("", 0, 0)
            )
        parts.setdefault(name, []).append(container)
    return parts


def _may_run(container: Container) -> Iterator[bool]:
    """Per image, whether it has kernels, or may have some as nobody looked."""
    return (
        i.kind is ImageKind.LTO or i.kernels is None or bool(i.kernels) for i in container.images
    )


def _images(container: Container, *, unlisted: bool) -> frozenset[ImageKey]:
    """Images of a container; with `unlisted` those whose kernels are not told by the others."""
    images = container.images
    if unlisted and all(i.kernels is not None for i in images if i.kind is not ImageKind.LTO):
        images = tuple(i for i in images if i.kind is ImageKind.LTO)
    return frozenset((i.kind, i.target, i.isa) for i in images)


def group(
    sections: Sequence[Place], found: Sequence[Container], *, kernels: bool
) -> Iterator[CudaGroup]:
    """Containers, or with `kernels` the kernels in them, that have the same images."""
    for name, containers in _by_section(sections, found).items():
        if kernels:
            for same in cover(containers).groups:
                yield CudaGroup(name, same.images, same.containers, same.kernels)
            empty = [c for c in containers if c.images and not any(_may_run(c))]
            for images, n in Counter(_images(c, unlisted=False) for c in empty).items():
                yield CudaGroup(name, images, n, frozenset())
        counts = Counter(_images(c, unlisted=kernels) for c in containers)
        yield from (CudaGroup(name, images, n) for images, n in counts.items() if images)
