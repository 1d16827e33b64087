"""Traps in an installer's choice: what people get without a warning, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from packaging.version import Version

from wheelgrid.core.filelist import ListedFile
from wheelgrid.core.label_order import label_faults
from wheelgrid.core.wheelname import Kind
from wheelgrid.planning.installer import Choice, Considered
from wheelgrid.planning.python_ends import python_ends

__all__ = ["Severity", "Trap", "installer_traps", "musl_trap"]

_MOST_SHOWN = 8


class Severity(StrEnum):
    """error fails the command; warning is shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """One trap, with a stable code."""

    code: str
    severity: Severity
    message: str
    hint: str = ""


def _warning(code: str, message: str, hint: str = "") -> Trap:
    return Trap(code=code, severity=Severity.WARNING, message=message, hint=hint)


def _error(code: str, message: str, hint: str = "") -> Trap:
    return Trap(code=code, severity=Severity.ERROR, message=message, hint=hint)


def _public(file: ListedFile) -> Version | None:
    version = file.name.version
    return Version(version.public) if version is not None else None


def _yanked(choice: Choice) -> Iterator[Trap]:
    taken = choice.chosen or choice.fallback
    if taken is None or taken.yanked is None:
        return
    reason = f" ({taken.yanked})" if taken.yanked else ""
    kind = "source distribution" if taken.name.kind is Kind.SDIST else "wheel"
    yield _error(
        "yanked-fallback",
        f"nothing else is left: would choose the yanked {kind} {taken}{reason}; older pips take "
        "it, current ones only where its version is pinned with ==",
        "pin a version that has a wheel for the target, or --only-binary",
    )


def _source(choice: Choice) -> Iterator[Trap]:
    taken = choice.chosen or choice.fallback
    if taken is None or taken.name.kind is not Kind.SDIST:
        return
    python, platform = choice.target.python, choice.target.platform
    yield _warning(
        "builds-from-source",
        f"would build from source: no wheel for Python {python} on {platform}, so an installer "
        f"takes {taken} and compiles it",
        "install with --only-binary, or do not publish the source distribution of a GPU project",
    )


def _out_of(choice: Choice, version: Version) -> Considered | None:
    """Why files of a version are out; one that speaks of Python before one of the platform."""
    out = [c for c in choice.own if not c.installable and _public(c.file) == version]
    ranks = ("requires-python", "python-tag", "abi-tag", "platform-tag")
    known = [c for c in out if c.code in ranks]
    return min(known, key=lambda c: ranks.index(c.code), default=None)


def _downgrade(choice: Choice) -> Iterator[Trap]:
    if choice.chosen is None:
        return
    got = _public(choice.chosen)
    allowed = choice.requirement.specifier
    versions = {
        v
        for c in choice.own
        if (v := _public(c.file)) is not None
        and c.file.yanked is None
        and c.file.name.readable
        and not v.is_prerelease
        and allowed.contains(v)
    }
    newest = max(versions, default=None)
    if got is None or newest is None or newest <= got:
        return
    out = _out_of(choice, newest)
    if out is not None:
        yield _warning(
            "older-than-newest",
            f"silently resolves to {choice.project} {got}, not the newest {newest}: {out.file} "
            f"{out.why}",
            f"pin {choice.project}=={newest} to fail loudly, and compare resolved to asked",
        )


def _bounds(choice: Choice) -> Iterator[Trap]:
    """A pre-release that the lower bound keeps out, though its final release would fit."""
    if choice.chosen is not None:
        return
    early = [
        c
        for c in choice.own
        if c.code == "specifier"
        and (v := c.file.name.version) is not None
        and v.is_prerelease
        and choice.requirement.specifier.contains(v.base_version)
    ]
    for found in early[:1]:
        version = found.file.name.version
        assert version is not None  # noqa: S101 - filtered above
        low = f"{version.base_version}.dev0"
        yield _error(
            "pre-release-bound",
            f"{choice.requirement} does not take {version}: a pre-release comes before "
            f"{version.base_version}",
            f"nightlies need a dev lower bound: {choice.project}>={low}",
        )


def _ceiling(choice: Choice) -> Iterator[Trap]:
    versions = [v for c in choice.own if (v := _public(c.file)) is not None]
    if not versions:
        return
    newest = max(versions)
    ends = python_ends([c.file for c in choice.own if _public(c.file) == newest])
    python = choice.target.python
    if ends.open_ended or ends.newest is None or python.minor <= ends.newest:
        return
    said = f"Requires-Python {ends.requires_python}" if ends.requires_python else "nothing"
    yield _warning(
        "python-ceiling",
        f"{choice.project} {newest} has wheels up to Python 3.{ends.newest} only, and {said} says "
        f"so to installers that ask for Python {python}",
        "show both ends: the floor of Requires-Python and the ceiling of the wheels",
    )


