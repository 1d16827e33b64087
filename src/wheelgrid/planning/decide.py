"""Gives every candidate cell exactly one decision, from policy, knowledge and sunsets."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from wheelgrid.core.cell import Cell
from wheelgrid.core.decision import Decision, Note, Reason, Ruling
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.knowledge import Knowledge, Published, PythonsStatement, TorchKnowledge
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.core.matrix import Matrix

__all__ = ["decide"]


def _policy(cell: Cell, matrix: Matrix) -> Iterable[Ruling]:
    for exclusion in matrix.exclusions:
        if exclusion.when.matches(cell):
            yield Ruling(
                reason=Reason.POLICY,
                rule=f"matrix.{exclusion.id}",
                message=exclusion.reason,
                sources=(exclusion.source,),
            )


def _platform(cell: Cell, knowledge: Knowledge) -> Iterable[Ruling]:
    known = knowledge.accelerators.get(cell.accelerator.family)
    if known is None or cell.platform in known.platforms:
        return
    yield Ruling(
        reason=Reason.PLATFORM_WITHOUT_RUNTIME,
        rule=f"{known.family}.{known.source.id}",
        message=f"{known.title} does not exist on {cell.platform}; it exists on "
        + ", ".join(sorted(known.platforms)),
        sources=(known.source,),
    )


def _sunset_ruling(sunset: Sunset) -> Ruling:
    stages = "; ".join(f"{stage.name.phrase} {stage.when}" for stage in sunset.stages)
    return Ruling(
        reason=Reason.SUNSET,
        rule=f"lifecycle.{sunset.id}",
        message=f"{sunset.axis} {sunset.value} ends with torch {sunset.last_release}: {stages}. "
        f"{sunset.reason} {sunset.action}",
        sources=sunset.sources,
    )


def _about(cell: Cell, release: TorchKnowledge) -> tuple[list[Published], list[Published]]:
    """Statements that name the cell's accelerator as published, and those that speak against.

    An observation beats every claim: where one speaks, claims only disagree.
    """
    about = [
        p
        for p in release.published
        if p.family == cell.accelerator.family and cell.platform in p.platforms
    ]
    pro = [p for p in about if p.positive and cell.accelerator in p.values]
    against = [p for p in about if not p.positive and cell.accelerator in p.values]
    # The statement about the fewest platforms is the most specific, so it speaks first.
    against.sort(key=lambda p: len(p.platforms))
    against += [p for p in about if p.positive and cell.accelerator not in p.values]
    return pro, against


def _is_published(pro: list[Published], against: list[Published]) -> bool:
    """Whether the statements, weighed, say that the build exists (or nothing against it)."""
    for kind in (Kind.OBSERVATION, None):
        yes = [p for p in pro if kind is None or p.source.kind is kind]
        no = [p for p in against if kind is None or p.source.kind is kind]
        if yes or no:
            denied = any(not p.positive for p in no)
            return bool(yes) and not denied
    return True


def _published(cell: Cell, release: TorchKnowledge) -> Iterable[Ruling]:
    """What upstream publishes of this accelerator."""
    pro, against = _about(cell, release)
    if _is_published(pro, against):
        return
    disagrees = tuple(p.source for p in pro)
    lists = [p for p in against if p.positive]
    for fact in against:
        if not fact.positive:
            yield Ruling(
                reason=Reason.ACCELERATOR_NOT_PUBLISHED,
                rule=f"torch-{cell.torch}.{fact.source.id}",
                message=f"torch {cell.torch} has no {cell.accelerator} wheel for {cell.platform}: "
                + fact.because,
                sources=(fact.source,),
                disagrees=disagrees,
            )
    if lists:
        names = ", ".join(sorted({str(v) for p in lists for v in p.values})) or "none"
        yield Ruling(
            reason=Reason.ACCELERATOR_NOT_PUBLISHED,
            rule=f"torch-{cell.torch}.{lists[0].source.id}",
            message=f"torch {cell.torch} is published for {cell.platform} with these "
            f"{cell.accelerator.family} builds: {names}",
            sources=tuple(p.source for p in lists),
            disagrees=disagrees,
        )


def _weigh(statements: list[PythonsStatement]) -> tuple[PythonsStatement, tuple[Source, ...]]:
    """The statement that decides: an observation before a claim, then the newest date."""
    ranked = sorted(statements, key=lambda s: s.source.date, reverse=True)
    ranked.sort(key=lambda s: s.source.kind is not Kind.OBSERVATION)
    return ranked[0], tuple(s.source for s in ranked[1:] if s.values != ranked[0].values)


def _python(cell: Cell, release: TorchKnowledge) -> Iterable[Ruling]:
    about = [s for s in release.pythons if cell.platform in s.platforms]
    if not about:
        return
    winner, others = _weigh(about)
    if cell.python in winner.values:
        return
    disagrees = tuple(s.source for s in about if s is not winner and cell.python in s.values)
    has = ", ".join(str(p) for p in sorted(winner.values))
    yield Ruling(
        reason=Reason.NO_WHEEL_PYTHON,
        rule=f"torch-{cell.torch}.{winner.source.id}",
        message=f"torch {cell.torch} has no {cell.python.tag} wheel for {cell.platform}; it has "
        + has,
        sources=(winner.source,),
        disagrees=disagrees if others else (),
    )


def _notes(cell: Cell, knowledge: Knowledge, as_of: date) -> Iterable[Note]:
    """What a reader of an included cell must know."""
    for sunset in knowledge.sunsets:
        stage = sunset.stage(as_of) if sunset.concerns(cell) else None
        if stage is not None:
            ahead = sunset.next_stage(as_of)
            then = f"; next: {ahead.name.phrase} {ahead.when}" if ahead else ""
            yield Note(
                rule=f"lifecycle.{sunset.id}",
                message=f"{sunset.axis} {sunset.value} is in sunset: {stage.name.phrase} since "
                f"{stage.when}{then}; torch {sunset.last_release} is the last line with it. "
                + sunset.action,
                sources=sunset.sources,
            )
    release = knowledge.torch.get(cell.torch)
    if release is None:
        yield Note(
            rule="compat.torch",
            message=f"nothing is known of torch {cell.torch}: whether its wheels exist is unknown",
        )
        return
    pro, against = _about(cell, release)
    if against:
        yield Note(
            rule="compat.disagreement",
            message=f"sources disagree whether torch {cell.torch} is published for "
            f"{cell.accelerator} on {cell.platform}; it is taken to be",
            sources=tuple(p.source for p in (*pro, *against)),
        )
    elif not pro:
        yield Note(
            rule="compat.torch",
            message=f"no statement says whether torch {cell.torch} is published for "
            f"{cell.accelerator} on {cell.platform}: unknown, not unsupported",
        )


def decide(cell: Cell, matrix: Matrix, knowledge: Knowledge, *, as_of: date) -> Decision:
    """The decision for one cell, with every ruling that applies, not only the first."""
    rulings = [*_policy(cell, matrix), *_platform(cell, knowledge)]
    rulings += [_sunset_ruling(s) for s in knowledge.sunsets if s.removes(cell)]
    release = knowledge.torch.get(cell.torch)
    if release is not None:
        rulings += _published(cell, release)
        rulings += _python(cell, release)
    notes = () if rulings else tuple(_notes(cell, knowledge, as_of))
    return Decision(cell=cell, rulings=tuple(rulings), notes=notes)
