"""Rules on what the tags promise: WG201, WG202, WG203, WG204, WG205."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.tags import Tag

from wheelgrid.core.recipe import Abi
from wheelgrid.inspect.findings import Expected, Finding, error
from wheelgrid.inspect.formats.elf import MACHINES
from wheelgrid.inspect.library import CPU_FORMATS, DEVICE_MACHINES, Library
from wheelgrid.inspect.machines import tag_machines
from wheelgrid.inspect.python_abi import is_python_symbol, since
from wheelgrid.inspect.wheel import Wheel

__all__ = ["abi3_files", "abi3_symbols", "expected_tags", "glibc_floor", "machine"]

_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_")
_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_INTERPRETER = re.compile(r"cp3(\d+)\Z")


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
    for library in wheel.libraries if floors else []:
        need = library.floor("GLIBC")
        if need is not None and need.version > min(floors):
            have = ".".join(map(str, min(floors)))
            yield error(
                "WG202",
                f"needs glibc {need.text} (symbol {need.symbol}), the tag promises {have}",
                library.path,
            )


def _tag_machines(platform: str) -> set[str]:
    """The CPUs that a platform tag promises; empty where it names none."""
    if platform.startswith(("linux_", "manylinux", "musllinux")):
        return {m for m in MACHINES.values() if platform.endswith(f"_{m}")}
    return tag_machines(platform)


def machine(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG204: each native file is for every CPU of a tag; device code is for none of them."""
    platforms = sorted({t.platform for t in wheel.name.tags}) if wheel.name else []
    for library in wheel.libraries:
        if library.format not in CPU_FORMATS or set(library.machines) & DEVICE_MACHINES:
            continue
        for platform in platforms:
            lacking = _tag_machines(platform) - set(library.machines)
            if lacking:
                has = " and ".join(library.machines) or "no known CPU"
                text = f"is for {has}; {platform} needs {' and '.join(sorted(lacking))}"
                yield error("WG204", text, library.path)
                break


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
    for library in wheel.libraries:
        bad = [p for name in _python_symbols(library) if (p := _abi3_problem(name, floor))]
        if bad:
            more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""  # noqa: PLR2004
            yield error("WG205", f"uses {', '.join(bad[:3])}{more}", library.path)


def _python_symbols(library: Library) -> list[str]:
    return sorted(filter(is_python_symbol, library.undefined))


def _abi3_problem(name: str, floor: int) -> str:
    """Why a symbol cannot be used from Python 3.<floor> on; empty when it can."""
    minor = since(name)
    if minor is None:
        return f"{name} (not in the stable ABI)"
    return f"{name} (since 3.{minor})" if minor > floor else ""
