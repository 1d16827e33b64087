"""What is said of a library on a GPU: states, the rules that were applied, what has no image."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from wheelgrid.core.ground_rules import RunRule
from wheelgrid.core.run_rules import Device
from wheelgrid.inspect.device_code import Image
from wheelgrid.inspect.run_fit import How, Need

__all__ = ["STATE_ORDER", "Applied", "Lacking", "RunState", "Verdict"]


class RunState(StrEnum):
    """What is said of a library or a wheel on one device.

    FULL: machine code for every kernel. JIT: every kernel runs, some compiled by the driver.
    PARTIAL: some kernels have no image. NONE: no kernel runs. UNKNOWN: could not be judged.
    NOT_APPLICABLE: no device code for this vendor.
    """

    FULL = "FULL"
    JIT = "JIT"
    PARTIAL = "PARTIAL"
    NONE = "NONE"
    UNKNOWN = "UNKNOWN"
    NOT_APPLICABLE = "NOT_APPLICABLE"


STATE_ORDER = (
    RunState.NOT_APPLICABLE,
    RunState.NONE,
    RunState.UNKNOWN,
    RunState.PARTIAL,
    RunState.JIT,
    RunState.FULL,
)
"""From the worst to the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What one rule said of images for one target: in how many units, and of how many kernels.

    `how` is `not` for images in units that the device cannot run. `kernels` is None where some
    were not listed; `rule` is None where no rule is about such an image.
    """

    rule: RunRule | None
    image: Image
    how: How
    containers: int
    kernels: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """What has no image: kernels by name, and units of which no kernels were listed.

    `elsewhere` are kernels that another unit has an image for: such a name (a template, say) has
    one entry in the program, and the order of registration decides which unit serves it.
    """

    kernels: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    containers: int = 0
    unlisted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One library on one device. `containers` and `kernels` are all that were judged.

    `kernels` is None where some were not listed. `needs` is what the code that runs asks of the
    machine.
    """

    path: str
    device: Device
    state: RunState
    reason: str
    applied: tuple[Applied, ...] = ()
    lacking: Lacking = field(default_factory=Lacking)
    needs: tuple[Need, ...] = ()
    containers: int = 0
    kernels: int | None = None
    warnings: tuple[str, ...] = ()
    jit_sources: tuple[str, ...] = ()
