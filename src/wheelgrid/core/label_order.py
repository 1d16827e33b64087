"""Where local labels sort wrongly: a newer toolkit or torch below an older one, in one index.

A part of a local label that has a letter is compared as text (PEP 440): rocm7 > rocm10, pt28 >
pt210, torch29 > torch210. Installers take the highest, so the order decides what people get.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.version import Version

from wheelgrid.core.labels import Label, parse_label

__all__ = ["OrderFault", "label_faults"]

_MOST_LABELS = 300
_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFault:
    """Two versions: `newer` is newer by what `by` names, and yet sorts below `older`."""

    newer: Version
    older: Version
    by: str
    detail: str

    def __str__(self) -> str:
        """One sentence, for people."""
        return (
            f"{self.newer} sorts below {self.older}, though it is newer by {self.by} "
            f"({self.detail}): a part of a local label with letters is compared as text"
        )


def _first(label: Label, name: str) -> Version | None:
    """The likeliest reading of the toolkit or torch; None where the label does not say."""
    reading = label.toolkit if name == "toolkit" else label.torch
    return reading.versions[0] if reading is not None else None


def _same(one: Version, other: Version) -> bool:
    """Whether two versions agree as far as both are written: 12 says nothing against 12.6."""
    size = min(len(one.release), len(other.release))
    return one.release[:size] == other.release[:size]


def _compare(newer: Label, older: Label) -> tuple[str, str]:
    """By what one label is newer than the other, and never older; empty where it is not."""
    by, detail = [], []
    for name in ("toolkit", "torch"):
        one, two = _first(newer, name), _first(older, name)
        if one is None or two is None or _same(one, two):
            continue
        if one < two:
            return "", ""
        by.append(name)
        detail.append(f"{name} {one} after {two}")
    return " and ".join(by), ", ".join(detail)


def _groups(versions: Iterable[Version]) -> dict[tuple[str, str], list[Version]]:
    """Versions that only their labels tell apart, by public version and accelerator family."""
    found: dict[tuple[str, str], list[Version]] = defaultdict(list)
    for version in sorted(set(versions)):
        if version.local:
            family = parse_label(version.local).family
            found[version.public, str(family or "")].append(version)
    return found


def label_faults(
    versions: Iterable[Version], uploaded: Mapping[Version, str] | None = None
) -> tuple[OrderFault, ...]:
    """Pairs of one index whose order is wrong, by toolkit, by torch or by date of upload.

    `uploaded` are ISO dates. Only versions that differ in nothing but the label and are for one
    family are compared; at most the first 300 labels of each, and 20 faults.
    """
    dates = uploaded or {}
    found: list[OrderFault] = []
    for group in _groups(versions).values():
        kept = group[:_MOST_LABELS]
        labels = {v: parse_label(v.local) for v in kept}
        for low, high in ((a, b) for i, a in enumerate(kept) for b in kept[i + 1 :]):
            by, detail = _compare(labels[low], labels[high])
            if not by and not _compare(labels[high], labels[low])[0]:
                by, detail = _by_date(low, high, dates)
            if by:
                found.append(OrderFault(newer=low, older=high, by=by, detail=detail))
            if len(found) >= _MOST_FAULTS:
                return tuple(found)
    return tuple(found)


def _by_date(low: Version, high: Version, dates: Mapping[Version, str]) -> tuple[str, str]:
    """The later upload that sorts below, where labels say nothing of age."""
    one, two = dates.get(low, "")[:10], dates.get(high, "")[:10]
    if one and two and one > two:
        return "date of upload", f"{one} after {two}"
    return "", ""
