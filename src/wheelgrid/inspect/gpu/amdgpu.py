"""Code objects of AMD GPUs: the target and the kernels of one.

Source: LLVM's "User Guide for AMDGPU Backend" (AMDGPUUsage.rst), sections on the ELF header and
on symbols: a kernel is an object symbol `<name>.kd`, its kernel descriptor.
"""

from __future__ import annotations

from wheelgrid.inspect.formats import NotReadableError
from wheelgrid.inspect.gpu.code_object import HEADER, Kind, header, parts, symbols
from wheelgrid.inspect.stream import Readable

__all__ = ["MACHINE", "kernels_of", "target_of"]

MACHINE = 224
"""EM_AMDGPU."""
_HSA = 64
_V3, _V4 = 1, 2
_OBJECT = 1
_MACH = 0xFF
_DESCRIPTOR = b".kd"

_TARGETS = {
    0x20: "gfx600",
    0x21: "gfx601",
    0x22: "gfx700",
    0x23: "gfx701",
    0x24: "gfx702",
    0x25: "gfx703",
    0x26: "gfx704",
    0x28: "gfx801",
    0x29: "gfx802",
    0x2A: "gfx803",
    0x2B: "gfx810",
    0x2C: "gfx900",
    0x2D: "gfx902",
    0x2E: "gfx904",
    0x2F: "gfx906",
    0x30: "gfx908",
    0x31: "gfx909",
    0x32: "gfx90c",
    0x33: "gfx1010",
    0x34: "gfx1011",
    0x35: "gfx1012",
    0x36: "gfx1030",
    0x37: "gfx1031",
    0x38: "gfx1032",
    0x39: "gfx1033",
    0x3A: "gfx602",
    0x3B: "gfx705",
    0x3C: "gfx805",
    0x3D: "gfx1035",
    0x3E: "gfx1034",
    0x3F: "gfx90a",
    0x40: "gfx940",
    0x41: "gfx1100",
    0x42: "gfx1013",
    0x43: "gfx1150",
    0x44: "gfx1103",
    0x45: "gfx1036",
    0x46: "gfx1101",
    0x47: "gfx1102",
    0x48: "gfx1200",
    0x49: "gfx1250",
    0x4A: "gfx1151",
    0x4B: "gfx941",
    0x4C: "gfx942",
    0x4E: "gfx1201",
    0x4F: "gfx950",
    0x50: "gfx1310",
    0x51: "gfx9-generic",
    0x52: "gfx10-1-generic",
    0x53: "gfx10-3-generic",
    0x54: "gfx11-generic",
    0x55: "gfx1152",
    0x57: "gfx1154",
    0x58: "gfx1153",
    0x59: "gfx12-generic",
    0x5A: "gfx1251",
    0x5B: "gfx12-5-generic",
    0x5C: "gfx1172",
    0x5D: "gfx1170",
    0x5E: "gfx1171",
    0x5F: "gfx9-4-generic",
    0x62: "gfx11-7-generic",
    0x63: "gfx13-generic",
}
"""EF_AMDGPU_MACH; 0x40 and 0x4B are from LLVM before 20, which had gfx940 and gfx941."""

_MODES = ("", "", "-", "+")
"""Two bits of a feature since ABI version 4: unsupported, any, off, on."""
_XNACK_V3 = frozenset({"gfx801", "gfx810", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908"})
_XNACK_V3 |= {"gfx909", "gfx90a", "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1013"}
_SRAMECC_V3 = frozenset({"gfx906", "gfx908", "gfx90a"})


def _old_modes(name: str, flags: int) -> tuple[str, str]:
    """Modes of sramecc and xnack in ABI version 3, where there is on and off, but no any."""
    sramecc = ("+" if flags & 0x200 else "-") if name in _SRAMECC_V3 else ""
    xnack = ("+" if flags & 0x100 else "-") if name in _XNACK_V3 else ""
    return sramecc, xnack


def target_of(pages: Readable) -> str:
    """The target id, such as "gfx90a:sramecc+:xnack-".

    NotReadableError for what is no HSA code object of ABI version 3 or later; a processor that
    is not known here is given by its number ("mach-0x61").
    """
    top = header(pages.read(0, min(HEADER, pages.size)))
    if top.machine != MACHINE or top.abi != _HSA or top.abi_version < _V3:
        raise NotReadableError("not an HSA code object of ABI version 3 or later")
    mach = top.flags & _MACH
    name = _TARGETS.get(mach, f"mach-{mach:#04x}")
    if top.abi_version >= _V4:
        sramecc, xnack = _MODES[top.flags >> 10 & 3], _MODES[top.flags >> 8 & 3]
    else:
        sramecc, xnack = _old_modes(name, top.flags)
    features = (("sramecc", sramecc), ("xnack", xnack))
    return name + "".join(f":{feature}{mode}" for feature, mode in features if mode)


def kernels_of(pages: Readable) -> tuple[str, ...]:
    """Names of the kernels as the linker wrote them, sorted.

    NotReadableError without section headers or beyond bounds; TruncatedError, HoleError.
    """
    found = parts(pages)
    if not found:
        raise NotReadableError("no section headers, so kernels are not listed")
    for kind in (Kind.DYNSYM, Kind.SYMTAB):
        names: set[str] = set()
        for part in found:
            if part.kind == kind and part.link < len(found):
                for name, sort in symbols(pages, part, found[part.link]):
                    if sort == _OBJECT and name.endswith(_DESCRIPTOR):
                        names.add(name.removesuffix(_DESCRIPTOR).decode("utf-8", "replace"))
        if names:
            return tuple(sorted(names))
    return ()
