"""setup.cfg, tox.ini and METADATA: read line by line, so that every value keeps its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.scan.mention import Mention, What

__all__ = ["metadata", "setup_cfg", "tox_ini"]

_SECTION = re.compile(r"\s*\[([^\]]{1,200})\]\s*\Z")
_OPTION = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]{0,60})\s*[=:]\s*(.*)\Z")
_METADATA_KEYS = {
    "python_requires": What.REQUIRES_PYTHON,
    "python-requires": What.REQUIRES_PYTHON,
    "classifiers": What.CLASSIFIER,
    "classifier": What.CLASSIFIER,
    "install_requires": What.REQUIREMENT,
    "setup_requires": What.REQUIREMENT,
}
_FACTOR = re.compile(r"\bpy\{([0-9,t ]{1,200})\}|\bpy\{([^}]{1,200})\}")


def _options(text: str) -> Iterator[tuple[str, str, int, int, str]]:
    """(section, option, line, column, value) of each line of each value; comments left out."""
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
                yield section, option, number, line.find(match[2]) + 1, match[2]
            continue
        yield section, option, number, len(line) - len(line.lstrip()) + 1, stripped


def setup_cfg(text: str, file: str) -> Iterator[Mention]:
    """Metadata and requirements of setuptools."""
    declared = named = False
    for section, option, line, column, value in _options(text):
        named |= (section, option) == ("metadata", "name")
        what = _METADATA_KEYS.get(option) if section in {"metadata", "options"} else None
        if section == "options.extras_require":
            what = What.REQUIREMENT
        if what is not None:
            declared |= what is What.REQUIRES_PYTHON
            yield Mention(file=file, line=line, column=column, what=what, text=value)
    if named and not declared:
        yield Mention(file=file, line=1, column=1, what=What.NO_REQUIRES_PYTHON, text="[options]")


def _expanded(text: str) -> str:
    """`py{39,310}` as `py39 py310`, as tox reads it."""
    return _FACTOR.sub(
        lambda m: " ".join(f"py{part.strip()}" for part in (m[1] or m[2]).split(",")), text
    )


def tox_ini(text: str, file: str) -> Iterator[Mention]:
    """Environment lists, base Pythons and the table of the GitHub Actions plugin."""
    for section, option, line, column, value in _options(text):
        what = None
        if option in {"envlist", "env_list"}:
            what, value = What.ENVIRONMENT, _expanded(value)  # noqa: PLW2901 - tox's own expansion
        elif option in {"basepython", "base_python"}:
            what = What.TEXT
        elif section == "gh-actions":
            what, value = What.ENVIRONMENT, f"{option} {_expanded(value)}"  # noqa: PLW2901
        if what is not None:
            yield Mention(file=file, line=line, column=column, what=what, text=value)


def metadata(text: str, file: str) -> Iterator[Mention]:
    """PKG-INFO of an sdist or METADATA of a wheel: the headers, to the first empty line."""
    declared = False
    keys = {
        "requires-python": What.REQUIRES_PYTHON,
        "classifier": What.CLASSIFIER,
        "requires-dist": What.REQUIREMENT,
    }
    for number, line in enumerate(text.splitlines(), 1):
        if not line:  # a folded header may hold lines of spaces
            break
        name, _, value = line.partition(":")
        what = keys.get(name.strip().lower())
        if what is None:
            continue
        declared |= what is What.REQUIRES_PYTHON
        column = len(name) + 3
        yield Mention(file=file, line=number, column=column, what=what, text=value.strip())
    if not declared and text.startswith("Metadata-Version"):
        yield Mention(file=file, line=1, column=1, what=What.NO_REQUIRES_PYTHON, text="metadata")
