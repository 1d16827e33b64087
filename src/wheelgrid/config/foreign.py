"""Reads YAML that other tools own: workflows, conda files. Tolerant, with positions, bounded.

Unlike `config.yaml` this reader accepts aliases and unquoted values: the files are not ours to
correct. It keeps the text of every scalar as written beside what YAML 1.2 makes of it (GitHub
reads 1.2: `on` and `yes` are text). Nothing in the file is evaluated; tags of objects, merge
keys, cycles and files that grow by reference are faults.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import yaml

from wheelgrid.config.yaml import MAX_BYTES, Faults
from wheelgrid.core.errors import Fault

__all__ = ["MAX_NODES", "ForeignNode", "Kind", "parse_foreign", "plain_value"]

MAX_NODES = 200_000
"""Most nodes of one file, each alias counted as often as it is used."""

_MAX_DEPTH = 60
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STR = "tag:yaml.org,2002:str"
_STANDARD = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?[0-9]+\Z")
_DECIMAL = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MAX_DIGITS = 400


class Kind(StrEnum):
    """The three kinds of a YAML node."""

    SCALAR = "scalar"
    LIST = "list"
    MAPPING = "mapping"


@dataclass(slots=True)
class ForeignNode:
    """One node. `text` is a scalar as written, `value` what YAML 1.2 reads it as."""

    kind: Kind
    line: int
    column: int
    text: str = ""
    value: str | int | float | bool | None = None
    quoted: bool = False
    items: list[ForeignNode] = field(default_factory=list)
    pairs: list[tuple[ForeignNode, ForeignNode]] = field(default_factory=list)

    @property
    def is_null(self) -> bool:
        """Whether it is an unquoted nothing."""
        return self.kind is Kind.SCALAR and self.value is None

    def get(self, key: str) -> ForeignNode | None:
        """The value of a key of a mapping; None where there is none."""
        return next((value for name, value in self.pairs if name.text == key), None)

    def entries(self) -> Iterator[tuple[str, ForeignNode]]:
        """Keys as text, with their values; empty for anything but a mapping."""
        return ((key.text, value) for key, value in self.pairs)

    def describe(self) -> str:
        """What it is, for a message."""
        if self.kind is Kind.MAPPING:
            return "a mapping"
        if self.kind is Kind.LIST:
            return "a list"
        return f"{self.text[:60]!r}" if self.text else "nothing"


def plain_value(text: str) -> str | int | float | bool | None:
    """What the core schema of YAML 1.2 makes of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _MAX_DIGITS:
        return text
    if _INT.match(text):
        return int(text)
    if _OCTAL.match(text):
        return int(text.replace("0o", "", 1), 8)
    if _HEX.match(text):
        return int(text, 16)
    if _FLOAT.match(text):
        return float(text)
    if _INFINITE.match(text):
        return -math.inf if text.startswith("-") else math.inf
    return math.nan if text in {".nan", ".NaN", ".NAN"} else text


class _Reader:
    """Turns PyYAML nodes into ours; counts, so that no alias can multiply without end."""

    def __init__(self, file: str, faults: Faults) -> None:
        self.file = file
        self.faults = faults
        self.left = MAX_NODES

    def fault(self, node: yaml.Node, message: str, *, hint: str = "") -> None:
        mark = node.start_mark
        self.faults.found.append(
            Fault(
                file=self.file,
                line=mark.line + 1,
                column=mark.column + 1,
                message=message,
                hint=hint,
            )
        )

    def read(self, node: yaml.Node, depth: int = 0) -> ForeignNode:
        self.left -= 1
        mark = node.start_mark
        found = ForeignNode(Kind.SCALAR, mark.line + 1, mark.column + 1)
        if self.left < 0 or depth > _MAX_DEPTH:
            return found
        if isinstance(node, yaml.MappingNode):
            found.kind = Kind.MAPPING
            found.pairs = self._pairs(node, depth)
        elif isinstance(node, yaml.SequenceNode):
            found.kind = Kind.LIST
            found.items = [self.read(item, depth + 1) for item in self._some(node.value)]
        else:
            self._scalar(node, found)
        if depth == _MAX_DEPTH and found.kind is not Kind.SCALAR:
            self.fault(node, f"is nested deeper than {_MAX_DEPTH} levels, or contains itself")
            self.left = -1
        return found

    def _some(self, nodes: list[yaml.Node]) -> Iterator[yaml.Node]:
        for node in nodes:
            if self.left < 0:
                return
            yield node

    def _scalar(self, node: yaml.Node, found: ForeignNode) -> None:
        found.text = str(node.value)
        found.quoted = bool(getattr(node, "style", None))
        if found.quoted or (node.tag == _STR and _DECIMAL.match(found.text)):
            found.value = found.text  # an unquoted number is text only where !!str says so
        elif node.tag.startswith(_STANDARD):
            found.value = plain_value(found.text)
        else:
            self.fault(node, f"has the tag {node.tag[:60]!r}, which is not read")

    def _pairs(self, node: yaml.MappingNode, depth: int) -> list[tuple[ForeignNode, ForeignNode]]:
        found: list[tuple[ForeignNode, ForeignNode]] = []
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if self.left < 0:
                break
            key = self.read(key_node, depth + 1)
            if key.kind is not Kind.SCALAR:
                self.fault(key_node, "a key must be text")
                continue
            if key.text == "<<" and not key.quoted:
                self.fault(key_node, "merge keys (<<) are not read", hint="write the keys out")
                continue
            if key.text in first:
                self.fault(
                    key_node,
                    f"duplicate key {key.text!r}",
                    hint=f"its first value is at line {first[key.text]}",
                )
                continue
            first[key.text] = key.line
            found.append((key, self.read(value_node, depth + 1)))
        return found


def parse_foreign(text: str, *, file: str, faults: Faults) -> ForeignNode | None:
    """Read one document; None after a fault of the whole file (syntax, size, emptiness)."""
    line = column = 0
    node: yaml.Node | None = None
    problem = "is empty"
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
            problem = f"is not YAML: {str(error)[:200]}"
    if node is None:
        faults.found.append(Fault(file=file, message=problem, line=line, column=column))
        return None
    reader = _Reader(file, faults)
    before = len(faults.found)
    found = reader.read(node)
    if reader.left < 0:
        if len(faults.found) == before:
            message = f"has more than {MAX_NODES} nodes once its aliases are followed"
            faults.found.append(Fault(file=file, message=message))
        return None
    return found
