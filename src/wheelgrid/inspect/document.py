"""What was read of a wheel, as the JSON that `wheelgrid inspect` prints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wheelgrid.inspect.gpu.cuda import ImageKind
from wheelgrid.inspect.gpu.metal import Metallib
from wheelgrid.inspect.gpu.sycl import SyclCode
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.native import CudaGroup, DeviceCode
from wheelgrid.inspect.order import by_number
from wheelgrid.inspect.runtimes import jit_compilers, runtimes
from wheelgrid.inspect.torch_abi import TorchAbi
from wheelgrid.inspect.wheel import Wheel

__all__ = ["library_document", "wheel_document"]

_SHOWN = 20


def _floors(library: Library) -> dict[str, Any]:
    """The highest versions, and which symbol of which library causes each."""
    texts: dict[str, Any] = dict.fromkeys(("glibc", "glibcxx", "cxxabi", "gcc"))
    causes = {}
    for floor in library.floors:
        texts[floor.family.lower()] = floor.text
        causes[floor.family.lower()] = {"library": floor.library, "symbol": floor.symbol}
    return {**texts, "causes": causes}


def _python(library: Library) -> dict[str, Any]:
    found = library.python
    return {
        "kind": found.kind,
        "floor": f"3.{found.floor}" if found.floor else None,
        "floor_symbol": found.floor_symbol,
        "outside": list(found.outside[:_SHOWN]),
        "outside_count": len(found.outside),
        "symbols": found.symbols,
        "free_threaded": found.free_threaded,
        "dll": found.dll,
    }


def _cuda(groups: Iterable[CudaGroup]) -> dict[str, list[str]]:
    found: dict[ImageKind, set[str]] = {kind: set() for kind in ImageKind}
    for group in groups:
        for kind, target, _isa in group.images:
            found[kind].add(target)
    return {kind.value: by_number(found[kind]) for kind in ImageKind}


def _sets(groups: Iterable[CudaGroup]) -> list[dict[str, Any]]:
    """Groups of translation units that were built for the same targets, the largest first."""
    rows = [
        {
            "section": group.section,
            "loadable": group.loadable,
            "images": by_number(target for _kind, target, _isa in group.images),
            "ptx_isa": ".".join(map(str, max(_isas(group)))) if _isas(group) else None,
            "containers": group.containers,
            "kernels": sorted(group.kernels) if group.kernels is not None else None,
        }
        for group in groups
    ]
    return sorted(rows, key=lambda r: (-r["containers"], r["section"], r["images"]))


def _isas(group: CudaGroup) -> list[tuple[int, int]]:
    return [isa for kind, _target, isa in group.images if kind is ImageKind.PTX]


def _gpu(code: DeviceCode) -> dict[str, Any]:
    loadable = [g for g in code.cuda if g.loadable]
    relocatable = [g for g in code.cuda if not g.loadable]
    rocm = by_number(target for bundle in code.bundles for target in bundle.targets)
    return {
        "cuda": {**_cuda(loadable), "relocatable": _cuda(relocatable), "sets": _sets(code.cuda)}
        if code.cuda
        else None,
        "rocm": rocm,
        "rocm_kernels": _rocm_kernels(code),
        "kpack": code.kpack,
        "sycl": _sycl(code.sycl) if code.sycl else None,
        "metal": _metal(code.metallib) if code.metallib else None,
    }


def _rocm_kernels(code: DeviceCode) -> dict[str, list[str]] | None:
    """Kernels by target; None where they were not listed."""
    listed = [b.kernels for b in code.bundles if b.kernels is not None]
    if not listed:
        return None
    targets = by_number(target for kernels in listed for target in kernels)
    return {t: sorted({n for kernels in listed for n in kernels.get(t, ())}) for t in targets}


def _sycl(code: SyclCode) -> dict[str, Any]:
    return {"aot": by_number(code.devices), "spirv": code.spirv}


def _metal(library: Metallib) -> dict[str, Any]:
    return {
        "platform": library.platform,
        "os_version": ".".join(map(str, library.os_version)),
        "air": ".".join(map(str, library.air)) if library.air else None,
        "language": ".".join(map(str, library.language)) if library.language else None,
        "functions": library.functions,
    }


def _torch(found: TorchAbi | None) -> dict[str, Any] | None:
    return None if found is None else found.document()


def library_document(library: Library, torch: TorchAbi | None) -> dict[str, Any]:
    """One native file."""
    return {
        "path": library.path,
        "size": library.size,
        "known": False,
        "format": library.format,
        "kind": library.kind,
        "machines": list(library.machines),
        "minimum_os": library.minimum_os,
        "soname": library.soname,
        "needed": list(library.needed),
        "rpath": list(library.rpath),
        "runpath": list(library.runpath),
        **_floors(library),
        "python_abi": _python(library),
        "torch_abi": _torch(torch),
        "gpu": _gpu(library.device),
        "runtimes": runtimes(library),
        "jit": jit_compilers(library),
        "debug_bytes": library.debug,
        "damage": list(library.damage),
    }


def wheel_document(wheel: Wheel, libraries: list[dict[str, Any]]) -> dict[str, Any]:
    """One wheel with its native files, in the order of the archive."""
    name = wheel.name
    damage = [{"path": path, "problem": text} for path, text in wheel.damage]
    unread = [
        {"path": m.path, "problem": m.unreadable} for m in wheel.members.values() if m.unreadable
    ]
    return {
        "wheel": wheel.file,
        "size": wheel.size,
        "distribution": name.distribution if name else None,
        "version": str(name.version) if name else None,
        "tags": sorted(map(str, name.tags)) if name else [],
        "name_error": wheel.name_error,
        "requires_python": str(wheel.metadata.get("Requires-Python", "")) if wheel.metadata else "",
        "requires_dist": list(map(str, wheel.metadata.get_all("Requires-Dist") or []))
        if wheel.metadata
        else [],
        "members": wheel.count,
        "jit_sources": {tool: sorted(paths) for tool, paths in sorted(wheel.jit.items())},
        "complete": not damage and not unread and not any(x["damage"] for x in libraries),
        "damage": damage + unread,
        "libraries": libraries,
    }
