"""Which device runs an image: the comparison of a target with a device, under one rule.

The rules themselves, with their sources, are data (compat/run-rules.yaml). Targets are as vendors
write them: `sm_90a`, `compute_120f`, `gfx90a:xnack+`, `bmg-g21`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.version import Version

from wheelgrid.core.accelerator import Family
from wheelgrid.core.ground_rules import IsaRelease, RunRule

__all__ = [
    "Device",
    "capability",
    "features_of",
    "first_release",
    "is_not_older",
    "is_plain",
    "is_same_major",
    "reads_isa",
    "rule_for",
    "rule_of",
    "runs",
]

_CUDA = re.compile(r"(?:sm|compute|lto)_([0-9]{1,3})([0-9])([af]?)\Z")
_CUDA_FORMS = {"cubin", "ptx"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A GPU that code is to run on. `name` is how it was asked for; `products` are sold names."""

    name: str
    family: Family
    target: str
    products: tuple[str, ...] = ()


def capability(target: str) -> tuple[int, int] | None:
    """The compute capability in a target of CUDA, its suffix left out; None for another text."""
    match = _CUDA.match(target)
    return (int(match[1]), int(match[2])) if match else None


def is_plain(target: str) -> bool:
    """Whether a target of CUDA has neither the suffix `a` nor `f`."""
    match = _CUDA.match(target)
    return match is not None and not match[3]


def is_same_major(image: str, device: str) -> bool:
    """Whether both have one major capability and the device is not below the image."""
    code, gpu = capability(image), capability(device)
    return code is not None and gpu is not None and code[0] == gpu[0] and code <= gpu


def is_not_older(image: str, device: str) -> bool:
    """Whether the device's capability is not below the image's."""
    code, gpu = capability(image), capability(device)
    return code is not None and gpu is not None and code <= gpu


def features_of(target: str) -> tuple[str, Mapping[str, str]]:
    """`gfx90a:xnack+` as the processor and its modes: `gfx90a`, `{"xnack": "+"}`."""
    processor, *modes = target.split(":")
    return processor, {mode[:-1]: mode[-1] for mode in modes if mode}


def _form(form: str, target: str) -> str:
    """The kind of code as rules name it: the suffix of CUDA and generic targets are forms."""
    match = _CUDA.match(target)
    if form in _CUDA_FORMS and match and match[3]:
        return f"{form}-{match[3]}"
    if form == "code-object" and features_of(target)[0].endswith("-generic"):
        return "code-object-generic"
    return form


def rule_of(rules: Iterable[RunRule], family: Family, image: str) -> RunRule | None:
    """The rule of a vendor for one kind of image as compat/run-rules.yaml names it."""
    return next((r for r in rules if r.family == family and r.image == image), None)


def rule_for(rules: Iterable[RunRule], form: str, target: str, device: Device) -> RunRule | None:
    """The rule that decides on an image; None where no rule of the vendor is about it.

    A rule of a narrower kind (`cubin-tegra`, `aot-group`) comes first where it lists the image's
    target or, for Tegra, the device's.
    """
    own = tuple(rule for rule in rules if rule.family == device.family)
    wanted = _form(form, target)
    if wanted == "cubin":
        tegra = rule_of(own, device.family, "cubin-tegra")
        if tegra and any(map(tegra.members_of, (target, device.target))):
            return tegra
    if wanted == "aot":
        group = rule_of(own, device.family, "aot-group")
        if group and group.members_of(target):
            return group
    return rule_of(own, device.family, wanted)


def _is_listed(rule: RunRule, image: str, device: str) -> bool | None:
    """None where nothing is listed for the image, unless it is for the device as an image."""
    listed = rule.members_of(image)
    if not listed and rule.members_of(device):
        return False
    return device in listed if listed else None


def runs(rule: RunRule, target: str, device: str) -> bool | None:
    """Whether a device runs an image of this target under the rule that is about it.

    None where that cannot be said: a target that cannot be compared, or a family that is not
    listed. Modes of AMD's targets must be equal where the image names them.
    """
    image, wanted = features_of(target)
    gpu, modes = features_of(device)
    fits: bool | None
    match rule.match:
        case "never":
            return False
        case "any":
            return True
        case "same-major" | "any-newer":
            compare = is_same_major if rule.match == "same-major" else is_not_older
            fits = None if capability(image) is None else compare(image, gpu)
        case "exact" if capability(image) is not None:
            fits = capability(image) == capability(gpu)
        case "exact":
            fits = image == gpu or bool(_is_listed(rule, image, gpu))
        case _:
            fits = _is_listed(rule, image, gpu)
    if fits and any(modes.get(name) != mode for name, mode in wanted.items()):
        return False
    return fits


def first_release(releases: Iterable[IsaRelease], isa: Version) -> IsaRelease | None:
    """The first toolkit and driver that have an ISA version; None if it is newer than all."""
    return next((release for release in releases if release.isa >= isa), None)


def reads_isa(releases: tuple[IsaRelease, ...], isa: Version, driver: Version) -> bool | None:
    """Whether a driver compiles an ISA version; None for a version and a driver newer than known.

    A driver of the newest known branch has the newest known version and no newer one.
    """
    found = first_release(releases, isa)
    if found is not None:
        return driver >= found.driver
    newest = max((release.driver for release in releases), default=None)
    return False if newest is not None and driver.major <= newest.major else None
