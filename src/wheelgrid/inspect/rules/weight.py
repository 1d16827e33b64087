"""Rules on what makes a wheel larger than need be: WG306, WG307, WG308."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from wheelgrid.inspect.findings import Finding, error, warning
from wheelgrid.inspect.subject import Subject

__all__ = ["ceilings", "debug_data", "duplicates"]

_LARGEST = 2 << 30
_MIB = 1 << 20


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f} MiB"


def duplicates(subject: Subject) -> Iterator[Finding]:
    """WG306: two members with the same bytes, or two libraries with one soname."""
    first: dict[str, str] = {}
    for member in subject.wheel.native:
        if not member.sha256 or not member.size:
            continue
        other = first.setdefault(member.sha256, member.path)
        if other != member.path:
            text = f"has the same bytes as {other}: {_mib(member.size)} that are in the wheel twice"
            yield warning("WG306", text, member.path)
    named: dict[tuple[str, tuple[str, ...]], str] = {}
    digests = {m.path: m.sha256 for m in subject.wheel.members.values()}
    for library in subject.libraries:
        if not library.soname or library.format != "ELF":
            continue
        other = named.setdefault((library.soname, library.machines), library.path)
        if other != library.path and digests.get(other) != digests.get(library.path):
            text = f"has the soname {library.soname} of {other}: a process loads the first alone"
            yield warning("WG306", text, library.path)


def ceilings(subject: Subject) -> Iterator[Finding]:
    """WG307: the size of the file against the policy, the index, and what clients can read."""
    size, policy = subject.wheel.size, subject.policy
    if policy.max_size is not None and size > policy.max_size:
        text = f"has {size} bytes ({_mib(size)}); the policy allows {policy.max_size}"
        yield error("WG307", f"{text} ({_mib(policy.max_size)})")
    if size > _LARGEST:
        yield warning(
            "WG307",
            f"has {size} bytes, more than 2 GiB: some clients, artifact stores and zip readers "
            "stop there, and a download that ends early then looks like tampering",
        )
    elif size > policy.warn_size and (policy.max_size is None or size <= policy.max_size):
        whose = "the policy warns" if policy.source else "PyPI takes no file"
        yield warning("WG307", f"has {_mib(size)}; {whose} above {_mib(policy.warn_size)}")


def debug_data(subject: Subject) -> Iterator[Finding]:
    """WG308: debug sections above what the policy lets pass, with their bytes."""
    for library in subject.libraries:
        if library.debug > subject.policy.max_debug:
            name = PurePosixPath(library.path).name
            text = f"carries {library.debug} bytes ({_mib(library.debug)}) of debug data"
            share = f" of {library.size} in {name}" if library.size else ""
            yield warning("WG308", text + share, library.path)
