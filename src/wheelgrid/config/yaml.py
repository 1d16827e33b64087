"""Reads YAML as nodes with positions, and hands out typed values while collecting faults.

Why nodes and not `yaml.load`: PyYAML keeps the last of two equal keys in silence and reads an
unquoted `3.10` as the number 3.1. Here both are faults with their line and column.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import yaml

from wheelgrid.core.errors import BadInputError, Fault

__all__ = ["MAX_BYTES", "Faults", "Item", "parse"]

T = TypeVar("T")

MAX_BYTES = 4 * 1024 * 1024
"""Largest file that is read; hand-written configuration is far smaller."""

_MAX_DEPTH = 40
_MOST_NAMES = 30
_STR = "tag:yaml.org,2002:str"
_INT = "tag:yaml.org,2002:int"
_FLOAT = "tag:yaml.org,2002:float"
_NULL = "tag:yaml.org,2002:null"
_BOOL = "tag:yaml.org,2002:bool"
_READ_AS = {
    _INT: "the number",
    _FLOAT: "the number",
    _BOOL: "true/false",
    _NULL: "nothing",
    "tag:yaml.org,2002:timestamp": "a date",
}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Faults:
    """Collects the faults of one or more files, to be raised once."""

    found: list[Fault] = field(default_factory=list)

    def check(self) -> None:
        """Raise BadInputError with all faults, if there are any."""
        if self.found:
            raise BadInputError(self.found)


def _as_read(node: yaml.ScalarNode) -> str:
    """How YAML itself would read a plain scalar, for the message."""
    if node.tag == _FLOAT:
        try:
            return f"the number {float(node.value)!r}"
        except ValueError:
            return "a number"
    return _READ_AS.get(node.tag, "another type") + (
        f" {node.value}" if node.tag in {_INT, _BOOL} else ""
    )


def nearest(word: str, known: list[str]) -> str:
    """A hint with the closest known name, or the names there are when none is close."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    return "known: " + ", ".join(known[:_MOST_NAMES]) + more if known else ""


