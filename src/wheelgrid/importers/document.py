"""The matrix.yaml that an import writes: its parts as values, and their text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from wheelgrid.importers.report import Json

__all__ = [
    "MEANINGFUL",
    "AxisOut",
    "Document",
    "ExcludeOut",
    "TableOut",
    "identifier",
    "pattern",
    "quoted",
    "render",
]

MEANINGFUL = frozenset({"torch", "python", "accelerator", "platform", "gpu_arch"})
"""Names of axes that have a meaning of their own unless the matrix says otherwise."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
# Unquoted these would be read as true, false or nothing (YAML 1.1 has more such words than 1.2).
_NOT_PLAIN = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_WIDTH = 100
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_PRINTABLE = re.compile(
    r"[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\uf900-\ufdcf\ufdf0-\ufefe\uff00-\ufffd]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisOut:
    """One axis. `plain` keeps a name such as `torch` free of its special meaning."""

    name: str
    values: tuple[Json, ...]
    plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludeOut:
    """One exclusion; the patterns of an axis are alternatives."""

    id: str
    when: dict[str, list[Json]]
    reason: str
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOut:
    """One first-match table: for each row a condition and the values that may stay."""

    id: str
    axis: str
    rows: tuple[tuple[dict[str, list[Json]], tuple[str, ...]], ...]
    otherwise: str
    reason: str
    source: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """All parts that an import can need."""

    name: str
    title: str
    header: tuple[str, ...]
    axes: tuple[AxisOut, ...] = ()
    zips: tuple[tuple[str, ...], ...] = ()
    exclude: tuple[ExcludeOut, ...] = ()
    tables: tuple[TableOut, ...] = ()
    include: tuple[dict[str, Json], ...] = ()
    add: tuple[dict[str, Json], ...] = ()


def identifier(text: str, default: str = "matrix") -> str:
    """The nearest id: lower case; what is no letter, digit, `.` or `_` becomes `-`."""
    found = re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-._")[:80]
    return found or default


def quoted(text: str) -> str:
    """Text in double quotes, escaped so that every YAML reader gives back the same text."""
    plain = "".join(_ESCAPES.get(char, char) for char in text)
    return '"' + _PRINTABLE.sub(_escape, plain) + '"'


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def pattern(text: str) -> str:
    """A `when` pattern that fits this text and no other: what globs and ranges use is escaped."""
    found = re.sub(r"([*?\[])", r"[\1]", text)
    if found.startswith("!"):
        return "[ !]" + found[1:]  # "[!" would negate
    if found[:1] in {"<", ">", "=", "~"}:
        return f"[{found[0]}]{found[1:]}"
    return found


def _key(text: str) -> str:
    plain = _PLAIN_KEY.match(text) and text.lower() not in _NOT_PLAIN
    return text if plain else quoted(text)


def _flow(value: Json) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return "null" if value is None else quoted(str(value))


def _entry(prefix: str, values: Iterable[Json], indent: str) -> list[str]:
    """`prefix: [values]` on one line where it fits, else one value a line."""
    items = list(values)
    line = f"{prefix} {_flow(items)}"
    if len(line) <= _WIDTH and not any(isinstance(v, (dict, list)) for v in items):
        return [line]
    return [prefix, *(f"{indent}  - {_flow(item)}" for item in items)]


def _axis(axis: AxisOut) -> list[str]:
    if not axis.plain:
        return _entry(f"  {_key(axis.name)}:", axis.values, "  ")
    return [
        f"  {_key(axis.name)}:",
        "    role: text",
        *_entry("    values:", axis.values, "    "),
    ]


def _when(when: dict[str, list[Json]]) -> str:
    parts: dict[str, Json] = {
        axis: found[0] if len(found) == 1 else list(found) for axis, found in when.items()
    }
    return _flow(parts)


def _basis(stated: ExcludeOut | TableOut) -> list[str]:
    return [
        f"    reason: {quoted(stated.reason)}",
        f"    source: {quoted(stated.source)}",
        f"    date: {quoted(stated.date)}",
    ]


def _exclude(exclude: ExcludeOut) -> list[str]:
    head = [f"  - id: {quoted(exclude.id)}", f"    when: {_when(exclude.when)}"]
    return head + _basis(exclude)


def _table(table: TableOut) -> list[str]:
    rows = [
        f"      - {{when: {_when(when)}, values: {_flow(list(values))}}}"
        for when, values in table.rows
    ]
    head = [f"  - id: {quoted(table.id)}", f"    axis: {quoted(table.axis)}", "    rows:", *rows]
    return [*head, f"    otherwise: {table.otherwise}", *_basis(table)]


def _comment(text: str) -> str:
    """A comment line; control characters cannot end it early."""
    return "# " + _PRINTABLE.sub("?", text)


def _asks_knowledge(document: Document) -> bool:
    """Whether names alone would let compat/ decide about cells: an import keeps them all."""
    names = {axis.name for axis in document.axes}
    if not names:
        names = {key for row in (*document.include, *document.add) for key in row}
        return bool(names & MEANINGFUL)
    return names >= MEANINGFUL - {"gpu_arch"}


def render(document: Document) -> str:
    """The text of a matrix.yaml: same document, same bytes."""
    lines = [*map(_comment, document.header), 'schema: "1"', f"name: {quoted(document.name)}"]
    lines.append(f"title: {quoted(document.title)}")
    if document.axes:
        lines += ["", "axes:", *(line for axis in document.axes for line in _axis(axis))]
    if document.zips:
        lines += ["", "zip:", *(f"  - {_flow(list(group))}" for group in document.zips)]
    if document.exclude:
        lines += ["", "exclude:", *(line for e in document.exclude for line in _exclude(e))]
    if document.tables:
        lines += ["", "tables:", *(line for t in document.tables for line in _table(t))]
    for name, rows in (("include", document.include), ("add", document.add)):
        if rows:
            lines += ["", f"{name}:", *(f"  - {_flow(row)}" for row in rows)]
    if _asks_knowledge(document):
        lines += ["", "policy:", "  knowledge: ignore # compat/ would exclude cells of its own"]
    return "\n".join(lines) + "\n"
