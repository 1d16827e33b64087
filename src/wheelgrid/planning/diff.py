"""What changes between two plans: cells, builds, cost and sunsets, from their documents.

It works on plan documents (`wheelgrid plan --json`), so a plan of last year can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CellChange", "Cost", "Diff", "Document", "compare", "cost_of_builds"]

Document = Mapping[str, Any]

_BUILD_FIELDS = ("version", "abi", "python", "torch", "platform", "accelerator", "folder")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run of a whole plan takes. None where it is not known: that is not zero."""

    build_minutes: float
    test_minutes: float | None = None
    gpu_minutes: float | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """One cell that entered or left the desired state, and why.

    `code` is the reason of the decision that changed, or `axis` where a value left its axis (or
    entered it). `explained` is false for a removed value for which the matrix gives no reason.
    """

    id: str
    code: str
    why: str
    explained: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildChange:
    """One build that is in both plans and differs: field, before, after."""

    id: str
    fields: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """Everything that differs between two plans."""

    before: str
    after: str
    counts: tuple[tuple[str, int, int], ...]
    axes: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    gained: tuple[CellChange, ...]
    lost: tuple[CellChange, ...]
    builds_added: tuple[str, ...]
    builds_removed: tuple[str, ...]
    builds_changed: tuple[BuildChange, ...]
    entering_sunset: tuple[CellChange, ...]
    cost_before: Cost
    cost_after: Cost

    @property
    def changed(self) -> bool:
        """Whether any cell, build or axis value differs."""
        parts = (self.axes, self.gained, self.lost, self.builds_added, self.builds_removed)
        return any(parts) or bool(self.builds_changed)

    @property
    def unexplained(self) -> tuple[CellChange, ...]:
        """Lost cells for which nobody has said why."""
        return tuple(change for change in self.lost if not change.explained)


def _cells(document: Document) -> dict[str, Mapping[str, Any]]:
    return {cell["id"]: cell for cell in document["cells"]}


def _included(cells: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {name: cell for name, cell in cells.items() if cell["decision"] == "included"}


def _axis_changes(
    before: Document, after: Document
) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Axis, values added, values removed; in the order of the axes."""
    found = []
    for name in dict.fromkeys([*before["axes"], *after["axes"]]):
        old, new = before["axes"].get(name, []), after["axes"].get(name, [])
        added = tuple(v for v in new if v not in old)
        removed = tuple(v for v in old if v not in new)
        if added or removed:
            found.append((name, added, removed))
    return tuple(found)


def _headline(cell: Mapping[str, Any]) -> tuple[str, str]:
    """Reason and message of the ruling that excludes a cell."""
    code = cell["reason"]
    for ruling in cell["rulings"]:
        if ruling["reason"] == code:
            return str(code), f"{ruling['message']} (rule {ruling['rule']})"
    return str(code), "excluded"


def _missing_values(cell: Mapping[str, Any], document: Document) -> list[tuple[str, str]]:
    """The values of a cell that are not on the axes of a plan."""
    axes = document["axes"]
    return [
        (name, value)
        for name, value in cell["values"].items()
        if isinstance(value, str) and value not in axes.get(name, [value])
    ]


def _gone(cell: Mapping[str, Any], after: Document) -> CellChange:
    """Why a cell that was included is no candidate any more."""
    values = _missing_values(cell, after)
    reasons = {(r["axis"], r["value"]): r["reason"] for r in after.get("removed", [])}
    said = [(f"{axis} {value}", reasons.get((axis, value), "")) for axis, value in values]
    if not said:
        return CellChange(id=cell["id"], code="rows", why="no row of the matrix makes it any more")
    explained = any(reason for _, reason in said)
    why = "; ".join(
        f"{name} left its axis: {reason}" if reason else f"{name} left its axis, no reason given"
        for name, reason in said
    )
    return CellChange(id=cell["id"], code="axis", why=why, explained=explained)


def _lost(before: Document, after: Document) -> tuple[CellChange, ...]:
    now = _cells(after)
    found = []
    for name, cell in _included(_cells(before)).items():
        other = now.get(name)
        if other is None:
            found.append(_gone(cell, after))
        elif other["decision"] != "included":
            code, why = _headline(other)
            found.append(CellChange(id=name, code=code, why=why))
    return tuple(found)


def _gained(before: Document, after: Document) -> tuple[CellChange, ...]:
    then = _cells(before)
    found = []
    for name, cell in _included(_cells(after)).items():
        other = then.get(name)
        if other is None:
            values = _missing_values(cell, before)
            why = ", ".join(f"{axis} {value}" for axis, value in values) or "a new row"
            found.append(CellChange(id=name, code="axis" if values else "rows", why=f"new: {why}"))
        elif other["decision"] != "included":
            code, why = _headline(other)
            found.append(CellChange(id=name, code=code, why=f"no longer excluded: {why}"))
    return tuple(found)


def _sunset_notes(cell: Mapping[str, Any]) -> dict[str, str]:
    """The stage that each sunset of an included cell is in, by rule."""
    return {
        note["rule"]: note["message"].partition(";")[0]
        for note in cell["notes"]
        if note["rule"].startswith("lifecycle.")
    }


def _entering(before: Document, after: Document) -> tuple[CellChange, ...]:
    """Included cells of both plans whose sunset has reached another stage."""
    then = _included(_cells(before))
    found = []
    for name, cell in _included(_cells(after)).items():
        old = _sunset_notes(then[name]) if name in then else {}
        for rule, message in _sunset_notes(cell).items():
            if name in then and old.get(rule) != message:
                found.append(CellChange(id=name, code=rule, why=message))
    return tuple(found)


def _builds(before: Document, after: Document) -> tuple[BuildChange, ...]:
    old = {build["id"]: build for build in before["builds"]}
    found = []
    for build in after["builds"]:
        other = old.get(build["id"])
        if other is None:
            continue
        fields = [
            (name, str(other.get(name)), str(build.get(name)))
            for name in _BUILD_FIELDS
            if other.get(name) != build.get(name)
        ]
        if set(other["cells"]) != set(build["cells"]):
            fields.append(("cells served", str(len(other["cells"])), str(len(build["cells"]))))
        if fields:
            found.append(BuildChange(id=build["id"], fields=tuple(fields)))
    return tuple(found)


def cost_of_builds(document: Document) -> Cost:
    """The minutes that recipes declare for all builds; tests and GPUs are not known from it."""
    minutes = sum(float(build.get("minutes", 0.0)) for build in document["builds"])
    return Cost(build_minutes=round(minutes, 3))


def compare(before: Document, after: Document, *, costs: tuple[Cost, Cost] | None = None) -> Diff:
    """The difference of two plan documents; costs default to what the documents hold."""
    old, new = before["counts"], after["counts"]
    ids = ({b["id"] for b in before["builds"]}, {b["id"] for b in after["builds"]})
    cost = costs or (cost_of_builds(before), cost_of_builds(after))
    return Diff(
        before=f"{before['matrix']} as of {before['as_of']}",
        after=f"{after['matrix']} as of {after['as_of']}",
        counts=tuple((name, old[name], new[name]) for name in ("candidates", "included", "builds")),
        axes=_axis_changes(before, after),
        gained=_gained(before, after),
        lost=_lost(before, after),
        builds_added=tuple(sorted(ids[1] - ids[0])),
        builds_removed=tuple(sorted(ids[0] - ids[1])),
        builds_changed=_builds(before, after),
        entering_sunset=_entering(before, after),
        cost_before=cost[0],
        cost_after=cost[1],
    )
