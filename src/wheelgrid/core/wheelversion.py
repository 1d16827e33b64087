"""The version part of a file name: what installers refuse, and what they forgive but we do not."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from wheelgrid.core.labels import parse_label

__all__ = ["VersionFault", "read_version"]

_WORD = re.compile(r"[A-Za-z_]+\Z")
_DATE = re.compile(r"(20[0-9]{6})")
_COMPACT_TORCH = re.compile(r"(torch|pt)([0-9]{2,4})(?![0-9.])")


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionFault:
    """One thing wrong with a version, and the version to write; `fatal` where it is none."""

    code: str
    message: str
    better: str = ""
    fatal: bool = True


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except (InvalidVersion, ValueError):  # ValueError: a number of thousands of digits
        return None


def _guess(text: str) -> str:
    """A version near text that is none; empty where none is near."""
    public, plus, local = text.partition("+")
    tries = [
        f"{public}+{local.replace('+', '.')}" if plus else "",
        text.lstrip("vV"),
        text.replace("_", "."),
        re.sub(r"[^0-9A-Za-z.+!]+", ".", text),
    ]
    return next((str(v) for t in tries if t and t != text and (v := _parsed(t))), "")


def _no_version(text: str) -> VersionFault:
    if text.count("+") > 1 and (better := _guess(text)):
        message = f"{text!r} has {text.count('+')} plus signs; a version has one: write {better}"
        return VersionFault(code="plus", message=message, better=better)
    if _WORD.match(text):
        message = (
            f"{text!r} is not a version (PEP 440); a nightly is a dev release of the version that "
            "comes next, with its date: 2.15.0.dev20261130"
        )
        return VersionFault(code="version", message=message)
    date = _DATE.search(text)
    hint = f"; a build of a day is written N.N.devYYYYMMDD: dev{date[1]}" if date else ""
    better = _guess(text)
    hint = f"; write {better}" if better else hint
    return VersionFault(
        code="version", message=f"{text!r} is not a version (PEP 440){hint}", better=better
    )


def _compact(version: Version) -> VersionFault | None:
    """A torch without its dot in the label: it sorts as text, 2.10 below 2.9."""
    label = parse_label(version.local)
    if label.torch is None or not label.torch.compact or not label.torch.versions:
        return None
    line = label.torch.versions[0]
    local = _COMPACT_TORCH.sub(f"torch{line}.", str(version.local), count=1).rstrip(".")
    better = f"{version.public}+{local}"
    message = (
        f"the label {version.local!r} leaves out the dot of torch {line}, so that torch 2.10 sorts "
        f"below 2.9; write +{local}"
    )
    if label.torch.ambiguous:
        message += f"; torch {label.torch.text!r} can be {label.torch}"
    return VersionFault(code="compact-label", message=message, better=better, fatal=False)


def read_version(text: str) -> tuple[Version | None, list[VersionFault]]:
    """The version of a file name and its faults; None where it is no version at all.

    Publishing is strict: `str(Version(text))` must be the text, as installers print it.
    """
    version = _parsed(text)
    if version is None:
        return None, [_no_version(text)]
    if "_" in text.partition("+")[0] and str(version) != text and _underscore_is_dot(text):
        return None, [_no_version(text)]
    faults = []
    if str(version) != text:
        message = f"version {text!r} is not normalised; write {version}"
        faults.append(
            VersionFault(
                code="version-not-normalised", message=message, better=str(version), fatal=False
            )
        )
    compact = _compact(version)
    return version, [*faults, compact] if compact else faults


def _underscore_is_dot(text: str) -> bool:
    """Whether an underscore stands between two numbers, which PEP 440 has no reading for."""
    return re.search(r"[0-9]_[0-9]", text.partition("+")[0]) is not None
