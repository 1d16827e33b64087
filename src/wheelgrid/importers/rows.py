"""Cells written one by one, where axes cannot say them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wheelgrid.core.axis import as_accelerator, as_platform, as_python, as_version
from wheelgrid.importers.document import MEANINGFUL, AxisOut, Document, ExcludeOut, pattern
from wheelgrid.importers.report import Cells, Json
from wheelgrid.importers.values import text_of

__all__ = ["needs_rows", "rows_document"]

_GPU_ARCH = re.compile(r"(sm_[0-9]{2,3}[af]?|gfx[0-9a-f]{3,5})\Z")
_VALID: Mapping[str, Callable[[str], bool]] = {
    "torch": lambda text: str(as_version(text)) == text,
    "python": lambda text: as_python(text) is not None,
    "accelerator": lambda text: as_accelerator(text) is not None,
    "platform": lambda text: as_platform(text) is not None,
    "gpu_arch": lambda text: _GPU_ARCH.match(text) is not None,
}


def needs_rows(axes: Sequence[AxisOut]) -> str:
    """Why axes cannot hold their values; empty where they can."""
    for axis in axes:
        if any(isinstance(value, list) for value in axis.values):
            return f"axis {axis.name!r} has lists as values"
        texts = [text_of(value) for value in axis.values]
        if len(set(texts)) < len(texts):
            return f"axis {axis.name!r} has two values of one name"
    return ""


def _strange(name: str, cells: Cells) -> list[Json]:
    """The values of a name with a meaning, where one of them lacks that meaning; else none."""
    given = [cell[name] for cell in cells if name in cell]
    texts = [value for value in given if isinstance(value, str)]
    return list(dict.fromkeys(map(text_of, given))) if not all(map(_VALID[name], texts)) else []


def rows_document(document: Document, cells: Cells, *, date: str) -> Document:
    """The same matrix as whole rows.

    A name such as `platform` has a meaning in rows too. Where its values lack it, the name is
    declared as an axis of plain text, and a rule excludes what that axis alone would make.
    """
    strange = {name: _strange(name, cells) for name in sorted(MEANINGFUL)}
    axes = tuple(
        AxisOut(name=name, values=tuple(values), plain=True)
        for name, values in strange.items()
        if values
    )
    exclude: tuple[ExcludeOut, ...] = ()
    if axes:
        rule = ExcludeOut(
            id="rows-only",
            when={axes[0].name: [pattern(text_of(value)) for value in axes[0].values]},
            reason="only the rows of include are wanted",
            source=document.title,
            date=date,
        )
        exclude = (rule,)
    return replace(document, axes=axes, exclude=exclude, include=tuple(cells))
