"""pyproject.toml and Pipfile: metadata, cibuildwheel, and the targets of other tools."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from wheelgrid.scan.mention import Mention, What, locate

__all__ = ["pipfile", "pyproject"]

_TARGETS = ("target-version", "python_version", "python-version", "pythonVersion", "py_version")
_SELECTORS = ("build", "skip", "test-skip", "select")


def _load(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return {}


class _Toml:
    """One file; places are found by the text of a value, after its key where that is known."""

    def __init__(self, text: str, file: str) -> None:
        self.lines = text.splitlines()
        self.file = file

    def mention(self, what: What, text: str, *, key: str = "", context: str = "") -> Mention:
        """A mention at the first line that holds the text, at or after the key."""
        start = 0
        if key:
            line, _ = locate(self.lines, key)
            start = line - 1
        line, column = locate(self.lines, text, start)
        return Mention(
            file=self.file, line=line, column=column, what=what, text=text, context=context
        )


def _table(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _texts(found: object) -> list[str]:
    if isinstance(found, str):
        return [found]
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _project(toml: _Toml, project: dict[str, Any]) -> Iterator[Mention]:
    if "requires-python" in project:
        for text in _texts(project["requires-python"]):
            yield toml.mention(What.REQUIRES_PYTHON, text, key="requires-python")
    elif "name" in project and "requires-python" not in _texts(project.get("dynamic")):
        yield toml.mention(What.NO_REQUIRES_PYTHON, "[project]")
    for text in _texts(project.get("classifiers")):
        yield toml.mention(What.CLASSIFIER, text, key="classifiers")
    for text in _texts(project.get("dependencies")):
        yield toml.mention(What.REQUIREMENT, text, key="dependencies")
    for extra in _table(project.get("optional-dependencies")).values():
        for text in _texts(extra):
            yield toml.mention(What.REQUIREMENT, text, key="optional-dependencies")


def _cibuildwheel(toml: _Toml, table: dict[str, Any]) -> Iterator[Mention]:
    tables = [table, *(_table(table.get(n)) for n in ("linux", "macos", "windows"))]
    tables += [_table(entry) for entry in table.get("overrides", []) if isinstance(entry, dict)]
    for one in tables:
        for name in _SELECTORS:
            # A selector that skips the value relies on nothing.
            if name in one and "skip" not in name:
                for text in _texts(one[name]):
                    yield toml.mention(What.SELECTOR, text, key="cibuildwheel", context=name)
        target = _table(one.get("environment")).get("MACOSX_DEPLOYMENT_TARGET")
        if isinstance(target, str):
            yield toml.mention(What.MACOS, target, key="MACOSX_DEPLOYMENT_TARGET")


def _tools(toml: _Toml, tools: dict[str, Any]) -> Iterator[Mention]:
    poetry = _table(_table(tools.get("poetry")).get("dependencies"))
    if isinstance(poetry.get("python"), str):
        yield toml.mention(What.REQUIRES_PYTHON, poetry["python"], key="python", context="poetry")
    yield from _cibuildwheel(toml, _table(tools.get("cibuildwheel")))
    for name, tool in tools.items():
        if name in {"cibuildwheel", "poetry"}:
            continue
        for found in (_table(tool), _table(_table(tool).get("lint"))):
            for key in _TARGETS:
                for text in _texts(found.get(key)):
                    yield toml.mention(What.TARGET, text, key=key, context=f"tool.{name}")
    matrix = _table(_table(_table(tools.get("hatch")).get("envs")))
    for env in matrix.values():
        for row in _table(env).get("matrix", []):
            for text in _texts(_table(row).get("python")):
                yield toml.mention(What.PYTHON, text, key="matrix", context="tool.hatch")


def pyproject(text: str, file: str) -> Iterator[Mention]:
    """Project metadata, build requirements, dependency groups and tool tables."""
    data, toml = _load(text), _Toml(text, file)
    yield from _project(toml, _table(data.get("project")))
    for requirement in _texts(_table(data.get("build-system")).get("requires")):
        yield toml.mention(What.REQUIREMENT, requirement, key="build-system")
    for group in _table(data.get("dependency-groups")).values():
        for requirement in _texts(group):
            yield toml.mention(What.REQUIREMENT, requirement, key="dependency-groups")
    yield from _tools(toml, _table(data.get("tool")))


def pipfile(text: str, file: str) -> Iterator[Mention]:
    """`[requires] python_version`."""
    requires = _table(_load(text).get("requires"))
    toml = _Toml(text, file)
    for key in ("python_version", "python_full_version"):
        for found in _texts(requires.get(key)):
            yield toml.mention(What.PYTHON, found, key=key)
