"""Where each value of a TOML file stands: a second, small reader beside tomllib.

tomllib checks the file and gives the values; this finds the places. So it may be lenient: it is
only used on text that tomllib has accepted.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Leaf", "Path", "leaves"]

Path = tuple[str | int, ...]
_MOST_DOTS = 5000
"""In a line: tomllib takes a time for a dotted key that grows with the square of its parts."""
_BARE_END = frozenset(" \t\r\n=.,]}#")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text or number with its path (names and numbers of list entries) and its place."""

    path: Path
    text: str
    line: int
    column: int

    @property
    def names(self) -> tuple[str, ...]:
        """The path without the numbers of list entries."""
        return tuple(step for step in self.path if isinstance(step, str))


class _Places:
    """Walks the text once and notes the offset at which each value begins."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Path, int] = {}
        self._lists: dict[Path, int] = {}

    def walk(self) -> dict[Path, int]:
        table: Path = ()
        while True:
            self._space(lines=True)
            if self.at >= len(self.text):
                return self.found
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _space(self, *, lines: bool) -> None:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in " \t" or (lines and char in "\r\n"):
                self.at += 1
            else:
                return

    def _header(self) -> Path:
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        names = self._key()
        self.at = self.text.index("]", self.at) + (2 if many else 1)
        path: Path = ()
        for index, name in enumerate(names):
            path = (*path, name)
            if many and index == len(names) - 1:
                self._lists[path] = self._lists.get(path, -1) + 1
            if path in self._lists:
                path = (*path, self._lists[path])
        self.found.setdefault(path, self.at)
        return path

    def _key(self) -> list[str]:
        names = []
        while True:
            self._space(lines=False)
            if self.text[self.at] in "\"'":
                start = self.at
                self._string()
                names.append(tomllib.loads(f"k = {self.text[start : self.at]}")["k"])
            else:
                start = self.at
                while self.text[self.at] not in _BARE_END:
                    self.at += 1
                names.append(self.text[start : self.at])
            self._space(lines=False)
            if self.text[self.at] != ".":
                return names
            self.at += 1

    def _pair(self, table: Path) -> None:
        path = (*table, *self._key())
        self.at = self.text.index("=", self.at) + 1
        self._space(lines=False)
        self._value(path)

    def _value(self, path: Path) -> None:
        char = self.text[self.at]
        self.found[path] = self.at
        if char in "\"'":
            self.found[path] = self._string()
        elif char == "[":
            self._list(path)
        elif char == "{":
            self._inline(path)
        else:
            while self.at < len(self.text) and self.text[self.at] not in ",]}#\r\n":
                self.at += 1

    def _string(self) -> int:
        """Pass a text; the offset of its first character, after the quotes."""
        quote = self.text[self.at]
        mark = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(mark)
        start = self.at + (len(mark) > 1 and self.text.startswith("\n", self.at))
        while not self.text.startswith(mark, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += len(mark)
        while len(mark) > 1 and self.text.startswith(quote, self.at):  # """quoted""""
            self.at += 1
        return start

    def _list(self, path: Path) -> None:
        self.at += 1
        number = 0
        while True:
            self._space(lines=True)
            if self.text[self.at] == "]":
                self.at += 1
                return
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._value((*path, number))
            number += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while True:
            self._space(lines=True)
            if self.text[self.at] == "}":
                self.at += 1
                return
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._pair(path)


def _values(value: Any, path: Path) -> Iterator[tuple[Path, str]]:  # noqa: ANN401 - any TOML value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _values(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _values(inner, (*path, number))
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield path, str(value)


def leaves(text: str) -> tuple[list[Leaf], dict[str, Any]]:
    """Every text and number with its place, in order, and the decoded file.

    tomllib.TOMLDecodeError (a ValueError) or RecursionError where it is no TOML.
    """
    text = text.replace("\r\n", "\n")
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        msg = f"a line has more than {_MOST_DOTS} dots"
        raise ValueError(msg)
    data = tomllib.loads(text, parse_float=str)  # 3.10 stays 3.10
    try:
        places = _Places(text).walk()
    except (IndexError, ValueError, RecursionError):
        places = {}  # places are a help; the values are tomllib's
    starts = [0, *(i + 1 for i, char in enumerate(text) if char == "\n")]
    found = []
    for path, value in _values(data, ()):
        offset = places.get(path, 0)
        line = bisect_right(starts, offset)
        found.append(Leaf(path, value, line, offset - starts[line - 1] + 1))
    return found, data
