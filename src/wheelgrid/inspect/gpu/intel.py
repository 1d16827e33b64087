"""Names of Intel GPUs as the offline compiler `ocloc` writes and takes them.

Source: the AOT product table of intel/compute-runtime (neo_aot_platforms.h and platforms.h):
an IP version is architecture.release.revision, packed in 32 bits as 10, 8 and (last) 6 bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["aot_options", "device_named", "device_numbered"]

_DEVICES = {
    (12, 0, 0): "tgllp",
    (12, 1, 0): "rkl",
    (12, 2, 0): "adl-s",
    (12, 3, 0): "adl-p",
    (12, 4, 0): "adl-n",
    (12, 10, 0): "dg1",
    (12, 55, 0): "dg2-g10-a0",
    (12, 55, 1): "dg2-g10-a1",
    (12, 55, 4): "dg2-g10-b0",
    (12, 55, 8): "dg2-g10",
    (12, 56, 0): "dg2-g11-a0",
    (12, 56, 4): "dg2-g11-b0",
    (12, 56, 5): "dg2-g11",
    (12, 57, 0): "dg2-g12",
    (12, 60, 0): "pvc-xl-a0",
    (12, 60, 1): "pvc-sdv",
    (12, 60, 3): "pvc-xt-a0",
    (12, 60, 5): "pvc-xt-b0",
    (12, 60, 6): "pvc-xt-b1",
    (12, 60, 7): "pvc",
    (12, 61, 7): "pvc-vg",
    (12, 70, 0): "mtl-u-a0",
    (12, 70, 4): "mtl-u",
    (12, 71, 0): "mtl-h-a0",
    (12, 71, 4): "mtl-h",
    (12, 74, 0): "arl-h-a0",
    (12, 74, 4): "arl-h",
    (20, 1, 0): "bmg-g21",
    (20, 1, 1): "bmg-g21",
    (20, 1, 4): "bmg-g21",
    (20, 2, 0): "bmg-g31",
    (20, 4, 0): "lnl-a0",
    (20, 4, 1): "lnl-a1",
    (20, 4, 4): "lnl-m",
    (30, 0, 0): "ptl-h-a0",
    (30, 0, 4): "ptl-h",
    (30, 1, 0): "ptl-u",
    (30, 1, 1): "ptl-u-a1",
    (30, 3, 0): "wcl-a0",
    (30, 3, 1): "wcl",
    (30, 4, 0): "nvl-s-a0",
    (30, 4, 4): "nvl-s",
    (30, 5, 0): "nvl-u-a0",
    (30, 5, 1): "nvl-u-a1",
    (30, 5, 4): "nvl-u",
    (35, 11, 0): "cri",
}
_ALIASES = frozenset({"tgl", "rpl-s", "rpl-p", "acm-g10", "ats-m150", "acm-g11", "ats-m75"})
_ALIASES |= {"acm-g12", "mtl-s", "mtl-m", "mtl-p", "arl-u", "arl-s", "nvl-hx", "nvl-ul", "nvl-h"}
_GROUPS = frozenset({"dg2", "mtl", "bmg", "ptl", "xe", "xe2", "xe3", "xe3p", "xe-lp", "gen12lp"})
_GROUPS |= {"xe-hp", "xe-hpg", "xe-hpc", "xe-hpc-vg", "xe-lpg", "xe-lpgplus", "xe2-hpg"}
_GROUPS |= {"xe2-lpg", "xe3-lpg", "xe3p-xpc"}
_NAMES = frozenset(_DEVICES.values()) | _ALIASES | _GROUPS
_NUMBER = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})")
_OPTION = re.compile(rb"-device[ =]([0-9a-z][0-9a-z.,:_-]{0,255})")
_MAX_OPTIONS = 64


def device_named(name: str) -> str:
    """The name for the IP version in text ("12.60.7"); anything else is left as it is."""
    found = _NUMBER.fullmatch(name)
    if not found:
        return name
    return _DEVICES.get((int(found[1]), int(found[2]), int(found[3])), name)


def device_numbered(config: int) -> str:
    """The name for the product configuration in a device binary; its number if unknown."""
    version = (config >> 22, config >> 14 & 0xFF, config & 0x3F)
    return _DEVICES.get(version, ".".join(map(str, version)))


def _options(data: bytes) -> Iterator[str]:
    for count, found in enumerate(_OPTION.finditer(data)):
        if count == _MAX_OPTIONS:
            return
        names = [name for name in found[1].decode("ascii").split(",") if name]
        if any(name in _NAMES or _NUMBER.fullmatch(name) for name in names):
            yield from names


def aot_options(data: bytes) -> tuple[str, ...]:
    """What `-device` of the offline compiler was given, as compilers leave it in read-only data.

    Names stay as they are: releases such as "xe-lpg" stand for several devices.
    """
    return tuple(dict.fromkeys(_options(data)))
