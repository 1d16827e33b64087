"""The words of a verdict: how much runs, by which images, and what to be careful of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wheelgrid.core.run_rules import Device, features_of
from wheelgrid.inspect.device_code import CodeGroup
from wheelgrid.inspect.order import by_number
from wheelgrid.inspect.run_fit import Fit, How
from wheelgrid.inspect.run_verdict import RunState

__all__ = ["Use", "counted", "reason", "warnings"]

Use = tuple[CodeGroup, Fit]
"""A group of kernels and the image that a device takes for them, or the best of those refused."""


def counted(groups: Iterable[CodeGroup]) -> int | None:
    """The number of kernels; None where some group has none listed."""
    total = 0
    for group in groups:
        if group.kernels is None:
            return None
        total += len(group.kernels)
    return total


def _amount(part: list[CodeGroup], whole: list[CodeGroup]) -> str:
    """`15 of 90 kernels`, or `3 of 7 units` where some kernels were not listed."""
    kernels = counted(whole)
    total = sum(g.containers for g in whole) if kernels is None else kernels
    some = sum(g.containers for g in part) if kernels is None else counted(part)
    word = ("unit" if kernels is None else "kernel") + ("" if total == 1 else "s")
    return f"all of {total} {word}" if some == total else f"{some} of {total} {word}"


def _targets(uses: Iterable[Use], how: How) -> str:
    names = {f.image.target or str(f.image.kind) for _, f in uses if f.how is how}
    return ", ".join(by_number(names))


def _own(uses: Iterable[Use], device: Device) -> bool:
    """Whether some machine code in use is built for the very device, modes left out."""
    gpu = features_of(device.target)[0]
    return any(features_of(f.image.target)[0] == gpu for _, f in uses if f.how is How.NATIVE)


def _all_targets(uses: Iterable[Use], device: Device) -> str:
    images = {i for g, _ in uses for i in g.images if i.kind.family is device.family}
    return ", ".join(by_number(i.target or str(i.kind) for i in images))


def _unmet(uses: Iterable[Use]) -> str:
    """Why images that would fit are refused: the machine does not meet what they need."""
    needs = {str(f.need): None for _, f in uses if f.need and f.need.met is False}
    return f": needs {', '.join(needs)}" if needs else ""


def reason(state: RunState, uses: list[Use], device: Device) -> str:
    """Why a library has this state on a device, with numbers."""
    everything = [g for g, _ in uses]
    native = _targets(uses, How.NATIVE)
    late = _targets(uses, How.COMPILED)
    own = _own(uses, device)
    if state is RunState.FULL:
        note = "" if own else f", no image of {device.target} itself"
        return f"{_amount(everything, everything)} by {native}{note}"
    if state is RunState.JIT:
        compiled = _amount([g for g, f in uses if f.how is How.COMPILED], everything)
        rest = f"; the rest by {native}" if native else ""
        return f"{compiled} compiled by the driver from {late}{rest}"
    if state is RunState.PARTIAL:
        without = _amount([g for g, f in uses if f.how is How.NOT], everything)
        return (
            f"{without} without an image for {device.target}"
            f"{_unmet(uses)} (may be intended: dispatch by architecture)"
        )
    if state is RunState.NONE:
        return f"has code for {_all_targets(uses, device)}; none runs on {device.target}" + _unmet(
            uses
        )
    return f"no rule says whether {_targets(uses, How.UNKNOWN)} runs on {device.target}"


def warnings(uses: list[Use], device: Device, *, left_out: int) -> Iterator[str]:
    """Rules that are not known to hold for the device, and units that were left out."""
    native = [f for _, f in uses if f.how is How.NATIVE and f.image.target != device.target]
    for rule in dict.fromkeys(f.rule for f in native):
        if rule and device.target in rule.doubtful:
            yield f"rule {rule.id} is not known to hold for {device.target}: {rule.source.note}"
    if left_out:
        units = "unit" if left_out == 1 else "units"
        yield f"{left_out} {units} not counted: input of the device linker, which no driver loads"
