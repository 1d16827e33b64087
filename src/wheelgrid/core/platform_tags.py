"""Platform tags: which ones any installer asks for, what they promise, and likely misspellings.

Sources: packaging.python.org, platform compatibility tags; PEP 600 (manylinux), PEP 656
(musllinux); `packaging.tags.mac_platforms` for macOS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from packaging.tags import mac_platforms

__all__ = ["LEGACY_MANYLINUX", "glibc_promise", "linux_tags", "macos_tags", "musl_tags"]
__all__ += ["platform_fault"]

LEGACY_MANYLINUX = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
"""Older names of a glibc floor: manylinux2014 and manylinux_2_17 are one promise."""

_LINUX_ARCHS = (
    "x86_64", "i686", "aarch64", "armv7l", "armv6l", "ppc64le", "ppc64", "s390x", "riscv64",
    "loongarch64",
)  # fmt: skip
_OTHER_ARCH = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64", "x86": "i686"}
_WINDOWS = ("win32", "win_amd64", "win_arm64")
_OTHER_WINDOWS = {
    "win_x86_64": "win_amd64", "win64": "win_amd64", "windows_amd64": "win_amd64",
    "windows_x86_64": "win_amd64", "win_aarch64": "win_arm64", "win_x64": "win_amd64",
}  # fmt: skip
_MAC_ARCHS = ("arm64", "x86_64", "universal2", "intel", "i386", "universal", "fat", "fat64")
_OTHER_MAC = {"aarch64": "arm64", "amd64": "x86_64"}
_PERENNIAL = re.compile(r"(manylinux|musllinux)_([0-9]{1,3})_([0-9]{1,3})_(.+)\Z")
_LEGACY = re.compile(r"(manylinux1|manylinux2010|manylinux2014)_(.+)\Z")
_NO_ARCH = re.compile(r"(manylinux|musllinux)_[0-9]{1,3}_[0-9]{1,3}\Z|manylinux(1|2010|2014)\Z")
_SHORT = re.compile(r"(many|musl)linux([0-9]{1,3})_([0-9]{1,3})_(.+)\Z")
_MACOS = re.compile(r"macosx_([0-9]{1,4})_([0-9]{1,3})_(.+)\Z")
_MACOS_SHORT = re.compile(r"macosx_([0-9]{1,4})_([a-z].*)\Z")
_ELSEWHERE = re.compile(r"(ios|android|pyodide|pyemscripten|emscripten|wasi|freebsd)_")
_NEWEST_MACOS = 40
"""No macOS is near; a higher number is a version whose separator was lost (11_0 read as 110)."""
_FIRST_YEARLY = 11


def glibc_promise(tag: str) -> tuple[int, int] | None:
    """The glibc that a manylinux platform tag promises; None for other tags."""
    match = _PERENNIAL.match(tag)
    if match and match[1] == "manylinux":
        return int(match[2]), int(match[3])
    legacy = _LEGACY.match(tag)
    return LEGACY_MANYLINUX[legacy[1]] if legacy else None


def linux_tags(arch: str, glibc: tuple[int, int]) -> Iterator[str]:
    """What a Linux with this glibc installs, best first: every older floor, then `linux_*`."""
    oldest = 5 if arch in {"x86_64", "i686"} else 17
    legacy = {floor: name for name, floor in LEGACY_MANYLINUX.items()}
    for minor in range(glibc[1], oldest - 1, -1):
        yield f"manylinux_{glibc[0]}_{minor}_{arch}"
        if (glibc[0], minor) in legacy:
            yield f"{legacy[glibc[0], minor]}_{arch}"
    yield f"linux_{arch}"


def musl_tags(arch: str, musl: tuple[int, int]) -> Iterator[str]:
    """What a Linux with musl installs: no manylinux wheel at all (PEP 656)."""
    for minor in range(musl[1], -1, -1):
        yield f"musllinux_{musl[0]}_{minor}_{arch}"
    yield f"linux_{arch}"


def macos_tags(arch: str, macos: tuple[int, int]) -> Iterator[str]:
    """What a macOS of this version installs, best first."""
    yield from mac_platforms(macos, arch)


def _arch_fault(tag: str, arch: str) -> tuple[str, str]:
    if arch in _LINUX_ARCHS:
        return "", ""
    if arch in _OTHER_ARCH:
        better = tag.removesuffix(arch) + _OTHER_ARCH[arch]
        return f"platform {tag!r}: Linux tags say {_OTHER_ARCH[arch]}, not {arch}", better
    return f"platform {tag!r} has no architecture that installers know: {arch!r}", ""


def _macos_fault(tag: str, match: re.Match[str]) -> tuple[str, str]:
    major, minor, arch = int(match[1]), int(match[2]), match[3]
    if major >= _NEWEST_MACOS:
        text = match[1]
        better = f"macosx_{text[:2]}_{int(text[2:] or 0)}_{arch}"
        return f"platform {tag!r}: there is no macOS {major}; a separator was lost", better
    if arch in _OTHER_MAC:
        better = f"macosx_{major}_{minor}_{_OTHER_MAC[arch]}"
        return f"platform {tag!r}: macOS tags say {_OTHER_MAC[arch]}, not {arch}", better
    if arch not in _MAC_ARCHS:
        return f"platform {tag!r} has no architecture that installers know: {arch!r}", ""
    if major >= _FIRST_YEARLY and minor:
        better = f"macosx_{major}_0_{arch}"
        return f"platform {tag!r}: from macOS 11 on installers ask for {major}_0 only", better
    return "", ""


@lru_cache(maxsize=4096)
def platform_fault(tag: str) -> tuple[str, str]:
    """Why no installer asks for a platform tag, and the tag that was meant; empty where one does.

    The second text is empty where nothing better can be derived.
    """
    if tag in {"any", *_WINDOWS} or _ELSEWHERE.match(tag):
        return "", ""
    if match := _MACOS.match(tag):
        return _macos_fault(tag, match)
    if match := _PERENNIAL.match(tag) or _LEGACY.match(tag):
        return _arch_fault(tag, match[match.lastindex or 0])
    if tag.startswith("linux_"):
        return _arch_fault(tag, tag.removeprefix("linux_"))
    if match := _MACOS_SHORT.match(tag):
        better = f"macosx_{match[1]}_0_{_OTHER_MAC.get(match[2], match[2])}"
        return f"platform {tag!r} lacks a part: macOS tags have major_minor_arch", better
    if _NO_ARCH.match(tag):
        return f"platform {tag!r} names no architecture", f"{tag}_x86_64"
    match = _SHORT.match(tag)
    better = f"{match[1]}linux_{match[2]}_{match[3]}_{match[4]}" if match else ""
    return f"platform {tag!r} is not one that installers know", _OTHER_WINDOWS.get(tag, better)
