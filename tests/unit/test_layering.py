"""Imports point one way: core <- config <- planning <- engines <- reports <- cli."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "wheelgrid"

ALLOWED = {
    "core": {"core"},
    "config": {"core", "config"},
    "planning": {"core", "config", "planning"},
    "inspect": {"core", "inspect"},
    "lint": {"core", "config", "planning", "lint"},
    "scan": {"core", "config", "importers", "scan"},
    "importers": {"core", "config", "importers"},
    "engines": {"core", "config", "planning", "inspect", "engines"},
    "reports": {"core", "config", "planning", "reports"},
    "render": {"core", "config", "planning", "inspect", "lint", "reports", "scan", "render"},
    "cli": {
        "core",
        "config",
        "planning",
        "inspect",
        "lint",
        "scan",
        "importers",
        "engines",
        "reports",
        "render",
        "cli",
    },
    "payload": set(),
    "schemas": set(),
}
ONLY_IN = {
    "torch": {"payload"},
    "docker": {"engines/container.py"},
    "jinja2": {"render", "reports"},
    "yaml": {"config"},
    "isal": {"inspect/inflate.py"},
    "lz4": {"inspect"},
    "zstandard": {"inspect"},
    "abi3info": {"render"},
    "subprocess": {"engines/process.py"},
    "nox": set(),
    "cibuildwheel": set(),
}
STANDARD_IN_CORE = {
    "__future__", "collections", "dataclasses", "datetime", "enum", "fnmatch", "functools", "math",
    "packaging", "re", "typing",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every imported module, function-local and type-only ones included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import"
            yield node.module or "", node.lineno


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_imports_point_left_only(path: Path) -> None:
    if path.parent == SOURCE:
        return
    for name, line in imports(path):
        parts = name.split(".")
        if parts[0] != "wheelgrid" or len(parts) == 1:
            continue
        assert parts[1] in ALLOWED[layer(path)], f"{path}:{line} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_each_outside_library_has_its_door(path: Path) -> None:
    inside = path.relative_to(SOURCE).as_posix()
    for name, line in imports(path):
        door = ONLY_IN.get(name.split(".")[0])
        if door is None:
            continue
        assert inside in door or layer(path) in door, f"{path}:{line} imports {name}"


@pytest.mark.parametrize("path", sorted((SOURCE / "core").glob("*.py")), ids=lambda p: p.name)
def test_core_uses_the_standard_library_and_packaging_only(path: Path) -> None:
    for name, line in imports(path):
        top = name.split(".")[0]
        assert top in STANDARD_IN_CORE | {"wheelgrid"}, f"{path}:{line} imports {name}"


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {
        "wheelgrid." + p.relative_to(SOURCE).with_suffix("").as_posix().replace("/", "."): {
            n for n, _ in imports(p) if n.startswith("wheelgrid.")
        }
        for p in modules()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name in done:
            return
        for other in graph.get(name, ()):
            visit(other, (*trail, name))
        done.add(name)

    for name in graph:
        visit(name, ())
