"""Rules on the archive: WG103, WG104, WG105, WG106, WG501."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from wheelgrid.inspect.findings import Expected, Finding, error, unchecked
from wheelgrid.inspect.wheel import Wheel, record_hash

__all__ = ["damage", "paths", "record", "unreadable", "wheel_tags"]


def wheel_tags(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG103: the tags inside are the tags outside."""
    if wheel.name is not None and wheel.wheel_tags != wheel.name.tags:
        inside = ", ".join(sorted(map(str, wheel.wheel_tags))) or "none"
        yield error("WG103", f"WHEEL has the tags {inside}")


def record(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG104: every member but RECORD itself and its signatures, with digest and size."""
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


def damage(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG105: what could not be read to its end."""
    for path, problem in wheel.damage:
        yield error("WG105", problem, path)


def paths(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG106: absolute, parent, drive and backslash paths."""
    for path in wheel.members:
        parts = PurePosixPath(path)
        names = parts.parts
        if not names or parts.is_absolute() or ".." in names or "\\" in path or ":" in names[0]:
            yield error("WG106", "leaves the installation folder", path)


def unreadable(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    """WG501: native files that nobody looked into are no pass."""
    for member in wheel.native:
        if member.unreadable:
            yield unchecked("WG501", member.unreadable, member.path)
        for text in member.library.damage if member.library else ():
            yield unchecked("WG501", text, member.path)
