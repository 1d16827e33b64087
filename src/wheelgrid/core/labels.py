"""Local version labels: what `+cu130torch2.15` and its many relatives say of a wheel.

Read are the conventions of PyTorch (`cu130`, `rocm7.14`, `xpu`, `cpu`), flash-attention
(`cu13torch2.14cxx11abiTRUE`), PyG (`pt215cu130`), and kernels (`torch213-cxx11-cu130-...`). Digits
without dots can be read in more than one way; then all readings are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family

__all__ = ["Fit", "Label", "Reading", "accelerator_fit", "parse_label", "torch_fit"]

_TOKEN = re.compile(
    r"(?P<cuda>(?:cuda|cu)(?P<cuda_v>[0-9]{1,4}(?:\.[0-9]{1,3})*))"
    r"|(?P<rocm>rocm(?P<rocm_v>[0-9]{1,4}(?:\.[0-9]{1,3})*)(?P<rocm_pre>(?:a|b|rc|\.dev)[0-9]{1,8})?)"
    r"|(?P<xpu>xpu(?P<xpu_v>[0-9]{4,6}(?:\.[0-9]{1,3})*)?)"
    r"|(?P<plain>cpu|mps|metal)"
    r"|(?P<torch>(?:torch|pt)(?P<torch_v>[0-9]{1,4}(?:\.[0-9]{1,3})*))"
    r"|(?P<abi>cxx11abi(?P<abi_v>true|false|1|0)|cxx(?P<abi_p>11|98))"
)
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A version as written, and the versions that it can be, the likeliest first.

    `major_only` says that it names a major version: all of its minors fit.
    """

    text: str
    versions: tuple[Version, ...]
    major_only: bool = False

    @property
    def ambiguous(self) -> bool:
        """Whether it can be read in more than one way."""
        return len(self.versions) > 1

    @property
    def compact(self) -> bool:
        """Whether dots were left out."""
        return "." not in self.text and not self.major_only

    def fits(self, version: Version) -> bool:
        """Whether one of its readings is this version, as far as both are written."""
        return any(_agree(own, version) for own in self.versions)

    def __str__(self) -> str:
        """`2.10 or 2.1.0 or 21.0`; a major version alone as `13.x`."""
        end = ".x" if self.major_only else ""
        return " or ".join(f"{v}{end}" for v in self.versions)


