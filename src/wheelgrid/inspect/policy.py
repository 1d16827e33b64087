"""Exceptions of a policy: which findings they accept, and which of them are void."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase

from wheelgrid.core.audit_policy import Waiver
from wheelgrid.inspect.findings import Finding, error, warning

__all__ = ["Waived", "apply_waivers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waived:
    """A finding that is accepted, and the exception that accepts it."""

    finding: Finding
    waiver: Waiver


def _covers(waiver: Waiver, finding: Finding) -> bool:
    same = finding.rule == waiver.rule
    return same and (waiver.member == "*" or fnmatchcase(finding.member, waiver.member))


def _place(waiver: Waiver) -> str:
    member = "" if waiver.member == "*" else f" in {waiver.member}"
    return f"the exception from {waiver.rule}{member} ({waiver.reason})"


def apply_waivers(
    findings: Iterable[Finding], waivers: tuple[Waiver, ...], as_of: date | None
) -> tuple[tuple[Finding, ...], tuple[Waived, ...]]:
    """Split findings into those that stand and those that are accepted.

    WG601: an exception past its day accepts nothing and is an error; one that matches nothing
    warns. ValueError where there are exceptions and no day to judge them by.
    """
    if waivers and as_of is None:
        msg = "exceptions need a day to be judged by"
        raise ValueError(msg)
    standing: list[Finding] = []
    waived: list[Waived] = []
    valid = [w for w in waivers if as_of is not None and as_of <= w.until]
    used: set[Waiver] = set()
    for finding in findings:
        waiver = next((w for w in valid if _covers(w, finding)), None)
        if waiver is None:
            standing.append(finding)
        else:
            used.add(waiver)
            waived.append(Waived(finding=finding, waiver=waiver))
    for waiver in waivers:
        if waiver not in valid:
            text = f"{_place(waiver)} ended on {waiver.until}; see {waiver.link}"
            standing.append(error("WG601", text))
        elif waiver not in used and not any(_covers(waiver, w.finding) for w in waived):
            standing.append(warning("WG601", f"{_place(waiver)} matches no finding: delete it"))
    return tuple(standing), tuple(waived)
