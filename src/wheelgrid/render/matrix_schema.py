"""The JSON Schema of matrix.yaml, for editors, and the reference page made from it.

The decoder in config/ is stricter (it knows roles, positions and nearest names). A test proves that
both name the same keys, and that every matrix of this repository fits both.
"""

from __future__ import annotations

from typing import Any

from wheelgrid.core.axis import Role
from wheelgrid.core.grid import Otherwise, Severity
from wheelgrid.core.rung import Rung

__all__ = ["matrix_page", "matrix_schema"]

Schema = dict[str, Any]

_ID = r"^[a-z0-9][a-z0-9._-]{0,79}$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def _text(description: str, **more: object) -> Schema:
    return {"type": "string", "description": description, **more}


def _ref(name: str, description: str) -> Schema:
    return {"$ref": f"#/$defs/{name}", "description": description}


def _object(properties: Schema, required: tuple[str, ...] = (), description: str = "") -> Schema:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": False,
    }


def _many(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}


def _table(values: Schema, description: str) -> Schema:
    return {"type": "object", "additionalProperties": values, "description": description}


_BASIS: Schema = {
    "id": _text("stable name of the entry; messages and `explain` use it", pattern=_ID),
    "reason": _text("why, in a sentence that a reader of the report understands"),
    "source": _text("where the reason comes from: an address, a document, a person"),
    "date": _text("when the source said it", pattern=_DAY),
    "note": _text("anything else for readers"),
    "until": _text("expiry: past it the entry still applies and is reported", pattern=_DAY),
}
_STATED = ("id", "reason", "source", "date")


def _stated(more: Schema, required: tuple[str, ...], description: str) -> Schema:
    return _many(_object({**_BASIS, **more}, (*_STATED, *required)), description)


def _values() -> Schema:
    return _many({"$ref": "#/$defs/value"}, "the values, each once, in the order of the matrix")


def _axis() -> Schema:
    roles = _text("what the values mean", enum=[str(r) for r in Role])
    named = _object({"role": roles, "values": _values()}, ("values",), "values with a role")
    return {"anyOf": [_values(), named]}


def _definitions() -> Schema:
    pattern = {"type": ["string", "boolean"]}
    attributes = {"type": "object"}
    return {
        "value": {
            "description": "text, true or false, a mapping with attributes or a list; numbers are "
            "refused",
            "type": ["string", "boolean", "object", "array"],
        },
        "when": {
            "description": "axis to a pattern, a list of patterns or a mapping of attributes; "
            "`group: NAME` stands for a named condition",
            "type": "object",
            "additionalProperties": {
                "anyOf": [pattern, _many({"anyOf": [pattern]}, ""), attributes]
            },
        },
        "patterns": {"anyOf": [pattern, _many(pattern, "")]},
        "row": {"type": "object", "minProperties": 1},
    }


def _tiers() -> Schema:
    entry = _object(
        {
            "packages": _many(_text("a package of the matrix"), "default: all packages"),
            "when": _ref("when", "which cells"),
            "until": _text(
                "the last rung that is tried",
                enum=[str(r) for r in (Rung.AUDITED, Rung.INSTALLED, Rung.IMPORTED, Rung.EXECUTED)],
            ),
            "why": _text("why it stops early"),
        },
        ("when",),
    )
    return _table(_many(entry, ""), "named amounts of work; the first entry that fits decides")


