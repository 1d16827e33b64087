"""Rules on what the dynamic loader will do: WG402, WG403, WG406, WG407, WG409."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from wheelgrid.inspect.findings import Finding, error, shown, warning
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.runtimes import runtimes
from wheelgrid.inspect.subject import Subject

__all__ = ["layout", "runtime_majors", "search_paths", "version_files"]

_ORIGIN = re.compile(r"\$(?:ORIGIN|\{ORIGIN\})(?=/|\Z)")
_NVIDIA = re.compile(r"(?:^|/)nvidia/([a-z0-9_]+)/lib/?\Z")
_ONE_FOLDER = re.compile(r"cu(1[3-9]|[2-9][0-9])\Z")
_MOVED = frozenset(
    {
        "cuda_runtime", "cuda_nvrtc", "cuda_cupti", "cublas", "cufft", "curand", "cusolver",
        "cusparse", "nvjitlink", "nvtx", "cufile", "nvjpeg", "npp", "nvfatbin",
    }
)  # fmt: skip
"""Folders of CUDA 12's packages that are one folder, nvidia/cu13, since CUDA 13.

Seen in the wheels that torch 2.14.1 requires; cudnn, cusparselt, nccl and nvshmem kept their own.
"""
_FIRST_ONE_FOLDER = 13
_VERSIONED = {
    "CUDA": re.compile(r"(?:libcudart\.so\.|cudart64_)([0-9]{1,3})"),
    "ROCm": re.compile(r"(?:libamdhip64\.so\.|amdhip64_)([0-9]{1,2})"),
    "SYCL": re.compile(r"(?:libsycl\.so\.|sycl)([0-9]{1,2})(?:\.dll)?\Z"),
}


def version_files(subject: Subject) -> Iterator[Finding]:
    """WG402: version needs and DT_NEEDED name the same libraries."""
    for library in subject.libraries:
        for name in sorted(set(library.version_files) - set(library.needed)):
            yield error("WG402", f"asks versions of {name} without needing it", library.path)


def _leaves(runpath: str, path: str) -> bool:
    """Whether a RUNPATH entry of a member points outside the installation folder.

    An empty entry is the working directory of whoever loads it (ld.so(8)).
    """
    match = _ORIGIN.match(runpath)
    if match is None:
        return True
    inside = posixpath.normpath(posixpath.dirname(path) + runpath[match.end() :])
    return inside.startswith(("..", "/"))


def search_paths(subject: Subject) -> Iterator[Finding]:
    """WG403 and WG406: where the loader looks, and in which of the two lists."""
    old = []
    for library in subject.libraries:
        if library.format != "ELF":
            continue
        for kind, entries in (("RPATH", library.rpath), ("RUNPATH", library.runpath)):
            for entry in entries:
                if _leaves(entry, library.path):
                    yield error("WG403", f"has {kind} {entry or '(empty)'}", library.path)
        if library.rpath and not library.runpath:
            old.append(library.path)
    if old:
        yield warning("WG406", f"has RPATH instead of RUNPATH, as {len(old)} files do", old[0])


def _cuda_major(subject: Subject, library: Library) -> int | None:
    """The CUDA that a file is for, by what it needs, else by the label."""
    found = runtimes(library).get("cuda")
    if found:
        return int(found)
    label = subject.label
    if label.family is None or label.family != "cuda" or label.toolkit is None:
        return None
    return label.toolkit.versions[0].major


def layout(subject: Subject) -> Iterator[Finding]:
    """WG407: of the entries into nvidia/, one must be right for the CUDA of the file."""
    for library in subject.libraries:
        entries = (*library.rpath, *library.runpath)
        folders = {m[1] for entry in entries if (m := _NVIDIA.search(entry))}
        major = _cuda_major(subject, library)
        judged = {f for f in folders if f in _MOVED or _ONE_FOLDER.match(f)}
        if major is None or not judged:
            continue
        one_folder = major >= _FIRST_ONE_FOLDER
        right = {f"cu{major}"} & judged if one_folder else judged & _MOVED
        if not right:
            wanted = f"nvidia/cu{major}/lib" if one_folder else "nvidia/<component>/lib"
            has = shown(f"nvidia/{folder}/lib" for folder in sorted(judged))
            text = f"has RUNPATH to {has}; the packages of CUDA {major} are in {wanted}"
            yield error("WG407", text, library.path)


Major = tuple[str, str]
"""A vendor's runtime and its major version."""


def _majors(library: Library) -> set[Major]:
    found = set()
    for name in library.needed:
        for vendor, pattern in _VERSIONED.items():
            match = pattern.match(PurePosixPath(name).name)
            if match:
                found.add((vendor, match[1][:2] if vendor == "CUDA" else match[1]))
    return found


def _loaded_by(libraries: tuple[Library, ...]) -> dict[str, list[str]]:
    """For each file of the wheel, the files that load it."""
    known = {PurePosixPath(one.path).name: one.path for one in libraries}
    known |= {one.soname: one.path for one in libraries if one.soname}
    found: dict[str, list[str]] = {}
    for library in libraries:
        for name in library.needed:
            path = known.get(PurePosixPath(name).name)
            if path is not None and path != library.path:
                found.setdefault(path, []).append(library.path)
    return found


def _in_process(libraries: tuple[Library, ...]) -> dict[str, dict[Major, str]]:
    """The runtimes that a process has once it loads a file, each with the file that needs it.

    Each file hands on what it needs to those that load it, until nothing is new.
    """
    loaded_by = _loaded_by(libraries)
    found = {one.path: dict.fromkeys(_majors(one), one.path) for one in libraries}
    left = [path for path, majors in found.items() if majors]
    while left:
        path = left.pop()
        for other in loaded_by.get(path, []):
            new = {m: origin for m, origin in found[path].items() if m not in found[other]}
            if new:
                found[other] |= new
                left.append(other)
    return found


def _by_vendor(majors: dict[Major, str]) -> dict[str, str]:
    """Vendors that are there in several majors: which, and in which files, in words."""
    vendors: dict[str, dict[str, str]] = {}
    for (vendor, major), path in majors.items():
        vendors.setdefault(vendor, {})[major] = path
    return {
        vendor: " and ".join(f"{m} ({found[m]})" for m in sorted(found, key=int))
        for vendor, found in vendors.items()
        if len(found) > 1
    }


def runtime_majors(subject: Subject) -> Iterator[Finding]:
    """WG409: two majors of one runtime in one process fail; in files apart, they warn."""
    everywhere: dict[Major, str] = {}
    failed = set()
    for path, majors in _in_process(subject.libraries).items():
        for major, origin in majors.items():
            everywhere.setdefault(major, origin)
        for vendor, parts in _by_vendor(majors).items():
            failed.add(vendor)
            yield error("WG409", f"loads the {vendor} runtime in two major versions: {parts}", path)
    for vendor, parts in _by_vendor(everywhere).items():
        if vendor not in failed:
            text = f"files of the wheel need the {vendor} runtime in several major versions"
            yield warning("WG409", f"{text}: {parts}; a process can load those of one alone")
