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


def _majors(library: Library) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in library.needed:
        for vendor, pattern in _VERSIONED.items():
            match = pattern.match(PurePosixPath(name).name)
            if match:
                major = match[1][:2] if vendor == "CUDA" else match[1]
                found.setdefault(vendor, set()).add(major)
    return found


def _process(library: Library, known: dict[str, Library]) -> list[Library]:
    """The files of the wheel that a process has once it loads one of them."""
    left, seen = [library], {library.path: library}
    while left:
        for name in left.pop().needed:
            other = known.get(PurePosixPath(name).name)
            if other is not None and other.path not in seen:
                seen[other.path] = other
                left.append(other)
    return list(seen.values())


def runtime_majors(subject: Subject) -> Iterator[Finding]:
    """WG409: two majors of one runtime in one process fail; in files apart, they warn."""
    known = {PurePosixPath(one.path).name: one for one in subject.libraries}
    known |= {one.soname: one for one in subject.libraries if one.soname}
    everywhere: dict[str, dict[str, str]] = {}
    failed = set()
    for library in subject.libraries:
        together: dict[str, dict[str, str]] = {}
        for part in _process(library, known):
            for vendor, majors in _majors(part).items():
                for major in majors:
                    together.setdefault(vendor, {}).setdefault(major, part.path)
        for vendor, found in together.items():
            for major, path in found.items():
                everywhere.setdefault(vendor, {}).setdefault(major, path)
            if len(found) > 1:
                failed.add(vendor)
                parts = " and ".join(f"{m} ({found[m]})" for m in sorted(found, key=int))
                text = f"loads the {vendor} runtime in two major versions: {parts}"
                yield error("WG409", text, library.path)
    for vendor, found in everywhere.items():
        if len(found) > 1 and vendor not in failed:
            parts = " and ".join(f"{m} ({found[m]})" for m in sorted(found, key=int))
            text = (
                f"files of the wheel need the {vendor} runtime in several major versions: {parts}"
            )
            yield warning("WG409", f"{text}; a process can load those of one alone")
