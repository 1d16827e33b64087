"""Builds the matrix.yaml of one job from its matrix as written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product as combinations

from wheelgrid.importers import github_rules as rules
from wheelgrid.importers.document import MEANINGFUL, AxisOut, Document, identifier, render
from wheelgrid.importers.github_cells import MAX_CANDIDATES, Product, expand
from wheelgrid.importers.github_excludes import excludes
from wheelgrid.importers.github_job import Job
from wheelgrid.importers.github_read import RawRow, is_expression
from wheelgrid.importers.report import Cells, Json, Level, Place, canonical
from wheelgrid.importers.rows import needs_rows, rows_document
from wheelgrid.importers.values import compact, distinct, text_of, unwritable, written

__all__ = ["build"]

_MAX_JOBS = 256
_MAX_WORK = 50_000_000
_MAX_WORK_INCLUDING = 2_000_000


def _has_expression(value: Json) -> bool:
    if isinstance(value, dict):
        return any(map(_has_expression, value.values()))
    if isinstance(value, list):
        return any(map(_has_expression, value))
    return isinstance(value, str) and is_expression(value)


def _look_at(job: Job, value: Json, place: Place) -> None:
    """Say what cannot be written, and what is kept although GitHub would evaluate it."""
    why = unwritable(value)
    if why:
        job.say(Level.UNKNOWN, "unwritable", place, f"could not import: matrix.yaml has no {why}")
    if _has_expression(value):
        message = "a value holds an expression; it is kept as text, never evaluated"
        job.note("expression-as-text", place, message)


def _axes(job: Job) -> list[AxisOut]:
    """The axes as they are written: each value once, with what the author should know."""
    found = []
    for axis in job.raw.axes:
        values: dict[str, Json] = {}
        for value, place in zip(axis.values, axis.places, strict=True):
            key = canonical(written(value))
            if key in values:
                message = f"axis {axis.name!r} lists {text_of(value)!r} twice: GitHub runs its jobs"
                job.note("duplicate-value", place, f"{message} twice, the matrix has them once")
            values[key] = written(value)
            _look_at(job, value, place)
        short = compact(axis.name, axis.values)
        if short:
            message = f"compact spelling is ambiguous, use dotted: {', '.join(short)}"
            job.note("compact-version", axis.place, message, "cu1210 may be 12.10 or 121.0")
        plain = axis.name in MEANINGFUL
        if plain:
            message = (
                f"axis {axis.name!r} is imported as plain text, so that the cells stay the same"
            )
            hint = "remove 'role: text' to let compat/ decide what exists"
            job.note("plain-axis", axis.place, message, hint)
        found.append(AxisOut(name=axis.name, values=tuple(values.values()), plain=plain))
    return found


def _spellings(product: Product, row: RawRow, kept: int) -> list[dict[str, Json]]:
    """A row that decorates cells, once for each set of axis values that it fits."""
    names = [name for name in row.values if name in product.axes]
    choices = [product.fitting(name, row.values[name]) for name in names]
    found = []
    for chosen in combinations(*choices):
        mask = kept
        for name, index in zip(names, chosen, strict=True):
            mask &= product.having(name, [index])
        if mask:
            exact = {n: product.axes[n][i] for n, i in zip(names, chosen, strict=True)}
            found.append({**row.values, **exact})
    return found


def _includes(job: Job, product: Product, kept: int) -> list[dict[str, Json]]:
    """The include rows that have an effect, in order (a later one may overwrite an earlier)."""
    found: list[dict[str, Json]] = []
    appended: set[str] = set()
    for row in job.raw.include:
        for value in row.values.values():
            _look_at(job, value, row.place)
        key = canonical(written(row.values))
        if product.mask(row.values) & kept:
            found += _decorations(job, product, row, kept)
        elif key in appended:
            message = (
                "this row repeats an earlier one: GitHub runs it twice, the matrix has it once"
            )
            job.note("duplicate-include", row.place, message)
        else:
            found.append(row.values)
            appended.add(key)
    return [{name: written(value) for name, value in row.items()} for row in found]


def _decorations(job: Job, product: Product, row: RawRow, kept: int) -> list[dict[str, Json]]:
    if any(name not in product.axes for name in row.values):
        return _spellings(product, row, kept)
    message = "this row adds nothing: its cells exist already; it is dropped"
    job.note("include-without-effect", row.place, message)
    return []


def _header(job: Job, product: Product) -> tuple[str, ...]:
    result = job.result
    return (
        f"Imported by wheelgrid from {job.options.name}, job {result.job}.",
        f"{product.size} candidates, {len(result.cells)} cells.",
    )


def _cells(job: Job, axes: Mapping[str, Sequence[Json]], start: Place) -> Cells:
    """The cells that GitHub would run, each once, with numbers as text."""
    raw = job.raw
    cells = expand(axes, [r.values for r in raw.exclude], [r.values for r in raw.include])
    if len(cells) > _MAX_JOBS:
        message = f"{len(cells)} jobs: GitHub refuses a matrix of more than {_MAX_JOBS}"
        job.say(Level.WARNING, "too-many-jobs", start, message)
    if not cells:
        job.say(Level.WARNING, "no-cells", start, "every candidate is excluded: no cell is left")
    return list(distinct([{k: written(v) for k, v in c.items()} for c in cells]))


def _is_small(job: Job, product: Product, start: Place) -> bool:
    """Whether the matrix can be expanded and checked in seconds; else a finding says so."""
    rules_count = len(job.raw.exclude)
    most = _MAX_WORK_INCLUDING if job.raw.include else _MAX_WORK
    if product.size <= MAX_CANDIDATES and product.size * rules_count <= most:
        return True
    message = f"could not expand: {product.size} candidates and {rules_count} exclude rules; "
    message += f"at most {MAX_CANDIDATES} candidates, and {most} times rules"
    job.say(Level.UNKNOWN, "too-large", start, message)
    return False


def build(job: Job) -> None:
    """Expand, write and record findings; the text stays empty where something forbids it."""
    raw, result = job.raw, job.result
    given = {axis.name: axis.values for axis in raw.axes}
    product = Product(given)
    result.candidates = product.size
    start = raw.axes[0].place if raw.axes else raw.include[0].place
    if not _is_small(job, product, start):
        return
    axes = _axes(job)
    used = rules.uses(product, [row.values for row in raw.exclude])
    kept = product.everything
    for use in used:
        kept &= ~use.mask
    written_excludes = excludes(job, product, used)
    includes = _includes(job, product, kept)
    result.cells = _cells(job, given, start)
    if result.has(Level.ERROR) or result.has(Level.UNKNOWN):
        return
    result.name = identifier(result.job)
    title = f"{result.job} of {job.options.name}"
    document = Document(
        name=result.name,
        title=title,
        header=_header(job, product),
        axes=tuple(axes),
        exclude=tuple(written_excludes),
        include=tuple(includes),
    )
    why = needs_rows(document.axes)
    if why:
        job.note("whole-rows", start, f"written as whole rows: {why}")
    if why or not axes:
        document = rows_document(document, result.cells, date=job.options.as_of)
    result.text = render(document)
