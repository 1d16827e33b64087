"""setup.py and noxfile.py, read as syntax trees; nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from wheelgrid.scan.mention import Mention, What

__all__ = ["noxfile", "setup_py"]

_LISTS = {
    "classifiers": What.CLASSIFIER,
    "install_requires": What.REQUIREMENT,
    "setup_requires": What.REQUIREMENT,
}


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _strings(node: ast.AST) -> Iterator[ast.Constant]:
    """Every text in an expression."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child


def _mention(file: str, node: ast.Constant, what: What) -> Mention:
    return Mention(
        file=file,
        line=node.lineno,
        column=node.col_offset + 1,
        what=what,
        text=str(node.value),
    )


def _assigned(tree: ast.Module) -> dict[str, ast.expr]:
    """Names of the module and the expressions that they are given; the last one holds."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id] = node.value
    return found


def setup_py(text: str, file: str) -> Iterator[Mention]:
    """`python_requires`, classifiers and requirements of every call of `setup`."""
    tree = _tree(text)
    if tree is None:
        return
    names = _assigned(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _called(node) != "setup":
            continue
        given = {k.arg: k.value for k in node.keywords if k.arg}
        resolved = {
            k: names.get(v.id, v) if isinstance(v, ast.Name) else v for k, v in given.items()
        }
        if "python_requires" in resolved:
            for constant in _strings(resolved["python_requires"]):
                yield _mention(file, constant, What.REQUIRES_PYTHON)
        elif not any(k.arg is None for k in node.keywords):
            yield Mention(
                file=file,
                line=node.lineno,
                column=node.col_offset + 1,
                what=What.NO_REQUIRES_PYTHON,
                text="setup()",
            )
        for name, what in _LISTS.items():
            for constant in _strings(resolved[name]) if name in resolved else ():
                yield _mention(file, constant, what)


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def noxfile(text: str, file: str) -> Iterator[Mention]:
    """`python=[...]` of sessions, also through a name of the module."""
    tree = _tree(text)
    if tree is None:
        return
    names = _assigned(tree)
    seen: set[tuple[int, int]] = set()
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            if keyword.arg not in {"python", "venv_python"}:
                continue
            value = keyword.value
            value = names.get(value.id, value) if isinstance(value, ast.Name) else value
            for constant in _strings(value):
                if (constant.lineno, constant.col_offset) not in seen:
                    seen.add((constant.lineno, constant.col_offset))
                    yield _mention(file, constant, What.PYTHON)