def _no_requires_python(choice: Choice) -> Iterator[Trap]:
    """Releases that any Python is offered: it cannot be mended without a new release."""
    bare = sorted(
        {
            version
            for c in choice.own
            if c.file.knows_python and not c.file.requires_python and c.file.yanked is None
            if c.file.name.readable and (version := _public(c.file)) is not None
        }
    )
    if bare:
        shown = ", ".join(map(str, bare[-_MOST_SHOWN:]))
        shown += " ..." if len(bare) > _MOST_SHOWN else ""
        yield _warning(
            "no-requires-python",
            f"{len(bare)} releases of {choice.project} have no Requires-Python and are offered to "
            f"every Python: {shown}",
            "before a sunset: publish a release that has it, and yank those that lack it",
        )


def _order(choice: Choice) -> Iterator[Trap]:
    files = [c.file for c in choice.own if c.file.name.version is not None and c.file.name.readable]
    versions = [f.name.version for f in files if f.name.version is not None]
    dates: dict[Version, str] = {}
    for file in files:
        if file.uploaded and file.name.version is not None:
            known = dates.get(file.name.version, "")
            dates[file.name.version] = max(known, file.uploaded)
    found = label_faults(versions, dates)
    if found:
        more = f" (and {len(found) - 1} more pairs)" if len(found) > 1 else ""
        yield _warning(
            "label-order",
            f"{found[0]}{more}",
            "keep the dots in labels (+cu130torch2.14), and give each toolkit an index of its own",
        )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _stale(choice: Choice, as_of: str, stale_days: int) -> Iterator[Trap]:
    today = _day(as_of)
    taken = _day(choice.chosen.uploaded) if choice.chosen is not None else None
    if today is None or taken is None or stale_days <= 0 or (today - taken).days <= stale_days:
        return
    newer = [f for f in choice.installable if (d := _day(f.uploaded)) is not None and d > taken]
    if newer:
        last = max(newer, key=lambda f: f.uploaded)
        yield _error(
            "stale-choice",
            f"{choice.chosen} is {(today - taken).days} days old, and {len(newer)} newer files fit "
            f"too, such as {last} of {last.uploaded[:10]}",
            f"pin the exact version, label included: {choice.project}=={last.name.version}",
        )


def _open_label(choice: Choice) -> Iterator[Trap]:
    if choice.chosen is None or choice.chosen.name.version is None:
        return
    got = _public(choice.chosen)
    locals_ = {
        f.name.version.local
        for f in choice.installable
        if f.name.version is not None and _public(f) == got
    }
    if len(locals_) > 1:
        named = sorted(f"+{x}" if x else "(none)" for x in locals_)
        more = f" and {len(named) - _MOST_SHOWN} more" if len(named) > _MOST_SHOWN else ""
        shown = ", ".join(named[:_MOST_SHOWN]) + more
        yield _warning(
            "open-label",
            f"{choice.requirement} leaves the local label open: {got} is here with {shown}, and "
            "the label that sorts highest wins",
            "pin the label too, or use one index per accelerator",
        )


def _without_hash(choice: Choice) -> Iterator[Trap]:
    if choice.chosen is not None and choice.chosen.hashed is False:
        yield _warning("no-hash", f"the page gives no hash for {choice.chosen}")


def _of_name(choice: Choice) -> Iterator[Trap]:
    for fault in choice.chosen.name.faults if choice.chosen is not None else ():
        hint = f"write {fault.suggestion}" if fault.suggestion else ""
        yield _warning(fault.code, f"{choice.chosen}: {fault.message}", hint)


def musl_trap(choice: Choice, *, torch: bool) -> Iterator[Trap]:
    """A musl target of a package that needs torch: there is no such cell."""
    if torch and choice.target.platform.startswith("musllinux"):
        yield _error(
            "musl-without-torch",
            f"{choice.target.platform} is impossible for torch and its extensions: torch has no "
            "musllinux wheels, and a build would have nothing to link with",
            "use a glibc base image (manylinux_2_28 or newer)",
        )


def installer_traps(choice: Choice, *, as_of: str = "", stale_days: int = 0) -> list[Trap]:
    """Every trap that the list and the choice show, whatever the cell's accelerator."""
    return [
        *_yanked(choice),
        *_source(choice),
        *_downgrade(choice),
        *_bounds(choice),
        *_ceiling(choice),
        *_stale(choice, as_of, stale_days),
        *_open_label(choice),
        *_order(choice),
        *_no_requires_python(choice),
        *_without_hash(choice),
        *_of_name(choice),
    ]
