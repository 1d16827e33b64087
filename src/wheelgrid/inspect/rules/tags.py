"""Rules on what the tags promise: WG201, WG202, WG203, WG204, WG205."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abi3info import DATAS, FUNCTIONS
from abi3info.models import Symbol
from packaging.tags import Tag

from wheelgrid.core.recipe import Abi
from wheelgrid.inspect.findings import Expected, Finding, error
from wheelgrid.inspect.machines import tag_machines
from wheelgrid.inspect.wheel import Wheel

__all__ = ["abi3_files", "abi3_symbols", "expected_tags", "glibc_floor", "machine"]

_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_")
_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
_INTERPRETER = re.compile(r"cp3(\d+)\Z")
_C_API = re.compile(r"_?Py[A-Z_]")


def expected_tags(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    """WG201: every tag is one that the build's cells can install."""
    if expected is None or wheel.name is None:
        return
    if expected.abi is Abi.PURE:
        bad = [t for t in wheel.name.tags if t.abi != "none" or t.platform != "any"]
        if bad or not any(t.interpreter == "py3" for t in wheel.name.tags):
            shown = ", ".join(sorted(map(str, wheel.name.tags)))
            yield error("WG201", f"tags {shown} where py3-none-any was asked for")
        return
    for tag in sorted(wheel.name.tags, key=str):
        if (tag.interpreter, tag.abi) != (expected.python_tag, expected.abi_tag):
            want = f"{expected.python_tag}-{expected.abi_tag}"
            yield error("WG201", f"tag {tag} where {want} was asked for")
        elif expected.platform and not expected.platform.matches_wheel_platform(tag.platform):
            yield error("WG201", f"tag {tag} does not install on {expected.platform}")


def _promised_glibc(tag: Tag) -> tuple[int, int] | None:
    match = _MANYLINUX.match(tag.platform)
    if match:
        return int(match[1]), int(match[2])
    return _LEGACY.get(tag.platform.partition("_")[0])


def glibc_floor(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG202: per file, the newest glibc symbol against the oldest promise."""
    tags = wheel.name.tags if wheel.name else frozenset()
    floors = [floor for tag in tags if (floor := _promised_glibc(tag)) is not None]
    for member in wheel.native if floors else []:
        if member.elf is not None and member.elf.glibc > min(floors):
            need = ".".join(map(str, member.elf.glibc))
            have = ".".join(map(str, min(floors)))
            yield error(
                "WG202",
                f"needs glibc {need} (symbol {member.elf.glibc_symbol}), the tag promises {have}",
                member.path,
            )


def machine(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG204: the ELF machine is the one of a tag, and so is the CPU of Mach-O and PE files."""
    tags = wheel.name.tags if wheel.name else frozenset()
    wanted = {m for t in tags for end, m in _MACHINES.items() if t.platform.endswith(end)}
    for member in wheel.native if wanted else []:
        if member.elf is not None and member.elf.machine not in wanted:
            yield error("WG204", f"is for {member.elf.machine}", member.path)
    for member in wheel.native:
        for tag in sorted(tags, key=str):
            lacking = tag_machines(tag.platform) - member.machines if member.machines else set()
            if lacking:
                has = " and ".join(sorted(member.machines))
                lacks = " and ".join(sorted(lacking))
                yield error("WG204", f"is for {has}; {tag.platform} needs {lacks}", member.path)


def _is_abi3(wheel: Wheel) -> bool:
    return wheel.name is not None and any(t.abi == "abi3" for t in wheel.name.tags)


def abi3_files(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG203: file names for one Python version in an abi3 wheel."""
    for member in wheel.native if _is_abi3(wheel) else []:
        if re.search(r"\.cpython-\d+t?-|\.cp\d+t?-win", member.path):
            yield error("WG203", "is for one Python version", member.path)


def abi3_symbols(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG205: undefined symbols of Python's C API against CPython's stable ABI manifest."""
    if wheel.name is None or not _is_abi3(wheel):
        return
    floors = [int(m[1]) for t in wheel.name.tags if (m := _INTERPRETER.match(t.interpreter))]
    floor = min(floors, default=2)
    for member in wheel.native:
        names = sorted(member.elf.undefined) if member.elf else []
        bad = [p for name in names if _C_API.match(name) and (p := _abi3_problem(name, floor))]
        if bad:
            more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""  # noqa: PLR2004
            yield error("WG205", f"uses {', '.join(bad[:3])}{more}", member.path)


def _abi3_problem(name: str, floor: int) -> str:
    """Why a symbol cannot be used from Python 3.<floor> on; empty when it can."""
    known = FUNCTIONS.get(Symbol(name)) or DATAS.get(Symbol(name))
    if known is None:
        return f"{name} (not in the stable ABI)"
    return f"{name} (since {known.added})" if known.added.minor > floor else ""
