"""setup.py, noxfile.py and conf.py-like files, read as syntax trees; nothing is executed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from wheelgrid.scan.constants import Constants, Found
from wheelgrid.scan.mention import Mention, Source, What
from wheelgrid.scan.text_files import undecoded

__all__ = ["noxfile", "setup_py"]

_WHAT = {
    "python_requires": What.REQUIRES_PYTHON,
    "classifiers": What.CLASSIFIER,
    "install_requires": What.REQUIREMENT,
    "setup_requires": What.REQUIREMENT,
    "extras_require": What.REQUIREMENT,
    "tests_require": What.REQUIREMENT,
}
_TARGET = "MACOSX_DEPLOYMENT_TARGET"


def _tree(source: Source) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a foreign file's escapes are not our concern
            return ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        source.unknown.append(f"is not Python 3, so it was read by line: {type(error).__name__}")
        return None


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _keywords(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Named arguments of a call, and the entries of a dict that may be given to one."""
    if isinstance(node, ast.Call) and _called(node) in {"setup", "dict"}:
        for keyword in node.keywords:
            if keyword.arg:
                yield keyword.arg, keyword.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        index = node.targets[0].slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            yield index.value, node.value


def _given(source: Source, constants: Constants, name: str, value: ast.expr) -> Iterator[Mention]:
    """The texts of one argument; what is computed is said, not guessed."""
    computed = False
    for found in constants.texts(value):
        if found is None:
            computed = True
        else:
            yield source.mention(_WHAT[name], found.text, found.place)
    if computed and name == "python_requires":
        source.unknown.append(f"line {value.lineno}: {name} is computed, and nothing here is run")


def _target(constants: Constants, node: ast.AST) -> Found | None:
    """`os.environ["MACOSX_DEPLOYMENT_TARGET"] = "11.0"`, or `setdefault`."""
    value: ast.expr | None = None
    if isinstance(node, ast.Assign):
        value = dict(_keywords(node)).get(_TARGET)
    elif isinstance(node, ast.Call) and _called(node) == "setdefault" and len(node.args) > 1:
        first = node.args[0]
        if isinstance(first, ast.Constant) and first.value == _TARGET:
            value = node.args[1]
    return next(constants.texts(value), None) if value is not None else None


def setup_py(source: Source) -> Iterator[Mention]:
    """`python_requires`, classifiers and requirements of `setup`, wherever they are written."""
    tree = _tree(source)
    if tree is None:
        yield from undecoded(source)
        return
    constants = Constants(tree)
    declared, calls = False, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) == "setup":
            calls.append(node)
        for name, value in _keywords(node):
            if name in _WHAT:
                declared |= name == "python_requires"
                yield from _given(source, constants, name, value)
        target = _target(constants, node)
        if target is not None:
            yield source.mention(What.MACOS, target.text, target.place, context=_TARGET)
    for node in calls[:1] if not declared else ():
        place = (node.lineno, node.col_offset + 1)
        if any(k.arg is None for k in node.keywords):
            source.unknown.append(f"line {node.lineno}: setup(**...) is computed")
        else:
            yield source.mention(What.NO_REQUIRES_PYTHON, "setup()", place)


def noxfile(source: Source) -> Iterator[Mention]:
    """`python=[...]` of sessions, parametrised Pythons, and what sessions run."""
    tree = _tree(source)
    if tree is None:
        yield from undecoded(source)
        return
    constants = Constants(tree)
    seen: set[tuple[int, int]] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        values = [k.value for k in node.keywords if k.arg in {"python", "venv_python"}]
        if _called(node) == "parametrize" and len(node.args) > 1:
            first = node.args[0]
            if isinstance(first, ast.Constant) and first.value == "python":
                values.append(node.args[1])
        for value in values:
            for found in constants.texts(value):
                if found is not None and found.place not in seen:
                    seen.add(found.place)
                    yield source.mention(What.PYTHON, found.text, found.place, context="nox")
