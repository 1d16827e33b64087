"""Whether a cell is supported by one project's files, and by those of all that it needs.

Support is the file for the cell and every dependency for the same cell. An installer's choice
that nobody checked against the cell is no support.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelgrid.core.filelist import ListedFile, requirements_on
from wheelgrid.core.rung import Outcome
from wheelgrid.core.wheelname import Kind
from wheelgrid.planning.answer import Ask, Support
from wheelgrid.planning.fitness import Fitness, TorchUse, fitness, pins_line, uses_torch
from wheelgrid.planning.installer import Choice, Considered, choose
from wheelgrid.planning.reuse import Reuse, find_reuse
from wheelgrid.planning.traps import Severity, Trap, installer_traps, musl_trap

__all__ = ["support"]

_MOST_DEPENDENCIES = 200


def _use(ask: Ask, choice: Choice) -> TorchUse | None:
    """How torch binds the project; None where neither labels nor requirements say so."""
    if choice.project in ask.torch_free:
        return TorchUse.NONE
    if ask.use is not TorchUse.AUTO:
        return ask.use
    own = [c.file for c in choice.own]
    if choice.project == "torch" or uses_torch(own):
        return TorchUse.CXX
    wheels = [f for f in own if f.name.kind is Kind.WHEEL]
    known = bool(wheels) and all(f.requires is not None for f in wheels)
    return TorchUse.NONE if known else None


def _public(file: ListedFile) -> Version:
    return Version(file.name.version.public if file.name.version else "0")


def _select(verdicts: tuple[Fitness, ...]) -> tuple[ListedFile | None, str]:
    """The one file for the cell: the newest public version, then the label that says most.

    Of equals the installer's order decides. Second: why there is none among fitting ones.
    """
    good = [v for v in verdicts if v.fits]
    if not good:
        return None, ""
    best = max((_public(v.file), v.exactness) for v in good)
    last = [v.file for v in good if (_public(v.file), v.exactness) == best]
    if len({f.name.label.cxx11_abi for f in last}) > 1:
        names = " and ".join(sorted(f.name.name for f in last)[:2])
        return None, f"{names} differ in cxx11abi only: say --cxx11-abi true or false"
    return last[0], ""


def _newest(found: list[Considered]) -> Considered | None:
    return max(found, key=lambda c: _public(c.file), default=None)


def _no_wheel(choice: Choice) -> str:
    """Why nothing can be installed, from the newest file that says so."""
    target = f"Python {choice.target.python} on {choice.target.platform}"
    wheels = [c for c in choice.own if c.file.name.kind is Kind.WHEEL]
    if not choice.own:
        return f"the list has no file of {choice.project}"
    python = [c for c in wheels if c.code in {"requires-python", "python-tag", "abi-tag"}]
    newest = _newest(python) or _newest([c for c in wheels if not c.installable])
    if newest is None:
        return f"no wheel for {target}: the list has no wheel of {choice.project}"
    version = newest.file.name.version
    return f"no wheel for {target}: {choice.project} {version}: {newest.file} {newest.why}"


def _reason(choice: Choice, verdicts: tuple[Fitness, ...], use: TorchUse | None, line: str) -> str:
    """Why no file is for the cell, in one sentence."""
    wheels = [v for v in verdicts if v.file.name.kind is Kind.WHEEL]
    unknown = [v for v in wheels if v.fits is None]
    near = [v for v in wheels if v.torch_only and v.file.name.label.torch is not None]
    if near and not unknown:
        lines = sorted({r.versions[0] for v in near if (r := v.file.name.label.torch)})
        shown = ", ".join(map(str, lines))
        return f"no file is for torch {line}: those for the rest of the cell are for torch {shown}"
    found = unknown or wheels
    if not found:
        return _no_wheel(choice)
    more = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
    hint = "" if use else f"; if torch does not touch it, say --torch-free {choice.project}"
    if unknown:
        return f"unknown: {unknown[0].file}: {unknown[0].why}{more}{hint}"
    return f"no file is for the cell: {found[0].file} {found[0].why}{more}"


def _wrong_build(support: Support) -> list[Trap]:
    """The installer's choice is not the file for the cell."""
    chosen, fitting = support.choice.chosen, support.fitting
    if chosen is None or fitting is None or chosen == fitting:
        return []
    verdict = next((v for v in support.verdicts if v.file == chosen), None)
    if verdict is None or verdict.fits:
        return []
    return [
        Trap(
            code="wrong-build",
            severity=Severity.WARNING,
            message=f"an installer takes {chosen}, which is not for the cell: {verdict.why}",
            hint=f"pin {support.pin}, or use one index per accelerator and torch",
        )
    ]


