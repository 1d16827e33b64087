"""Rules on the archive: WG103, WG104, WG105, WG106, WG501."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from wheelgrid.inspect.dist_info import record_hash
from wheelgrid.inspect.findings import Finding, error, unchecked, warning
from wheelgrid.inspect.subject import Subject

__all__ = ["damage", "paths", "record", "unreadable", "wheel_tags"]


def wheel_tags(subject: Subject) -> Iterator[Finding]:
    """WG103: the tags inside are the tags outside."""
    wheel = subject.wheel
    if wheel.name is not None and wheel.wheel_tags != wheel.name.tags:
        inside = ", ".join(sorted(map(str, wheel.wheel_tags))) or "none"
        yield error("WG103", f"WHEEL has the tags {inside}")


def record(subject: Subject) -> Iterator[Finding]:
    """WG104: every member but RECORD itself and its signatures, with digest and size."""
    wheel = subject.wheel
    if not wheel.record:
        yield error("WG104", "the wheel has no RECORD")
        return
    exempt = {f"{wheel.dist_info}/RECORD{suffix}" for suffix in ("", ".jws", ".p7s")}
    for path, member in wheel.members.items():
        if path in exempt:
            continue
        listed = wheel.record.get(path)
        if listed is None:
            yield error("WG104", "is not in RECORD", path)
        elif listed[0] != record_hash(member.sha256):
            yield error("WG104", f"has not the SHA-256 in RECORD ({listed[0] or 'none'})", path)
        elif listed[1] not in {"", str(member.size)}:
            yield error("WG104", f"has {member.size} bytes, RECORD says {listed[1]}", path)
    for path in wheel.record.keys() - wheel.members.keys():
        yield error("WG104", "is in RECORD but not in the wheel", path)


def damage(subject: Subject) -> Iterator[Finding]:
    """WG105: what could not be read to its end."""
    wheel = subject.wheel
    for path, problem in wheel.damage:
        yield error("WG105", problem, path)


def paths(subject: Subject) -> Iterator[Finding]:
    """WG106: absolute, parent, drive and backslash paths."""
    wheel = subject.wheel
    for path in wheel.members:
        parts = PurePosixPath(path)
        names = parts.parts
        if not names or parts.is_absolute() or ".." in names or "\\" in path or ":" in names[0]:
            yield error("WG106", "leaves the installation folder", path)


def _is_looked_at(subject: Subject, path: str) -> bool:
    """Whether another rule says what is wrong with a member: declared extensions are WG301's."""
    extensions = subject.expected.extensions if subject.expected else ()
    stem = path.partition(".data/platlib/")[2] or path
    return any(stem.startswith(f"{name.replace('.', '/')}.") for name in extensions)


def unreadable(subject: Subject) -> Iterator[Finding]:
    """WG501: native files that nobody looked into are no pass."""
    wheel = subject.wheel
    for member in wheel.native:
        if member.unreadable:
            yield unchecked("WG501", member.unreadable, member.path)
        elif member.library is None and not _is_looked_at(subject, member.path):
            what = "is empty" if not member.size else "is named like native code, but is none"
            yield warning("WG501", what, member.path)
        for text in member.library.damage if member.library else ():
            yield unchecked("WG501", text, member.path)
