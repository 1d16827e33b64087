"""Reads `strategy.matrix` of one job: axes, exclude, include, with every fault GitHub would give.

Nothing is evaluated. A matrix, axis or list that is an expression is decided at run time, so the
answer is "could not expand". An expression inside a value stays the text that it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wheelgrid.config.foreign import ForeignNode, Kind
from wheelgrid.importers.report import Finding, Json, Level, Place

__all__ = ["RawAxis", "RawMatrix", "RawRow", "is_expression", "read_matrix", "to_value"]

_RESERVED = ("include", "exclude")


@dataclass(slots=True, kw_only=True)
class RawAxis:
    """One axis as written, with a place for each value."""

    name: str
    place: Place
    values: list[Json] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class RawRow:
    """One entry of exclude or include."""

    values: dict[str, Json]
    place: Place


@dataclass(slots=True, kw_only=True)
class RawMatrix:
    """A matrix as written. It can be expanded only where `findings` has no error or unknown."""

    axes: list[RawAxis] = field(default_factory=list)
    exclude: list[RawRow] = field(default_factory=list)
    include: list[RawRow] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def is_expression(text: str) -> bool:
    """Whether text holds an expression that GitHub would evaluate."""
    return "${{" in text


def to_value(node: ForeignNode) -> Json:
    """The value of a node as JSON."""
    if node.kind is Kind.MAPPING:
        return {key.text: to_value(value) for key, value in node.pairs}
    if node.kind is Kind.LIST:
        return [to_value(item) for item in node.items]
    return node.value


def _scalars(node: ForeignNode) -> Iterator[ForeignNode]:
    if node.kind is Kind.SCALAR:
        yield node
    for item in node.items:
        yield from _scalars(item)
    for _, value in node.pairs:
        yield from _scalars(value)


class _Reader:
    """Reads one matrix; findings gather in `raw`."""

    def __init__(self, file: str, job: str) -> None:
        self.file = file
        self.job = job
        self.raw = RawMatrix()
        self.axis_nodes: dict[str, ForeignNode] = {}

    def place(self, node: ForeignNode) -> Place:
        return Place(file=self.file, line=node.line, column=node.column)

    def say(self, level: Level, code: str, node: ForeignNode, message: str, hint: str = "") -> None:
        self.raw.findings.append(
            Finding(
                level=level,
                code=code,
                message=message,
                place=self.place(node),
                job=self.job,
                hint=hint,
            )
        )

    def error(self, code: str, node: ForeignNode, message: str, hint: str = "") -> None:
        self.say(Level.ERROR, code, node, message, hint)

    def at_run_time(self, node: ForeignNode, what: str) -> bool:
        """Whether a node is an expression; then nobody can expand it from the file."""
        if node.kind is not Kind.SCALAR or not is_expression(node.text):
            return False
        self.say(
            Level.UNKNOWN,
            "expression",
            node,
            f"could not expand: expression: {what} is decided at run time: {node.text[:120]!r}",
        )
        return True

    def axis(self, key: ForeignNode, node: ForeignNode) -> None:
        if is_expression(key.text):
            self.at_run_time(key, "an axis name")
            return
        if self.at_run_time(node, f"axis {key.text!r}"):
            return
        if node.kind is not Kind.LIST:
            message = f"axis {key.text!r}: expected a list, found {node.describe()}"
            self.error("not-a-list", node, message, hint=f"write {key.text}: [{node.text}]")
            return
        if not node.items:
            message = f"axis {key.text!r} has no values, which GitHub refuses"
            self.error("empty-axis", node, message)
            return
        known = {axis.name.upper() for axis in self.raw.axes}
        if key.text.upper() in known:
            self.error("duplicate-axis", key, f"axis {key.text!r} is given twice (case aside)")
            return
        axis = RawAxis(name=key.text, place=self.place(key))
        axis.values = [to_value(item) for item in node.items]
        axis.places = [self.place(item) for item in node.items]
        self.raw.axes.append(axis)
        self.axis_nodes[key.text] = node

    def rows(self, node: ForeignNode, what: str) -> list[tuple[RawRow, ForeignNode]]:
        if self.at_run_time(node, what) or node.is_null:
            return []
        if node.kind is not Kind.LIST:
            self.error("not-a-list", node, f"{what}: expected a list, found {node.describe()}")
            return []
        found = []
        for item in node.items:
            if self.at_run_time(item, f"an entry of {what}"):
                continue
            if item.kind is not Kind.MAPPING:
                message = f"{what}: expected a mapping, found {item.describe()}"
                self.error("not-a-mapping", item, message)
            elif not item.pairs:
                self.error("empty-row", item, f"an entry of {what} is empty, which GitHub refuses")
            else:
                found.append((RawRow(values=self._row(item), place=self.place(item)), item))
        return found

    def _row(self, item: ForeignNode) -> dict[str, Json]:
        """The values by key; a key that is an axis but for its case gets the axis's spelling."""
        names = {axis.name.upper(): axis.name for axis in self.raw.axes}
        names.update({k.upper(): k for row in self.raw.include for k in row.values})
        return {names.get(k.text.upper(), k.text): to_value(v) for k, v in item.pairs}

    def exclude(self, node: ForeignNode) -> None:
        axes = {axis.name.upper() for axis in self.raw.axes}
        for row, item in self.rows(node, "exclude"):
            for key, _ in item.pairs:
                if key.text.upper() not in axes:
                    self.error(
                        "exclude-key",
                        key,
                        f"Matrix exclude key '{key.text}' does not match any key within the matrix",
                        hint="GitHub refuses the workflow: exclude runs before include, so it "
                        "can only name axes",
                    )
            self.raw.exclude.append(row)

    def include(self, node: ForeignNode) -> None:
        for row, _ in self.rows(node, "include"):
            self.raw.include.append(row)

    def numbers(self, matrix: ForeignNode) -> None:
        """Every number where a version must stand as text, in one pass (3.10 arrives as 3.1)."""
        groups: dict[str, list[ForeignNode]] = {}
        for key, node in matrix.pairs:
            if key.text not in _RESERVED:
                groups.setdefault(key.text.upper(), []).extend(_scalars(node))
                continue
            for item in node.items:
                for name, value in item.pairs:
                    groups.setdefault(name.text.upper(), []).extend(_scalars(value))
        for nodes in groups.values():
            given = [
                n
                for n in nodes
                if isinstance(n.value, (int, float))
                and n.value is not True
                and n.value is not False
            ]
            if any(isinstance(n.value, float) for n in given):
                for node in given:
                    self._number(node)
            elif given:
                texts = ", ".join(dict.fromkeys(n.text for n in given))
                message = f"numbers are imported as text: {texts}"
                self.say(Level.NOTE, "number-as-text", given[0], message)

    def _number(self, node: ForeignNode) -> None:
        read = f"YAML reads {node.text} as the number {node.value!r}"
        if str(node.value) != node.text and isinstance(node.value, float):
            read = f"YAML reads {node.text} as {node.value!r}"
        elif isinstance(node.value, int):
            read = f"YAML reads {node.text} as the integer {node.value!r}"
        hint = ""
        if isinstance(node.value, int):
            hint = "a comma between two numbers makes two entries; was a dot meant?"
        self.error(
            "number-for-version",
            node,
            f'number where a version string is required; {read}; write "{node.text}"',
            hint,
        )


def read_matrix(matrix: ForeignNode, *, file: str, job: str) -> RawMatrix:
    """Read one `strategy.matrix`; all faults are in the findings of the result."""
    reader = _Reader(file, job)
    if reader.at_run_time(matrix, "the matrix"):
        return reader.raw
    if matrix.kind is not Kind.MAPPING:
        reader.error("not-a-mapping", matrix, f"expected a mapping, found {matrix.describe()}")
        return reader.raw
    for key, node in matrix.pairs:
        if key.text not in _RESERVED:
            reader.axis(key, node)
    given = dict(matrix.entries())
    if "include" in given:
        reader.include(given["include"])
    if "exclude" in given:
        reader.exclude(given["exclude"])
    reader.numbers(matrix)
    if not (reader.raw.axes or reader.raw.include or reader.raw.findings):
        reader.error("empty-matrix", matrix, "the matrix has no axis and no include row")
    return reader.raw
