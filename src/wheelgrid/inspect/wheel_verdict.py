"""A wheel on a GPU, from what is said of its libraries. Nothing is averaged over vendors.

Libraries that differ only in the version of a toolkit in their names (libx_cuda118.so ...
libx_cuda132.so) are variants: a program loads one of them, so the best one counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from wheelgrid.core.run_rules import Device
from wheelgrid.inspect.device_code import DeviceCode
from wheelgrid.inspect.run_fit import Need, Terms
from wheelgrid.inspect.run_verdict import STATE_ORDER, RunState, Verdict
from wheelgrid.inspect.runs_on import judge

__all__ = ["WheelVerdict", "judge_wheel"]

_TOOLKIT = re.compile(r"((?:cuda|rocm|xpu|sycl|hip|cu)[-_]?)[0-9]+(?:[._][0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelVerdict:
    """A wheel on one device. `counted` are the libraries that decide.

    `needs` are theirs, those of variants left out: each variant has its own.
    """

    device: Device
    state: RunState
    reason: str
    libraries: tuple[Verdict, ...]
    counted: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()


def _best_variants(relevant: Iterable[Verdict]) -> list[tuple[Verdict, int]]:
    """One library of each set of variants, the best, and how many the set has."""
    sets: dict[str, list[Verdict]] = {}
    for verdict in relevant:
        sets.setdefault(_TOOLKIT.sub(r"\1*", verdict.path), []).append(verdict)
    return [
        (max(members, key=lambda v: STATE_ORDER.index(v.state)), len(members))
        for members in sets.values()
    ]


def _together(states: Iterable[RunState]) -> RunState:
    found = set(states)
    if RunState.UNKNOWN in found:
        return RunState.UNKNOWN
    if len(found) == 1:
        return found.pop()
    return RunState.JIT if found == {RunState.FULL, RunState.JIT} else RunState.PARTIAL


def _reason(chosen: list[tuple[Verdict, int]]) -> str:
    if len(chosen) == 1:
        verdict, among = chosen[0]
        best = f"the best of {among} variants, " if among > 1 else ""
        return f"{best}{verdict.path}: {verdict.reason}"
    counts = Counter(verdict.state for verdict, _ in chosen)
    parts = [f"{counts[state]} {state}" for state in reversed(STATE_ORDER) if state in counts]
    variants = [f"the best of {n} variants {v.path}" for v, n in chosen if n > 1]
    note = f"; counts {', '.join(variants)}" if variants else ""
    return f"of {len(chosen)} libraries with code for it: {', '.join(parts)}{note}"


def _without(
    codes: Iterable[DeviceCode], verdicts: tuple[Verdict, ...], device: Device
) -> WheelVerdict:
    """A wheel without code for the device's vendor."""
    jit = sorted({tool for verdict in verdicts for tool in verdict.jit_sources})
    others = sorted({str(family) for code in codes for family in code.families})
    late = f"{', '.join(jit)} may make code when it runs" if jit else ""
    if others:
        state, why = RunState.NONE, f"device code for {', '.join(others)} only"
    elif jit:
        state, why = RunState.UNKNOWN, "no device code in the wheel"
    else:
        state, why = RunState.NOT_APPLICABLE, "no device code in the wheel"
    reason = f"{why}; {late}" if late else why
    return WheelVerdict(device=device, state=state, reason=reason, libraries=verdicts)


def judge_wheel(codes: Iterable[DeviceCode], device: Device, terms: Terms) -> WheelVerdict:
    """Judge every file of a wheel apart, then say what that means for the wheel."""
    files = tuple(codes)
    verdicts = tuple(judge(code, device, terms) for code in files)
    relevant = [v for v in verdicts if v.state is not RunState.NOT_APPLICABLE]
    if not relevant:
        return _without(files, verdicts, device)
    chosen = _best_variants(relevant)
    return WheelVerdict(
        device=device,
        state=_together(verdict.state for verdict, _ in chosen),
        reason=_reason(chosen),
        libraries=verdicts,
        counted=tuple(verdict.path for verdict, _ in chosen),
        needs=tuple(dict.fromkeys(need for v, among in chosen if among == 1 for need in v.needs)),
    )
