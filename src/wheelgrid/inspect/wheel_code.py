"""The device code of a wheel's files, as run rules take it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wheelgrid.inspect.device_code import CodeGroup, DeviceCode, Image, ImageKind
from wheelgrid.inspect.folder import is_native, read_folder
from wheelgrid.inspect.gpu import rocm, sycl
from wheelgrid.inspect.gpu.cuda import ImageKind as CudaKind
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.native import CudaGroup
from wheelgrid.inspect.runtimes import jit_compilers, runtimes
from wheelgrid.inspect.wheel import Reading, read_wheel

__all__ = ["device_code", "library_code"]

_CUDA = {
    CudaKind.ELF: ImageKind.CUBIN,
    CudaKind.PTX: ImageKind.PTX,
    CudaKind.LTO: ImageKind.LTO,
}
_UNPAIRED = "images for different devices were not paired by kernel: each is taken to hold them all"
_LOOSE = "containers outside .nv_fatbin were joined by the names of their kernels"


def _cuda(group: CudaGroup) -> CodeGroup:
    images = frozenset(
        Image(kind=_CUDA[kind], target=target, isa=isa if kind is CudaKind.PTX else ())
        for kind, target, isa in group.images
    )
    return CodeGroup(
        images=images, kernels=group.kernels, containers=group.containers, loadable=group.loadable
    )


def _is_unit(group: CudaGroup) -> bool:
    """Whether each container is one translation unit, as in the section that nvcc writes."""
    return not group.section or group.section.startswith(".nv_fatb") or not group.loadable


def _is_link_time(group: CudaGroup) -> bool:
    return all(kind is CudaKind.LTO for kind, _target, _isa in group.images)


def _loose(groups: list[CudaGroup]) -> Iterator[CodeGroup]:
    """Containers that a library registers by itself, often one image each (cuFFT): by kernel."""
    number = sum(group.containers for group in groups)
    if any(group.kernels is None for group in groups):
        union = frozenset(image for group in groups for image in _cuda(group).images)
        yield CodeGroup(images=union, containers=number)
        return
    found: dict[str, set[Image]] = {}
    for group in groups:
        for name in group.kernels or ():
            found.setdefault(name, set()).update(_cuda(group).images)
    sets: dict[frozenset[Image], set[str]] = {}
    for name, own in found.items():
        sets.setdefault(frozenset(own), set()).add(name)
    for images, names in sets.items():
        yield CodeGroup(images=images, kernels=frozenset(names), containers=number)


def _code_objects(targets: frozenset[str]) -> frozenset[Image]:
    return frozenset(Image(kind=ImageKind.CODE_OBJECT, target=target) for target in targets)


def _rocm(bundle: rocm.Bundle) -> Iterator[CodeGroup]:
    """By kernel where the kernels of every target are known, otherwise the bundle as one unit."""
    if bundle.kernels is None or set(bundle.kernels) != set(bundle.targets):
        if bundle.targets:
            yield CodeGroup(images=_code_objects(frozenset(bundle.targets)))
        return
    targets: dict[str, set[str]] = {}
    for target, names in bundle.kernels.items():
        for name in names:
            targets.setdefault(name, set()).add(target)
    groups: dict[frozenset[str], set[str]] = {}
    for name, found in targets.items():
        groups.setdefault(frozenset(found), set()).add(name)
    for found_targets, kernels in groups.items():
        yield CodeGroup(images=_code_objects(found_targets), kernels=frozenset(kernels))


def _archive(archive: sycl.OclocArchive) -> frozenset[Image]:
    generic = {Image(kind=ImageKind.GENERIC_IR)} if archive.generic_ir else set()
    return frozenset({Image(kind=ImageKind.AOT, target=d) for d in archive.devices} | generic)


def _sycl(code: sycl.SyclCode) -> tuple[list[CodeGroup], bool]:
    """Groups, and whether images were joined without knowing that they hold the same kernels."""
    late = {Image(kind=ImageKind.SPIRV)} if any(m.entries for m in code.modules) else set()
    sets = {_archive(archive) for archive in code.archives}
    images = frozenset(late.union(*sets))
    if not images:
        return [], False
    number = len(code.archives) or sum(bool(m.entries) for m in code.modules)
    return [CodeGroup(images=images, containers=number)], len(sets) + bool(late) > 1


def library_code(library: Library) -> DeviceCode:
    """The device code of one file; damage to its device code is `unread`."""
    device = library.device
    groups = [_cuda(g) for g in device.cuda if _is_unit(g) and g.kernels != frozenset()]
    loose = [group for group in device.cuda if not _is_unit(group) and not _is_link_time(group)]
    groups += _loose(loose) if loose else ()
    groups += [group for bundle in device.bundles for group in _rocm(bundle)]
    joined = False
    if device.sycl:
        found, joined = _sycl(device.sycl)
        groups += found
    if device.metallib:
        metal = device.metallib
        image = Image(kind=ImageKind.METALLIB, target=metal.platform, isa=metal.os_version)
        groups.append(CodeGroup(images=frozenset({image})))
    kpack = ("kernels lie in .kpack files apart",) if device.kpack else ()
    return DeviceCode(
        path=library.path,
        groups=tuple(groups),
        jit_sources=tuple(jit_compilers(library)),
        runtimes=runtimes(library),
        unread=(*library.damage, *kpack),
        notes=(*((_UNPAIRED,) if joined else ()), *((_LOOSE,) if loose else ())),
    )


def device_code(place: Path) -> tuple[DeviceCode, ...]:
    """Every native file of a wheel, an installed tree or one file; what could not be read; and
    compilers in its Python files.
    """
    how = Reading(kernels=True)
    if place.is_dir() or is_native(place):
        found = read_folder(place, how)
    else:
        found = read_wheel(place, how)
    files = [library_code(library) for library in found.libraries]
    files += [DeviceCode(path=path or place.name, unread=(why,)) for path, why in found.damage]
    files += [
        DeviceCode(path=m.path, unread=(m.unreadable,))
        for m in found.members.values()
        if m.unreadable
    ]
    files += [
        DeviceCode(path=f"Python files that use {tool}", jit_sources=(tool,))
        for tool in sorted(found.jit)
    ]
    return tuple(files)
