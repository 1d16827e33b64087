"""Imports the build sets of a Hugging Face kernel: build.toml and the list of versions.

The filter is that of huggingface/kernels, nix-builder/lib/build.nix: the backends that the kernel
names, within its bounds for CUDA and torch; with the torch stable ABI only the newest torch of a
backend version is built; a bundle holds the sets that say so.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wheelgrid.config.yaml import nearest
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.importers.document import Document, identifier, render
from wheelgrid.importers.report import Finding, Imported, Json, Level, Place, canonical
from wheelgrid.importers.versions import BACKENDS, BuildSet, Getter, read_versions

__all__ = ["compare_versions", "import_kernels"]

_Rows = list[tuple[BuildSet, str]]
_MIN_CUDA, _MIN_TORCH, _MAX = "11.8", "2.0", "99.9"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kernel:
    """What a build.toml says about what is built."""

    name: str
    backends: tuple[str, ...]
    torch: tuple[str, str] = (_MIN_TORCH, _MAX)
    cuda: tuple[str, str] = (_MIN_CUDA, _MAX)
    tvm_ffi: bool = False
    stable_abi: frozenset[str] = frozenset()


def compare_versions(left: str, right: str) -> int:
    """Compare as Nix does (`builtins.compareVersions`): -1, 0 or 1."""
    one, two = (re.findall(r"[0-9]+|[^0-9.-]+", text) for text in (left, right))
    for index in range(max(len(one), len(two))):
        a = one[index] if index < len(one) else ""
        b = two[index] if index < len(two) else ""
        if a != b:
            return -1 if _before(a, b) else 1
    return 0


def _before(a: str, b: str) -> bool:
    if a.isdigit() and b.isdigit():
        return int(a) < int(b)
    if a == "" and b.isdigit():
        return True
    if a == "pre":
        return b != "pre"
    if b == "pre":
        return False
    return (b.isdigit() or a < b) and not a.isdigit()


def _section(data: object, *names: str) -> dict[str, object]:
    for name in names:
        data = data.get(name, {}) if isinstance(data, dict) else {}
    return data if isinstance(data, dict) else {}


def _bounds(getter: Getter, section: dict[str, object], default: str) -> tuple[str, str]:
    low = getter.text("minver", section["minver"]) if "minver" in section else default
    high = getter.text("maxver", section["maxver"]) if "maxver" in section else _MAX
    if low and high and compare_versions(low, high) > 0:
        getter.fault(f"minver {low} is above maxver {high}")
    return low, high


def _stable_abi(section: dict[str, object]) -> frozenset[str]:
    given = section.get("stable-abi")
    if isinstance(given, str):
        return frozenset(BACKENDS)
    return frozenset(given) if isinstance(given, dict) else frozenset()


def _read_build(text: str, file: str) -> _Kernel:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of thousands of digits
        message = f"is not TOML: {str(error)[:200]}"
        raise BadInputError([Fault(file=file, message=message)]) from error
    getter = Getter(Place(file=file))
    general = _section(data, "general")
    backends: tuple[str, ...] = ()
    if "backends" not in general:
        getter.fault(
            "general.backends is missing",
            hint="an older build.toml: `kernel-builder update-build build.toml` renews it",
        )
    else:
        backends = getter.texts("general.backends", general["backends"])
    for backend in backends:
        if backend and backend not in BACKENDS:
            hint = nearest(backend, list(BACKENDS))
            getter.fault(f"general.backends: unknown backend {backend!r}", hint)
    torch = _section(data, "torch")
    kernel = _Kernel(
        name=getter.text("general.name", general.get("name", "kernel")),
        backends=backends,
        torch=_bounds(getter, torch, _MIN_TORCH),
        cuda=_bounds(getter, _section(general, "cuda"), _MIN_CUDA),
        tvm_ffi="tvm-ffi" in data,
        stable_abi=_stable_abi(torch),
    )
    if getter.faults:
        raise BadInputError(getter.faults)
    return kernel


def _within(version: str, bounds: tuple[str, str]) -> bool:
    low, high = bounds
    return compare_versions(version, low) >= 0 and compare_versions(version, high) <= 0


def _rows(sets: Iterable[BuildSet]) -> _Rows:
    return [(one, system) for one in sets for system in one.systems]


def _why_not(kernel: _Kernel, one: BuildSet) -> str:
    """Why a kernel does not build a set; empty where it does."""
    if one.backend not in kernel.backends:
        return f"backend {one.backend} is not in general.backends"
    if one.backend == "cuda" and not _within(one.version, kernel.cuda):
        return f"CUDA {one.version} is outside general.cuda {kernel.cuda[0]} to {kernel.cuda[1]}"
    if kernel.tvm_ffi and not one.tvm_ffi:
        return "a tvm-ffi kernel, and the set has no tvm-ffi version"
    if not _within(one.torch, kernel.torch):
        return f"torch {one.torch} is outside torch {kernel.torch[0]} to {kernel.torch[1]}"
    return ""


def _newest(kernel: _Kernel, rows: _Rows) -> Callable[[BuildSet, str], str]:
    """With the stable ABI one build serves later torch: only the newest is made."""
    best: dict[tuple[str, str, str], str] = {}
    for one, system in rows:
        key = (one.backend, one.version, system)
        if key not in best or compare_versions(one.torch, best[key]) > 0:
            best[key] = one.torch

    def why(one: BuildSet, system: str) -> str:
        newest = best[one.backend, one.version, system]
        if one.backend in kernel.stable_abi and one.torch != newest:
            return f"stable ABI: the build for torch {newest} serves torch {one.torch}"
        return ""

    return why


def _select(
    kernel: _Kernel | None, sets: list[BuildSet], *, bundle_only: bool
) -> tuple[_Rows, Counter[str]]:
    """The rows to build, and how many rows each reason leaves out."""
    left_out: Counter[str] = Counter()

    def keep(rows: _Rows, why: Callable[[BuildSet, str], str]) -> _Rows:
        found = []
        for one, system in rows:
            reason = why(one, system)
            if reason:
                left_out[reason] += 1
            else:
                found.append((one, system))
        return found

    rows = _rows(sets)
    if kernel is None:
        return rows, left_out
    rows = keep(rows, lambda one, _: _why_not(kernel, one))
    rows = keep(rows, _newest(kernel, rows))
    if bundle_only:
        rows = keep(rows, lambda one, _: "" if one.bundle else "not part of a bundle")
    return rows, left_out


def _added(rows: _Rows) -> list[dict[str, Json]]:
    """Rows as `add` has them: the systems of one build set share a row."""
    grouped: dict[BuildSet, list[Json]] = {}
    for one, system in rows:
        grouped.setdefault(one, []).append(system)
    return [
        {
            "torch": one.torch,
            "backend": one.backend,
            "version": one.version,
            "system": systems[0] if len(systems) == 1 else systems,
            "bundle": one.bundle,
        }
        for one, systems in grouped.items()
    ]


def _cells(rows: _Rows) -> list[dict[str, Json]]:
    return [
        {
            "torch": one.torch,
            "backend": one.backend,
            "version": one.version,
            "system": system,
            "bundle": one.bundle,
        }
        for one, system in rows
    ]


def import_kernels(
    build: str, versions: str, *, names: tuple[str, str], files: tuple[str, str], bundle: bool
) -> Imported:
    """The matrix of a kernel. An empty `build` means every set of the list.

    `names` are written into the matrix and `files` are shown in faults: of the build.toml and of
    the versions list. With `bundle` only the sets of a bundle are kept.
    """
    kernel = _read_build(build, files[0]) if build else None
    sets = read_versions(versions, file=files[1])
    rows, left_out = _select(kernel, sets, bundle_only=bundle)
    name = identifier(kernel.name if kernel is not None else "build-sets")
    result = Imported(job=name, name=name, candidates=len(_rows(sets)))
    seen: dict[str, None] = {}
    for one, system in list(rows):
        key = canonical(_cells([(one, system)])[0])
        if key in seen:
            rows.remove((one, system))
            message = f"torch {one.torch} {one.backend}{one.version} {system} is listed twice"
            result.findings.append(
                Finding(level=Level.NOTE, code="duplicate-row", message=message, place=one.place)
            )
        seen[key] = None
    reasons = [f"{count} left out: {reason}" for reason, count in sorted(left_out.items())]
    place = Place(file=files[1])
    result.findings += [
        Finding(level=Level.NOTE, code="left-out", message=text, place=place) for text in reasons
    ]
    result.cells = _cells(rows)
    source = f"{names[0]} and {names[1]}" if build else names[1]
    header = (
        f"Imported by wheelgrid from {source}.",
        f"{result.candidates} rows of the list, {len(rows)} cells.",
        *reasons,
    )
    if not rows:
        message = "no row of the list is left: there is nothing to build"
        result.findings.append(
            Finding(level=Level.ERROR, code="empty", message=message, place=place)
        )
        return result
    title = f"{name} of {source}"
    result.text = render(Document(name=name, title=title, header=header, add=tuple(_added(rows))))
    return result
