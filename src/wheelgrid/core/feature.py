"""Features of the stack: what each source says of them, and gaps that a version closed."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from packaging.version import Version

from wheelgrid.core.evidence import Source
from wheelgrid.core.vendor import applies

__all__ = ["GAPS", "WORKING", "Feature", "FeatureStatus", "Partial"]

WORKING = frozenset({"supported", "preview", "fallback"})
"""Statuses with which a user gets an answer."""

GAPS = frozenset({"missing", "broken", "unsupported", "fallback", "build_absent", "crashed"})
"""Statuses that a later version can close. `not_applicable` is none: nothing is to be closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureStatus:
    """What one source says of a feature on one torch (or range of it) and accelerator.

    `not_applicable`: absent by design, `replacement` serves instead. `missing`: nobody has
    written it. `broken`: it is there and fails. `closed_by` is the torch version that closed a gap.
    """

    torch: str
    accelerator: str
    status: str
    detail: str
    source: Source
    replacement: str = ""
    closed_by: str = ""

    def speaks_of(self, torch: Version, accelerator: str) -> bool:
        """Whether the statement is about this release and accelerator."""
        return applies(self.torch, torch) and fnmatchcase(accelerator, self.accelerator)

    def is_closed_in(self, torch: Version) -> bool:
        """Whether a gap is closed in a release. A nightly counts as the release it leads to."""
        return bool(self.closed_by) and Version(torch.base_version) >= Version(self.closed_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """What partial support lacks; torch and accelerator are empty where it holds for all."""

    torch: str
    accelerator: str
    missing: tuple[str, ...]
    source: Source
    closed_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A named capability of the stack and what is known of it."""

    id: str
    title: str
    summary: str
    since: str
    stability: str
    accelerators: tuple[str, ...]
    needs: tuple[str, ...]
    workaround: str
    statuses: tuple[FeatureStatus, ...]
    partial: tuple[Partial, ...] = ()
