"""GPU targets as people declare them: TORCH_CUDA_ARCH_LIST, PYTORCH_ROCM_ARCH and their like.

Sources: torch/utils/cpp_extension.py (`_get_cuda_arch_flags`: separators, names, +PTX); NVIDIA on
architecture-specific (`a`) and family-specific (`f`) targets, see compat/run-rules.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from wheelgrid.core.accelerator import Family

__all__ = ["ArchTargets", "family_of_target", "parse_targets"]

_SEPARATOR = re.compile(r"[\s;,]+")
_DOTTED = re.compile(r"([0-9]{1,2})\.([0-9])([af]?)(\+PTX)?\Z", re.IGNORECASE)
_CODE = re.compile(r"(sm|compute)_([0-9]{1,3})([0-9])([af]?)\Z")
_GFX = re.compile(r"gfx[0-9a-f]{3,5}(?:-[0-9])?(?:-generic)?(?::(?:xnack|sramecc)[+-]){0,2}\Z")
_GFX_FAMILY = re.compile(r"gfx[0-9]{1,2}(?:-[0-9])?-generic\Z")
_INTEL = re.compile(
    r"(?:pvc|dg1|dg2|bmg|mtl|arl|lnl|ptl|ats|acm|xe|cri|wcl|nvl)(?:[0-9a-z-]{0,20})\Z"
)
_NAMED = {
    "maxwell": "5.0 5.2+PTX",
    "pascal": "6.0 6.1+PTX",
    "volta": "7.0+PTX",
    "turing": "7.5+PTX",
    "ampere": "8.0 8.6+PTX",
    "ada": "8.9+PTX",
    "hopper": "9.0+PTX",
    "blackwell": "10.0 10.3 12.0 12.1+PTX",
}
_MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchTargets:
    """A list of targets, each once. `notes` say what is odd about the list.

    `machine` has machine code as device code names it (sm_90a, gfx942, pvc), `ptx` what drivers
    compile further (compute_80). `normal` is the list as it should be written.
    """

    machine: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    normal: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def of(self, family: Family) -> tuple[str, ...]:
        """All targets of one vendor."""
        return tuple(t for t in (*self.machine, *self.ptx) if family_of_target(t) is family)


def family_of_target(target: str) -> Family:
    """The vendor of a target by its spelling: sm_90 and compute_90, gfx942, else Intel's."""
    if target.startswith(("sm_", "compute_", "lto_")):
        return Family.CUDA
    return Family.ROCM if target.startswith("gfx") or target == "amdgcnspirv" else Family.XPU


def _words(text: str) -> Iterable[str]:
    for word in _SEPARATOR.split(text.strip()):
        yield from _NAMED.get(word.lower(), word).split()


def _targets(word: str) -> tuple[list[str], str]:
    """The targets of one word, and the word as it should be written; ValueError for others."""
    if match := _DOTTED.match(word):
        code, suffix = f"{match[1]}{match[2]}{match[3].lower()}", "+PTX" if match[4] else ""
        found = [f"sm_{code}"] + ([f"compute_{code}"] if suffix else [])
        return found, f"{match[1]}.{match[2]}{match[3].lower()}{suffix}"
    if match := _CODE.match(word):
        dotted = f"{match[2]}.{match[3]}{match[4]}"
        return [word], dotted if match[1] == "sm" else f"{dotted}+PTX"
    if _GFX.match(word) or _GFX_FAMILY.match(word) or _INTEL.match(word):
        return [word], word
    msg = f"{word!r} is no GPU target: write 9.0a, 12.0+PTX, sm_90a, gfx942, pvc"
    raise ValueError(msg)


def _capability(target: str) -> tuple[int, int]:
    match = _CODE.match(target)
    return (int(match[2]), int(match[3])) if match else (0, 0)


def _dotted(target: str) -> str:
    match = _CODE.match(target)
    return f"{match[2]}.{match[3]}{match[4]}" if match else target


def _exact_note(machine: list[str], ptx: list[str]) -> str:
    """`a` targets run nowhere else; what a newer GPU then gets."""
    exact = [t for t in machine if t.startswith("sm_") and t.endswith("a")]
    if not exact:
        return ""
    newest = max(map(_capability, machine))
    later = f"{newest[0]}.{newest[1] + 1}"
    names = ", ".join(map(_dotted, exact))
    usable = [t for t in ptx if not t.endswith("a") and _capability(t) <= newest]
    best = max(usable, key=_capability, default="")
    rest = (
        f"falls back to JIT from the PTX of {_dotted(best)}"
        if best
        else "has no code: no PTX is declared"
    )
    return f"{names} run on exactly these GPUs; another one, such as a future {later}, {rest}"


def _ptx_note(machine: list[str], ptx: list[str]) -> str:
    newest = max(map(_capability, machine), default=(0, 0))
    best = max(map(_capability, ptx), default=newest)
    if not ptx or best >= newest:
        return ""
    names = ", ".join(map(_dotted, ptx))
    return f"PTX is declared for {names} only, and the newest target is {newest[0]}.{newest[1]}"


def parse_targets(text: str) -> ArchTargets:
    """Read a list with spaces, commas or semicolons; ValueError names a word that is no target."""
    machine: list[str] = []
    ptx: list[str] = []
    normal: list[str] = []
    notes: list[str] = []
    words = [word for word in _words(text) if word]
    if len(words) > _MOST:
        msg = f"lists more than {_MOST} targets"
        raise ValueError(msg)
    for word in words:
        found, written = _targets(word)
        if found[0] in machine:
            notes.append(f"{_dotted(found[0])} is named twice")
        for target in found:
            kind = ptx if target.startswith("compute_") else machine
            if target not in kind:
                kind.append(target)
        if written not in normal:
            normal.append(written)
    cuda = [t for t in machine if t.startswith("sm_")]
    notes += [note for note in (_ptx_note(cuda, ptx), _exact_note(cuda, ptx)) if note]
    return ArchTargets(
        machine=tuple(machine),
        ptx=tuple(ptx),
        normal=tuple(normal),
        notes=tuple(dict.fromkeys(notes)),
    )
