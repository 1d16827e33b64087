"""Files of a package index or a release page, as a list: names, and what a page says of each."""

from __future__ import annotations

from dataclasses import dataclass, field

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from wheelgrid.core.wheelname import FileName

__all__ = ["ListedFile", "requirements_on"]


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """One file. What the list does not say is None or empty: unknown, never no.

    `yanked` is the reason (which may be empty) of a yanked file. `uploaded` is ISO 8601.
    `requires` are its Requires-Dist, `inner_version` the Version of its METADATA.
    """

    name: FileName
    requires_python: str = ""
    yanked: str | None = None
    uploaded: str = ""
    hashed: bool | None = None
    requires: tuple[str, ...] | None = None
    inner_version: str = ""
    knows_python: bool = field(default=False)
    """Whether the list would have said Requires-Python, so that its absence is a fact."""

    @property
    def specifier(self) -> SpecifierSet | None:
        """Requires-Python; None where there is none, or none that can be read."""
        try:
            return SpecifierSet(self.requires_python) if self.requires_python else None
        except InvalidSpecifier:
            return None

    def __str__(self) -> str:
        """The file name."""
        return self.name.name


def requirements_on(
    requires: tuple[str, ...] | None, project: str, markers: dict[str, str]
) -> list[Requirement]:
    """Requirements of a file on one project (empty: on any) that hold in an environment.

    What cannot be read is left out; the audit of the wheel reports it.
    """
    found = []
    for text in requires or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if project and canonicalize_name(requirement.name) != project:
            continue
        if requirement.marker is None or requirement.marker.evaluate(dict(markers)):
            found.append(requirement)
    return found