def _restrictions() -> Schema:
    row = _object(
        {
            "when": _ref("when", "which cells; default all"),
            "values": _ref("patterns", "the values of the axis that may stay"),
        },
        ("values",),
    )
    return {
        "exclude": _stated(
            {"when": _ref("when", "the cells that are not wanted")},
            ("when",),
            "cells that you do not want. What upstream lacks is not written here: compat/ knows it",
        ),
        "tables": _stated(
            {
                "axis": _text("the axis whose values the rows restrict"),
                "rows": _many(row, "the first row whose `when` fits a candidate decides"),
                "otherwise": _text(
                    "what happens where no row fits: `error` (default), `keep` or `drop`",
                    enum=[str(o) for o in Otherwise],
                ),
            },
            ("axis", "rows"),
            "relations between axes, such as the CUDA versions of a torch line",
        ),
        "rules": _stated(
            {
                "when": _ref("when", "which cells"),
                "then": _text("what the rule says", enum=["include", "exclude"]),
            },
            ("when", "then"),
            "an ordered list over whole cells: the first rule that fits decides",
        ),
    }


def _additions() -> Schema:
    data = {"type": ["string", "boolean", "array", "object"]}
    derive_row = _object(
        {
            "when": _ref("when", "which cells; default all"),
            "value": {**data, "description": "the value: text, true or false, a list, a mapping"},
        },
        ("value",),
    )
    return {
        "rules_otherwise": _text(
            "what happens where no rule fits: `include` (default), `exclude` or `error`",
            enum=["include", "exclude", "error"],
        ),
        "include": _many(
            {"$ref": "#/$defs/row"},
            "GitHub's include, after all exclusions: merged into every kept cell that it does not "
            "contradict, else a cell of its own",
        ),
        "add": _many(
            {"$ref": "#/$defs/row"},
            "whole cells, never a decoration; a list stands for one cell per value",
        ),
        "derive": _table(
            _object(
                {
                    "rows": _many(derive_row, "the first row that fits gives the value"),
                    "otherwise": {
                        **data,
                        "description": "`error` (default), `omit`, or the value where no row fits",
                    },
                },
                ("rows",),
            ),
            "attributes that follow from a cell: a runner, an image, the CUDA of a torch",
        ),
    }


def _channel() -> Schema:
    """One channel; the sections that it may bring are those of the matrix."""
    sections = {**_restrictions(), **_additions()}
    own = {name: sections[name] for name in ("exclude", "tables", "include", "add")}
    return {
        "type": "object",
        "properties": {name: {**s, "description": ""} for name, s in own.items()},
        "additionalProperties": _values(),
    }


def _policy() -> Schema:
    severity = {"enum": [str(s) for s in Severity]}
    return _object(
        {
            "dead_rules": {**severity, "description": "rules that fit nothing; default `error`"},
            "expired_rules": {**severity, "description": "rules past `until`; default `warn`"},
            "constant_axes": {**severity, "description": "axes that never vary; default `warn`"},
            "knowledge": {
                "enum": ["apply", "ignore"],
                "description": "whether compat/ excludes cells; default `apply`",
            },
        },
        description="how strict the matrix is with itself",
    )


def _runners() -> Schema:
    labels = {"anyOf": [_text("a label"), _many(_text("a label"), "")]}
    runner = _object(
        {
            "when": _ref("when", "the cells that it takes; default all"),
            "runs_on": {**labels, "description": "the labels that a CI job asks for"},
            "price_per_minute": {"type": "number", "description": "US dollars; unknown is not 0"},
            "gpus": {"type": "integer", "description": "GPUs that it holds; default 0"},
            "minutes": {"type": "number", "description": "of one cell, where none is measured"},
        },
        ("runs_on",),
    )
    return _table(runner, "machines by name; the first whose `when` fits takes a cell")


