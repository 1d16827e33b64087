"""Judges mentions against the values that are in sunset: what relies on them, and the fix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from wheelgrid.core.axis import as_accelerator, as_python
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.mention import Mention, What

__all__ = ["Kind", "Reliance", "allows", "judge"]


class Kind(StrEnum):
    """How a project relies on a value that goes away."""

    PIN = "pin"
    FLOOR = "floor"
    CLAIM = "claim"
    SILENT_DOWNGRADE = "silent-downgrade"
    NO_REQUIRES_PYTHON = "no-requires-python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliance:
    """One place that still relies on a value: why it matters and what to write there."""

    file: str
    line: int
    column: int
    kind: Kind
    value: str
    sunset: str
    message: str
    fix: str
    cells: Mapping[str, int] = field(default_factory=dict)


_CLASSIFIER = re.compile(r"Programming Language :: Python :: ([0-9]+\.[0-9]+)\s*\Z")
_BARE = r"(?<![0-9A-Za-z_.+-])v?{0}(?:\.(?:[0-9]+|\*|x))?(?:-dev)?(?![0-9A-Za-z_.])"


@lru_cache(maxsize=64)
def _python_text(version: str) -> re.Pattern[str]:
    """`python3.10`, `python:3.10-slim`, `python=3.10`, `cp310`, `py310`; never `python>=3.10`."""
    major, _, minor = version.partition(".")
    number = rf"{major}\.?{minor}"
    return re.compile(
        rf"(?<![A-Za-z0-9_.])(?:c?python|pypy|py|cp)[-_ :=@]{{0,3}}{number}"
        r"(?:\.(?:[0-9]+|\*))?(?![0-9A-Za-z.])(?![\d])",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _option_text(version: str) -> re.Pattern[str]:
    """`--python 3.10`, `--python-version=3.10`, `-p 3.10`."""
    return re.compile(
        rf"(?:--python(?:-version)?|--min-python|-p)[ =]['\"]?{re.escape(version)}"
        r"(?:\.[0-9]+)?(?![0-9A-Za-z.])"
    )


@lru_cache(maxsize=64)
def _accelerator_text(family: str, version: str) -> re.Pattern[str]:
    """`cu126`, `cuda12.6`, `cuda:12.6.3`, `cuda-12-6`; `rocm7.2`, `rocm/7.2.1`."""
    major, minor = version.split(".")[:2]
    dotted = rf"{major}[.-]{minor}(?:\.[0-9]+)?"
    short = rf"|cu{major}{minor}" if family == "cuda" else rf"|rocm{major}{minor}"
    return re.compile(
        rf"(?<![A-Za-z0-9])(?:{family}(?:-toolkit|-version)?[-_ :=/]{{0,2}}{dotted}{short})"
        r"(?![0-9A-Za-z.])",
        re.IGNORECASE,
    )


@lru_cache(maxsize=256)
def _bare(version: str) -> re.Pattern[str]:
    return re.compile(_BARE.format(re.escape(version)))


def allows(spec: str, version: str) -> bool | None:
    """Whether a Requires-Python admits a minor version; None for text that is no range."""
    text, version = spec.strip().strip("'\""), version.rstrip("t")
    caret = re.fullmatch(r"\^\s*([0-9]+)\.([0-9]+)(?:\.[0-9]+)?", text)
    if caret:
        text = f">={caret[1]}.{caret[2]},<{int(caret[1]) + 1}"
    try:
        specifiers = SpecifierSet(text)
    except InvalidSpecifier:
        return None
    # The last patch, so that a floor of 3.10.4 counts as one that admits 3.10.
    return specifiers.contains(Version(f"{version}.99")) or specifiers.contains(Version(version))


def _next(version: str) -> str:
    major, minor = version.rstrip("t").split(".")
    return f"{major}.{int(minor) + 1}"


def _when(sunset: Sunset) -> str:
    last = max(sunset.stages, key=lambda stage: stage.on, default=None)
    end = f", {last.name.phrase} {last.when}" if last else ""
    return f"torch {sunset.last_release} is the last line with {sunset.axis} {sunset.value}{end}"


def _make(mention: Mention, kind: Kind, sunset: Sunset, message: str, fix: str) -> Reliance:
    return Reliance(
        file=mention.file,
        line=mention.line,
        column=mention.column,
        kind=kind,
        value=sunset.value,
        sunset=sunset.id,
        message=f"{message}; {_when(sunset)}",
        fix=fix,
    )


def _requires(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    if sunset.value.endswith("t") or not allows(mention.text, sunset.value):
        return
    newer = _next(sunset.value)
    name = {"poetry": "python", "conda": "python"}.get(mention.context, "requires-python")
    yield _make(
        mention,
        Kind.FLOOR,
        sunset,
        f"{mention.text!r} still admits Python {sunset.value}",
        f'write {name} = ">={newer}"',
    )


def _classifier(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    match = _CLASSIFIER.match(mention.text)
    if match and match[1] == sunset.value:
        message = f"the classifier claims Python {sunset.value}"
        yield _make(mention, Kind.CLAIM, sunset, message, "delete the classifier")


def _pinned_python(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    version = sunset.value
    found = _bare(version).search(mention.text) or _python_text(version).search(mention.text)
    # A range is a floor, not a pin.
    if found is None or re.search(r"[<>~!]=?\s*$", mention.text[: found.start()]):
        return
    note = f" (YAML reads {mention.text} without quotes as a number)" if mention.unquoted else ""
    where = f" in {mention.context}" if mention.context else ""
    newer = _next(version)
    yield _make(
        mention,
        Kind.PIN,
        sunset,
        f"asks for Python {version}{where}{note}",
        f'drop it, or write "{newer}"',
    )


def _token(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    """Compact names: `cp310-*`, `py310`, `3.13t` as `cp313t`."""
    compact = sunset.value.replace(".", "")
    pattern = rf"(?<![A-Za-z0-9])(?:cp|py){compact}(?![0-9a-z])"
    if re.search(pattern, mention.text) or _python_text(sunset.value).search(mention.text):
        newer = _next(sunset.value)
        tag = newer.replace(".", "")
        fix = f"drop it, or write {'py' if mention.what is What.TARGET else 'cp'}{tag}"
        yield _make(mention, Kind.PIN, sunset, f"{mention.what} names Python {sunset.value}", fix)


def _target(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    compact = "py" + sunset.value.replace(".", "")
    if mention.text.strip() in {sunset.value, compact}:
        newer = _next(sunset.value)
        same = newer if mention.text.strip() == sunset.value else "py" + newer.replace(".", "")
        message = f"{mention.context} checks the code for Python {sunset.value}"
        yield _make(mention, Kind.PIN, sunset, message, f'write "{same}"')


def _text_python(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    version = sunset.value
    if _python_text(version).search(mention.text) or _option_text(version).search(mention.text):
        newer = _next(version)
        where = f" in {mention.context}" if mention.context else ""
        yield _make(
            mention, Kind.PIN, sunset, f"asks for Python {version}{where}", f"write {newer}"
        )


def _python(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    match mention.what:
        case What.REQUIRES_PYTHON:
            yield from _requires(mention, sunset)
        case What.CLASSIFIER:
            yield from _classifier(mention, sunset)
        case What.PYTHON:
            yield from _pinned_python(mention, sunset)
        case What.SELECTOR | What.ENVIRONMENT:
            yield from _token(mention, sunset)
        case What.TARGET:
            yield from _target(mention, sunset)
        case What.TEXT | What.CUDA | What.ROCM:
            yield from _text_python(mention, sunset)
        case What.REQUIREMENT | What.NO_REQUIRES_PYTHON | What.MACOS:
            return


def _accelerator(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    accelerator = as_accelerator(sunset.value)
    if accelerator is None or accelerator.version is None:
        return
    family, version = str(accelerator.family), str(accelerator.version)
    found = _accelerator_text(family, version).search(mention.text)
    keyed = {What.CUDA: "cuda", What.ROCM: "rocm"}.get(mention.what) == family
    if found is None and keyed:
        found = _bare(version).search(mention.text)
    if found is None:
        return
    # The action says what to do in words; its first sentence is the fix.
    fix = sunset.action.split(". ")[0].rstrip(".")
    yield _make(mention, Kind.PIN, sunset, f"{found[0]!r} is {sunset.value}", fix)


def _torch(mention: Mention, sunsets: list[Sunset]) -> Iterator[Reliance]:
    """A torch requirement that an old Python meets with an old torch, without an error."""
    try:
        requirement = Requirement(mention.text.split(" #")[0].strip())
    except InvalidRequirement:
        return
    if requirement.name.lower() != "torch" or requirement.url:
        return
    for sunset in sunsets:
        first_gone = _first_gone(sunset)
        if first_gone is None or sunset.value.endswith("t"):
            continue
        marker = requirement.marker
        if marker and not marker.evaluate({"python_version": sunset.value, "extra": ""}):
            continue
        old, new = Version(f"{sunset.last_release}.0"), first_gone
        if requirement.specifier.contains(new) and requirement.specifier.contains(old):
            newer = _next(sunset.value)
            yield _make(
                mention,
                Kind.SILENT_DOWNGRADE,
                sunset,
                f"{str(requirement)!r} on Python {sunset.value} installs torch "
                f"{sunset.last_release} in place of {first_gone} and newer, without an error",
                f"require Python >={newer}, or write 'torch=={sunset.last_release}.*; "
                f'python_version < "{newer}"\'',
            )


def _first_gone(sunset: Sunset) -> Version | None:
    """The first torch without the value, from the condition that names the gone cells."""
    for axis, patterns in sunset.gone.patterns:
        for pattern in patterns if axis == "torch" else ():
            match = re.fullmatch(r">=\s*([0-9.]+)", pattern.text)
            if match:
                text = match[1] if match[1].count(".") > 1 else f"{match[1]}.0"
                return Version(text)
    return None


def _missing_floor(mention: Mention, sunsets: list[Sunset]) -> Iterator[Reliance]:
    pythons = [s for s in sunsets if not s.value.endswith("t")]
    for sunset in pythons[:1]:
        newer = _next(sunset.value)
        yield _make(
            mention,
            Kind.NO_REQUIRES_PYTHON,
            sunset,
            "says no Requires-Python, so installers offer new releases to every old Python, and a "
            "release that is out cannot be repaired",
            f'publish the next release with requires-python = ">={newer}", and yank those '
            "without it",
        )


def judge(
    mentions: Iterator[Mention], sunsets: tuple[Sunset, ...], *, supports: frozenset[str]
) -> Iterator[Reliance]:
    """What the mentions rely on. `supports` are the Pythons in sunset that the project admits."""
    pythons = [s for s in sunsets if s.axis == "python" and as_python(s.value)]
    admitted = [s for s in pythons if s.value in supports]
    for mention in mentions:
        if mention.what is What.REQUIREMENT:
            yield from _torch(mention, admitted)
            continue
        if mention.what is What.NO_REQUIRES_PYTHON:
            yield from _missing_floor(mention, pythons)
            continue
        for sunset in pythons:
            yield from _python(mention, sunset)
        if mention.what in {What.TEXT, What.CUDA, What.ROCM, What.PYTHON}:
            for sunset in sunsets:
                if sunset.axis == "accelerator":
                    yield from _accelerator(mention, sunset)
