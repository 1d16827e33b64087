"""Files read line by line: images, scripts, requirements, and files that do not decode."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.scan.mention import Mention, Source, What

__all__ = ["dependency", "python_version", "requirements", "script", "tool_versions", "undecoded"]

_CARET = re.compile(r"\^\s*([0-9]{1,4})(?:\.([0-9]{1,4}))?[0-9.]{0,20}\s*\Z")
_TILDE = re.compile(r"~\s*([0-9]{1,4})\.([0-9]{1,4})[0-9.]{0,20}\s*\Z")
_FLOOR = re.compile(
    r"\s*[\"']?(?:requires-python|python_requires)[\"']?\s{0,3}[=:]\s{0,3}[\"']([^\"']{1,60})[\"']"
)
_CLASSIFIER = re.compile(r"[\"'](Programming Language :: Python :: [0-9.]{1,8})[\"']")
_ASDF = re.compile(r"python\s+(.{1,80})\Z")


def caret(text: str) -> str:
    """Poetry's `^3.10` and `~3.10` as a range that installers read; other text as it is."""
    match = _CARET.match(text)
    if match:
        low = text.lstrip("^ ")
        major, minor = int(match[1]), match[2]
        if major == 0 and minor:
            return f">={low},<0.{int(minor) + 1}"
        return f">={low},<{major + 1}"
    match = _TILDE.match(text)
    if match:
        return f">={text.lstrip('~ ')},<{match[1]}.{int(match[2]) + 1}"
    return text


def dependency(package: str, constraint: str) -> str:
    """A requirement from a name and a range as Poetry and Pipfile write them."""
    text = caret(constraint.strip())
    if text in {"*", ""}:
        return package
    return f"{package}{text}" if text[0] in "<>=!~" else f"{package}=={text}"


def script(source: Source) -> Iterator[Mention]:
    """Images, shell scripts, makefiles: commands and names, without comments."""
    return source.lines(What.TEXT)


def python_version(source: Source) -> Iterator[Mention]:
    """`.python-version`, `runtime.txt`: one version a line."""
    return source.lines(What.PYTHON, context=source.file.rpartition("/")[2])


def tool_versions(source: Source) -> Iterator[Mention]:
    """The `.tool-versions`: `python 3.10.14` (asdf)."""
    for one in source.lines(What.PYTHON):
        match = _ASDF.match(one.text)
        if match:
            yield source.mention(What.PYTHON, match[1], (one.line, one.column), context="asdf")


def requirements(source: Source) -> Iterator[Mention]:
    """Requirements, and the options of pip between them."""
    for one in source.lines(What.REQUIREMENT):
        text = one.text.rstrip("\\").split(" --hash")[0].strip()
        what = What.TEXT if text.startswith("-") else What.REQUIREMENT
        yield source.mention(what, text, (one.line, one.column), context="requirements")


def undecoded(source: Source) -> Iterator[Mention]:
    """A file that is not what its name says: the plainest lines, with low confidence."""
    for one in source.lines(What.TEXT, sure=False):
        floor, claim = _FLOOR.match(one.text), _CLASSIFIER.search(one.text)
        what, text = What.TEXT, one.text
        if floor:
            what, text = What.REQUIRES_PYTHON, floor[1]
        elif claim:
            what, text = What.CLASSIFIER, claim[1]
        yield Mention(
            file=one.file,
            line=one.line,
            column=one.column,
            what=what,
            text=text,
            confidence=one.confidence,
        )
