"""Which kernels have an image for which target, per container.

Each translation unit registers its own container with the CUDA runtime, and its kernels from it.
An image for a target in one container does not help a kernel of another one, so the unit is a
kernel in a container. The same name can be in several (templates and other weak functions): the
linker keeps one host stub, and which container serves it depends on the order of registration.
So such a name counts once for each set of images that it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from wheelgrid.inspect.gpu.cuda import Container, ImageKind

__all__ = ["Coverage", "Group", "ImageKey", "cover"]

ImageKey = tuple[ImageKind, str, tuple[int, int]]
"""Kind, target and version (PTX ISA or cubin ABI) of an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Kernels that have the same set of images, and in how many containers that is so."""

    images: frozenset[ImageKey]
    kernels: frozenset[str]
    containers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """All kernels of one file, grouped; a name can be in several groups.

    A kernel lacks a device if its group has no image that runs there. `unlisted` are containers
    with a loadable image whose kernels are not known: of these nothing can be said.
    """

    groups: tuple[Group, ...]
    unlisted: int = 0


@dataclass(slots=True)
class _Growing:
    kernels: set[str] = field(default_factory=set)
    containers: int = 0


def _images_of(container: Container) -> dict[str, frozenset[ImageKey]] | None:
    """Each kernel with its images; None if the kernels of an image are not known."""
    lists: dict[tuple[str, ...], set[ImageKey]] = {}
    for image in container.images:
        if image.kind is ImageKind.LTO:  # no driver loads it
            continue
        if image.kernels is None:
            return None
        lists.setdefault(image.kernels, set()).add((image.kind, image.target, image.isa))
    if len(lists) == 1:  # as a rule every image has the same kernels
        ((names, keys),) = lists.items()
        return dict.fromkeys(names, frozenset(keys))
    found: dict[str, set[ImageKey]] = {}
    for names, keys in lists.items():
        for name in names:
            found.setdefault(name, set()).update(keys)
    return {name: frozenset(keys) for name, keys in found.items()}


def cover(containers: Iterable[Container]) -> Coverage:
    """Group the kernels of containers that were read with `kernels=True`."""
    growing: dict[frozenset[ImageKey], _Growing] = {}
    unlisted = 0
    for container in containers:
        found = _images_of(container)
        if found is None:
            unlisted += 1
            continue
        touched: dict[frozenset[ImageKey], list[str]] = {}
        for name, keys in found.items():
            touched.setdefault(keys, []).append(name)
        for keys, names in touched.items():
            group = growing.setdefault(keys, _Growing())
            group.kernels.update(names)
            group.containers += 1
    groups = [
        Group(images=keys, kernels=frozenset(group.kernels), containers=group.containers)
        for keys, group in growing.items()
    ]
    groups.sort(key=lambda group: sorted(group.images))
    return Coverage(groups=tuple(groups), unlisted=unlisted)
