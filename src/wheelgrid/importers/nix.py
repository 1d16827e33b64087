"""Reads a list of plain records in the syntax of Nix. Nothing is evaluated.

The grammar is closed: `[ { name = value; ... } ... ]`, where a value is a string without
interpolation, true, false or a list of such strings. Anything else is refused with its position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wheelgrid.config.yaml import MAX_BYTES
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.importers.report import Json, Place

__all__ = ["Record", "read_nix_records"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<comment>\#[^\n]*|/\*.*?\*/)|(?P<mark>[\[\]{}=;])"""
    r"""|(?P<text>"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z_][A-Za-z0-9_'-]*)""",
    re.DOTALL,
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One entry of a list of versions, with its place."""

    values: dict[str, Json]
    place: Place


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    offset: int


class _Parser:
    """A recursive descent over the tokens; the first fault ends it."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.tokens = self._tokens()
        self.now = next(self.tokens)

    def place(self, offset: int) -> Place:
        line = self.text.count("\n", 0, offset) + 1
        return Place(file=self.file, line=line, column=offset - self.text.rfind("\n", 0, offset))

    def refuse(self, offset: int, message: str) -> BadInputError:
        at = self.place(offset)
        return BadInputError(
            [
                Fault(
                    file=self.file,
                    line=at.line,
                    column=at.column,
                    message=message,
                    hint="only a list of plain records is read: nothing is evaluated",
                )
            ]
        )

    def _tokens(self) -> Iterator[_Token]:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                raise self.refuse(at, f"{self.text[at : at + 20].split()[0]!r} is not read")
            kind = match.lastgroup or ""
            if kind not in {"space", "comment"}:
                yield _Token(kind, match[0], at)
            at = match.end()
        yield _Token("end", "", at)

    def take(self, kind: str, text: str = "") -> _Token:
        token = self.now
        if token.kind != kind or (text and token.text != text):
            wanted = repr(text) if text else f"a {kind}"
            raise self.refuse(token.offset, f"expected {wanted}, found {token.text or 'the end'!r}")
        if kind != "end":
            self.now = next(self.tokens)
        return token

    def _string(self) -> str:
        token = self.take("text")
        body = token.text[1:-1]
        if "${" in body.replace("\\$", ""):
            raise self.refuse(token.offset, "a string with an interpolation is not read")
        return re.sub(r"\\(.)", lambda m: _ESCAPED.get(m[1], m[1]), body, flags=re.DOTALL)

    def _value(self) -> Json:
        token = self.now
        if token.kind == "name" and token.text in {"true", "false"}:
            self.take("name")
            return token.text == "true"
        if token.text == "[" and token.kind == "mark":
            self.take("mark", "[")
            found: list[Json] = []
            while self.now.text != "]" or self.now.kind != "mark":
                found.append(self._string())
            self.take("mark", "]")
            return found
        return self._string()

    def _record(self) -> Record:
        start = self.take("mark", "{")
        values: dict[str, Json] = {}
        while self.now.text != "}" or self.now.kind != "mark":
            name = self.take("name")
            if name.text in values:
                raise self.refuse(name.offset, f"duplicate name {name.text!r}")
            self.take("mark", "=")
            values[name.text] = self._value()
            self.take("mark", ";")
        self.take("mark", "}")
        return Record(values=values, place=self.place(start.offset))

    def records(self) -> list[Record]:
        self.take("mark", "[")
        found = []
        while self.now.text != "]" or self.now.kind != "mark":
            found.append(self._record())
        self.take("mark", "]")
        self.take("end")
        return found


def read_nix_records(text: str, *, file: str) -> list[Record]:
    """The records of a `versions.nix`; BadInputError with a position for anything else."""
    if len(text) > MAX_BYTES:
        raise BadInputError([Fault(file=file, message=f"is larger than {MAX_BYTES} bytes")])
    return _Parser(text, file).records()
