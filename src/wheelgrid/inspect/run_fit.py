"""Whether a device runs one image, and the best image of a group for a device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from packaging.version import Version

from wheelgrid.core.evidence import Source
from wheelgrid.core.ground_rules import RunRule
from wheelgrid.core.run_rules import (
    Device,
    capability,
    first_release,
    reads_isa,
    rule_for,
    rule_of,
    runs,
)
from wheelgrid.core.vendor import Driver, decisive
from wheelgrid.inspect.device_code import CodeGroup, Image, ImageKind

__all__ = ["Fit", "How", "Need", "Terms", "best_fit", "fit", "runtime_need"]


class How(StrEnum):
    """How a device comes to run an image, if at all."""

    NATIVE = "native"
    COMPILED = "compiled"
    NOT = "not"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is judged by: run rules, floors of CUDA's drivers, and the driver and macOS if known."""

    rules: tuple[RunRule, ...]
    drivers: tuple[Driver, ...] = ()
    driver: Version | None = None
    macos: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The oldest `driver` or `macOS` for some code, why, and who says so.

    `minimum` is None where it is newer than any that is known.
    """

    of: str
    minimum: Version | None
    because: str
    source: Source | None = None
    met: bool | None = None

    def __str__(self) -> str:
        """`driver 580 or newer (PTX ISA 9.0, CUDA 13.0)`."""
        least = f"{self.minimum} or newer" if self.minimum else "newer than any known here"
        return f"{self.of} {least} ({self.because})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """One image against one device: how, under which rule (None: no rule is about it)."""

    image: Image
    how: How
    rule: RunRule | None
    need: Need | None = None


def _ptx_need(image: Image, terms: Terms, device: Device) -> Need | None:
    """The driver that knows the image's version of PTX; None where either is not known."""
    rule = rule_of(terms.rules, device.family, "ptx-isa")
    if rule is None or not image.isa:
        return None
    isa = Version(".".join(map(str, image.isa)))
    found = first_release(rule.releases, isa)
    return Need(
        of="driver",
        minimum=found.driver if found else None,
        because=f"PTX ISA {isa}" + (f", CUDA {found.toolkit}" if found else ""),
        source=rule.source,
        met=None if terms.driver is None else reads_isa(rule.releases, isa, terms.driver),
    )


def _macos_need(image: Image, terms: Terms) -> Need | None:
    if not any(image.isa):
        return None
    minimum = Version(".".join(map(str, image.isa[:2])))
    met = None if terms.macos is None else terms.macos >= minimum
    return Need(of="macOS", minimum=minimum, because="the metallib is built for it", met=met)


def runtime_need(major: str, terms: Terms) -> Need | None:
    """The oldest driver for a major version of CUDA's runtime; None where none is known."""
    if not major.isdecimal():
        return None
    found = decisive((d for d in terms.drivers if "linux" in d.minimum), Version(major))
    if found is None:
        return None
    minimum = Version(found.minimum["linux"])
    return Need(
        of="driver",
        minimum=minimum,
        because=f"CUDA {major} runtime",
        source=found.source,
        met=None if terms.driver is None else terms.driver >= minimum,
    )


def fit(image: Image, device: Device, terms: Terms) -> Fit:
    """Judge one image. A need that the machine does not meet makes it `not`."""
    form = ImageKind.SPIRV if image.kind is ImageKind.GENERIC_IR else image.kind
    rule = rule_for(terms.rules, form, image.target, device)
    fits = runs(rule, image.target, device.target) if rule else None
    if fits is None:
        return Fit(image=image, how=How.UNKNOWN, rule=rule)
    need = None
    if image.kind is ImageKind.PTX:
        need = _ptx_need(image, terms, device)
    elif image.kind is ImageKind.METALLIB:
        need = _macos_need(image, terms)
    how = How.COMPILED if image.kind.is_compiled_late else How.NATIVE
    if not fits or (need and need.met is False):
        how = How.NOT
    elif need and need.minimum is None and terms.driver is not None:
        how = How.UNKNOWN if need.met is None else how
    return Fit(image=image, how=how, rule=rule, need=need if fits else None)


_ORDER = {How.NATIVE: 3, How.COMPILED: 2, How.UNKNOWN: 1, How.NOT: 0}


def _rank(found: Fit, device: Device) -> tuple[int, bool, bool, tuple[int, int], str]:
    """Better is higher. Of what is refused, what only a newer driver takes comes first."""
    target = found.image.target
    late = found.need is not None
    return _ORDER[found.how], late, target == device.target, capability(target) or (0, 0), target


def best_fit(group: CodeGroup, fits: Iterable[Fit], device: Device) -> Fit | None:
    """The image that the device takes: machine code first, its own first, then the newest.

    None for a group without an image of the device's vendor.
    """
    own = [f for f in fits if f.image in group.images and f.image.kind.family is device.family]
    loadable = [f for f in own if f.image.kind is not ImageKind.LTO]
    return max(loadable, key=lambda f: _rank(f, device), default=None)
