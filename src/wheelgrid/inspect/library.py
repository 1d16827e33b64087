"""What one native file holds, as inspection, audit and run rules see it, whatever its format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wheelgrid.core.shim import SHIM_PREFIXES
from wheelgrid.inspect.formats.elf import Elf
from wheelgrid.inspect.native import Chunks, DeviceCode, Native, read_native
from wheelgrid.inspect.python_abi import PythonAbi, is_python_symbol, python_abi
from wheelgrid.inspect.torch_abi import is_torch_name

if TYPE_CHECKING:
    from wheelgrid.inspect.formats.macho import MachO
    from wheelgrid.inspect.formats.pe import Pe

__all__ = ["CPU_FORMATS", "DEVICE_MACHINES", "Floor", "Library", "describe", "read_library"]

CPU_FORMATS = frozenset({"ELF", "Mach-O", "PE"})
DEVICE_MACHINES = frozenset({"cuda", "amdgpu"})
_FLOOR = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_([0-9]+(?:\.[0-9]+)*)\Z")
_COMPILERS = ("nvrtc", "hiprtc", "nvJitLink", "__nvJitLink", "nvvm")
_DEBUG = re.compile(r"\.z?debug_|\.gnu\.debuglto_|__debug_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The highest version of one family (GLIBC ...) that is needed, of whom, and by which symbol.

    `symbol` is empty where the version is needed as a whole (GLIBC_ABI_DT_RELR).
    """

    family: str
    version: tuple[int, ...]
    library: str
    symbol: str

    @property
    def text(self) -> str:
        """The version as written, such as 2.34."""
        return ".".join(map(str, self.version))


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """One native file. `undefined` are the undefined symbols of Python, torch and JIT compilers.

    `version_files` are the libraries of which versions are needed; `debug` bytes of debug sections;
    `minimum_os` the oldest system of Mach-O and PE files; `damage` what could not be read.
    """

    path: str
    size: int
    format: str
    kind: str
    machines: tuple[str, ...]
    minimum_os: str = ""
    soname: str = ""
    needed: tuple[str, ...] = ()
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    floors: tuple[Floor, ...] = ()
    version_files: tuple[str, ...] = ()
    undefined: frozenset[str] = frozenset()
    entry_points: frozenset[str] = frozenset()
    python: PythonAbi = field(default_factory=lambda: PythonAbi(kind="none"))
    sections: frozenset[str] = frozenset()
    debug: int = 0
    device: DeviceCode = field(default_factory=DeviceCode)
    damage: tuple[str, ...] = ()

    def floor(self, family: str) -> Floor | None:
        """The floor of one family; None where no version of it is needed."""
        return next((f for f in self.floors if f.family == family), None)


def _floors(elf: Elf) -> tuple[Floor, ...]:
    best: dict[str, Floor] = {}
    for need in elf.versions:
        match = _FLOOR.match(need.version)
        if match is None:
            continue
        version = tuple(int(part) for part in match[2].split(".")[:8] if len(part) < 6)  # noqa: PLR2004
        family = match[1]
        if family not in best or version > best[family].version:
            best[family] = Floor(
                family=family, version=version, library=need.library, symbol=need.symbol
            )
    return tuple(best[family] for family in sorted(best))


def _relevant(names: Iterable[str]) -> frozenset[str]:
    return frozenset(
        n
        for n in names
        if n.startswith((*SHIM_PREFIXES, *_COMPILERS)) or is_python_symbol(n) or is_torch_name(n)
    )


def _of_elf(native: Native, elf: Elf) -> Library:
    kind = elf.header.kind
    if kind == "library" and elf.interpreter and not elf.soname:
        kind = "executable"
    return Library(
        path=native.path,
        size=native.size,
        format="ELF",
        kind=kind,
        machines=(elf.header.machine,),
        soname=elf.soname,
        needed=elf.needed,
        rpath=elf.rpath,
        runpath=elf.runpath,
        floors=_floors(elf),
        version_files=tuple(sorted({v.library for v in elf.versions})),
        undefined=_relevant(elf.undefined),
        entry_points=elf.entry_points,
        python=python_abi(elf.undefined),
        sections=frozenset(s.name for s in elf.sections),
        debug=sum(s.size for s in elf.sections if _DEBUG.match(s.name)),
        device=native.device,
        damage=native.damage,
    )


def _of_macho(native: Native, macho: MachO) -> Library:
    """All slices of a universal file together: each system takes one of them."""
    slices = macho.slices
    names = frozenset(n for s in slices for n in s.undefined)
    needed = tuple(dict.fromkeys(n for s in slices for n in s.needed))
    return Library(
        path=native.path,
        size=native.size,
        format="Mach-O",
        kind=slices[0].kind if slices else "",
        machines=tuple(dict.fromkeys(s.arch for s in slices)),
        minimum_os=", ".join(dict.fromkeys(s.minimum_os for s in slices if s.minimum_os)),
        soname=slices[0].install_name if slices else "",
        needed=needed,
        rpath=tuple(dict.fromkeys(r for s in slices for r in s.rpaths)),
        undefined=_relevant(names),
        entry_points=frozenset(n for s in slices for n in s.entry_points),
        python=python_abi(names, needed),
        sections=frozenset(f"{p.segment},{p.name}" for s in slices for p in s.sections),
        device=native.device,
        damage=native.damage,
    )


def _of_pe(native: Native, pe: Pe) -> Library:
    system = ".".join(map(str, pe.subsystem_version))
    needed = (*pe.needed, *pe.delayed)
    return Library(
        path=native.path,
        size=native.size,
        format="PE",
        kind="library" if pe.is_dll else "executable",
        machines=(pe.machine,),
        minimum_os=f"Windows {system}",
        needed=needed,
        undefined=_relevant(pe.imported),
        entry_points=pe.entry_points,
        python=python_abi(pe.imported, needed),
        sections=frozenset(s.name for s in pe.sections),
        debug=sum(s.size for s in pe.sections if s.name.startswith((".debug", "/"))),
        device=native.device,
        damage=native.damage,
    )


def describe(native: Native) -> Library:
    """The same facts from every format."""
    if native.elf is not None:
        return _of_elf(native, native.elf)
    if native.macho is not None:
        return _of_macho(native, native.macho)
    if native.pe is not None:
        return _of_pe(native, native.pe)
    return Library(
        path=native.path,
        size=native.size,
        format=native.format,
        kind="device code",
        machines=(),
        device=native.device,
        damage=native.damage,
    )


def read_library(path: str, size: int, chunks: Chunks, kind: str, *, kernels: bool) -> Library:
    """Read a native file of a known kind (see `kind_of`); NotReadableError where it is damaged."""
    return describe(read_native(path, size, chunks, kind, kernels=kernels))
