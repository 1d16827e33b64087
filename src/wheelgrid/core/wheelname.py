"""File names of distributions, read strictly: every fault at once, and the name that was meant.

Sources: the binary distribution format (packaging.python.org), PEP 427, 425, 440, 503, 625, 803
and the draft PEP 825. Installers are lenient with versions; what we publish must not need it.
"""

from __future__ import annotations

import re

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelgrid.core.filename import (
    FileName,
    Kind,
    NameFault,
    file_part,
    index_folder,
)
from wheelgrid.core.wheelparts import WheelParts
from wheelgrid.core.wheelversion import read_version

__all__ = ["FileName", "Kind", "NameFault", "file_part", "index_folder", "read_name"]

_LONGEST = 255
_PLAIN = re.compile(r"[A-Za-z0-9._+!-]+\Z")
_SDIST = (".tar.gz", ".zip")
_EGG = re.compile(r"(.+?)-([^-]+)(?:-py[0-9.]+(?:-[^-]+)?)?\.egg\Z")
_OLD = (".egg", ".exe", ".msi", ".rpm", ".deb", ".tar.bz2", ".tgz", ".tar.xz", ".tar.Z")


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except (InvalidVersion, ValueError):
        return None


def read_name(name: str) -> FileName:
    """Take a file name apart; what is wrong is in `faults`, nothing is raised."""
    if len(name) > _LONGEST or not _PLAIN.match(name):
        what = "is longer than file systems allow" if len(name) > _LONGEST else "has characters "
        what += "" if len(name) > _LONGEST else "that no distribution name has"
        shown = name[:80]
        fault = NameFault(code="characters", message=f"{shown!r} {what}", fatal=True)
        return FileName(name=name[:_LONGEST], kind=Kind.OTHER, faults=(fault,))
    if name.endswith(".whl"):
        return WheelParts(name).read()
    if name.endswith(_SDIST):
        return _sdist(name)
    return _other(name)


def _sdist(name: str) -> FileName:
    """`name-version.tar.gz`; dashes in the name are read, but PEP 625 has none."""
    end = next(e for e in _SDIST if name.endswith(e))
    project, _dash, text = name.removesuffix(end).rpartition("-")
    version, faults = read_version(text)
    found = [
        NameFault(
            code=f.code,
            message=f.message,
            fatal=f.fatal,
            suggestion=f"{file_part(project)}-{f.better}{end}" if f.better and project else "",
        )
        for f in faults
    ]
    if not project:
        message = f"a source distribution is named name-version{end}; this has no dash"
        found = [NameFault(code="parts", message=message, fatal=True)]
    elif project != file_part(project):
        better = f"{file_part(project)}-{version or text}.tar.gz"
        message = f"the name {project!r} is not normalised; write {file_part(project)!r} (PEP 625)"
        found.append(NameFault(code="name-not-normalised", message=message, suggestion=better))
    return FileName(
        name=name,
        kind=Kind.SDIST,
        project=canonicalize_name(project) if project else "",
        version=version,
        version_text=text,
        faults=tuple(found),
    )


def _other(name: str) -> FileName:
    """Eggs and installers that pip never takes; and files that are no distributions."""
    if not name.endswith(_OLD):
        message = "is neither a wheel (.whl) nor a source distribution (.tar.gz)"
        fault = NameFault(code="not-a-distribution", message=message, fatal=True)
        return FileName(name=name, kind=Kind.OTHER, faults=(fault,))
    match = _EGG.match(name)
    message = "is a format that pip and uv do not install; build a wheel"
    return FileName(
        name=name,
        kind=Kind.EGG if match else Kind.OTHER,
        project=canonicalize_name(match[1]) if match else "",
        version=_version(match[2]) if match else None,
        faults=(NameFault(code="old-format", message=message, fatal=True),),
    )
