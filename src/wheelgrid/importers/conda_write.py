"""Writes the dimensions of a conda file as a matrix: zips, or tables where values repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wheelgrid.importers.document import (
    MEANINGFUL,
    AxisOut,
    Document,
    TableOut,
    identifier,
    pattern,
    render,
)
from wheelgrid.importers.report import Json

__all__ = ["Group", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One dimension: a variable, or several that vary together row by row."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, index: int) -> tuple[str, ...]:
        """The values of one variable."""
        return tuple(row[index] for row in self.rows)

    @property
    def pivot(self) -> int | None:
        """A variable whose values are all different, so that it decides the others."""
        columns = range(len(self.names))
        return next((i for i in columns if len(set(self.column(i))) == len(self.rows)), None)

    @property
    def is_zip(self) -> bool:
        """Whether every variable has a value of its own in each row."""
        return all(len(set(self.column(i))) == len(self.rows) for i in range(len(self.names)))


def _table(group: Group, index: int, given: Sequence[int], source: str, date: str) -> TableOut:
    """What one variable may be, given the values of others."""
    allowed: dict[tuple[str, ...], dict[str, None]] = {}
    for row in group.rows:
        allowed.setdefault(tuple(row[i] for i in given), {})[row[index]] = None
    by_values: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for decides, values in allowed.items():
        by_values.setdefault(tuple(values), []).append(decides)
    rows: list[tuple[dict[str, list[Json]], tuple[str, ...]]] = []
    for texts, deciding in by_values.items():
        patterns = tuple(map(pattern, texts))
        if len(given) == 1:
            when = {group.names[given[0]]: list[Json](pattern(d[0]) for d in deciding)}
            rows.append((when, patterns))
            continue
        for decides in deciding:
            pairs = zip(given, decides, strict=True)
            rows.append(({group.names[i]: [pattern(text)] for i, text in pairs}, patterns))
    name = group.names[index]
    return TableOut(
        id=f"zip-{identifier(name)}",
        axis=name,
        rows=tuple(rows),
        otherwise="error" if list(given) == [group.pivot] else "drop",
        reason=f"zip_keys: {', '.join(group.names)}",
        source=source,
        date=date,
    )


def _tables(group: Group, source: str, date: str) -> list[TableOut]:
    """The rows of a zip as relations: by the variable that decides, else each by those before."""
    varying = [i for i in range(len(group.names)) if len(set(group.column(i))) > 1]
    if group.pivot is not None:
        others = [i for i in varying if i != group.pivot]
        return [_table(group, index, [group.pivot], source, date) for index in others]
    return [
        _table(group, index, varying[:at], source, date) for at, index in enumerate(varying) if at
    ]


def write(
    groups: Sequence[Group], *, name: str, header: tuple[str, ...], source: str, date: str
) -> str:
    """The text of the matrix: `zip` where all values of a group differ, else tables."""
    axes = [
        AxisOut(
            name=variable,
            values=tuple(dict.fromkeys(group.column(index))),
            plain=variable in MEANINGFUL,
        )
        for group in groups
        for index, variable in enumerate(group.names)
    ]
    zips = tuple(g.names for g in groups if len(g.names) > 1 and g.is_zip)
    tables = [t for g in groups if not g.is_zip for t in _tables(g, source, date)]
    return render(
        Document(
            name=name,
            title=f"{name} of {source}",
            header=header,
            axes=tuple(axes),
            zips=zips,
            tables=tuple(tables),
        )
    )
