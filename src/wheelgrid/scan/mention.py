"""What the readers of files hand on: places that may rely on a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Mention", "What", "line_mentions", "locate"]


class What(StrEnum):
    """How a text is meant; the judge reads it accordingly."""

    REQUIRES_PYTHON = "requires-python"
    NO_REQUIRES_PYTHON = "no requires-python"
    CLASSIFIER = "classifier"
    PYTHON = "python version"
    TARGET = "tool target"
    ENVIRONMENT = "environment list"
    SELECTOR = "cibuildwheel selector"
    CUDA = "cuda version"
    ROCM = "rocm version"
    REQUIREMENT = "requirement"
    MACOS = "macOS deployment target"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A text at a place. `unquoted` marks a number that YAML reads otherwise than written."""

    file: str
    line: int
    column: int
    what: What
    text: str
    context: str = ""
    unquoted: bool = False


def locate(lines: list[str], needle: str, start: int = 0) -> tuple[int, int]:
    """Line and column, from 1, of a text at or after a line; (1, 1) where it is not found."""
    for index in range(start, len(lines)):
        column = lines[index].find(needle)
        if column >= 0:
            return index + 1, column + 1
    return 1, 1


def line_mentions(
    file: str, lines: list[str], what: What, *, comment: str = "#", context: str = ""
) -> Iterator[Mention]:
    """Every line without its comment; empty ones are left out."""
    for number, line in enumerate(lines, 1):
        head, mark, _ = line.partition(comment) if comment else (line, "", "")
        # A mark inside a word is none: URLs have fragments, and colours have hashes.
        text = line if mark and head and not head[-1].isspace() else head
        if text.strip():
            column = len(text) - len(text.lstrip()) + 1
            yield Mention(
                file=file,
                line=number,
                column=column,
                what=what,
                text=text.rstrip(),
                context=context,
            )
