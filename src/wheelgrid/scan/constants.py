"""Texts in a Python file that can be known without running it: literals, names, joins, loops.

What is computed otherwise (a call, an environment variable) is not guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Constants", "Found"]

_MOST = 500
_MAX_DEPTH = 40
_MAX_STEPS = 20_000
"""Names may refer to each other, so that a short file stands for endlessly many texts."""
_LONGEST = 1000
_LARGEST = 10**6
_Value = str | int | tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A text with its place; line and column from 1."""

    text: str
    line: int
    column: int

    @property
    def place(self) -> tuple[int, int]:
        """Line and column."""
        return self.line, self.column


class Constants:
    """The names of one module and what they are given; the last assignment holds."""

    def __init__(self, tree: ast.Module) -> None:
        """Collect the assignments, also those inside functions."""
        self.steps = _MAX_STEPS
        self.names: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets, value=value):
                    self.names.update((t.id, value) for t in targets if isinstance(t, ast.Name))
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.names[name] = value
                case _:
                    pass

    def resolve(self, node: ast.expr) -> ast.expr:
        """The expression behind a name, or the expression itself."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(node, ast.Name) or node.id not in self.names:
                break
            node = self.names[node.id]
        return node

    def _step(self) -> bool:
        """Whether the work for this module is still bounded."""
        self.steps -= 1
        return self.steps >= 0

    def texts(self, node: ast.expr, depth: int = 0) -> Iterator[Found | None]:
        """Every text of a list or of one value; None for each part that is computed."""
        node = self.resolve(node)
        if depth > _MAX_DEPTH or not self._step():
            yield None
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for item in node.elts[:_MOST]:
                inner = item.value if isinstance(item, ast.Starred) else item
                yield from self.texts(inner, depth + 1)
        elif isinstance(node, ast.Dict):
            for value in node.values[:_MOST]:
                yield from self.texts(value, depth + 1)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_list(node):
            yield from self.texts(node.left, depth + 1)
            yield from self.texts(node.right, depth + 1)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            yield from self._loop(node)
        else:
            text = self.value(node, {})
            place = (node.lineno, node.col_offset + 1)
            yield Found(text, *place) if isinstance(text, str) else None

    def _loop(self, node: ast.ListComp | ast.GeneratorExp) -> Iterator[Found | None]:
        """`[f"3.{minor}" for minor in range(8, 13)]`."""
        [loop, *more] = node.generators
        values = self._range(loop.iter)
        if more or loop.ifs or values is None or not isinstance(loop.target, ast.Name):
            yield None
            return
        for value in values[:_MOST]:
            text = self.value(node.elt, {loop.target.id: value})
            place = (node.lineno, node.col_offset + 1)
            yield Found(text, *place) if isinstance(text, str) else None

    def _range(self, node: ast.expr) -> list[_Value] | None:
        node = self.resolve(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            found = [self.value(item, {}) for item in node.elts[:_MOST]]
            return None if None in found else [v for v in found if v is not None]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            numbers = [self.value(item, {}) for item in node.args]
            given = [n for n in numbers if isinstance(n, int) and abs(n) < 10**6]
            if node.func.id == "range" and 1 <= len(given) == len(numbers) <= 2:  # noqa: PLR2004
                return list(range(*given)[:_MOST])
        return None

    def value(self, node: ast.expr, names: dict[str, _Value], depth: int = 0) -> _Value | None:
        """The value of an expression of literals; None where it is computed."""
        node = self.resolve(node) if not _is_name_of(node, names) else node
        if depth > _MAX_DEPTH or not self._step():
            return None
        found: _Value | None = None
        match node:
            case ast.Constant(value=str() | int() as value):
                found = value if isinstance(value, str) or abs(value) < _LARGEST else None
            case ast.Name(id=name) if name in names:
                found = names[name]
            case ast.Tuple(elts=items) | ast.List(elts=items):
                values = tuple(self.value(item, names, depth + 1) for item in items[:_MOST])
                found = None if None in values else values
            case ast.Subscript(value=owner, slice=ast.Constant(value=int() as at)):
                found = _entry(self.value(owner, names, depth + 1), at)
            case ast.JoinedStr(values=parts):
                found = self._join(parts, names, depth)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                found = self._sum(left, right, names, depth)
            case ast.Call(func=ast.Attribute(value=owner, attr="format"), args=args, keywords=[]):
                found = self._format(owner, args, names, depth)
            case ast.Call(func=ast.Attribute(value=owner, attr="join"), args=[only]):
                found = self._joined(owner, only, names, depth)
            case _:
                pass
        return None if isinstance(found, str) and len(found) > _LONGEST else found

    def _sum(
        self, left: ast.expr, right: ast.expr, names: dict[str, _Value], depth: int
    ) -> str | None:
        """Two texts one after the other; a sum of numbers names no version."""
        first = self.value(left, names, depth + 1)
        second = self.value(right, names, depth + 1)
        both = isinstance(first, str) and isinstance(second, str)
        return f"{first}{second}" if both else None

    def _join(self, parts: list[ast.expr], names: dict[str, _Value], depth: int) -> str | None:
        found = ""
        for part in parts:
            formatted = part if isinstance(part, ast.FormattedValue) else None
            if formatted is not None and formatted.format_spec is not None:
                return None
            value = self.value(formatted.value if formatted else part, names, depth + 1)
            if value is None or isinstance(value, tuple):
                return None
            found += str(value)
        return found

    def _format(
        self, owner: ast.expr, args: list[ast.expr], names: dict[str, _Value], depth: int
    ) -> str | None:
        """`">={}.{}".format(3, 10)` and `.format(*MINIMUM)`; plain braces only."""
        text = self.value(owner, names, depth + 1)
        values: list[object] = []
        for one in args:
            starred = isinstance(one, ast.Starred)
            value = self.value(one.value if isinstance(one, ast.Starred) else one, names, depth + 1)
            values += value if starred and isinstance(value, tuple) else [value]
        if not isinstance(text, str) or None in values or text.count("{}") != len(values):
            return None
        parts = text.split("{}")
        pairs = zip(parts, [*map(str, values), ""], strict=True)
        return "".join(part + value for part, value in pairs)

    def _joined(
        self, owner: ast.expr, only: ast.expr, names: dict[str, _Value], depth: int
    ) -> str | None:
        """`".".join(map(str, MINIMUM))` and `".".join(["3", "10"])`."""
        if isinstance(only, ast.Call) and isinstance(only.func, ast.Name) and only.func.id == "map":
            only = only.args[-1] if only.args else only
        mark, values = self.value(owner, names, depth + 1), self.value(only, names, depth + 1)
        if isinstance(mark, str) and isinstance(values, tuple):
            return mark.join(map(str, values))
        return None


def _entry(values: _Value | None, at: int) -> _Value | None:
    """`MINIMUM[0]`: one entry of a tuple that is known; None for anything else."""
    if not isinstance(values, tuple) or not -len(values) <= at < len(values):
        return None
    entry = values[at]
    return entry if isinstance(entry, (str, int, tuple)) else None


def _is_name_of(node: ast.expr, names: dict[str, _Value]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_list(node: ast.BinOp) -> bool:
    """Whether a sum joins lists; of two names nobody can tell, and then they are texts."""
    lists = (ast.List, ast.Tuple, ast.ListComp)
    return isinstance(node.left, lists) or isinstance(node.right, lists)
