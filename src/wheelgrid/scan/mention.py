"""What the readers of files hand on: places that may rely on a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Confidence", "Mention", "Source", "What", "line_mentions"]


_PRINTS = re.compile(r"(?:RUN\s{1,3})?(?:@)?(?:echo|printf)\s")


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


class Confidence(StrEnum):
    """Whether a file was read as what it is, or line by line because it could not be."""

    HIGH = "high"
    LOW = "low"


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
    confidence: Confidence = Confidence.HIGH


@dataclass(slots=True)
class Source:
    """One file on its way through a reader; `unknown` takes what of it could not be read."""

    file: str
    text: str
    unknown: list[str] = field(default_factory=list)

    def mention(
        self, what: What, text: str, place: tuple[int, int], *, context: str = ""
    ) -> Mention:
        """A mention in this file, at a line and a column, both from 1."""
        line, column = place
        return Mention(
            file=self.file, line=line, column=column, what=what, text=text, context=context
        )

    def lines(self, what: What, *, context: str = "", sure: bool = True) -> Iterator[Mention]:
        """A mention for each line."""
        confidence = Confidence.HIGH if sure else Confidence.LOW
        return line_mentions(
            self.file, self.text.splitlines(), what, context=context, confidence=confidence
        )


def line_mentions(
    file: str,
    lines: list[str],
    what: What,
    *,
    context: str = "",
    confidence: Confidence = Confidence.HIGH,
) -> Iterator[Mention]:
    """Every line without its comment; empty ones, and what is only printed, are left out."""
    for number, line in enumerate(lines, 1):
        text = _without_comment(line)
        bare = text.strip()
        if not bare or (_PRINTS.match(bare) and not set(bare) & set("|>&;")):
            continue
        yield Mention(
            file=file,
            line=number,
            column=len(text) - len(text.lstrip()) + 1,
            what=what,
            text=bare,
            context=context,
            confidence=confidence,
        )


def _without_comment(line: str) -> str:
    """The line up to a `#` that begins a comment; one inside a word or URL begins none."""
    at = line.find("#")
    while at > 0 and not line[at - 1].isspace():
        at = line.find("#", at + 1)
    return line if at < 0 else line[:at]
