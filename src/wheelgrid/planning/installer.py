"""What pip and uv pick from the files of one project, for one target; and why the rest is out.

The rules are the installers': files whose tags, Requires-Python and specifier fit; the highest
version; of one version a wheel before a source distribution, then the best tag, then the highest
build tag (pip: `CandidateEvaluator._sort_key`). Local labels take part in the version order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.targets import Target
from wheelgrid.core.wheelname import Kind
from wheelgrid.planning.tag_reasons import tags_problem

__all__ = ["Choice", "Considered", "choose", "is_pinned"]


@dataclass(frozen=True, kw_only=True)
class Considered:
    """One file: `code` and `why` say what puts it out; both empty where it can be installed."""

    file: ListedFile
    code: str = ""
    why: str = ""
    rank: int = -1

    @property
    def installable(self) -> bool:
        """Whether nothing puts it out."""
        return not self.code


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The file that an installer takes, or None; every file considered, in the list's order.

    `fallback` is the yanked file that only old installers take, or a `==` pin, where nothing else
    is left.
    """

    requirement: Requirement
    target: Target
    chosen: ListedFile | None
    considered: tuple[Considered, ...]
    fallback: ListedFile | None = None
    installable: tuple[ListedFile, ...] = field(default=())

    @property
    def project(self) -> str:
        """The project asked for, normalised."""
        return canonicalize_name(self.requirement.name)

    @property
    def own(self) -> tuple[Considered, ...]:
        """The files of the project."""
        return tuple(c for c in self.considered if c.code != "other-project")


def is_pinned(requirement: Requirement) -> bool:
    """Whether it names one exact version: only then installers take a yanked one (PEP 592)."""
    return any(
        clause.operator == "===" or (clause.operator == "==" and not clause.version.endswith(".*"))
        for clause in requirement.specifier
    )


def _name_problem(file: ListedFile, project: str) -> tuple[str, str]:
    name = file.name
    if name.project and name.project != project:
        return "other-project", f"is of {name.project}"
    fatal = next((f for f in name.faults if f.fatal), None)
    if fatal is not None:
        return fatal.code, fatal.message
    return "", ""


def _python_problem(file: ListedFile, target: Target) -> tuple[str, str]:
    specifier = file.specifier
    version = f"{target.python.major}.{target.python.minor}.0"
    if specifier is None or specifier.contains(version, prereleases=True):
        return "", ""
    return "requires-python", f"Requires-Python {file.requires_python}, not {target.python}"


def _version_problem(file: ListedFile, requirement: Requirement, *, early: bool) -> tuple[str, str]:
    version = file.name.version
    if version is None:
        return "version", "has no version"
    if not requirement.specifier.contains(version, prereleases=True):
        why = f"{version} is not {requirement.specifier}"
        if version.is_prerelease and requirement.specifier.contains(
            version.base_version, prereleases=True
        ):
            why += f": a pre-release comes before {version.base_version}"
        return "specifier", why
    if version.is_prerelease and not early:
        return "pre-release", f"{version} is a pre-release, and nobody asked for those"
    return "", ""


def _linked(file: ListedFile, project: str, target: Target, *, sources: bool) -> Considered:
    """What puts a file out whatever version is asked for: name, tags, Requires-Python."""
    code, why = _name_problem(file, project)
    rank = -1
    if not code and file.name.kind is Kind.WHEEL:
        found = target.rank(file.name.tags)
        rank = -1 if found is None else found
        code, why = tags_problem(file.name.tags, target) if found is None else ("", "")
    elif not code and not sources:
        code, why = "source", "is a source distribution, and only wheels are asked for"
    if not code:
        code, why = _python_problem(file, target)
    return Considered(file=file, code=code, why=why, rank=rank)


def _order(found: Considered) -> tuple[object, ...]:
    name = found.file.name
    wheel = name.kind is Kind.WHEEL
    build = name.build or (-1, "")
    return name.version, wheel, -found.rank if wheel else 0, build, name.name


def _wants_early(linked: Iterable[Considered], requirement: Requirement, *, early: bool) -> bool:
    """Whether pre-releases count: asked for, named in the specifier, or nothing else fits.

    As PEP 440 says, and `SpecifierSet.filter` does, over the files that the target can install.
    """
    if early or requirement.specifier.prereleases:
        return True
    versions = [c.file.name.version for c in linked if c.installable and c.file.name.version]
    return not any(
        not version.is_prerelease and requirement.specifier.contains(version)
        for version in versions
    )


def _versioned(found: Considered, requirement: Requirement, *, early: bool) -> Considered:
    if found.code:
        return found
    code, why = _version_problem(found.file, requirement, early=early)
    return Considered(file=found.file, code=code, why=why, rank=found.rank)


def choose(
    files: Iterable[ListedFile],
    requirement: Requirement,
    target: Target,
    *,
    early: bool = False,
    sources: bool = True,
) -> Choice:
    """Simulate the choice. `early` allows pre-releases, `sources` source distributions."""
    project = canonicalize_name(requirement.name)
    linked = [_linked(file, project, target, sources=sources) for file in files]
    early = _wants_early(linked, requirement, early=early)
    considered = [_versioned(c, requirement, early=early) for c in linked]
    fits = sorted((c for c in considered if c.installable), key=_order, reverse=True)
    live = [c for c in fits if c.file.yanked is None]
    fallback = None
    if not live and fits:
        if is_pinned(requirement):
            live = fits
        fallback = fits[0].file
    if live is not fits:
        considered = [_yanked(c) for c in considered]
    return Choice(
        requirement=requirement,
        target=target,
        chosen=live[0].file if live else None,
        considered=tuple(considered),
        fallback=fallback,
        installable=tuple(c.file for c in live),
    )


def _yanked(found: Considered) -> Considered:
    if found.code or found.file.yanked is None:
        return found
    reason = f": {found.file.yanked}" if found.file.yanked else ""
    return Considered(file=found.file, code="yanked", why=f"is yanked{reason}", rank=found.rank)
