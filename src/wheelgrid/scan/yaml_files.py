"""Workflows, actions, conda files and other YAML: read as nodes with places, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.config.foreign import ForeignNode, Kind, parse_foreign
from wheelgrid.config.yaml import Faults
from wheelgrid.importers.github_cells import expand
from wheelgrid.importers.github_read import read_matrix
from wheelgrid.importers.report import Level
from wheelgrid.scan.mention import Mention, What, line_mentions

__all__ = ["any_yaml", "conda_recipe", "matrix_counts"]

_PYTHON_KEY = re.compile(r"(?i)(^|[-_.])(c?python|py)([-_]?(version|versions|min|max|full))?\Z")
_CUDA_KEY = re.compile(r"(?i)cuda")
_ROCM_KEY = re.compile(r"(?i)rocm|hip[-_]?version")
_SKIPPED = re.compile(r"(?i)(^|[-_.])skip\Z")
MAX_CELLS = 20_000


def _what(path: tuple[str, ...]) -> What:
    """How a scalar is meant, by the nearest key above it that says so."""
    for key in reversed(path):
        if key.upper().startswith("CIBW_"):
            return What.TEXT if "SKIP" in key.upper() else What.SELECTOR
        if key == "MACOSX_DEPLOYMENT_TARGET":
            return What.MACOS
        if _PYTHON_KEY.search(key):
            return What.PYTHON
        if _CUDA_KEY.search(key):
            return What.CUDA
        if _ROCM_KEY.search(key):
            return What.ROCM
        if key in {"run", "script", "image", "container", "with", "env"}:
            break
    return What.TEXT


def _walk(
    node: ForeignNode, file: str, path: tuple[str, ...], lines: list[str]
) -> Iterator[Mention]:
    if path and (_SKIPPED.search(path[-1]) or path[-1] in {"description", "name", "exclude"}):
        return
    if node.kind is Kind.MAPPING:
        for key, value in node.entries():
            yield from _walk(value, file, (*path, key), lines)
        return
    if node.kind is Kind.LIST:
        for item in node.items:
            yield from _walk(item, file, path, lines)
        return
    if not node.text.strip():
        return
    what = _what(path)
    if "\n" in node.text:
        yield from _block(node, file, what, path)
        return
    yield Mention(
        file=file,
        line=node.line,
        column=node.column,
        what=what,
        text=node.text,
        context=".".join(path[-2:]),
        unquoted=isinstance(node.value, float),
    )


def _block(node: ForeignNode, file: str, what: What, path: tuple[str, ...]) -> Iterator[Mention]:
    """The lines of a script: the text begins on the line after the key."""
    for found in line_mentions(file, node.text.splitlines(), what, context=".".join(path[-2:])):
        yield Mention(
            file=file,
            line=node.line + found.line,
            column=found.column,
            what=found.what,
            text=found.text,
            context=found.context,
        )


def any_yaml(text: str, file: str) -> Iterator[Mention]:
    """Every scalar with the meaning that its keys give it; a template that is no YAML by line."""
    faults = Faults()
    root = parse_foreign(text, file=file, faults=faults)
    if root is None or faults.found:
        yield from line_mentions(file, text.splitlines(), What.TEXT, context="not read as YAML")
        return
    yield from _walk(root, file, (), text.splitlines())


_CONDA_PYTHON = re.compile(r"\s*-?\s*python\s*([<>=!~0-9][^#]*)?(#.*)?\Z")


def conda_recipe(text: str, file: str) -> Iterator[Mention]:
    """meta.yaml and recipe.yaml are templates: read by line; `python >=3.10` is a floor."""
    for found in line_mentions(file, text.splitlines(), What.TEXT):
        match = _CONDA_PYTHON.match(found.text)
        if match and match[1]:
            spec = match[1].strip().replace(" ", "")
            yield Mention(
                file=file,
                line=found.line,
                column=found.column,
                what=What.REQUIRES_PYTHON if spec[0] in "<>!~" else What.PYTHON,
                text=spec.lstrip("="),
                context="conda",
            )
        else:
            yield found


def matrix_counts(text: str, file: str) -> dict[str, tuple[list[dict[str, object]], int]]:
    """Job -> the cells of its matrix and the line of the matrix, where it can be expanded."""
    faults = Faults()
    root = parse_foreign(text, file=file, faults=faults)
    jobs = root.get("jobs") if root is not None else None
    found: dict[str, tuple[list[dict[str, object]], int]] = {}
    for name, job in jobs.entries() if jobs is not None else ():
        strategy = job.get("strategy")
        matrix = strategy.get("matrix") if strategy is not None else None
        if matrix is None or matrix.kind is not Kind.MAPPING:
            continue
        raw = read_matrix(matrix, file=file, job=name)
        if any(
            f.level in {Level.ERROR, Level.UNKNOWN} and "float" not in f.code for f in raw.findings
        ):
            continue
        size = 1
        for axis in raw.axes:
            size *= max(1, len(axis.values))
        if size <= MAX_CELLS:
            axes = {axis.name: axis.values for axis in raw.axes}
            rows = ([r.values for r in raw.exclude], [r.values for r in raw.include])
            cells = expand(axes, *rows)
            found[name] = ([dict(cell) for cell in cells], matrix.line)
    return found
