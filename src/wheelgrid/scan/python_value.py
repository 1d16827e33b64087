"""Judges mentions against a Python that is in sunset."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.version import Version

from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan.mention import Mention, What
from wheelgrid.scan.patterns import bare, python_in, python_tag
from wheelgrid.scan.reliance import Kind, Reliance, found, newer
from wheelgrid.scan.selected import selects
from wheelgrid.scan.text_files import caret

__all__ = ["allows", "judge_python"]

_CLASSIFIER = re.compile(r"\s*Programming Language :: Python :: ([0-9]+\.[0-9]+)\s*\Z")
_RANGE_BEFORE = re.compile(r"[<>~!]=?\s{0,3}\Z")
_KEEPS = {"<", "<=", "!="}
_LONGEST = 500
"""Of a range; a longer one was not written by hand, and Python refuses longer numbers."""


def _specifiers(spec: str) -> SpecifierSet | None:
    """A range as setuptools, Poetry and conda write it; None for text that is no range."""
    if len(spec) > _LONGEST:
        return None
    text = caret(spec.strip().strip("'\"").strip())
    if re.fullmatch(r"[0-9]+(?:\.[0-9*]+)*", text):
        text = f"=={text}"
    text = text.replace("=.", "==.") if text.startswith("=.") else text
    try:
        return SpecifierSet(re.sub(r"(?<![<>=!~])=(?!=)", "==", text))
    except InvalidSpecifier:
        return None


def allows(spec: str, version: str) -> bool | None:
    """Whether a Requires-Python admits a minor version; None for text that is no range."""
    version = version.rstrip("t")
    if len(spec) > _LONGEST:
        return None
    answers = []
    for part in spec.split("||"):
        specifiers = _specifiers(part)
        if specifiers is None:
            return None
        # The last patch too, so that a floor of 3.10.4 counts as one that admits 3.10.
        answers.append(
            specifiers.contains(Version(f"{version}.99")) or specifiers.contains(Version(version))
        )
    return any(answers)


def _raised(spec: str, floor: str) -> str:
    """The range with a new floor; its ceiling and exclusions stay, as far as they still say."""
    specifiers = _specifiers(spec) or SpecifierSet()

    def says(clause: Specifier) -> bool:
        if clause.operator not in _KEEPS:
            return False
        version = Version(clause.version.removesuffix(".*"))
        return version > Version(floor)

    kept = sorted(str(c) for c in specifiers if says(c))
    return ",".join([f">={floor}", *kept])


def _floor_fix(mention: Mention, sunset: Sunset) -> str:
    raised = _raised(mention.text, newer(sunset.value))
    name = mention.file.rpartition("/")[2]
    if mention.context == "python_min":
        return f'write python_min "{newer(sunset.value)}"'
    if name == "setup.py":
        return f'write python_requires="{raised}"'
    if name == "setup.cfg":
        return f"write python_requires = {raised}"
    if name in {"PKG-INFO", "METADATA"}:
        return f"publish the next release with Requires-Python: {raised}"
    if name.endswith((".yml", ".yaml")):
        return f"write python {raised}"
    return f'write {mention.context or "requires-python"} = "{raised}"'


def _requires(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    if sunset.value.endswith("t") or not allows(mention.text, sunset.value):
        return
    text = caret(mention.text)
    note = "" if text == mention.text else f" ({text})"
    where = f" ({mention.context})" if " on " in mention.context else ""
    message = f"{mention.text!r}{note} still admits Python {sunset.value}{where}"
    yield found(mention, Kind.FLOOR, sunset, message, _floor_fix(mention, sunset))


def _classifier(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    match = _CLASSIFIER.match(mention.text)
    if match and match[1] == sunset.value:
        message = f"the classifier claims Python {sunset.value}"
        yield found(mention, Kind.CLAIM, sunset, message, "delete the classifier")


def _pinned(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    """A version where only a Python can stand."""
    version, text = sunset.value, mention.text
    match = bare(version).search(text)
    # A range is a floor, not a pin.
    if match and _RANGE_BEFORE.search(text[: match.start()]):
        match = None
    compact = version.replace(".", "")
    named = match or text.strip("'\"") in {compact, f"cp{compact}"} or python_in(version, text)
    if not named:
        return
    note = f" (YAML reads {text} without quotes as a number)" if mention.unquoted else ""
    where = f" in {mention.context}" if mention.context else ""
    message = f"asks for Python {version}{where}{note}"
    yield found(mention, Kind.PIN, sunset, message, f'drop it, or write "{newer(version)}"')


def _token(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    """Names of environments and selectors: `py310-torch`, `cp310-*`, `cp313t-*`."""
    match = python_tag(sunset.value).search(mention.text)
    named = match[0] if match else python_in(sunset.value, mention.text)
    if not named and mention.what is What.SELECTOR:
        named = selects(mention.text, sunset.value)
    if not named and mention.what is What.ENVIRONMENT:
        match = bare(sunset.value).match(mention.text)  # tox's own form since 4: `3.10`
        named = match[0] if match else ""
    if named:
        tag = newer(sunset.value).replace(".", "")
        fix = f"drop it, or write {'py' if mention.what is What.ENVIRONMENT else 'cp'}{tag}"
        message = f"{mention.what} names Python {sunset.value} ({named})"
        yield found(mention, Kind.PIN, sunset, message, fix)


def _target(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    compact = sunset.value.replace(".", "")
    forms = {
        sunset.value: newer(sunset.value),
        f"py{compact}": "py" + newer(sunset.value).replace(".", ""),
        compact: newer(sunset.value).replace(".", ""),
    }
    same = forms.get(mention.text.strip())
    if same is not None:
        message = f"{mention.context} checks the code for Python {sunset.value}"
        yield found(mention, Kind.TOOL_TARGET, sunset, message, f'write "{same}"')


def _text(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    named = python_in(sunset.value, mention.text)
    if named:
        where = f" in {mention.context}" if mention.context else ""
        message = f"{named.strip()!r} asks for Python {sunset.value}{where}"
        fix = f"write {newer(sunset.value)}"
        yield found(mention, Kind.PIN, sunset, message, fix)


def judge_python(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    """What a mention takes from one Python in sunset."""
    match mention.what:
        case What.REQUIRES_PYTHON:
            yield from _requires(mention, sunset)
        case What.CLASSIFIER:
            yield from _classifier(mention, sunset)
        case What.PYTHON:
            yield from _pinned(mention, sunset)
        case What.SELECTOR | What.ENVIRONMENT:
            yield from _token(mention, sunset)
        case What.TARGET:
            yield from _target(mention, sunset)
        case What.TEXT | What.CUDA | What.ROCM:
            yield from _text(mention, sunset)
        case What.REQUIREMENT | What.NO_REQUIRES_PYTHON | What.MACOS:
            return
