"""Which builds of a plan are already published, judged by the names of files alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from wheelgrid.core.build import Build
from wheelgrid.core.evidence import Observation
from wheelgrid.core.recipe import Abi
from wheelgrid.core.rung import Outcome, Rung

__all__ = ["Published", "last_tests"]


def _fits(build: Build, tag: Tag) -> bool:
    """Whether a tag is one that the build's wheel may carry."""
    if build.abi is Abi.PURE:
        return tag.interpreter == "py3" and tag.abi == "none" and tag.platform == "any"
    return (
        tag.interpreter == build.python.interpreter_tag
        and tag.abi == build.abi_tag
        and build.platform.matches_wheel_platform(tag.platform)
    )


@dataclass(frozen=True)
class Published:
    """File names of an index or a release page; other names than those of wheels are ignored."""

    files: dict[tuple[str, Version], list[tuple[str, frozenset[Tag]]]]

    @classmethod
    def of(cls, names: Iterable[str]) -> Published:
        """Read the names; what is no wheel name cannot serve a build."""
        found: dict[tuple[str, Version], list[tuple[str, frozenset[Tag]]]] = {}
        for name in names:
            try:
                package, version, _, tags = parse_wheel_filename(name)
            except InvalidWheelFilename:
                continue
            found.setdefault((package, version), []).append((name, tags))
        return cls(found)

    def file_of(self, build: Build) -> str:
        """The published file that is this build, or empty."""
        key = (canonicalize_name(build.package), Version(build.wheel_version))
        for name, tags in self.files.get(key, ()):
            if any(_fits(build, tag) for tag in tags):
                return name
        return ""


def last_tests(records: Iterable[Observation]) -> dict[tuple[str, str], tuple[date, Outcome]]:
    """The day and outcome of the last execution of each (package, cell id)."""
    found: dict[tuple[str, str], tuple[date, Outcome]] = {}
    for record in records:
        ran = [r.outcome for r in record.rungs if r.rung is Rung.EXECUTED]
        if not ran or ran[0] not in {Outcome.PASSED, Outcome.FAILED}:
            continue
        key, day = (record.package, record.cell), date.fromisoformat(record.provenance.time[:10])
        if key not in found or day >= found[key][0]:
            found[key] = (day, ran[0])
    return found
