"""What a sunset of a Python asks of a project's releases: what to publish and what to yank.

A release without Requires-Python is offered to every Python, and cannot be repaired: the next one
must have it, and the one without must be yanked, or installers on the old Python fall back to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from packaging.requirements import Requirement
from packaging.version import Version

from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.targets import Target
from wheelgrid.core.wheelname import Kind, read_name
from wheelgrid.planning.installer import choose

__all__ = ["Release", "ReleasePlan", "plan_releases"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """All files of one version that are not yanked.

    `requires_python`: empty where the page gives none; None where the list cannot say.
    """

    version: Version
    files: tuple[ListedFile, ...]
    requires_python: str | None

    def admits(self, python: str) -> bool | None:
        """Whether installers on a Python are offered it; None where the list cannot say."""
        if self.requires_python is None:
            return None
        return any(f.specifier is None or f.specifier.contains(python) for f in self.files)

    @property
    def lacks(self) -> bool:
        """Whether some file of it has no Requires-Python."""
        return self.requires_python is not None and any(not f.requires_python for f in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """The actions for one project and one Python in sunset, and what pip picks meanwhile.

    `publish` is a version that must be made with `floor`; empty where the newest has it already.
    """

    project: str
    sunset: Sunset
    floor: str
    newest: Version
    publish: str
    lacking: tuple[Version, ...]
    yank: tuple[Version, ...]
    unknown: tuple[Version, ...]
    before: str
    published: str
    after: str

    @property
    def needs_action(self) -> bool:
        """Whether there is something to publish or to yank."""
        return bool(self.publish or self.yank)


def _releases(files: Iterable[ListedFile], project: str) -> list[Release]:
    grouped: dict[Version, list[ListedFile]] = {}
    for file in files:
        name = file.name
        is_own = name.project == project and name.kind in {Kind.WHEEL, Kind.SDIST}
        if is_own and name.version is not None and file.yanked is None:
            grouped.setdefault(name.version, []).append(file)
    found = []
    for version in sorted(grouped):
        own = tuple(grouped[version])
        known = any(f.requires_python or f.knows_python for f in own)
        first = next((f.requires_python for f in own if f.requires_python), "")
        found.append(Release(version=version, files=own, requires_python=first if known else None))
    return found


def _picked(files: Iterable[ListedFile], project: str, target: Target) -> str:
    """The file that pip takes for a target, or `nothing`."""
    chosen = choose(files, Requirement(project), target).chosen
    return str(chosen) if chosen is not None else "nothing"


def _supports(release: Release, python: PythonVersion) -> bool:
    """Whether the files say that they are for the Python: its own wheels, or a range with it."""
    own = any(
        tag.interpreter == python.interpreter_tag for f in release.files for tag in f.name.tags
    )
    text = str(python)
    ranged = any(f.specifier is not None and f.specifier.contains(text) for f in release.files)
    return own or ranged


def _to_yank(releases: list[Release], python: PythonVersion) -> tuple[Version, ...]:
    """Releases without Requires-Python that an old Python would fall back to.

    Those newer than the last one whose files are for the Python; where none is, the newest alone:
    older ones may work there, and nobody but their authors knows.
    """
    supported = [r.version for r in releases if _supports(r, python)]
    lacking = [r.version for r in releases if r.lacks and not _supports(r, python)]
    if supported:
        return tuple(v for v in lacking if v > max(supported))
    return tuple(lacking[-1:])


def _successor(version: Version) -> str:
    """The next minor version: 1.3 after 1.2.5."""
    minor = version.minor + 1 if len(version.release) > 1 else 1
    return f"{version.major}.{minor}"


def plan_releases(
    files: tuple[ListedFile, ...], project: str, sunset: Sunset, *, platform: Platform
) -> ReleasePlan | None:
    """The plan for one project; None where the list has no release of it."""
    releases = _releases(files, project)
    stable = [r for r in releases if not r.version.is_prerelease] or releases
    if not stable:
        return None
    python = PythonVersion.parse(sunset.value)
    floor = f"{python.major}.{python.minor + 1}"
    newest = stable[-1]
    publish = "" if newest.admits(str(python)) is False else _successor(newest.version)
    yank = _to_yank(stable, python)
    target = Target(python=python, platform=platform)
    made = list(files)
    if publish:
        name = f"{project.replace('-', '_')}-{publish}-py3-none-any.whl"
        made.append(
            ListedFile(name=read_name(name), requires_python=f">={floor}", knows_python=True)
        )
    yanked = [
        replace(f, yanked="no Requires-Python") if f.name.version in yank else f for f in made
    ]
    return ReleasePlan(
        project=project,
        sunset=sunset,
        floor=f">={floor}",
        newest=newest.version,
        publish=publish,
        lacking=tuple(r.version for r in stable if r.lacks),
        yank=yank,
        unknown=tuple(r.version for r in stable if r.requires_python is None),
        before=_picked(files, project, target),
        published=_picked(made, project, target),
        after=_picked(yanked, project, target),
    )
