"""Rules on platform tags of macOS against the oldest system of the files: WG202, WG206."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.inspect.findings import Finding, error, warning
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.subject import Subject

__all__ = ["macos_floor"]

_TAG = re.compile(r"macosx_([0-9]{1,3})_([0-9]{1,3})_(.+)\Z")
_MINIMUM = re.compile(r"macOS ([0-9]{1,3})\.([0-9]{1,3})")
_FIRST_ARM = (11, 0)
"""The first macOS on arm64: an older promise is none for that CPU."""


def _minimum(library: Library, arch: str) -> tuple[int, int] | None:
    """The oldest macOS that loads the file; None where it names none.

    In a universal file each CPU has its own minimum; that of arm64 is 11.0 at least, whatever the
    tag says, so 11.0 in it is no need.
    """
    found = [(int(m[1]), int(m[2])) for m in _MINIMUM.finditer(library.minimum_os)]
    if arch == "universal2" and len(found) > 1:
        found = [version for version in found if version != _FIRST_ARM] or found
    return max(found, default=None)


def _promise(subject: Subject) -> tuple[str, tuple[int, int], str] | None:
    found = [
        ((int(m[1]), int(m[2])), m[3], t.platform)
        for t in subject.tags
        if (m := _TAG.match(t.platform))
    ]
    if not found:
        return None
    version, arch, tag = min(found)
    return tag, version, arch


def _is_above(minimum: tuple[int, int], version: tuple[int, int]) -> bool:
    """Whether a file needs more than promised. From 11 on tags have majors alone to say it."""
    if version >= _FIRST_ARM:
        return minimum[0] > version[0]
    return minimum > version


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def macos_floor(subject: Subject) -> Iterator[Finding]:
    """WG202 for files that need a newer macOS than promised, WG206 for a promise above all."""
    promised = _promise(subject)
    if promised is None:
        return
    tag, version, arch = promised
    files = [(one, m) for one in subject.libraries if (m := _minimum(one, arch)) is not None]
    lowest = max((m for _, m in files), default=version)
    lowest = max(lowest, _FIRST_ARM) if arch == "arm64" else lowest
    # From 11 on installers ask for X_0 alone; minor versions count before that.
    rounded = (lowest[0], 0) if lowest[0] >= _FIRST_ARM[0] else lowest
    true_tag = f"the lowest true tag is macosx_{rounded[0]}_{rounded[1]}_{arch}"
    for library, minimum in files:
        if _is_above(minimum, version):
            text = f"needs macOS {_text(minimum)}; {tag} promises {_text(version)}; {true_tag}"
            yield error("WG202", text, library.path)
    asked = [(int(t[1]), int(t[2])) for f in subject.policy.floor if (t := _TAG.match(f"{f}_x"))]
    if asked and version > min(asked):
        text = f"{tag} does not install on macOS {_text(min(asked))}, which the policy asks for"
        yield error("WG206", f"{text}; {true_tag}")
    elif files and rounded < version:
        yield warning(
            "WG206", f"{tag} is needlessly high: the files need {_text(lowest)}; {true_tag}"
        )
