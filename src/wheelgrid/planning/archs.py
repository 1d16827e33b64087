"""GPU architectures against toolkits and torch wheels: what compiles, and what has code to run.

The rules for CUDA are NVIDIA's, of core/run_rules.py: code for `sm_80` runs on the same major and
not below; PTX runs on anything newer, compiled by the driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.errors import Fault
from wheelgrid.core.evidence import Source
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix, Toolchain
from wheelgrid.core.run_rules import capability, is_not_older, is_plain, is_same_major

__all__ = ["arch_family", "has_code", "obstacle", "toolchain_faults", "toolkit_target"]

_DOTTED = re.compile(r"([0-9]{1,2})\.([0-9])([af]?)(\+PTX)?\Z")
_MANYLINUX = re.compile(r"manylinux_([0-9]+)_([0-9]+)")

NONE = "none"
"""The value of a gpu_arch axis for cells without a GPU."""


def toolkit_target(text: str) -> str:
    """`7.5`, `9.0a` or `12.0+PTX` as the toolkit names it: `sm_75`, `sm_90a`, `sm_120`."""
    match = _DOTTED.match(text)
    return f"sm_{match[1]}{match[2]}{match[3]}" if match else text


def _plain(arch: str) -> str:
    """Without the `a` or `f` form, which toolkits list apart."""
    return arch.rstrip("af") if arch.startswith("sm_") else arch


def arch_family(arch: str) -> Family | None:
    """The vendor of a target by its spelling; None for one that no rule knows."""
    if arch.startswith("sm_"):
        return Family.CUDA
    return Family.ROCM if arch.startswith("gfx") else None


def has_code(arch: str, values: Iterable[str], ptx: Iterable[str]) -> bool:
    """Whether a wheel with these images has code that the GPU can run."""
    if capability(arch) is None:
        return arch in set(values)
    images = [(v, is_same_major) for v in values] + [(v, is_not_older) for v in ptx]
    return any(image == arch or (is_plain(image) and fits(image, arch)) for image, fits in images)


def _dotted(arch: str) -> str:
    found = capability(_plain(arch))
    return f"{found[0]}.{found[1]}" if found else arch


def obstacle(
    arch: str, accelerator: Accelerator, knowledge: Knowledge
) -> tuple[str, str, Source | None] | None:
    """Why a toolkit cannot compile for a target: message, hint and source; None where it can.

    Silence of the knowledge is no obstacle: unknown is not no.
    """
    vendor = arch_family(arch)
    if accelerator.version is None or (vendor and vendor is not accelerator.family):
        return f"{arch} is no target of {accelerator}", "", None
    renamed = knowledge.renamed_arch(_plain(arch), accelerator)
    if renamed is not None:
        new, source = renamed
        message = f"{arch} has no meaning under {accelerator}: it was renamed {new}"
        return message, f"write {_dotted(new)}", source
    known = knowledge.toolkit_archs(accelerator.version, accelerator.family)
    if known is None or _plain(arch) in known[0]:
        return None
    lowest = min((n for v in known[0] if (n := capability(v))), default=None)
    device = capability(_plain(arch))
    message = f"{accelerator} does not compile for {arch}"
    hint = f"it compiles for {', '.join(sorted(known[0], key=_order))}"
    if lowest and device and device < lowest:
        message += f": its minimum is {lowest[0]}.{lowest[1]} (sm_{lowest[0]}{lowest[1]})"
    return message, hint, known[1]


def _order(arch: str) -> tuple[int, int, str]:
    return (*(capability(arch) or (0, 0)), arch)


def _glibc(tag: str, knowledge: Knowledge) -> tuple[int, int] | None:
    """The glibc that a manylinux tag promises, legacy names included."""
    match = _MANYLINUX.match(tag)
    if match:
        return int(match[1]), int(match[2])
    for known in knowledge.manylinux:
        if tag.partition("_")[0] in {known.alias, known.tag}:
            major, minor = known.glibc.split(".")
            return int(major), int(minor)
    return None


def _archs(toolchain: Toolchain, knowledge: Knowledge) -> Iterator[Fault]:
    place = toolchain.place
    for text in toolchain.archs:
        found = obstacle(toolkit_target(text), toolchain.accelerator, knowledge)
        if found is not None:
            message, hint, source = found
            said = f" ({source.kind}, {source.date}: {source.source})" if source else ""
            yield Fault(
                file=place.file,
                path=place.path,
                line=place.line,
                column=place.column,
                message=f"{text!r}: {message}{said}",
                hint=hint,
            )


def _floor(toolchain: Toolchain, knowledge: Knowledge) -> Iterator[Fault]:
    known = knowledge.glibc_floor(toolchain.accelerator)
    promised = _glibc(toolchain.manylinux, knowledge) if toolchain.manylinux else None
    if known is None or promised is None:
        return
    floor, source = known
    needed = tuple(int(part) for part in floor.split("."))
    if promised < needed:
        place = toolchain.place
        yield Fault(
            file=place.file,
            path=place.path,
            line=place.line,
            column=place.column,
            message=f"{toolchain.manylinux} promises glibc {promised[0]}.{promised[1]}, but "
            f"{toolchain.accelerator} needs {floor} ({source.kind}, {source.date}: "
            f"{source.source})",
            hint=f"the minimum is manylinux_{needed[0]}_{needed[1]}",
        )


def toolchain_faults(matrix: Matrix, knowledge: Knowledge) -> list[Fault]:
    """Toolchains that ask a toolkit for what it cannot compile, or promise too old a glibc."""
    return [
        fault
        for toolchain in matrix.toolchains.values()
        for fault in (*_archs(toolchain, knowledge), *_floor(toolchain, knowledge))
    ]
