"""What `wheelgrid resolve` shows, as JSON and as text."""

from __future__ import annotations

from typing import Any

from packaging.version import Version

from wheelgrid.core.filelist import ListedFile
from wheelgrid.planning.answer import Support
from wheelgrid.planning.fitness import Fitness
from wheelgrid.planning.python_ends import python_ends

__all__ = ["RESOLVE_SCHEMA_VERSION", "document", "lines", "printable"]

RESOLVE_SCHEMA_VERSION = 1
_VERDICTS = {True: "yes", False: "no", None: "unknown"}


def printable(text: str) -> str:
    """Text on one line: names are foreign and must not forge a line of the report."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _release(found: Support) -> list[ListedFile]:
    """The files of the release that is shown: that of the file for the cell, else the newest."""
    shown = found.fitting or found.choice.chosen
    own = [c.file for c in found.choice.own if c.file.name.version is not None]
    versions = [Version(f.name.version.public) for f in own if f.name.version is not None]
    if not versions:
        return []
    wanted = max(versions)
    if shown is not None and shown.name.version is not None:
        wanted = Version(shown.name.version.public)
    return [f for f, v in zip(own, versions, strict=True) if v == wanted]


def _pythons(found: Support) -> dict[str, Any]:
    ends = python_ends(_release(found))
    return {
        "requires_python": ends.requires_python,
        "oldest_wheel": f"3.{ends.oldest}" if ends.oldest is not None else None,
        "newest_wheel": f"3.{ends.newest}" if ends.newest is not None else None,
        "open_ended": ends.open_ended,
    }


def _name(file: ListedFile | None) -> str | None:
    return printable(file.name.name) if file is not None else None


def _label(file: ListedFile) -> dict[str, Any] | None:
    label = file.name.label
    if not label.text:
        return None
    return {
        "text": label.text,
        "family": str(label.family) if label.family is not None else None,
        "toolkit": [str(v) for v in label.toolkit.versions] if label.toolkit else [],
        "torch": [str(v) for v in label.torch.versions] if label.torch else [],
        "cxx11_abi": label.cxx11_abi,
        "rest": label.rest,
    }


def _files(found: Support) -> list[dict[str, Any]]:
    verdicts = {id(v.file): v for v in found.verdicts}
    rows = []
    for considered in found.choice.own:
        verdict: Fitness | None = verdicts.get(id(considered.file))
        rows.append(
            {
                "file": _name(considered.file),
                "installable": considered.installable,
                "out": considered.code or None,
                "why": printable(considered.why),
                "for_cell": _VERDICTS[verdict.fits] if verdict is not None else "no",
                "for_cell_why": printable(verdict.why) if verdict is not None else "",
                "label": _label(considered.file),
            }
        )
    return rows


def _project(found: Support) -> dict[str, Any]:
    chosen = found.choice.chosen or found.choice.fallback
    return {
        "project": found.choice.project,
        "requirement": str(found.choice.requirement),
        "outcome": str(found.outcome),
        "state": str(found.state),
        "why": printable(found.headline),
        "file": _name(found.fitting),
        "pin": found.pin or None,
        "installer": {
            "file": _name(chosen),
            "kind": str(chosen.name.kind) if chosen is not None else None,
            "yanked": chosen is not None and chosen.yanked is not None,
        },
        "pythons": _pythons(found),
        "traps": [
            {
                "code": t.code,
                "severity": str(t.severity),
                "message": printable(t.message),
                "hint": printable(t.hint),
            }
            for t in found.traps
        ],
        "files": _files(found),
    }


def document(found: Support) -> dict[str, Any]:
    """The JSON document (resolve.schema.json)."""
    return {
        "schema_version": RESOLVE_SCHEMA_VERSION,
        "cell": found.ask.cell.id,
        "system": found.ask.target.system,
        "outcome": str(found.total),
        **{k: v for k, v in _project(found).items() if k != "outcome"},
        "own_outcome": str(found.outcome),
        "needs": [_project(need) for need in found.needs],
        "unlisted": list(found.unlisted),
    }


def _ends(found: Support) -> str:
    ends = _pythons(found)
    if ends["newest_wheel"] is None:
        wheels = "no wheel names a Python"
    else:
        wheels = f"wheels {ends['oldest_wheel']} to {ends['newest_wheel']}"
    if ends["open_ended"]:
        wheels += " and later (stable ABI or pure)"
    return f"{ends['requires_python'] or 'Requires-Python not said'}; {wheels}"


def _head(found: Support) -> list[str]:
    chosen = found.choice.chosen or found.choice.fallback
    system = f" ({found.ask.target.system})" if found.ask.target.system else ""
    return [
        f"cell       {found.ask.cell.id}{system}",
        f"package    {found.choice.requirement}, {len(found.choice.own)} files",
        f"for cell   {_name(found.fitting) or 'none'}",
        f"pin        {found.pin or '-'}",
        f"installer  {_name(chosen) or 'nothing'}",
        f"pythons    {_ends(found)}",
        f"state      {found.state}",
        f"outcome    {found.total}: {printable(found.headline)}",
    ]


def _traps(found: Support) -> list[str]:
    rows = []
    for trap in found.traps:
        rows.append(f"{trap.severity} {trap.code}: {printable(trap.message)}")
        rows += [f"    hint: {printable(trap.hint)}"] if trap.hint else []
    return rows


def _needs(found: Support) -> list[str]:
    rows = []
    for need in found.needs:
        rows.append(f"need {need.choice.requirement}: {need.total}: {printable(need.why)}")
        rows += [f"  {row}" for row in _traps(need)]
    rows += [f"need {printable(text)}: not looked up (no list given)" for text in found.unlisted]
    return rows


def _others(found: Support) -> list[str]:
    rows = []
    same = "fits too; another says more or is newer" if found.fitting else "fits"
    for row in _files(found):
        if row["file"] == _name(found.fitting):
            continue
        why = row["why"] if not row["installable"] else row["for_cell_why"]
        rows.append(f"  {row['file']}: {why or same}")
    return ["others", *rows] if rows else []


def lines(found: Support) -> list[str]:
    """The text for people: the answer first, then traps, dependencies and every other file."""
    parts = [_head(found), _traps(found), _needs(found), _others(found)]
    return [line for part in parts if part for line in ("", *part)][1:]
