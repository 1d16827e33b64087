"""Opens a wheel by its path or its address."""

from __future__ import annotations

from pathlib import Path

from wheelgrid.inspect.source import FileSource, Source

__all__ = ["open_source"]


def open_source(place: str) -> Source:
    """The source of a wheel by its path or http(s) address; SourceError if it cannot be opened."""
    if "://" in place:
        from wheelgrid.inspect.http_source import HttpSource  # takes 0.03 s to import

        return HttpSource(place)
    return FileSource(Path(place))
