"""Reads lists of statements: each says one thing, with kind, source and date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wheelgrid.config import fields
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.errors import Fault
from wheelgrid.core.evidence import Source

__all__ = ["COMMON", "OPTIONAL", "Statement", "Statements"]

COMMON = ("id", "says", "kind", "source", "date")
"""What every statement has."""

OPTIONAL = ("note", "from", "version", "accelerator", "torch", "platforms", "of", "closed_by")
"""What may narrow or explain any statement; none of them is needed everywhere."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as it is written: for lint rules, which look at text and places.

    `about` is the head of its file: `torch 2.13.0`, `accelerator cuda`, `feature nccl2`.
    """

    about: str
    says: str
    source: Source
    fields: Mapping[str, Item]
    item: Item

    def text(self, name: str) -> str:
        """A field as text, empty where it is absent or no text. Records no fault."""
        found = self.plain(name)
        return found if isinstance(found, str) else ""

    def plain(self, name: str) -> object:
        """A field as data, None where it is absent. Records no fault."""
        if name not in self.fields:
            return None
        quiet = self.fields[name]
        return Item(quiet.node, quiet.file, quiet.path, Faults()).plain()

    def fault(self, message: str, *, hint: str = "", at: str = "id") -> Fault:
        """A fault at one field of the statement, or at the statement where it lacks the field."""
        item = self.fields.get(at, self.item)
        line, column = item.position
        return Fault(
            file=item.file,
            path=f"{self.about}.{self.source.id}",
            line=line,
            column=column,
            message=message,
            hint=hint,
        )


@dataclass(slots=True)
class Statements:
    """Reads statements with one vocabulary, and keeps them where lint asks for it."""

    about: str
    says: Mapping[str, tuple[str, ...]]
    optional: tuple[str, ...] = OPTIONAL
    kept: list[Statement] | None = None
    _seen: set[str] = field(default_factory=set)

    def read(self, item: Item) -> Iterator[tuple[str, dict[str, Item], Source]]:
        """Each statement's `says`, fields and source; every fault is recorded."""
        for entry in item.items():
            given = entry.entries()
            about = given.get("says")
            kind = about.text() if about is not None else ""
            if kind not in self.says:
                hint = nearest(kind, list(self.says))
                entry.fault(f"says {kind!r}, which is not known here", hint=hint)
                continue
            required = (*COMMON, *self.says[kind])
            if not entry.check_keys(given, required, self.optional):
                continue
            source = fields.source(given)
            if source.id in self._seen:
                given["id"].fault(f"the id {source.id!r} is used twice in this file")
            self._seen.add(source.id)
            if self.kept is not None:
                self.kept.append(Statement(self.about, kind, source, given, entry))
            yield kind, given, source
