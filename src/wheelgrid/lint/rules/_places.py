"""Finds the written statement behind a decoded source, for positions."""

from __future__ import annotations

from wheelgrid.config.statements import Statement
from wheelgrid.core.evidence import Source
from wheelgrid.lint.rule import Context

__all__ = ["written"]


def written(context: Context, source: Source) -> Statement | None:
    """The statement that a source was decoded from; None for what no file of people says."""
    return next((s for s in context.statements if s.source is source), None)
