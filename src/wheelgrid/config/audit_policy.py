"""Decodes what is asked of wheels: the `audit` section of a recipe, or a policy file alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

from wheelgrid.config import fields
from wheelgrid.config.files import read_yaml
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.accelerator import Family
from wheelgrid.core.arch_targets import ArchTargets, parse_targets
from wheelgrid.core.audit_policy import NO_POLICY, AuditPolicy, Waiver
from wheelgrid.core.audit_rules import NEVER_WAIVED, RULES

__all__ = ["audit_policy", "load_policy"]

T = TypeVar("T")

_FIELDS = (
    "ceilings",
    "exceptions",
    "excludes",
    "archs",
    "allow_bundled",
    "accelerators",
    "floor",
)
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(B|kB|MB|GB|KiB|MiB|GiB)\Z")
_UNITS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_FLOOR = re.compile(
    r"(?:manylinux_2_[0-9]{1,2}|manylinux(?:1|2010|2014)|macosx_[0-9]{2}_[0-9]{1,2})\Z"
)
_LIBRARY = re.compile(r"[A-Za-z0-9_*?.+\[\]-]+\Z")


def _size(item: Item) -> int:
    """A size with its unit, such as "300 MiB"; bytes."""
    text = item.text()
    match = _SIZE.match(text)
    if match is None:
        if text:
            item.fault(f"{text!r} is not a size", hint='write a number and a unit: "300 MiB"')
        return 0
    return int(float(match[1]) * _UNITS[match[2]])


def _rule(item: Item) -> str:
    text = item.text()
    if text and text not in RULES:
        item.fault(f"{text!r} is no rule of the audit", hint=nearest(text, list(RULES)))
    elif text in NEVER_WAIVED:
        item.fault(f"{text} cannot be excepted: {RULES[text][0]}")
    return text


def _link(item: Item) -> str:
    text = item.text()
    if text and not text.startswith(("https://", "http://")):
        item.fault(f"{text!r} is not an address", hint="such as https://example.org/issues/1")
    return text


def _waiver(item: Item) -> Waiver | None:
    required = ("rule", "reason", "until", "link")
    given = item.fields(required, ("member", "owner"))
    found = {
        "rule": _rule(given["rule"]) if "rule" in given else "",
        "reason": given["reason"].text() if "reason" in given else "",
        "link": _link(given["link"]) if "link" in given else "",
    }
    until = fields.day(given["until"]) if "until" in given else date.min
    member = given["member"].text() if "member" in given else "*"
    owner = given["owner"].text() if "owner" in given else ""
    if "reason" in given and not found["reason"].strip():
        given["reason"].fault("an exception needs a reason")
    if not set(required) <= given.keys():
        return None
    return Waiver(**found, until=until, member=member or "*", owner=owner)


def _archs(item: Item) -> ArchTargets | None:
    """A list of targets, or one text as TORCH_CUDA_ARCH_LIST has it."""
    return item.build(lambda: parse_targets(" ".join(item.texts())))


def _globs(item: Item) -> tuple[str, ...]:
    children = item.items() if item.is_list else iter([item])
    found = []
    for child in children:
        text = child.text()
        if text and not _LIBRARY.match(text):
            child.fault(
                f"{text!r} is not the name of a library or a pattern", hint="such as libfoo.so*"
            )
        found.append(text)
    return tuple(found)


def _floor(item: Item) -> tuple[str, ...]:
    children = item.items() if item.is_list else iter([item])
    found = []
    for child in children:
        text = child.text()
        if text and not _FLOOR.match(text):
            child.fault(
                f"{text!r} is not a platform tag without CPU", hint="such as manylinux_2_28"
            )
        found.append(text)
    return tuple(found)


def _ceilings(item: Item) -> dict[str, int]:
    given = item.fields((), ("size", "warn", "debug"))
    return {name: _size(child) for name, child in given.items()}


def _families(item: Item) -> frozenset[Family]:
    return frozenset(map(fields.family, item.items()))


def audit_policy(item: Item, source: str) -> AuditPolicy:
    """Decode the fields; faults are left in the item's collector, all of them."""
    given = item.fields((), _FIELDS)

    def get(name: str, decode: Callable[[Item], T], default: T) -> T:
        return decode(given[name]) if name in given else default

    sizes = _ceilings(given["ceilings"]) if "ceilings" in given else {}
    waivers = [_waiver(i) for i in given["exceptions"].items()] if "exceptions" in given else []
    return AuditPolicy(
        source=source,
        max_size=sizes.get("size"),
        warn_size=sizes.get("warn", NO_POLICY.warn_size),
        max_debug=sizes.get("debug", NO_POLICY.max_debug),
        waivers=tuple(w for w in waivers if w is not None),
        excludes=get("excludes", _globs, ()),
        archs=get("archs", _archs, None),
        allow_bundled=get("allow_bundled", _globs, ()),
        accelerators=get("accelerators", _families, frozenset()),
        floor=get("floor", _floor, ()),
    )


def load_policy(path: Path) -> AuditPolicy:
    """Read a policy file; BadInputError with all faults at once."""
    faults = Faults()
    item = read_yaml(path, root=path.parent, faults=faults)
    policy = audit_policy(item, path.name) if item is not None else NO_POLICY
    faults.check()
    return policy