@dataclass(slots=True)
class Item:
    """One node of a YAML file with its data path; getters record faults and go on."""

    node: yaml.Node
    file: str
    path: str
    faults: Faults

    def fault(self, message: str, *, hint: str = "") -> None:
        """Record one fault at this node."""
        mark = self.node.start_mark
        self.faults.found.append(
            Fault(
                file=self.file,
                path=self.path,
                line=mark.line + 1,
                column=mark.column + 1,
                message=message,
                hint=hint,
            )
        )

    def build(self, make: Callable[[], T]) -> T | None:
        """Call `make`; a ValueError becomes a fault here and gives None."""
        try:
            return make()
        except ValueError as error:
            self.fault(str(error))
            return None

    def _child(self, node: yaml.Node, step: str) -> Item:
        return Item(node, self.file, f"{self.path}{step}", self.faults)

    def entries(self) -> dict[str, Item]:
        """A mapping's values by key. Duplicate keys and keys that are not text are faults."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fault(f"expected a mapping, found {_describe(self.node)}")
            return {}
        found: dict[str, Item] = {}
        for key_node, value_node in self.node.value:
            key = self._child(key_node, "").text()
            step = f".{key}" if self.path else key
            if key in found:
                first = found[key].node.start_mark.line + 1
                self._child(key_node, step).fault(
                    f"duplicate key {key!r}", hint=f"its first value is at line {first}"
                )
                continue
            found[key] = self._child(value_node, step)
        return found

    def fields(self, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Item]:
        """A mapping with a closed set of keys; unknown and missing keys are faults."""
        found = self.entries()
        if isinstance(self.node, yaml.MappingNode):
            self.check_keys(found, required, optional)
        return found

    def check_keys(
        self, found: dict[str, Item], required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> bool:
        """Fault keys that are missing from `found` or unknown, and take the unknown ones out.

        True when all required keys are there.
        """
        known = {*required, *optional}
        for key in [key for key in found if key not in known]:
            names = [*required, *optional]
            found.pop(key).fault(f"unknown key {key!r}", hint=nearest(key, names))
        missing = [key for key in required if key not in found]
        for key in missing:
            self.fault(f"missing key {key!r}")
        return not missing

    def items(self) -> Iterator[Item]:
        """The items of a list; anything else is a fault and gives none."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.fault(f"expected a list, found {_describe(self.node)}")
            return
        for index, node in enumerate(self.node.value):
            yield self._child(node, f"[{index}]")

    def text(self) -> str:
        """A string. A plain scalar that YAML reads as another type must be quoted."""
        if not isinstance(self.node, yaml.ScalarNode):
            self.fault(f"expected a string, found {_describe(self.node)}")
            return ""
        value = str(self.node.value)
        if self.node.tag != _STR:
            self.fault(
                f"expected a string, but {value or 'an empty value'} without quotes is read as "
                f"{_as_read(self.node)}",
                hint=f'write "{value}"' if value else "",
            )
            return ""
        return value

    def optional_text(self) -> str:
        """A string, or empty for `null`."""
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag == _NULL:
            return ""
        return self.text()

    @property
    def is_mapping(self) -> bool:
        """Whether the node is a mapping."""
        return isinstance(self.node, yaml.MappingNode)

    @property
    def is_list(self) -> bool:
        """Whether the node is a list."""
        return isinstance(self.node, yaml.SequenceNode)

    def plain(self) -> object:
        """The value as data: text, true or false, lists and mappings; a number is a fault."""
        if self.is_mapping:
            return {key: child.plain() for key, child in self.entries().items()}
        if self.is_list:
            return [child.plain() for child in self.items()]
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag == _BOOL:
            return self.node.value.lower() in {"true", "yes", "on"}
        return self.text()

    @property
    def position(self) -> tuple[int, int]:
        """Line and column, counted from 1."""
        mark = self.node.start_mark
        return mark.line + 1, mark.column + 1

    def number(self) -> float:
        """A number greater than zero; anything else is a fault and gives 1."""
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag in {_INT, _FLOAT}:
            try:
                value = float(self.node.value)
            except ValueError:
                value = 0.0
            if 0 < value < float("inf"):
                return value
        self.fault("expected a number above zero", hint=f"found {_describe(self.node)}")
        return 1.0

    def texts(self) -> tuple[str, ...]:
        """A list of strings; a single string stands for a list of one."""
        if isinstance(self.node, yaml.ScalarNode):
            return (self.text(),)
        return tuple(item.text() for item in self.items())

    def choice(self, known: list[str]) -> str:
        """One of a closed set of strings; another is a fault and gives the first."""
        value = self.text()
        if value in known:
            return value
        if value:
            self.fault(f"{value!r} is not one of the allowed values", hint=nearest(value, known))
        return known[0]


def _describe(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f"{node.value!r}" if node.value else "nothing"


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _has_alias(root: yaml.Node) -> bool:
    """Whether a node is reached twice, which only an alias can do."""
    seen = {id(root)}
    left = [root]
    while left:
        for child in _children(left.pop()):
            if id(child) in seen:
                return True
            seen.add(id(child))
            left.append(child)
    return False


def _is_deep(root: yaml.Node) -> bool:
    """Whether a document without aliases is nested deeper than we read."""
    level = [root]
    for _ in range(_MAX_DEPTH + 1):
        level = [c for node in level for c in _children(node) if not isinstance(c, yaml.ScalarNode)]
        if not level:
            return False
    return True


def _shape_problem(root: yaml.Node, text: str) -> str:
    """What is wrong with the shape of a document; aliases are refused, so none can grow by them."""
    if "*" in text and _has_alias(root):
        return "uses a YAML alias (*name): write the value out"
    return f"is nested deeper than {_MAX_DEPTH} levels" if _is_deep(root) else ""


def parse(text: str, *, file: str, faults: Faults) -> Item | None:
    """Compose one document; None after a fault (syntax, size, depth, aliases, emptiness)."""
    problem = ""
    line = column = 0
    node: yaml.Node | None = None
    if len(text) > MAX_BYTES:
        problem = f"is larger than {MAX_BYTES} bytes"
    else:
        try:
            node = yaml.compose(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
            problem = f"is not YAML: {error.problem or error.context}"
        except (yaml.YAMLError, RecursionError) as error:
            problem = f"is not YAML: {error}"
    if node is not None:
        problem = _shape_problem(node, text)
    elif not problem:
        problem = "is empty"
    if problem or node is None:
        faults.found.append(Fault(file=file, message=problem, line=line, column=column))
        return None
    return Item(node, file, "", faults)
