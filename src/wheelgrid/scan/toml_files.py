"""pyproject.toml, Pipfile, tox.toml, uv.toml, pixi.toml and mise.toml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wheelgrid.scan.ini_files import tox_options
from wheelgrid.scan.mention import Mention, Source, What
from wheelgrid.scan.text_files import dependency, undecoded
from wheelgrid.scan.toml_places import Leaf, leaves

__all__ = ["mise_toml", "pipfile", "pixi_toml", "pyproject", "tox_toml", "uv_toml"]

Names = tuple[str, ...]
Meaning = tuple[What, str] | None

_TARGETS = {
    "target-version", "python_version", "python-version", "pythonVersion", "py_version",
    "py-version",
}  # fmt: skip
_SELECTORS = {"build", "select"}
_COMMANDS = {"scripts", "tasks", "commands", "cmd", "before-all", "before-build", "test-command"}
_POETRY_GROUPS = {"dependencies", "dev-dependencies"}


def _project(names: Names) -> Meaning:
    match names:
        case ("requires-python",):
            return What.REQUIRES_PYTHON, "requires-python"
        case ("classifiers",):
            return What.CLASSIFIER, ""
        case ("dependencies",) | ("optional-dependencies", _):
            return What.REQUIREMENT, ""
        case _:
            return None


def _cibuildwheel(names: Names) -> Meaning:
    last = names[-1]
    if last in _SELECTORS:  # a selector that skips the value relies on nothing
        return What.SELECTOR, f"cibuildwheel {last}"
    if last == "MACOSX_DEPLOYMENT_TARGET":
        return What.MACOS, last
    if last in {"test-requires", "test-groups"}:
        return What.REQUIREMENT, ""
    return None if "skip" in last else (What.TEXT, f"cibuildwheel {last}")


def _poetry(names: Names) -> Meaning:
    match names:
        case (group, "python", *_) if group in _POETRY_GROUPS:
            return What.REQUIRES_PYTHON, "python"
        case ("group", _, "dependencies", "python", *_):
            return What.REQUIRES_PYTHON, "python"
        case ("classifiers",):
            return What.CLASSIFIER, ""
        case ("source", "url"):
            return What.TEXT, "poetry source"
        case _:
            return None


def _uv(names: Names) -> Meaning:
    match names:
        case ("dev-dependencies" | "constraint-dependencies" | "override-dependencies",):
            return What.REQUIREMENT, ""
        case ("index", "url") | ("index-url" | "extra-index-url" | "find-links",):
            return What.TEXT, "uv index"
        case ("sources", *_) if names[-1] in {"index", "url"}:
            return What.TEXT, "uv source"
        case ("pip", "python-version"):
            return What.PYTHON, "uv pip python-version"
        case ("pip", "index-url" | "extra-index-url" | "torch-backend"):
            return What.TEXT, "uv index"
        case _:
            return None


def _hatch(names: Names) -> Meaning:
    match names:
        case ("envs", _, "matrix", "python" | "py") | ("envs", _, "python"):
            return What.PYTHON, "hatch environment"
        case ("envs", _, "dependencies" | "extra-dependencies"):
            return What.REQUIREMENT, ""
        case _:
            return None


def _pdm(names: Names) -> Meaning:
    match names:
        case ("dev-dependencies", _):
            return What.REQUIREMENT, ""
        case ("source", "url"):
            return What.TEXT, "pdm source"
        case _:
            return None


def _tox(names: Names) -> Meaning:
    match names:
        case ("env_list" | "envlist",) | ("env", _, "base_python"):
            return What.ENVIRONMENT, "tox"
        case ("env_run_base", "deps") | ("env", _, "deps"):
            return What.REQUIREMENT, ""
        case ("gh", "python", *_):
            return What.ENVIRONMENT, "tox gh"
        case _:
            return None


def _pixi(names: Names) -> Meaning:
    if names[-1] in {"python", "version"} and "dependencies" in names and "python" in names:
        return What.REQUIRES_PYTHON, "pixi python"
    if names[-1] in {"url", "index", "index-url", "extra-index-urls"}:
        return What.TEXT, "pixi index"
    return None


_TOOLS: dict[str, Callable[[Names], Meaning]] = {
    "cibuildwheel": _cibuildwheel,
    "poetry": _poetry,
    "uv": _uv,
    "hatch": _hatch,
    "pdm": _pdm,
    "tox": _tox,
    "pixi": _pixi,
}


def _tool(names: Names) -> Meaning:
    name, rest = names[0], names[1:]
    own = _TOOLS.get(name)
    found = own(rest) if own is not None and rest else None
    if found is not None:
        return found
    if rest and rest[-1] in _TARGETS:
        return What.TARGET, f"tool.{name}"
    if _COMMANDS.intersection(rest):
        return What.TEXT, f"tool.{name}"
    return None


def _meaning(names: Names) -> Meaning:
    match names:
        case ("project", *rest) if rest:
            return _project(tuple(rest))
        case ("build-system", "requires") | ("dependency-groups", _):
            return What.REQUIREMENT, ""
        case ("tool", *rest) if rest:
            return _tool(tuple(rest))
        case _:
            return None


def _decoded(source: Source) -> tuple[list[Leaf], dict[str, Any]] | None:
    try:
        return leaves(source.text)
    except (ValueError, RecursionError) as error:
        source.unknown.append(f"is not TOML, so it was read by line: {str(error)[:120]}")
        return None


def _mentions(source: Source, meaning: Callable[[Names], Meaning]) -> Iterator[Mention]:
    decoded = _decoded(source)
    if decoded is None:
        yield from undecoded(source)
        return
    for leaf in decoded[0]:
        found = meaning(leaf.names)
        if found is None:
            continue
        what, context = found
        for offset, line in enumerate(leaf.text.split("\n")):
            if line.strip():
                column = leaf.column if offset == 0 else 1
                place = (leaf.line + offset, column)
                yield source.mention(what, line.strip(), place, context=context)


def _poetry_packages(source: Source, found: list[Leaf]) -> Iterator[Mention]:
    """Poetry writes requirements as name = range, also as a table with `version`."""
    for leaf in found:
        match leaf.names:
            case ("tool", "poetry", *group, package) if group and group[-1] in _POETRY_GROUPS:
                pass
            case ("tool", "poetry", *group, package, "version") if group[-1:] == ["dependencies"]:
                pass
            case _:
                continue
        if package != "python":
            text = dependency(package, leaf.text)
            yield source.mention(What.REQUIREMENT, text, (leaf.line, leaf.column))


def _legacy_tox(source: Source, found: list[Leaf]) -> Iterator[Mention]:
    for leaf in found:
        if leaf.names == ("tool", "tox", "legacy_tox_ini"):
            inner = Source(source.file, leaf.text)
            for one in tox_options(inner):
                place = (leaf.line + one.line - 1, one.column)
                yield source.mention(one.what, one.text, place, context=one.context)


def _table(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def pyproject(source: Source) -> Iterator[Mention]:
    """Project metadata, build requirements, dependency groups and tool tables."""
    yield from _mentions(source, _meaning)
    try:
        found, data = leaves(source.text)
    except (ValueError, RecursionError):
        return
    yield from _poetry_packages(source, found)
    yield from _legacy_tox(source, found)
    project = _table(data.get("project"))
    dynamic = project.get("dynamic")
    if "name" in project and "requires-python" not in project:
        if isinstance(dynamic, list) and "requires-python" in dynamic:
            return
        place = next((x.line, 1) for x in found if x.names == ("project", "name"))
        yield source.mention(What.NO_REQUIRES_PYTHON, "[project]", place)


def pipfile(source: Source) -> Iterator[Mention]:
    """`[requires] python_version`, sources and packages."""
    meanings: dict[Names, Meaning] = {
        ("requires", "python_version"): (What.PYTHON, "Pipfile"),
        ("requires", "python_full_version"): (What.PYTHON, "Pipfile"),
        ("source", "url"): (What.TEXT, "Pipfile source"),
    }
    yield from _mentions(source, meanings.get)
    decoded = _decoded(Source(source.file, source.text))
    for leaf in decoded[0] if decoded else ():
        match leaf.names:
            case ("packages" | "dev-packages", package) | (
                "packages" | "dev-packages",
                package,
                "version",
            ):
                text = dependency(package, leaf.text)
                yield source.mention(What.REQUIREMENT, text, (leaf.line, leaf.column))
            case _:
                continue


def tox_toml(source: Source) -> Iterator[Mention]:
    """The own format of tox 4."""
    return _mentions(source, _tox)


def uv_toml(source: Source) -> Iterator[Mention]:
    """The own file of uv: the same keys as `[tool.uv]`."""
    return _mentions(source, _uv)


def pixi_toml(source: Source) -> Iterator[Mention]:
    """The own file of pixi: the same keys as `[tool.pixi]`."""
    return _mentions(source, _pixi)


def mise_toml(source: Source) -> Iterator[Mention]:
    """`[tools] python = "3.10"`."""
    return _mentions(
        source, lambda names: (What.PYTHON, "mise") if names == ("tools", "python") else None
    )