def _properties() -> Schema:
    toolchain = _object(
        {
            "requires": _many(_text("a pinned requirement"), "packages that hold the compiler"),
            "archs": _many(_text("such as `8.0` or `12.0+PTX`"), "GPU architectures to compile"),
            "manylinux": _text("the platform tag that wheels are meant to carry"),
        },
        ("requires", "archs"),
    )
    removal = _object(
        {
            "axis": _text("the axis"),
            "value": _text("the value that is gone"),
            **{name: _BASIS[name] for name in ("reason", "source", "date", "note")},
        },
        ("axis", "value", "reason", "source", "date"),
    )
    return {
        "schema": {"const": "1", "description": "version of this format"},
        "name": _text("identifier of the matrix", pattern=_ID),
        "title": _text("name for people; default: `name`"),
        "import": _many(
            _text("a path inside the project"),
            "files that are read first; they may hold `axes`, `zip`, `groups`, `channels`, "
            "`exclude`, `tables`, `add`, `derive` and `import`",
        ),
        "channels": _table(
            _channel(),
            "named variants: axis values instead of those of `axes`, and more `exclude`, `tables`, "
            "`include` and `add`; the first is the default, `--channel NAME` picks one",
        ),
        "axes": _table(
            _axis(), "the dimensions. Their product is the candidates, the last axis fastest"
        ),
        "roles": _table(
            _text("what its values mean", enum=[str(r) for r in Role]),
            "roles of the keys that only whole rows bring; names of roles have theirs without it",
        ),
        "zip": _many(
            _many(_text("an axis"), ""), "axes that vary together, as in conda's zip_keys"
        ),
        "groups": _table({"$ref": "#/$defs/when"}, "named conditions, for `group: NAME`"),
        **_restrictions(),
        **_additions(),
        "removed": _many(removal, "values that have left an axis, and why: `wheelgrid diff` asks"),
        "packages": _many(
            _text("a normalised name; it has recipes/<name>/recipe.yaml"),
            "what the stack is made of; needs the axes torch, python, accelerator and platform",
        ),
        "tiers": _tiers(),
        "toolchains": _table(toolchain, "compilers that install as packages, by accelerator"),
        "runners": _runners(),
        "policy": _policy(),
    }


def matrix_schema() -> Schema:
    """JSON Schema 2020-12 of matrix.yaml."""
    properties = _properties()
    return {
        **_object(properties, ("schema", "name")),
        "anyOf": [
            {"required": [name]} for name in ("axes", "add", "include", "import", "channels")
        ],
        "$defs": _definitions(),
    }


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    if "$ref" in schema:
        return {"when": "condition", "row": "row", "patterns": "patterns"}.get(
            str(schema["$ref"]).rpartition("/")[2], "value"
        )
    names = {"object": "mapping", "array": "list", "string": "text"}
    names |= {"number": "number", "integer": "number"}
    return names.get(str(schema.get("type")), "value")


def _rows(properties: Schema, required: list[str]) -> list[str]:
    return [
        f"| `{name}` | {'yes' if name in required else 'no'} | {_kind(schema)} | "
        f"{schema.get('description', '')} |"
        for name, schema in properties.items()
    ]


def _section(name: str, schema: Schema) -> list[str]:
    """The fields of the entries of one section, if it has closed ones."""
    inner = schema
    while inner.get("type") != "object" or "properties" not in inner:
        deeper = inner.get("items") or inner.get("additionalProperties")
        if not isinstance(deeper, dict):
            return []
        inner = deeper
    if "required" not in inner:
        return []  # an open mapping, as a channel is
    lines = [f"\n## {name}\n", str(schema.get("description", "")) + ".\n", *_HEAD]
    lines += _rows(inner["properties"], inner["required"])
    for key, child in inner["properties"].items():
        items = child.get("items", {})
        if "properties" in items:
            lines += [f"\nEach entry of `{key}`:\n", *_HEAD]
            lines += _rows(items["properties"], items["required"])
    return lines


_HEAD = ["| field | required | kind | meaning |", "|---|---|---|---|"]


def matrix_page(preface: str) -> str:
    """The reference page of matrix.yaml."""
    schema = matrix_schema()
    lines = ["# matrix.yaml\n", preface, "\n## Top level\n", *_HEAD]
    lines += _rows(schema["properties"], schema["required"])
    for name, child in schema["properties"].items():
        lines += _section(name, child)
    return "\n".join(lines) + "\n"
