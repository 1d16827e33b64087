"""CP004: A gap that a later version closed names that version."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from wheelgrid.core.errors import Fault
from wheelgrid.core.feature import Feature, FeatureStatus
from wheelgrid.core.vendor import lowest_of
from wheelgrid.lint.rule import Context, Rule, Scope, Severity
from wheelgrid.lint.rules._places import written

__all__ = ["RULE"]

_OPEN = frozenset({"missing", "broken", "unsupported", "build_absent"})
_DONE = frozenset({"supported", "preview"})


def _family(accelerator: str) -> str:
    return accelerator.rstrip("0123456789.*")


def _later(feature: Feature, gap: FeatureStatus, lowest: Version) -> FeatureStatus | None:
    """The earliest statement that the feature works in a newer release of the same family."""
    working = [
        (version, status)
        for status in feature.statuses
        if status.status in _DONE and _family(status.accelerator) == _family(gap.accelerator)
        for version in [lowest_of(status.torch)]
        if version is not None and version > lowest
    ]
    return min(working, key=lambda pair: pair[0], default=(None, None))[1]


def _line(working: FeatureStatus) -> str:
    """The release line of a statement, `2.14`: a nightly counts as the release it leads to."""
    lowest = lowest_of(working.torch)
    return f"{lowest.major}.{lowest.minor}" if lowest is not None else ""


def _faults(feature: Feature, context: Context) -> Iterator[Fault]:
    for gap in feature.statuses:
        lowest, place = lowest_of(gap.torch), written(context, gap.source)
        if gap.status not in _OPEN or lowest is None or place is None:
            continue
        if gap.closed_by:
            if Version(gap.closed_by) <= lowest:
                yield place.fault(
                    f"the gap is said of torch {gap.torch}, but closed by the older or same "
                    f"{gap.closed_by}",
                    at="closed_by",
                )
            continue
        working = _later(feature, gap, lowest)
        if working is not None:
            yield place.fault(
                f"{feature.id} is {gap.status.replace('_', ' ')} on {gap.accelerator} in torch "
                f"{gap.torch}, and {working.status} in {working.torch} "
                f"({working.source.id}): the gap is closed, by no version",
                hint=f'add closed_by: "{_line(working)}"',
            )


def _check(context: Context) -> Iterator[Fault]:
    for feature in context.knowledge.features:
        yield from _faults(feature, context)


RULE = Rule(
    id="CP004",
    scope=Scope.FILE,
    severity=Severity.ERROR,
    summary="A gap that a later version closed names that version.",
    why=(
        "A gap belongs to a version and ends with one. A statement that goes on saying `missing` "
        "sends people round a problem that an upgrade solves."
    ),
    fix="Add `closed_by` with the torch version that closed it. Keep the statement.",
    bad='{torch: "2.13", accelerator: "xpu*", status: missing}  # 2.14 has it',
    good='{torch: "2.13", accelerator: "xpu*", status: missing, closed_by: "2.14"}',
    check=_check,
)
