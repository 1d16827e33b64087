"""Rules on libraries that repair put in or left out: WG401, WG408."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from wheelgrid.inspect.findings import Finding, error, shown, warning
from wheelgrid.inspect.provided import DRIVER, provider
from wheelgrid.inspect.subject import Subject, plain_stem
from wheelgrid.inspect.wheel import Member

__all__ = ["bundled", "excludes"]

_STUBS = re.compile(r"(?:^|/)stubs/")
_MIB = 1 << 20


def _vendor_members(subject: Subject) -> Iterator[tuple[Member, str]]:
    """Members that users have from elsewhere, and from where.

    The vendors' own wheels are where toolkit libraries live, so those count for extensions of torch
    alone; the driver's libraries belong in no wheel. Stubs are for the linker.
    """
    extension = subject.expected is not None or bool(subject.torch_requirements)
    for member in subject.wheel.native:
        name = PurePosixPath(member.path).name
        who = provider(name)
        if not who or _STUBS.search(member.path) or subject.is_torch:
            continue
        allowed = any(fnmatchcase(name, glob) for glob in subject.policy.allow_bundled)
        if (extension or who == DRIVER) and not allowed:
            yield member, who


def bundled(subject: Subject) -> Iterator[Finding]:
    """WG401: vendor libraries anywhere in the wheel: names, bytes each, and the sum."""
    found = list(_vendor_members(subject))
    for member, who in found:
        yield error("WG401", f"is bundled ({member.size} bytes); it comes from {who}", member.path)
    if not found:
        return
    vendor = sum(member.size for member, _ in found)
    whole = sum(member.size for member in subject.wheel.members.values())
    names = shown(PurePosixPath(member.path).name for member, _ in found)
    yield error(
        "WG401",
        f"{len(found)} vendor libraries ({names}) take {vendor} of {whole} bytes unpacked "
        f"({vendor / _MIB:.1f} of {whole / _MIB:.1f} MiB); without them {whole - vendor}",
    )


def excludes(subject: Subject) -> Iterator[Finding]:
    """WG408: patterns that match no needed library did nothing, or will do nothing."""
    needed = sorted({name for library in subject.libraries for name in library.needed})
    for pattern in subject.policy.excludes if subject.libraries else ():
        if any(fnmatchcase(name, pattern) for name in needed):
            continue
        stem = plain_stem(pattern.rstrip("*"))
        like = [name for name in needed if plain_stem(name) == stem]
        grafted = [name for name in like if name in subject.provided]
        if grafted:
            text = f"the exclude {pattern} matched nothing, and {shown(grafted)} was bundled"
            yield error("WG408", f"{text}; write {stem}.so*")
        elif like:
            text = f"the exclude {pattern} matches nothing: the files need {shown(like)}"
            yield error("WG408", f"{text}; write {stem}.so*")
        else:
            yield warning("WG408", f"the exclude {pattern} matches no library that the files need")