def _agree(one: Version, other: Version) -> bool:
    size = min(len(one.release), len(other.release))
    return one.release[:size] == other.release[:size]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a local label says; None where it says nothing. `rest` is what no convention knows."""

    text: str
    family: Family | None = None
    toolkit: Reading | None = None
    torch: Reading | None = None
    cxx11_abi: bool | None = None
    rest: str = ""

    @property
    def ambiguities(self) -> tuple[str, ...]:
        """What can be read in more than one way, in words."""
        found = []
        for name, reading in (("toolkit", self.toolkit), ("torch", self.torch)):
            if reading is not None and reading.ambiguous:
                found.append(f"{name} {reading.text!r} can be {reading}")
        return tuple(found)


def _splits(digits: str, *, lowest: int, highest: int) -> list[Version]:
    """Compact digits as major.minor and major.minor.patch, parts without leading zeros."""
    found = []
    size = len(digits)
    ends = [(i, j) for i in range(1, size) for j in range(i + 1, size + 1)]
    for i, j in ends:
        parts = [part for part in (digits[:i], digits[i:j], digits[j:]) if part]
        if any(len(part) > 1 and part[0] == "0" for part in parts):
            continue
        if lowest <= int(parts[0]) <= highest:
            found.append(Version(".".join(parts)))
    return sorted(found, key=lambda v: (len(v.release), v))


def _cuda(text: str) -> Reading:
    """CUDA writes major and one digit of minor: `cu130`, `cu92`; `cu13` is a major version."""
    if "." in text:
        return Reading(text=text, versions=(Version(text),))
    splits = [v for v in _splits(text, lowest=8, highest=199) if len(v.release) == 2]  # noqa: PLR2004
    if not splits:
        return Reading(text=text, versions=(Version(text),), major_only=True)
    return Reading(text=text, versions=tuple(splits))


def _rocm(text: str) -> Reading:
    if "." in text or len(text) == 1:
        return Reading(text=text, versions=(Version(text),), major_only="." not in text)
    found = _splits(text, lowest=3, highest=99)
    whole = Version(text)
    return Reading(text=text, versions=tuple(found) or (whole,), major_only=not found)


def _torch(text: str) -> Reading:
    if "." in text or len(text) == 1:
        return Reading(text=text, versions=(Version(text),), major_only="." not in text)
    found = _splits(text, lowest=1, highest=99)
    return Reading(text=text, versions=tuple(found) or (Version(text),))


def _xpu(text: str) -> Reading | None:
    """The oneAPI versions count years: `xpu20260` is 2026.0; `xpu` alone names none."""
    if not text:
        return None
    if "." in text:
        return Reading(text=text, versions=(Version(text),))
    year, minor = text[:4], text[4:]
    version = Version(f"{year}.{minor}" if minor else year)
    return Reading(text=text, versions=(version,), major_only=not minor)


def _take(label: Label, match: re.Match[str]) -> Label:
    """The label with one more thing said; what is said first stays."""
    if match["torch"] and label.torch is None:
        return replace(label, torch=_torch(match["torch_v"]))
    if match["abi"] and label.cxx11_abi is None:
        value = match["abi_v"] or match["abi_p"]
        return replace(label, cxx11_abi=value in {"true", "1", "11"})
    if label.family is not None:
        return replace(label, rest=f"{label.rest} {match[0]} ")
    if match["cuda"]:
        return replace(label, family=Family.CUDA, toolkit=_cuda(match["cuda_v"]))
    if match["rocm"]:
        return replace(label, family=Family.ROCM, toolkit=_rocm(match["rocm_v"]))
    if match["xpu"]:
        return replace(label, family=Family.XPU, toolkit=_xpu(match["xpu_v"] or ""))
    if match["plain"]:
        family = Family.CPU if match["plain"] == "cpu" else Family.MPS
        return replace(label, family=family)
    return replace(label, rest=f"{label.rest} {match[0]} ")


@lru_cache(maxsize=8192)
def parse_label(local: str | None) -> Label:
    """Read a local label (`Version.local`) or the name of a kernels variant; never fails.

    Words that no convention knows are left in `rest`. Labels are compared in lower case.
    """
    text = (local or "").lower().replace("-", ".").replace("_", ".")[:_LONGEST]
    label, index, before = Label(text=local or ""), 0, "."
    while index < len(text):
        match = _TOKEN.match(text, index)
        # A token begins a word or follows another token: `gpu` is not `pu`, `abcpu` not `cpu`.
        if match is not None and before == ".":
            label = _take(label, match)
            index = match.end()
            continue
        before = text[index]
        label = replace(label, rest=label.rest + before.replace(".", " "))
        index += 1
    return replace(label, rest=" ".join(label.rest.split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether a label is for something: True, False or None (it does not say), and in words."""

    fits: bool | None
    why: str = ""
    note: str = ""


def accelerator_fit(label: Label, wanted: Accelerator) -> Fit:
    """Whether a label is for an accelerator; a version that it leaves out does not speak against.

    A label without any accelerator says nothing: None, never yes.
    """
    if label.family is None:
        return Fit(fits=None, why="its label names no accelerator")
    if label.family is not wanted.family:
        return Fit(fits=False, why=f"is for {label.family}{_shown(label.toolkit)}, not {wanted}")
    if label.toolkit is None or wanted.version is None:
        unstated = f"its label names no version of {label.family}"
        return Fit(fits=True, note=unstated if wanted.version is not None else "")
    if label.toolkit.major_only:
        if label.toolkit.versions[0].major != wanted.version.major:
            return Fit(fits=False, why=f"is for {label.family}{label.toolkit}, not {wanted}")
        return Fit(fits=True, note=f"its label names the major version {label.toolkit} only")
    if not label.toolkit.fits(wanted.version):
        return Fit(fits=False, why=f"is for {label.family}{label.toolkit}, not {wanted}")
    return Fit(fits=True, note=_ambiguity("toolkit", label.toolkit))


def torch_fit(label: Label, wanted: Version) -> Fit:
    """Whether a label is for a torch release line, the unit of libtorch's C++ ABI.

    A label without torch says nothing: None, never yes.
    """
    if label.torch is None:
        return Fit(fits=None, why="its label names no torch")
    line = Version(f"{wanted.major}.{wanted.minor}")
    if not label.torch.fits(line):
        return Fit(fits=False, why=f"is for torch {label.torch}, not {line}")
    return Fit(fits=True, note=_ambiguity("torch", label.torch))


def _shown(reading: Reading | None) -> str:
    return str(reading) if reading is not None else ""


def _ambiguity(name: str, reading: Reading) -> str:
    if reading.major_only:
        return f"its label names the major version of {name} only"
    if not reading.ambiguous:
        return ""
    return f"{name} {reading.text!r} in its label can be {reading}: labels must keep the dot"
