"""Rules on platform tags of Linux against what the files need: WG202, WG206, WG207."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.core.manylinux import OLDEST_USEFUL, ManylinuxPolicy, lowest_policy, policy_of
from wheelgrid.core.platform_tags import glibc_promise
from wheelgrid.inspect.findings import Finding, error, warning
from wheelgrid.inspect.library import Floor, Library
from wheelgrid.inspect.subject import Subject

__all__ = ["linux_floor", "musl", "needless_linux", "unpublishable"]

_MACHINE = re.compile(r"(?:manylinux[0-9]*(?:_[0-9]+_[0-9]+)?|linux)_(.+)\Z")
_MUSL = re.compile(r"(?:libc\.musl-|ld-musl-)")


def _needs(subject: Subject) -> Iterator[tuple[Library, Floor]]:
    """What each file needs of the system; a library that the wheel brings along is none of it."""
    for library in subject.libraries:
        for floor in library.floors:
            if floor.library not in subject.provided:
                yield library, floor


def _promise(subject: Subject) -> tuple[str, tuple[int, int]] | None:
    """The lowest promise among the tags of manylinux, and the tag that makes it."""
    found = [(p, t.platform) for t in subject.tags if (p := glibc_promise(t.platform))]
    promise, tag = min(found, default=(None, ""))
    return (tag, promise) if promise is not None else None


def _lowest(subject: Subject, tag: str) -> ManylinuxPolicy | None:
    """The lowest tag that is true of all files, for the CPU of a tag."""
    match = _MACHINE.match(tag)
    needs = [(floor.family, floor.version) for _, floor in _needs(subject)]
    return lowest_policy(needs, match[1]) if match else None


def _true_tag(subject: Subject, tag: str) -> str:
    """In words: the lowest true tag, with its CPU."""
    match, lowest = _MACHINE.match(tag), _lowest(subject, tag)
    if match is None or lowest is None:
        return "no manylinux tag is true of these files"
    if lowest.glibc < OLDEST_USEFUL and match[1] in policy_of(OLDEST_USEFUL).machines:
        lowest = policy_of(OLDEST_USEFUL)
    return f"the lowest true tag is {lowest.tag}_{match[1]}"


def linux_floor(subject: Subject) -> Iterator[Finding]:
    """WG202: per file and family, the newest symbol version against the oldest promise."""
    promised = _promise(subject)
    if promised is None:
        return
    tag, glibc = promised
    maxima = {**policy_of(glibc).maxima, "GLIBC": glibc}
    for library, floor in _needs(subject):
        most = maxima.get(floor.family)
        if most is not None and floor.version > most:
            symbol = f" (symbol {floor.symbol})" if floor.symbol else ""
            have = ".".join(map(str, most))
            yield error(
                "WG202",
                f"needs {floor.family}_{floor.text} of {floor.library}{symbol}; {tag} promises no "
                f"more than {have}; {_true_tag(subject, tag)}",
                library.path,
            )


def needless_linux(subject: Subject) -> Iterator[Finding]:
    """WG206: a tag above what all files need, or above the floor that the policy names."""
    promised = _promise(subject)
    if promised is None or not any(one.format == "ELF" for one in subject.libraries):
        return
    tag, glibc = promised
    floors = [p for name in subject.policy.floor if (p := glibc_promise(f"{name}_x86_64"))]
    if floors and glibc > min(floors):
        floor = ".".join(map(str, min(floors)))
        text = f"{tag} does not install with glibc {floor}, which the policy asks for"
        yield error("WG206", f"{text}; {_true_tag(subject, tag)}")
        return
    lowest = _lowest(subject, tag)
    unsure = any(one.damage for one in subject.libraries) or any(
        member.unreadable for member in subject.wheel.native
    )
    if lowest is None or unsure or glibc <= max(lowest.glibc, OLDEST_USEFUL):
        return
    most = {f.family: f for _, f in sorted(_needs(subject), key=lambda pair: pair[1].version)}
    needs = ", ".join(f"{f.family}_{f.text}" for f in most.values()) or "no versioned symbol"
    yield warning(
        "WG206", f"{tag} is needlessly high: the files need {needs}; {_true_tag(subject, tag)}"
    )


def unpublishable(subject: Subject) -> Iterator[Finding]:
    """WG207: `linux_*` says nothing about the system, and PyPI refuses it."""
    for tag in subject.tags:
        if tag.platform.startswith("linux_"):
            text = f"{tag.platform} is refused by PyPI; {_true_tag(subject, tag.platform)}"
            yield warning("WG207", text)
            return


def musl(subject: Subject) -> Iterator[Finding]:
    """WG202: the C library of the files is the one of the tag, glibc or musl."""
    platforms = [t.platform for t in subject.tags]
    for library in subject.libraries:
        glibc = library.floor("GLIBC") is not None or "libc.so.6" in library.needed
        other = next((name for name in library.needed if _MUSL.match(name)), "")
        tag = next((p for p in platforms if p.startswith("musllinux")), "")
        if tag and glibc:
            yield error("WG202", f"is linked to glibc; {tag} promises musl alone", library.path)
        tag = next((p for p in platforms if p.startswith("manylinux")), "")
        if tag and other:
            yield error("WG202", f"is linked to musl ({other}); {tag} promises glibc", library.path)
