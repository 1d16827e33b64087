"""Will a library run on a GPU: judged by kernel or translation unit, never by a union of targets.

A kernel runs where its own unit has an image for the device. A unit is left out of the count where
it has no kernels, or is input of a device linker only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

from wheelgrid.core.accelerator import Family
from wheelgrid.core.run_rules import Device, features_of, rule_of
from wheelgrid.inspect.device_code import CodeGroup, DeviceCode, ImageKind
from wheelgrid.inspect.run_fit import Fit, How, Need, Terms, best_fit, fit, runtime_need
from wheelgrid.inspect.run_reasons import Use, counted, reason, warnings
from wheelgrid.inspect.run_verdict import STATE_ORDER, Applied, Lacking, RunState, Verdict

__all__ = ["judge"]

_RUNS = frozenset({How.NATIVE, How.COMPILED})
_MODES = frozenset({"sramecc", "xnack"})
"""Modes of AMD's processors that code can be built for; a device has each on or off."""


def _pairs(uses: Iterable[Use], fits: list[Fit]) -> Iterator[Use]:
    """Groups with the image in use; where none is, with every image that was refused."""
    for group, best in uses:
        if best.how in _RUNS:
            yield group, best
        else:
            yield from ((group, f) for f in fits if f.image in group.images)


def _applied(pairs: Iterable[Use]) -> tuple[Applied, ...]:
    groups: dict[Fit, list[CodeGroup]] = {}
    for group, found in pairs:
        groups.setdefault(found, []).append(group)
    rows = [
        Applied(
            rule=found.rule,
            image=found.image,
            how=found.how,
            containers=sum(g.containers for g in members),
            kernels=counted(members),
        )
        for found, members in groups.items()
    ]
    order = list(How)
    return tuple(sorted(rows, key=lambda a: (order.index(a.how), -a.containers, a.image)))


def _lacking(uses: list[Use]) -> Lacking:
    without = [g for g, f in uses if f.how is How.NOT]
    there = {k for g, f in uses if f.how in _RUNS for k in g.kernels or ()}
    names = {k for g in without for k in g.kernels or ()}
    return Lacking(
        kernels=tuple(sorted(names - there)),
        elsewhere=tuple(sorted(names & there)),
        containers=sum(g.containers for g in without),
        unlisted=sum(g.containers for g in without if g.kernels is None),
    )


def _state(hows: set[How]) -> RunState:
    if How.UNKNOWN in hows:
        return RunState.UNKNOWN
    if How.NOT in hows:
        return RunState.NONE if hows == {How.NOT} else RunState.PARTIAL
    return RunState.JIT if How.COMPILED in hows else RunState.FULL


def _needs(code: DeviceCode, uses: list[Use], terms: Terms, device: Device) -> tuple[Need, ...]:
    """What the runtime and the images in use need, each once."""
    major = code.runtimes.get("cuda", "") if device.family is Family.CUDA else ""
    runtime = runtime_need(major, terms) if major else None
    used = [f.need for _, f in uses if f.how in _RUNS]
    return tuple(dict.fromkeys(need for need in (runtime, *used) if need))


def _is_input(group: CodeGroup) -> bool:
    return not group.loadable or all(i.kind is ImageKind.LTO for i in group.images)


def _nothing(code: DeviceCode, device: Device, why: str) -> Verdict:
    return Verdict(
        path=code.path,
        device=device,
        state=RunState.NOT_APPLICABLE,
        reason=why,
        jit_sources=code.jit_sources,
    )


def _linker_input(
    code: DeviceCode, groups: list[CodeGroup], device: Device, terms: Terms
) -> Verdict:
    """Nothing that a driver loads: LTO-IR or relocatable code alone."""
    rule = rule_of(terms.rules, device.family, ImageKind.LTO)
    images = ((g, i) for g in groups for i in g.images if i.kind.family is device.family)
    refused = ((g, Fit(image=i, how=How.NOT, rule=rule)) for g, i in images)
    said = _nothing(code, device, "input of a device linker only, which no driver loads")
    return replace(said, state=RunState.NONE, applied=_applied(refused))


