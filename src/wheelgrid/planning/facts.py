"""What knowledge says about a cell: rulings from compat/, each a function of a few axes."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.decision import Reason, Ruling
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.knowledge import Knowledge, Published, PythonsStatement, TorchKnowledge
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.planning.archs import NONE, arch_family, has_code, obstacle

__all__ = ["about", "arch_rulings", "platform_rulings", "published_rulings", "python_rulings"]
__all__ += ["sunset_ruling", "torch_arch_rulings"]


def platform_rulings(
    accelerator: Accelerator, platform: Platform, knowledge: Knowledge
) -> Iterable[Ruling]:
    """Whether the vendor's runtime exists on the platform at all."""
    known = knowledge.accelerators.get(accelerator.family)
    if known is None or platform in known.platforms:
        return
    yield Ruling(
        reason=Reason.PLATFORM_WITHOUT_RUNTIME,
        rule=f"{known.family}.{known.source.id}",
        message=f"{known.title} does not exist on {platform}; it exists on "
        + ", ".join(sorted(known.platforms)),
        sources=(known.source,),
    )


def sunset_ruling(sunset: Sunset) -> Ruling:
    """A value that is gone, with its dated stages and what to do."""
    stages = "; ".join(f"{stage.name.phrase} {stage.when}" for stage in sunset.stages)
    return Ruling(
        reason=Reason.SUNSET,
        rule=f"lifecycle.{sunset.id}",
        message=f"{sunset.axis} {sunset.value} ends with torch {sunset.last_release}: {stages}. "
        f"{sunset.reason} {sunset.action}",
        sources=sunset.sources,
    )


def about(
    accelerator: Accelerator, platform: Platform, release: TorchKnowledge
) -> tuple[list[Published], list[Published]]:
    """Statements that name the accelerator as published, and those that speak against it.

    An observation beats every claim: where one speaks, claims only disagree.
    """
    found = [
        p for p in release.published if p.family == accelerator.family and platform in p.platforms
    ]
    pro = [p for p in found if p.positive and accelerator in p.values]
    against = [p for p in found if not p.positive and accelerator in p.values]
    # The statement about the fewest platforms is the most specific, so it speaks first.
    against.sort(key=lambda p: len(p.platforms))
    against += [p for p in found if p.positive and accelerator not in p.values]
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


def published_rulings(
    torch: Version, accelerator: Accelerator, platform: Platform, knowledge: Knowledge
) -> Iterable[Ruling]:
    """What upstream publishes of this accelerator for a torch release."""
    release = knowledge.torch.get(torch)
    if release is None:
        return
    pro, against = about(accelerator, platform, release)
    if _is_published(pro, against):
        return
    disagrees = tuple(p.source for p in pro)
    for fact in [p for p in against if not p.positive]:
        yield Ruling(
            reason=Reason.ACCELERATOR_NOT_PUBLISHED,
            rule=f"torch-{torch}.{fact.source.id}",
            message=f"torch {torch} has no {accelerator} wheel for {platform}: {fact.because}",
            sources=(fact.source,),
            disagrees=disagrees,
        )
    lists = [p for p in against if p.positive]
    if lists:
        names = ", ".join(sorted({str(v) for p in lists for v in p.values})) or "none"
        yield Ruling(
            reason=Reason.ACCELERATOR_NOT_PUBLISHED,
            rule=f"torch-{torch}.{lists[0].source.id}",
            message=f"torch {torch} is published for {platform} with these "
            f"{accelerator.family} builds: {names}"
            + _build_elsewhere(torch, accelerator, knowledge),
            sources=tuple(p.source for p in lists),
            disagrees=disagrees,
        )


def _weigh(statements: list[PythonsStatement]) -> tuple[PythonsStatement, tuple[Source, ...]]:
    """The statement that decides: an observation before a claim, then the newest date."""
    ranked = sorted(statements, key=lambda s: s.source.date, reverse=True)
    ranked.sort(key=lambda s: s.source.kind is not Kind.OBSERVATION)
    return ranked[0], tuple(s.source for s in ranked[1:] if s.values != ranked[0].values)


def _python_elsewhere(
    torch: Version, python: PythonVersion, platform: Platform, knowledge: Knowledge
) -> str:
    """The known releases between which a Python works, where this one lies outside."""
    first = knowledge.first_torch_with_python(python, platform)
    last = knowledge.last_torch_with_python(python, platform)
    if first is None or last is None:
        return ""
    if torch < first[0]:
        return f"; {python} starts with torch {first[0]}"
    return f"; {python} ends with torch {last[0]}" if torch > last[0] else ""


def _build_elsewhere(torch: Version, accelerator: Accelerator, knowledge: Knowledge) -> str:
    """The known releases between which a build exists, where this one lies outside."""
    first = knowledge.first_torch_with_accelerator(accelerator)
    last = knowledge.last_torch_with_accelerator(accelerator)
    if first is None or last is None:
        return ""
    if torch < first[0]:
        return f"; {accelerator} starts with torch {first[0]}"
    return f"; {accelerator} ends with torch {last[0]}" if torch > last[0] else ""


def python_rulings(
    torch: Version, python: PythonVersion, platform: Platform, knowledge: Knowledge
) -> Iterable[Ruling]:
    """Whether the torch release has a wheel for the Python."""
    release = knowledge.torch.get(torch)
    statements = [s for s in release.pythons if platform in s.platforms] if release else []
    if not statements:
        return
    winner, others = _weigh(statements)
    if python in winner.values:
        return
    disagrees = tuple(s.source for s in statements if s is not winner and python in s.values)
    has = ", ".join(str(p) for p in sorted(winner.values))
    yield Ruling(
        reason=Reason.NO_WHEEL_PYTHON,
        rule=f"torch-{torch}.{winner.source.id}",
        message=f"torch {torch} has no {python.tag} wheel for {platform}; it has {has}"
        + _python_elsewhere(torch, python, platform, knowledge),
        sources=(winner.source,),
        disagrees=disagrees if others else (),
    )


def arch_rulings(arch: str, accelerator: Accelerator, knowledge: Knowledge) -> Iterable[Ruling]:
    """Whether the toolkit of an accelerator compiles for a GPU architecture at all."""
    if arch == NONE:
        return
    found = obstacle(arch, accelerator, knowledge)
    if found is not None:
        message, hint, source = found
        yield Ruling(
            reason=Reason.ARCH_NOT_IN_TOOLKIT,
            rule=f"{accelerator}.{source.id if source else 'targets'}",
            message=f"{message}; {hint}" if hint else message,
            sources=(source,) if source else (),
        )


def torch_arch_rulings(
    torch: Version, accelerator: Accelerator, platform: Platform, arch: str, knowledge: Knowledge
) -> Iterable[Ruling]:
    """Whether the torch wheel itself holds code that the GPU can run."""
    known = knowledge.torch_archs(torch, accelerator, platform)
    if known is None or arch == NONE or arch_family(arch) is not accelerator.family:
        return
    values, ptx, source = known
    if not has_code(arch, values, ptx):
        yield Ruling(
            reason=Reason.ARCH_NOT_IN_TORCH,
            rule=f"torch-{torch}.{source.id}",
            message=f"torch {torch} for {accelerator} on {platform} has no code for {arch}; it has "
            f"{', '.join(values)}" + (f" and PTX of {', '.join(ptx)}" if ptx else ""),
            sources=(source,),
        )
