"""setup.cfg, tox.ini and METADATA: read line by line, so that every value keeps its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wheelgrid.scan.mention import Mention, Source, What

__all__ = ["metadata", "setup_cfg", "tox_ini", "tox_options"]

_SECTION = re.compile(r"\s*\[([^\]]{1,200})\]\s*\Z")
_OPTION = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,60})\s{0,20}[=:]\s{0,20}(.*)\Z")
_SETUPTOOLS = {
    "python_requires": What.REQUIRES_PYTHON,
    "python-requires": What.REQUIRES_PYTHON,
    "classifiers": What.CLASSIFIER,
    "classifier": What.CLASSIFIER,
    "install_requires": What.REQUIREMENT,
    "setup_requires": What.REQUIREMENT,
    "tests_require": What.REQUIREMENT,
}
_BRACES = re.compile(r"([^\s,{}]{0,80})\{([^{}]{1,200})\}([^\s,{}]{0,80})")
_RANGE = re.compile(r"([0-9]{1,3})-([0-9]{1,3})\Z")
_MOST = 200
_MOST_NAMES = 2000
"""Of one line: what expands to more is no list of environments."""
_ENVIRONMENT = re.compile(r"[^\s,]{1,200}")


@dataclass(frozen=True, slots=True)
class _Value:
    """One line of the value of an option."""

    section: str
    option: str
    line: int
    column: int
    text: str

    @property
    def place(self) -> tuple[int, int]:
        return self.line, self.column


def _values(text: str) -> Iterator[_Value]:
    """Each line of each value; comments left out."""
    section = option = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split(" #", 1)[0].rstrip()
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        match = _SECTION.match(line)
        if match:
            section, option = match[1].strip(), ""
            continue
        if not line[0].isspace():
            match = _OPTION.match(line)
            option = match[1].lower() if match else ""
            if match and match[2]:
                yield _Value(section, option, number, match.start(2) + 1, match[2])
            continue
        yield _Value(section, option, number, len(line) - len(line.lstrip()) + 1, stripped)


def setup_cfg(source: Source) -> Iterator[Mention]:
    """Metadata and requirements of setuptools; tox and other tools that live here too."""
    declared = named = False
    for one in _values(source.text):
        named |= (one.section, one.option) == ("metadata", "name")
        what = _SETUPTOOLS.get(one.option) if one.section in {"metadata", "options"} else None
        context = ""
        if one.section == "options.extras_require":
            what = What.REQUIREMENT
        elif one.option == "python_version" and one.section.startswith("mypy"):
            what, context = What.TARGET, "mypy"
        elif one.option in {"py_version", "target_version", "target-version"}:
            what, context = What.TARGET, one.section
        elif (one.section, one.option) == ("bdist_wheel", "plat_name"):
            what = What.MACOS
        if what is not None:
            declared |= what is What.REQUIRES_PYTHON
            yield source.mention(what, one.text, one.place, context=context)
    if named and not declared:
        yield source.mention(What.NO_REQUIRES_PYTHON, "[options]", (1, 1))
    yield from tox_options(source, prefix="tox:")


def _expand(name: str, depth: int = 0) -> list[str]:
    """`py{39,310}-{a,b}` and `py3{9-11}` as tox reads them; bounded."""
    match = _BRACES.search(name)
    if match is None or depth > 6:  # noqa: PLR2004 - more factors than any project has
        return [name]
    found: list[str] = []
    for raw in match[2].split(","):
        part = raw.strip()
        numbers = _RANGE.match(part)
        if numbers:
            first, last = int(numbers[1]), int(numbers[2])
            parts = [str(n) for n in range(first, min(last, first + _MOST) + 1)]
        else:
            parts = [part]
        for value in parts:
            whole = name[: match.start(2) - 1] + value + name[match.end(2) + 1 :]
            found += _expand(whole, depth + 1)
            if len(found) > _MOST:
                return found[:_MOST]
    return found


def _environments(text: str) -> Iterator[tuple[str, int]]:
    """Each expanded name of an environment list, with the offset of what it was written in."""
    # Commas and spaces inside braces belong to the name.
    depth, masked = 0, []
    for char in text:
        depth += (char == "{") - (char == "}")
        masked.append("\x01" if depth > 0 and char in ", \t" else char)
    line, count = "".join(masked), 0
    for match in _ENVIRONMENT.finditer(line):
        written = text[match.start() : match.end()]
        for name in _expand(written.replace(" ", "").replace("\t", "")):
            count += 1
            if count > _MOST_NAMES:
                return
            yield name, match.start()


def tox_options(source: Source, *, prefix: str = "") -> Iterator[Mention]:
    """Environment lists, base Pythons, requirements and the table of the Actions plugin."""
    for one in _values(source.text):
        if prefix and not one.section.startswith((prefix, "testenv")):
            continue
        section = one.section.removeprefix(prefix)
        if one.option in {"envlist", "env_list"} or section in {"gh-actions", "gh-actions:env"}:
            for name, offset in _environments(one.text):
                place = (one.line, one.column + offset)
                yield source.mention(What.ENVIRONMENT, name, place, context="tox")
        elif one.option in {"basepython", "base_python"}:
            yield source.mention(What.TEXT, one.text, one.place, context="tox basepython")
        elif section.startswith("testenv") and one.option == "deps":
            yield source.mention(What.REQUIREMENT, one.text, one.place)
        elif section.startswith("testenv") and one.option in {"commands", "setenv", "set_env"}:
            yield source.mention(What.TEXT, one.text, one.place, context="tox")


def tox_ini(source: Source) -> Iterator[Mention]:
    """tox.ini."""
    return tox_options(source)


def metadata(source: Source) -> Iterator[Mention]:
    """PKG-INFO of an sdist or METADATA of a wheel: the headers, to the first empty line."""
    declared = False
    keys = {
        "requires-python": What.REQUIRES_PYTHON,
        "classifier": What.CLASSIFIER,
        "requires-dist": What.REQUIREMENT,
    }
    for number, line in enumerate(source.text.splitlines(), 1):
        if not line:  # a folded header may hold lines of spaces
            break
        name, _, value = line.partition(":")
        what = keys.get(name.strip().lower())
        if what is None:
            continue
        declared |= what is What.REQUIRES_PYTHON
        column = len(name) + 2 + len(value) - len(value.lstrip())
        yield source.mention(what, value.strip(), (number, column))
    if not declared and source.text.startswith("Metadata-Version"):
        yield source.mention(What.NO_REQUIRES_PYTHON, "metadata", (1, 1))
