"""Why a wheel's tags do not fit a target, in words."""

from __future__ import annotations

import re

from packaging.tags import Tag

from wheelgrid.core.platform_tags import glibc_promise
from wheelgrid.core.targets import Target

__all__ = ["tags_problem"]

_CPYTHON = re.compile(r"cp([0-9])([0-9]{1,3})\Z")
_MACOS = re.compile(r"macosx_([0-9]+)_([0-9]+)_")


def _platform_problem(tags: frozenset[Tag], target: Target) -> str:
    platforms = sorted({tag.platform for tag in tags})
    if any(p == "any" or p in target.platforms for p in platforms):
        return ""
    shown = ".".join(platforms)
    system, _, arch = target.platform.value.partition("_")
    same = [p for p in platforms if p.endswith("_" + arch)]
    needs = [floor for p in same if (floor := glibc_promise(p))]
    if needs and system == "linux":
        return f"needs glibc {needs[0][0]}.{needs[0][1]}, the target has {target.system}"
    if needs and system == "musllinux":
        return f"is for glibc ({shown}); the target has musl, which takes no manylinux wheel"
    macos = [m for p in platforms if (m := _MACOS.match(p))]
    if macos and system == "macosx" and (same or any("universal2" in p for p in platforms)):
        return f"needs macOS {macos[0][1]}.{macos[0][2]}, the target has {target.system}"
    return f"is for {shown}, not {target.platform}"


def _version(interpreter: str) -> tuple[int, int] | None:
    match = _CPYTHON.match(interpreter)
    return (int(match[1]), int(match[2])) if match else None


def _stable_problem(tag: Tag, target: Target) -> str:
    """Why a stable-ABI wheel does not load: the other kind of build, or too new a floor."""
    floor = _version(tag.interpreter)
    if floor is None:
        return ""
    free = target.python.free_threaded
    if tag.abi == "abi3" and free:
        return f"abi3 wheels do not load in the free-threaded Python {target.python} (PEP 703)"
    if tag.abi == "abi3t" and not free:
        return f"abi3t alone does not load in Python {target.python}: that needs abi3 (PEP 803)"
    if floor > target.python.release:
        return f"its stable ABI begins with Python {floor[0]}.{floor[1]}, not {target.python}"
    return ""


def tags_problem(tags: frozenset[Tag], target: Target) -> tuple[str, str]:
    """Code (`platform-tag`, `abi-tag`, `python-tag`) and reason for tags that do not fit."""
    problem = _platform_problem(tags, target)
    if problem:
        return "platform-tag", problem
    pairs = sorted({(tag.interpreter, tag.abi) for tag in tags})
    stable = [s for tag in sorted(tags, key=str) if (s := _stable_problem(tag, target))]
    if stable and all(abi in {"abi3", "abi3t"} for _, abi in pairs):
        own = [s for s in stable if ("begins" in s)] or stable
        return "abi-tag", own[0]
    shown = ", ".join(f"{interpreter}-{abi}" for interpreter, abi in pairs)
    python = target.python
    if any(interpreter == python.interpreter_tag for interpreter, _ in pairs):
        kind = "free-threaded" if python.free_threaded else "default"
        return "abi-tag", f"is for {shown}; the {kind} build of {python} has the ABI {python.tag}"
    return "python-tag", f"is for {shown}, not {python.tag}"
