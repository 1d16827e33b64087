"""Where sources disagree: claims against what was seen, and claims against each other.

Both statements are kept in the knowledge; this says which they are and what each has alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.release import TorchKnowledge
from wheelgrid.core.vendor import AcceleratorKnowledge

__all__ = ["Disagreement", "disagreements"]

Values = tuple[str, ...]

_SINGLE = frozenset({"released", "requires python", "cxx standard", "default build", "glibc floor"})
"""Things that have one value: two are told apart as such, not as lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Two sources about one thing: `claim` says `claimed`, `other` (seen or claimed) `found`.

    `subjects` are the releases and platforms for which it is the same disagreement. Values keep
    the order of versions.
    """

    about: str
    subjects: tuple[str, ...]
    claim: Source
    other: Source
    claimed: Values
    found: Values

    @property
    def is_observed(self) -> bool:
        """Whether the other side was seen, so that it outweighs the claim."""
        return self.other.kind is Kind.OBSERVATION

    @property
    def absent(self) -> Values:
        """Claimed, but not there (or not said by the other claim)."""
        return tuple(value for value in self.claimed if value not in self.found)

    @property
    def unclaimed(self) -> Values:
        """There, but not claimed."""
        return tuple(value for value in self.found if value not in self.claimed)

    def __str__(self) -> str:
        """Both lists in words, `claimed but absent: 3.7; present but not claimed: 3.10, 3.11`."""
        observed = self.is_observed
        where = f"{self.about} of {_short(self.subjects)}"
        if self.about in _SINGLE:
            said = "seen" if observed else f"{self.other.id} claims"
            return f"{where}: claimed {', '.join(self.claimed)}, {said} {', '.join(self.found)}"
        absent = "claimed but absent" if observed else f"only {self.claim.id} says"
        unclaimed = "present but not claimed" if observed else f"only {self.other.id} says"
        parts = [
            f"{words}: {', '.join(values)}"
            for words, values in ((absent, self.absent), (unclaimed, self.unclaimed))
            if values
        ]
        return f"{where}: " + "; ".join(parts)


def _short(subjects: tuple[str, ...]) -> str:
    """`torch 2.14.0, torch 2.14.1 on linux_x86_64, win_amd64`, where all have the same places."""
    places: dict[str, list[str]] = {}
    for subject in subjects:
        thing, _, place = subject.partition(" on ")
        places.setdefault(thing, []).append(place)
    things: dict[str, list[str]] = {}
    for thing, where in places.items():
        things.setdefault(", ".join(filter(None, sorted(where))), []).append(thing)
    return "; ".join(", ".join(t) + (f" on {w}" if w else "") for w, t in things.items())


@dataclass(frozen=True, slots=True)
class _Said:
    """One source's values for one subject."""

    about: str
    subject: str
    values: Values
    source: Source


def _ordered(values: Iterable[object]) -> Values:
    return tuple(str(value) for value in sorted(values))  # type: ignore[type-var]


def _of_release(release: TorchKnowledge) -> Iterator[_Said]:
    torch = f"torch {release.torch}"
    for statement in release.pythons:
        for platform in sorted(statement.platforms):
            values = _ordered(statement.values)
            yield _Said("Pythons", f"{torch} on {platform}", values, statement.source)
    for listing in (p for p in release.published if p.positive):
        for platform in sorted(listing.platforms):
            subject, values = f"{torch} on {platform}", _ordered(listing.values)
            yield _Said(f"{listing.family} builds", subject, values, listing.source)
    for platform, accelerator, source in release.defaults:
        values = (str(accelerator),)
        yield _Said("default build", f"{torch} on {platform}", values, source)
    for archs in release.archs:
        for platform in sorted(archs.platforms):
            subject = f"{torch} {archs.accelerator} on {platform}"
            yield _Said("GPU targets", subject, (*archs.values, *archs.ptx), archs.source)
    for name, stated in release.plain.items():
        for one in stated:
            yield _Said(name.replace("_", " "), torch, (one.value,), one.source)


def _of_vendor(known: AcceleratorKnowledge) -> Iterator[_Said]:
    for floor in known.glibc_floors:
        subject = f"{known.family}{floor.version} ({floor.of})"
        yield _Said("glibc floor", subject, (floor.value,), floor.source)
    for toolkit in known.toolkits:
        values = _ordered(toolkit.values)
        yield _Said("toolkit targets", f"{known.family}{toolkit.version}", values, toolkit.source)


def _pairs(said: list[_Said]) -> Iterator[tuple[_Said, _Said]]:
    """Each claim with what was seen of the same thing; without that, each with the next claim."""
    seen = [s for s in said if s.source.kind is Kind.OBSERVATION]
    claims = [s for s in said if s.source.kind is Kind.CLAIM]
    if seen:
        newest = max(seen, key=lambda s: s.source.date)
        yield from ((claim, newest) for claim in claims)
        return
    for index, first in enumerate(claims):
        yield from ((first, second) for second in claims[index + 1 :])


def disagreements(knowledge: Knowledge) -> tuple[Disagreement, ...]:
    """Every disagreement; equal ones about several releases and platforms are one."""
    by_thing: dict[tuple[str, str], list[_Said]] = {}
    readers: list[Iterator[_Said]] = [_of_release(r) for r in knowledge.torch.values()]
    readers += [_of_vendor(known) for known in knowledge.accelerators.values()]
    for said in (s for reader in readers for s in reader):
        by_thing.setdefault((said.about, said.subject), []).append(said)
    found: dict[tuple[object, ...], Disagreement] = {}
    for (about, subject), said_all in by_thing.items():
        for claim, other in _pairs(said_all):
            if set(claim.values) == set(other.values):
                continue
            key = (about, id(claim.source), other.source.kind, claim.values, other.values)
            before = found.get(key)
            if before is not None:
                found[key] = replace(before, subjects=(*before.subjects, subject))
                continue
            found[key] = Disagreement(
                about=about,
                subjects=(subject,),
                claim=claim.source,
                other=other.source,
                claimed=claim.values,
                found=other.values,
            )
    return tuple(found.values())
