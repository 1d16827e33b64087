"""CPU types in the head of Mach-O and PE files, as platform tags spell them.

Sources: Apple's mach/machine.h and mach-o/fat.h; Microsoft's PE format, machine types.
"""

from __future__ import annotations

import struct

__all__ = ["machines", "tag_machines"]

_MACH_CPUS = {0x01000007: "x86_64", 0x0100000C: "arm64", 7: "i386", 12: "arm"}
_THIN = {b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe"}
_FAT = {b"\xca\xfe\xba\xbe": 20, b"\xca\xfe\xba\xbf": 32}
"""Magic to size of an architecture entry. A Java class has the first magic and a huge count."""
_MOST_ARCHS = 20
_PE_CPUS = {0x8664: "x86_64", 0xAA64: "arm64", 0x014C: "i386"}
_PE_OFFSET = 0x3C
_MAC_TAGS = {"universal2": {"x86_64", "arm64"}, "x86_64": {"x86_64"}, "arm64": {"arm64"}}
_WINDOWS_TAGS = {"win_amd64": {"x86_64"}, "win_arm64": {"arm64"}, "win32": {"i386"}}


def _mach(head: bytes) -> frozenset[str]:
    if head[:4] in _THIN:
        (cpu,) = struct.unpack_from("<I", head, 4)
        return frozenset({_MACH_CPUS.get(cpu, f"CPU type {cpu:#x}")})
    size = _FAT[head[:4]]
    (count,) = struct.unpack_from(">I", head, 4)
    if not 0 < count <= _MOST_ARCHS:
        return frozenset()
    cpus = [struct.unpack_from(">I", head, 8 + size * index)[0] for index in range(count)]
    return frozenset(_MACH_CPUS.get(cpu, f"CPU type {cpu:#x}") for cpu in cpus)


def _pe(head: bytes) -> frozenset[str]:
    (offset,) = struct.unpack_from("<I", head, _PE_OFFSET)
    if head[offset : offset + 4] != b"PE\0\0":
        return frozenset()
    (cpu,) = struct.unpack_from("<H", head, offset + 4)
    return frozenset({_PE_CPUS.get(cpu, f"machine {cpu:#x}")})


def machines(head: bytes) -> frozenset[str]:
    """The CPUs that a file is for, from its first bytes; empty for other or cut-off files."""
    try:
        if head[:4] in _THIN or head[:4] in _FAT:
            return _mach(head)
        return _pe(head) if head.startswith(b"MZ") else frozenset()
    except struct.error:
        return frozenset()


def tag_machines(platform: str) -> set[str]:
    """The CPUs that a platform tag of macOS or Windows promises; empty for other tags."""
    if platform.startswith("macosx_"):
        found = (cpus for end, cpus in _MAC_TAGS.items() if platform.endswith(f"_{end}"))
        return set(next(found, set()))
    return set(_WINDOWS_TAGS.get(platform, set()))
