"""Imports a conda_build_config.yaml: axes, zip_keys, selectors, pruned to the variables used.

As conda-build does: lines whose selector does not hold are dropped before the file is read, and
every scalar is text as written (3.10 stays 3.10). As conda-smithy does: a zip group keeps only the
used keys, and its rows are made distinct.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from wheelgrid.config.foreign import ForeignNode, Kind, parse_foreign
from wheelgrid.config.yaml import Faults, nearest
from wheelgrid.core.errors import Fault
from wheelgrid.importers.conda_write import Group, write
from wheelgrid.importers.document import identifier
from wheelgrid.importers.github_cells import MAX_CANDIDATES
from wheelgrid.importers.report import Finding, Imported, Level, Place
from wheelgrid.importers.selectors import Selectors, selector_of

__all__ = ["CondaOptions", "import_conda"]

_NOT_VARIABLES = {
    "pin_run_as_build": "it pins dependencies, it makes no variant",
    "ignore_version": "it makes no variant",
    "ignore_build_only_deps": "it makes no variant",
    "extend_keys": "it makes no variant",
    "migrator_ts": "it dates a migration",
    "__migrator": "migrations are not applied",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CondaOptions:
    """How to import. `uses` are the variables a recipe uses; empty means all."""

    file: str
    name: str
    as_of: str
    platform: str
    uses: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Reading:
    """A file being read: its variables, its zips, and what was found."""

    options: CondaOptions
    faults: Faults
    findings: list[Finding] = field(default_factory=list)
    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    places: dict[str, ForeignNode] = field(default_factory=dict)
    zips: list[tuple[str, ...]] = field(default_factory=list)

    def fault(self, node: ForeignNode, message: str, hint: str = "") -> None:
        self.faults.found.append(
            Fault(
                file=self.options.file,
                line=node.line,
                column=node.column,
                message=message,
                hint=hint,
            )
        )

    def note(self, code: str, message: str, node: ForeignNode | None = None) -> None:
        place = Place(
            file=self.options.file,
            line=node.line if node is not None else 0,
            column=node.column if node is not None else 0,
        )
        self.findings.append(Finding(level=Level.NOTE, code=code, message=message, place=place))


def _selected(text: str, reading: _Reading) -> str:
    """The lines whose selectors hold; others become empty, so that positions stay."""
    selectors = Selectors(reading.options.platform, reading.options.settings)
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        selector = selector_of(line)
        try:
            kept = not selector or selectors.holds(selector)
        except ValueError as error:
            column = line.rfind("[") + 1
            message = f"selector [{selector[:80]}]: {error}"
            fault = Fault(file=reading.options.file, line=number, column=column, message=message)
            reading.faults.found.append(fault)
            kept = True
        lines.append(line if kept else "")
    for name, value in sorted(selectors.assumed.items()):
        message = f"the selectors ask for {name}, taken as {value}: give --set {name}=VALUE"
        reading.note("assumed-setting", message)
    return "\n".join(lines)


def _values(node: ForeignNode, name: str, reading: _Reading) -> tuple[str, ...]:
    if node.kind is Kind.SCALAR:
        return () if node.is_null and not node.quoted else (node.text,)
    found = []
    for item in node.items:
        if item.kind is not Kind.SCALAR:
            reading.fault(item, f"{name}: expected text, found {item.describe()}")
        else:
            found.append(item.text)
    return tuple(found)


def _zip_keys(node: ForeignNode, reading: _Reading) -> None:
    """Groups of variables; a flat list, which some tools ignore in silence, is a fault."""
    if node.is_null:
        return
    groups = node.items if node.kind is Kind.LIST else [node]
    for group in groups:
        if group.is_null:
            continue
        if group.kind is not Kind.LIST:
            reading.fault(
                node,
                "zip_keys must be a list of lists: a flat list is ignored by some tools in "
                "silence, and nothing is zipped",
                hint="write [[a, b]], not [a, b]",
            )
            return
        names = tuple(item.text for item in group.items if not item.is_null)
        again = [name for name in names if any(name in other for other in reading.zips)]
        if again or len(set(names)) < len(names):
            reading.fault(group, f"{(again or list(names))[0]!r} is zipped twice")
        reading.zips.append(names)


def _read(node: ForeignNode, reading: _Reading) -> None:
    if node.kind is not Kind.MAPPING:
        reading.fault(node, f"expected a mapping of variables, found {node.describe()}")
        return
    for key, value in node.pairs:
        name = key.text
        if name == "zip_keys":
            _zip_keys(value, reading)
        elif name in _NOT_VARIABLES:
            reading.note("ignored-key", f"{name} is ignored: {_NOT_VARIABLES[name]}", key)
        elif value.kind is Kind.MAPPING:
            reading.fault(value, f"{name}: expected a list of values, found a mapping")
        else:
            reading.variables[name] = _values(value, name, reading)
            reading.places[name] = key


def _check_zips(reading: _Reading) -> None:
    for group in reading.zips:
        known = [name for name in group if name in reading.variables]
        for name in group:
            if name not in reading.variables:
                reading.note("unknown-zip-key", f"zip_keys names {name!r}, which has no values")
        sizes = {name: len(reading.variables[name]) for name in known}
        if len(set(sizes.values())) > 1:
            usual = Counter(sizes.values()).most_common(1)[0][0]
            odd = next(name for name, size in sizes.items() if size != usual)
            text = ", ".join(f"{name} has {size}" for name, size in sizes.items())
            reading.fault(
                reading.places[odd],
                f"zipped variables need equally many values on {reading.options.platform}: {text}",
            )


def _used(reading: _Reading) -> list[str]:
    """The variables to keep, in file order."""
    wanted = reading.options.uses
    for name in wanted:
        if name not in reading.variables:
            hint = nearest(name, list(reading.variables))
            message = f"--uses names {name!r}, which the file does not define"
            fault = Fault(file=reading.options.file, message=message, hint=hint[:300])
            reading.faults.found.append(fault)
    return [name for name in reading.variables if not wanted or name in wanted]


def _groups(reading: _Reading) -> list[Group]:
    """The dimensions: single variables, and zip groups cut down to the used ones."""
    used = _used(reading)
    zipped = {name: group for group in reading.zips for name in group}
    found: list[Group] = []
    done: set[str] = set()
    for name in used:
        if name in done:
            continue
        members = tuple(n for n in zipped.get(name, (name,)) if n in used)
        done.update(members)
        columns = [reading.variables[member] for member in members]
        rows = tuple(dict.fromkeys(zip(*columns, strict=True)))
        if not rows:
            message = f"{', '.join(members)}: no value on {reading.options.platform}, left out"
            reading.note("no-value", message, reading.places[name])
            continue
        if len(rows) < len(columns[0]):
            message = f"{', '.join(members)}: {len(columns[0])} rows, {len(rows)} distinct"
            reading.note("distinct-rows", message, reading.places[name])
        found.append(Group(names=members, rows=rows))
    return found


def _cells(groups: Sequence[Group]) -> list[dict[str, object]]:
    return [
        {
            name: value
            for group, row in zip(groups, rows, strict=True)
            for name, value in zip(group.names, row, strict=True)
        }
        for rows in product(*(group.rows for group in groups))
    ]


def import_conda(text: str, options: CondaOptions) -> Imported:
    """The matrix of one platform; BadInputError with every fault of the file."""
    faults = Faults()
    reading = _Reading(options, faults)
    node = parse_foreign(_selected(text, reading), file=options.file, faults=faults)
    groups: list[Group] = []
    if node is not None:
        _read(node, reading)
    if not faults.found:
        _check_zips(reading)
    if not faults.found:
        groups = _groups(reading)
    if not groups and not faults.found:
        message = f"defines no variable with a value on {options.platform}"
        faults.found.append(Fault(file=options.file, message=message))
    faults.check()
    name = identifier(f"{options.name.rpartition('.')[0]}-{options.platform}")
    result = Imported(job=options.platform, name=name, findings=reading.findings)
    result.candidates = math.prod(len(group.rows) for group in groups)
    if result.candidates > MAX_CANDIDATES:
        message = (
            f"could not expand: {result.candidates} variants, more than {MAX_CANDIDATES}; "
            "name the variables that a recipe uses with --uses"
        )
        place = Place(file=options.file)
        result.findings.append(
            Finding(level=Level.UNKNOWN, code="too-large", message=message, place=place)
        )
        return result
    result.cells = _cells(groups)  # type: ignore[assignment]
    header = (
        f"Imported by wheelgrid from {options.name} for {options.platform}.",
        f"{len(result.cells)} variants"
        + (f" of {', '.join(options.uses)}." if options.uses else "."),
    )
    result.text = write(groups, name=name, header=header, source=options.name, date=options.as_of)
    return result
