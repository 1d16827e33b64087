"""Decodes the `runners` of matrix.yaml."""

from __future__ import annotations

import re

from wheelgrid.config import grid
from wheelgrid.config.axes import place
from wheelgrid.config.yaml import Item
from wheelgrid.core.condition import Condition
from wheelgrid.core.runner import Runner

__all__ = ["decode_runners"]

_OPTIONAL = ("when", "price_per_minute", "gpus", "minutes")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+:/-]{0,99}\Z")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")
_MOST_GPUS = 64


def _labels(item: Item) -> tuple[str, ...]:
    """Labels of a runner. They go into workflows, so no expression and no shell text is taken."""
    children = list(item.items()) if item.is_list else [item]
    found = [(child, child.text()) for child in children]
    for child, text in found:
        if text and not _LABEL.match(text):
            child.fault(
                f"{text!r} is not a runner label", hint="letters, digits and . _ + : / - only"
            )
    labels = tuple(text for _, text in found if text)
    if not labels and not item.faults.found:
        item.fault("is empty: a runner needs at least one label")
    return labels


def _amount(item: Item) -> float:
    """A number of zero or more: a quoted zero is no number, so zero is written plainly."""
    if getattr(item.node, "value", None) in {"0", "0.0"}:
        return 0.0
    return item.number()


def _gpus(item: Item) -> int:
    value = _amount(item)
    if value != int(value) or value > _MOST_GPUS:
        item.fault(f"expected a whole number of GPUs up to {_MOST_GPUS}, found {value:g}")
        return 0
    return int(value)


def decode_runners(item: Item, scope: grid.Scope) -> tuple[Runner, ...]:
    """A mapping of name to runner; the first whose `when` fits takes a cell."""
    found: list[Runner] = []
    for name, entry in item.entries().items():
        if not _NAME.match(name):
            entry.fault(f"{name!r} is not a runner name: use lower-case letters, digits and '-'")
        given = entry.fields(("runs_on",), _OPTIONAL)
        price, minutes = given.get("price_per_minute"), given.get("minutes")
        found.append(
            Runner(
                name=name,
                when=scope.condition(given["when"]) if "when" in given else Condition(),
                runs_on=_labels(given["runs_on"]) if "runs_on" in given else (),
                price_per_minute=None if price is None else _amount(price),
                gpus=_gpus(given["gpus"]) if "gpus" in given else 0,
                minutes=None if minutes is None else minutes.number(),
                place=place(entry),
            )
        )
    return tuple(found)
