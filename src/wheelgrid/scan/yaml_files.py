"""Workflows, actions, environments and other YAML: read as nodes with places, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.config.foreign import ForeignNode, Kind, parse_foreign
from wheelgrid.config.yaml import Faults
from wheelgrid.scan.mention import Mention, Source, What, line_mentions
from wheelgrid.scan.text_files import undecoded

__all__ = ["any_yaml", "environment_yaml", "meaning", "pre_commit"]

_PYTHON_KEY = re.compile(
    r"(?i)(?:^|[-_.])(?:c?python|py)[-_.]?(?:versions?|ver|min|max|full)?\Z|\Aversionspec\Z"
)
_CUDA_KEY = re.compile(r"(?i)cuda(?!.{0,40}arch)|\Acu_version\Z")
_ROCM_KEY = re.compile(r"(?i)rocm|hip[-_]?version")
_ARCH_VERSION = re.compile(r"(?i)gpu[-_]arch[-_]version\Z")
_SKIPPED = re.compile(r"(?i)(^|[-_.])skip\Z")
_NOT_READ = {"description", "name", "exclude", "if", "title", "summary", "deprecationMessage"}
_OUTER = {"run", "script", "image", "container", "with", "env", "steps", "jobs"}
_SPEC = re.compile(
    r"(?:conda-forge::|defaults::)?python\s{0,3}([<>=!~][^\[]{0,80}|[0-9][^\[]{0,80})"
)
_MERGE = "merge keys"


def meaning(path: tuple[str, ...], text: str = "") -> What:
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
        if _ARCH_VERSION.search(key):
            # CUDA is at 12 and later, ROCm below; xpu and cpu have words.
            return What.CUDA if text[:2] in {"11", "12", "13"} else What.ROCM
        if key == "pip" and len(path) > 1 and path[-1] == "pip":
            return What.REQUIREMENT
        if key in _OUTER:
            break
    return What.TEXT


def _context(path: tuple[str, ...]) -> str:
    """The last keys, and the job in a workflow."""
    last = ".".join(path[-2:])
    return f"job {path[1]}: {last}" if len(path) > 2 and path[0] == "jobs" else last  # noqa: PLR2004


class _Walker:
    """Hands on every scalar with the meaning that its keys give it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.raw = source.text.splitlines()

    def walk(self, node: ForeignNode, path: tuple[str, ...]) -> Iterator[Mention]:
        if path and (_SKIPPED.search(path[-1]) or path[-1] in _NOT_READ):
            return
        if node.kind is Kind.MAPPING:
            free = node.get("freethreaded")
            threads = free is not None and free.text.lower() == "true"
            for key, value in node.entries():
                for one in self.walk(value, (*path, key)):
                    yield _threaded(one) if threads and one.what is What.PYTHON else one
        elif node.kind is Kind.LIST:
            for item in node.items:
                yield from self.walk(item, path)
        elif node.text.strip():
            yield from self.scalar(node, path)

    def scalar(self, node: ForeignNode, path: tuple[str, ...]) -> Iterator[Mention]:
        what = meaning(path, node.text)
        context = _context(path)
        head = self.raw[node.line - 1][node.column - 1 : node.column]
        if head in {"|", ">"} or "\n" in node.text.strip():
            yield from self.block(node, what, context, script=head in {"|", ">"})
            return
        text = node.text.strip()
        if path and path[-1] == "python_min":
            what, text, context = What.REQUIRES_PYTHON, f">={text}", "python_min"
        yield Mention(
            file=self.source.file,
            line=node.line,
            column=node.column,
            what=what,
            text=text,
            context=context,
            unquoted=isinstance(node.value, float),
        )

    def block(
        self, node: ForeignNode, what: What, context: str, *, script: bool
    ) -> Iterator[Mention]:
        """The lines of a script, at their places in the file."""
        start = node.line if script else node.line - 1
        lines = self._script(start) if script else node.text.splitlines()
        for one in line_mentions(self.source.file, lines, what, context=context):
            yield self.source.mention(
                what, one.text, (start + one.line, one.column), context=context
            )

    def _script(self, start: int) -> list[str]:
        """The raw lines of a block scalar: those indented as its first one, and empty ones."""
        found: list[str] = []
        indent = None
        for line in self.raw[start:]:
            if line.strip():
                own = len(line) - len(line.lstrip())
                indent = own if indent is None else indent
                if own < indent:
                    break
            found.append(line)
        return found


def _threaded(one: Mention) -> Mention:
    """`freethreaded: true` beside a version makes 3.13 mean 3.13t."""
    text = one.text if one.text.endswith("t") else f"{one.text}t"
    return Mention(
        file=one.file, line=one.line, column=one.column, what=one.what, text=text,
        context=one.context,
    )  # fmt: skip


def _root(source: Source) -> ForeignNode | None:
    """The document; what of it is not read is said. None: it is no YAML."""
    faults = Faults()
    root = parse_foreign(source.text, file=source.file, faults=faults)
    told = [f for f in faults.found if _MERGE not in f.message]  # the anchor itself is read
    if told and source.text.strip():
        place = f"line {told[0].line}: " if told[0].line else ""
        read = "" if root is not None else ", so it was read by line"
        source.unknown.append(f"{place}{told[0].message[:160]}{read}")
    return root


def any_yaml(source: Source) -> Iterator[Mention]:
    """Every scalar with the meaning that its keys give it; a template that is no YAML by line."""
    root = _root(source)
    if root is None:
        yield from undecoded(source)
        return
    yield from _Walker(source).walk(root, ())


def environment_yaml(source: Source) -> Iterator[Mention]:
    """A conda environment: `python=3.10`, `python >=3.9`, and what pip adds to it."""
    for one in any_yaml(source):
        match = _SPEC.match(one.text) if one.what is What.TEXT else None
        if match is None:
            yield one
            continue
        spec = match[1].strip()
        floor = spec[0] in "<>!~"
        what = What.REQUIRES_PYTHON if floor else What.PYTHON
        text = spec.replace(" ", "") if floor else spec.lstrip("= ")
        yield source.mention(what, text, (one.line, one.column), context="python")


def pre_commit(source: Source) -> Iterator[Mention]:
    """`language_version`, `default_language_version`, and the arguments of hooks."""
    for one in any_yaml(source):
        if one.context.endswith("language_version") and one.what is What.TEXT:
            yield source.mention(What.PYTHON, one.text, (one.line, one.column), context=one.context)
        elif not one.context.endswith(("rev", "repo", "additional_dependencies")):
            yield one
