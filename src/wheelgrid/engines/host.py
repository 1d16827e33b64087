"""What this machine is and has: platform, cores, memory, disk, compilers, accelerator devices."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wheelgrid.core.platforms import Platform
from wheelgrid.engines.process import ask

__all__ = ["Host", "describe_host"]

_DEVICES = {"cuda": "/dev/nvidia0", "rocm": "/dev/kfd"}
_INTEL = "0x8086"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine. Sizes in MiB; `compiler` is its first version line, empty if none runs."""

    platform: Platform | None
    libc: str
    cores: int
    memory_mib: int
    compiler: str
    devices: tuple[str, ...]


def _cgroup(name: str) -> str:
    try:
        return (Path("/sys/fs/cgroup") / name).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _cores() -> int:
    """Cores this process may use: affinity and the cgroup's quota, whichever is less."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    available = available or os.cpu_count() or 1
    quota, _, period = _cgroup("cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        available = min(available, max(1, int(quota) // int(period)))
    return available


def _memory_mib() -> int:
    """Memory this process may still take: what is available, below the cgroup's limit."""
    available = 0
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
        available = pages * os.sysconf("SC_PAGE_SIZE") // 2**20 if pages else 2048
    else:
        match = re.search(r"MemAvailable:\s+(\d+) kB", text)
        available = int(match[1]) // 1024 if match else 2048
    limit = _cgroup("memory.max")
    return min(available, int(limit) // 2**20) if limit.isdigit() else available


def _devices() -> tuple[str, ...]:
    """Families with a device node. Render nodes exist for every vendor: Intel's are told apart
    by their PCI vendor.
    """
    found = [name for name, path in _DEVICES.items() if Path(path).exists()]
    for vendor in Path("/sys/class/drm").glob("renderD*/device/vendor"):
        try:
            if vendor.read_text(encoding="ascii").strip() == _INTEL and "xpu" not in found:
                found.append("xpu")
        except OSError:
            continue
    return tuple(found)


def _compilers(env: Mapping[str, str]) -> str:
    """The C and C++ compilers that setuptools will use, by their first lines of `--version`.

    Empty when no C++ compiler runs.
    """
    found: list[str] = []
    for command in (env.get("CXX", "g++"), env.get("CC", "gcc")):
        program, *arguments = shlex.split(command) or [""]
        path = shutil.which(program, path=env.get("PATH"))
        version = ask([path, *arguments, "--version"]).partition("\n")[0].strip() if path else ""
        if not version and not found:
            return ""
        if version and version not in found:
            found.append(version)
    return "; ".join(found)


def describe_host(env: Mapping[str, str]) -> Host:
    """Look at this machine once."""
    return Host(
        platform=Platform.of_host(platform.system(), platform.machine()),
        libc=" ".join(platform.libc_ver()).strip(),
        cores=_cores(),
        memory_mib=_memory_mib(),
        compiler=_compilers(env),
        devices=_devices(),
    )