def _unpinned(support: Support, use: TorchUse | None) -> list[Trap]:
    """The file's label names a torch that its requirements do not pin."""
    file = support.fitting
    if file is None or use is not TorchUse.CXX or file.requires is None:
        return []
    if support.choice.project == "torch" or file.name.label.torch is None:
        return []
    cell = support.ask.cell
    if pins_line(requirements_on(file.requires, "torch", support.ask.target.markers), cell.torch):
        return []
    return [
        Trap(
            code="torch-unpinned",
            severity=Severity.WARNING,
            message=f"{file} names torch {cell.torch_minor} in its label, but no Requires-Dist "
            "pins it: an installer puts it beside another torch",
            hint=f"Requires-Dist: torch=={cell.torch_minor}.*, unless it uses the stable ABI",
        )
    ]


def _reuse(ask: Ask, verdicts: tuple[Fitness, ...]) -> Reuse | None:
    """Evidence on a file that only its torch keeps out; of several, one that passed."""
    found = [
        reuse
        for v in verdicts
        if v.torch_only and (reuse := find_reuse(ask.records, v.file, ask.cell)) is not None
    ]
    passed = [r for r in found if r.outcome is Outcome.PASSED]
    return next(iter(passed or found), None)


def _one(ask: Ask, files: tuple[ListedFile, ...]) -> Support:
    target = ask.target
    choice = choose(files, ask.requirement, target, early=ask.early, sources=ask.sources)
    use = _use(ask, choice)
    verdicts = tuple(
        fitness(f, ask.cell, target.markers, use=use or TorchUse.CXX, cxx11=ask.cxx11)
        for f in choice.installable
    )
    fitting, problem = _select(verdicts)
    unknown = any(v.fits is None and v.file.name.kind is Kind.WHEEL for v in verdicts)
    outcome, why = Outcome.PASSED, f"{fitting} is for the cell"
    if fitting is None:
        why = problem or _reason(choice, verdicts, use, ask.cell.torch_minor)
        outcome = Outcome.UNKNOWN if unknown and not problem else Outcome.FAILED
    reuse = _reuse(ask, verdicts) if fitting is None else None
    if reuse is not None:
        outcome, why = reuse.outcome, f"{reuse.wheel} {reuse}"
        fitting = next((v.file for v in verdicts if v.file.name.name == reuse.wheel), None)
        fitting = fitting if outcome is Outcome.PASSED else None
    found = Support(
        ask=ask,
        choice=choice,
        fitting=fitting,
        verdicts=verdicts,
        outcome=outcome,
        why=why,
        traps=(),
        reuse=reuse,
    )
    notes = [
        Trap(code="label-note", severity=Severity.WARNING, message=f"{fitting}: {note}")
        for v in verdicts
        if v.file is fitting
        for note in v.notes
    ]
    traps = [
        *musl_trap(choice, torch=use not in {None, TorchUse.NONE}),
        *_wrong_build(found),
        *_unpinned(found, use),
        *notes,
        *installer_traps(choice, as_of=ask.as_of, stale_days=ask.stale_days),
    ]
    return replace(found, traps=tuple(traps))


def _required(file: ListedFile | None, ask: Ask) -> dict[str, Requirement]:
    """What a file requires in the cell, by project; torch is the cell's own."""
    found = requirements_on(file.requires if file else (), "", ask.target.markers)
    return {canonicalize_name(r.name): r for r in found if canonicalize_name(r.name) != "torch"}


def support(
    ask: Ask,
    files: tuple[ListedFile, ...],
    *,
    lists: Mapping[str, tuple[ListedFile, ...]] | None = None,
    also: tuple[Requirement, ...] = (),
) -> Support:
    """The answer for a project and, where lists of them are given, all that it needs.

    `also` are further requirements of the project. Dependencies are followed to their own.
    """
    found = _one(ask, files)
    lists = lists or {}
    wanted = {**_required(found.fitting or found.choice.chosen, ask)}
    wanted.update({canonicalize_name(r.name): r for r in also})
    seen, needs, unlisted = {found.choice.project}, [], []
    while wanted and len(seen) < _MOST_DEPENDENCIES:
        name, requirement = next(iter(wanted.items()))
        del wanted[name]
        if name in seen:
            continue
        seen.add(name)
        if name not in lists:
            unlisted.append(str(requirement))
            continue
        need = _one(replace(ask, requirement=requirement, use=TorchUse.AUTO), lists[name])
        needs.append(need)
        for other, text in _required(need.fitting or need.choice.chosen, ask).items():
            wanted.setdefault(other, text)
    return replace(found, needs=tuple(needs), unlisted=tuple(unlisted))
