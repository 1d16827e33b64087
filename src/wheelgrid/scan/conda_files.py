"""Conda recipes and pins: templates with selectors, `# [not win_arm64]`, read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from wheelgrid.importers.selectors import PLATFORMS, Selectors, selector_of
from wheelgrid.scan.mention import Mention, Source, What
from wheelgrid.scan.yaml_files import any_yaml

__all__ = ["conda_pins", "conda_recipe"]

_SPEC = re.compile(r"-?\s{0,3}[\"']?python\s{0,3}([<>=!~][^\"'{}]{0,80}|[0-9][^\"'{}]{0,80})")
_SET = re.compile(r"\{%-?\s{0,3}set python_min\s{0,3}=\s{0,3}[\"']([0-9.]{1,10})[\"']")
_PLAIN_MIN = re.compile(r"python_min:\s{0,3}[\"']?([0-9.]{1,10})")
_SKIP = re.compile(r"skip\s{0,3}:", re.IGNORECASE)


def _platforms(line: str) -> tuple[str, ...] | None:
    """The platforms on which a line counts; None where it always does, or nobody can tell."""
    selector = selector_of(line)
    if not selector:
        return None
    try:
        return tuple(p for p in PLATFORMS if Selectors(platform=p).holds(selector))
    except ValueError:
        return None


def _placed(mentions: Iterator[Mention], lines: list[str]) -> Iterator[Mention]:
    """Say on which platforms a mention counts: a range of Pythons is per platform."""
    for one in mentions:
        platforms = _platforms(lines[one.line - 1]) if one.line <= len(lines) else None
        if platforms is None:
            yield one
        elif one.what is not What.MACOS or "osx-arm64" in platforms:
            without = [p for p in PLATFORMS if p not in platforms]
            said = ", ".join(platforms) or "no platform"
            more = f", not {', '.join(without)}" if 0 < len(without) <= 2 else ""  # noqa: PLR2004
            yield replace(one, context=f"{one.context} on {said}{more}".strip())


def conda_pins(source: Source) -> Iterator[Mention]:
    """conda_build_config.yaml and variants.yaml: lists per key, entries with selectors."""
    return _placed(any_yaml(source), source.text.splitlines())


def _recipe(source: Source) -> Iterator[Mention]:
    for one in source.lines(What.TEXT):
        place = (one.line, one.column)
        if _SKIP.search(one.text):
            continue
        match, low = _SPEC.match(one.text), _SET.match(one.text) or _PLAIN_MIN.match(one.text)
        if low:
            yield source.mention(What.REQUIRES_PYTHON, f">={low[1]}", place, context="python_min")
        elif match:
            spec = match[1].strip()
            floor = spec[0] in "<>!~"
            what = What.REQUIRES_PYTHON if floor else What.PYTHON
            text = spec.replace(" ", "") if floor else spec.lstrip("= ")
            yield source.mention(what, text, place, context="python")
        else:
            yield one


def conda_recipe(source: Source) -> Iterator[Mention]:
    """meta.yaml and recipe.yaml are templates: read by line; `python >=3.10` is a floor."""
    return _placed(_recipe(source), source.text.splitlines())
