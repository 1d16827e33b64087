"""Judges what quietly resolves to an old torch, and accelerators and packages in sunset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelgrid.core.axis import as_accelerator, as_python
from wheelgrid.core.lifecycle import Sunset
from wheelgrid.core.platforms import Platform
from wheelgrid.core.targets import Target
from wheelgrid.scan.mention import Mention, What
from wheelgrid.scan.patterns import accelerator_in, bare
from wheelgrid.scan.reliance import Kind, Reliance, first_gone, found, newer

__all__ = ["judge_accelerator", "judge_macos", "judge_missing_floor", "judge_requirement"]

_PLATFORMS = (Platform.LINUX_X86_64, Platform.WIN_AMD64, Platform.MACOSX_ARM64)
_EXTRA = re.compile(r"""extra\s{0,3}==\s{0,3}["']([^"']{1,80})["']""")
_DEPLOYMENT = re.compile(r"MACOSX_DEPLOYMENT_TARGET[\"']?\s{0,3}[=:]\s{0,3}[\"']?([0-9]{1,3})\b")
_MAC_TAG = re.compile(r"macosx[-_]([0-9]{1,3})[-_.][0-9]{1,3}[-_](?:arm64|universal2)")
_UV_MAC = re.compile(r"--python-platform[ =]['\"]?(?:aarch64-apple-darwin|macos)\b")
_LONGEST = 2000
_VALUE_MAC = re.compile(r"macosx_([0-9]+)_[0-9]+_arm64\Z")


def _requirement(text: str) -> Requirement | None:
    if len(text) > _LONGEST:
        return None
    try:
        return Requirement(text.split(" #", maxsplit=1)[0].strip().rstrip(","))
    except InvalidRequirement:
        return None


def _holds(requirement: Requirement, python: str) -> bool:
    """Whether its marker holds for a Python anywhere, with whatever extra it asks for."""
    parsed = as_python(python)
    if requirement.marker is None or parsed is None:
        return requirement.marker is None
    extras = ["", *_EXTRA.findall(str(requirement.marker))]
    return any(
        requirement.marker.evaluate({**Target(python=parsed, platform=p).markers, "extra": extra})
        for p in _PLATFORMS
        for extra in extras
    )


def _downgrade(mention: Mention, requirement: Requirement, sunset: Sunset) -> Iterator[Reliance]:
    """A torch range that an old Python meets with an old torch, without an error."""
    gone = first_gone(sunset)
    if gone is None or sunset.value.endswith("t") or not _holds(requirement, sunset.value):
        return
    old = Version(f"{sunset.last_release}.0")
    if requirement.specifier.contains(gone) and requirement.specifier.contains(old):
        above = newer(sunset.value)
        yield found(
            mention,
            Kind.SILENT_DOWNGRADE,
            sunset,
            f"{str(requirement)!r} on Python {sunset.value} installs torch {sunset.last_release} "
            f"in place of {gone} and newer, without an error",
            f"require Python >={above}, or write 'torch=={sunset.last_release}.*; "
            f'python_version < "{above}"\'',
        )


def judge_requirement(
    mention: Mention, sunsets: Iterable[Sunset], admitted: frozenset[str]
) -> Iterator[Reliance]:
    """A requirement: torch on Pythons that the project admits, and packages in sunset."""
    requirement = _requirement(mention.text)
    if requirement is None:
        return
    name = canonicalize_name(requirement.name)
    for sunset in sunsets:
        is_torch = sunset.axis == "python" and name == "torch" and not requirement.url
        if is_torch and sunset.value in admitted:
            yield from _downgrade(mention, requirement, sunset)
        elif sunset.axis == "package" and name == canonicalize_name(sunset.value):
            fix = sunset.action.split(". ")[0].rstrip(".")
            yield found(mention, Kind.PIN, sunset, f"requires {sunset.value}", fix)


def judge_accelerator(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    """What a mention takes from one accelerator in sunset."""
    accelerator = as_accelerator(sunset.value)
    if accelerator is None or accelerator.version is None:
        return
    family, version = str(accelerator.family), str(accelerator.version)
    named = accelerator_in(family, version, mention.text)
    if not named and {What.CUDA: "cuda", What.ROCM: "rocm"}.get(mention.what) == family:
        match = bare(version).search(mention.text)
        compact = version.replace(".", "")
        named = match[0] if match else compact if mention.text.strip() == compact else ""
    if not named:
        return
    where = f" in {mention.context}" if mention.context else ""
    # The action says what to do in words; its first sentence is the fix.
    fix = sunset.action.split(". ")[0].rstrip(".")
    yield found(mention, Kind.PIN, sunset, f"{named!r}{where} is {sunset.value}", fix)


def judge_macos(mention: Mention, sunset: Sunset) -> Iterator[Reliance]:
    """A deployment target for which newer torch has no wheels: installers take an older one."""
    value = _VALUE_MAC.match(sunset.value)
    if value is None:
        return
    last, text = int(value[1]), mention.text
    match = _DEPLOYMENT.search(text) or _MAC_TAG.search(text)
    if match is None and mention.what is What.MACOS:
        match = re.match(r"[\"']?([0-9]{1,3})(?![0-9])", text)
    first = f"{last + 1}.0"
    gone = first_gone(sunset)
    tail = f"installers take torch {sunset.last_release} in place of {gone} and newer, without"
    if match is not None and int(match[1]) <= last:
        message = f"for a deployment target of macOS {match[1]} {tail} an error"
        fix = f"write MACOSX_DEPLOYMENT_TARGET={first}"
        yield found(mention, Kind.SILENT_DOWNGRADE, sunset, message, fix)
    elif match is None and _UV_MAC.search(text):
        message = f"uv takes this platform for macOS {last}, so {tail} an error"
        fix = f"set MACOSX_DEPLOYMENT_TARGET={first} for the command"
        yield found(mention, Kind.SILENT_DOWNGRADE, sunset, message, fix)


def judge_missing_floor(mention: Mention, sunsets: Iterable[Sunset]) -> Iterator[Reliance]:
    """Metadata without Requires-Python, once for the oldest Python in sunset."""
    pythons = [s for s in sunsets if s.axis == "python" and not s.value.endswith("t")]
    for sunset in sorted(pythons, key=lambda s: Version(s.value))[-1:]:
        above = newer(sunset.value)
        yield found(
            mention,
            Kind.NO_REQUIRES_PYTHON,
            sunset,
            "says no Requires-Python, so installers offer new releases to every old Python, and a "
            "release that is out cannot be repaired",
            f'publish the next release with requires-python = ">={above}", and yank those '
            "without it",
        )