def _judge_groups(
    code: DeviceCode, groups: list[CodeGroup], device: Device, terms: Terms
) -> Verdict:
    """Judge a library that has code for the device's vendor."""
    images = sorted({i for g in groups for i in g.images if i.kind.family is device.family})
    fits = [fit(image, device, terms) for image in images]
    with_kernels = [g for g in groups if g.kernels is None or g.kernels]
    judged = [g for g in with_kernels if not _is_input(g)]
    uses = [(g, best) for g in judged if (best := best_fit(g, fits, device))]
    left_out = sum(g.containers for g in with_kernels if _is_input(g))
    if not uses and left_out:
        return _linker_input(code, with_kernels, device, terms)
    if not uses:
        return _nothing(code, device, "no kernels")
    state = _state({f.how for _, f in uses})
    needs = _needs(code, uses, terms, device)
    why = reason(state, uses, device)
    old = next((n for n in needs if n.met is False), None)
    if old is not None and state not in {RunState.UNKNOWN, RunState.NONE}:
        state, why = RunState.NONE, f"the driver is too old: {terms.driver}, needs {old}"
    return Verdict(
        path=code.path,
        device=device,
        state=state,
        reason=why,
        applied=_applied(_pairs(uses, fits)),
        lacking=_lacking(uses),
        needs=needs,
        containers=sum(g.containers for g, _ in uses),
        kernels=counted(g for g, _ in uses),
        warnings=(*code.notes, *warnings(uses, device, left_out=left_out)),
        jit_sources=code.jit_sources,
    )


def _variants(device: Device, groups: list[CodeGroup], terms: Terms) -> list[Device]:
    """The devices that the asked one can be, where images tell them apart.

    `gfx90a` runs with xnack on or off, and `bmg` is the name of several devices.
    """
    if device.family is Family.XPU:
        rule = rule_of(terms.rules, device.family, "aot-group")
        names = rule.members_of(device.target) if rule else ()
        return [replace(device, target=name) for name in names] or [device]
    if device.family is not Family.ROCM:
        return [device]
    processor, given = features_of(device.target)
    targets = [features_of(i.target) for g in groups for i in g.images]
    asked = sorted({mode for _, modes in targets for mode in modes} & _MODES - given.keys())
    known = "".join(f":{name}{mode}" for name, mode in given.items())
    return [
        replace(device, target=f"{processor}{known}" + "".join(f":{n}{s}" for n, s in signs))
        for signs in product(*([(name, sign) for sign in "-+"] for name in asked))
    ]


def _worst(verdicts: list[Verdict]) -> Verdict:
    """The worst of what the device can be, with a warning that says how the others are."""
    worst = min(verdicts, key=lambda v: STATE_ORDER.index(v.state))
    others = [f"{v.state} as {v.device.target}" for v in verdicts if v.state is not worst.state]
    if not others:
        return worst
    note = f"this is as {worst.device.target}; {', '.join(others)}"
    return replace(worst, warnings=(note, *worst.warnings))


def judge(code: DeviceCode, device: Device, terms: Terms) -> Verdict:
    """Judge one library on one device.

    UNKNOWN where a part could not be read: what could be read is in the reason.
    """
    groups = [g for g in code.groups if any(i.kind.family is device.family for i in g.images)]
    if groups:
        found = [
            _judge_groups(code, groups, variant, terms)
            for variant in _variants(device, groups, terms)
        ]
        verdict = replace(_worst(found), device=device)
    else:
        others = ", ".join(sorted(code.families))
        made = (
            f"; {', '.join(code.jit_sources)} makes code when it runs" if code.jit_sources else ""
        )
        have = f"device code for {others} only" if others else "no device code"
        verdict = _nothing(code, device, have + made)
    if code.unread:
        problem = f"could not read {'; '.join(code.unread)}; what was read: {verdict.state}"
        return replace(verdict, state=RunState.UNKNOWN, reason=f"{problem}, {verdict.reason}")
    return verdict
