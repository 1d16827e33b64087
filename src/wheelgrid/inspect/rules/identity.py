"""Rules on names, versions and metadata: WG101, WG102, WG107, WG108, WG109, WG110."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelgrid.inspect.findings import Finding, error, warning
from wheelgrid.inspect.subject import Subject
from wheelgrid.inspect.wheel import requirements

__all__ = ["agreement", "asked_for", "file_name", "format_files", "metadata"]

_DATA_KEYS = {"purelib", "platlib", "headers", "scripts", "data"}


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except (InvalidVersion, ValueError):
        return None


def file_name(subject: Subject) -> Iterator[Finding]:
    """WG101: the name parses, and its version is normalised (else a warning)."""
    wheel = subject.wheel
    if wheel.name is None:
        yield error("WG101", wheel.name_error + _label_hint(wheel.file))
    elif str(wheel.name.version) != wheel.name.version_text:
        yield warning(
            "WG101",
            f"version {wheel.name.version_text!r} is not normalised; write {wheel.name.version}",
        )


def _label_hint(name: str) -> str:
    """For a version with several plus signs: the spelling that PEP 440 allows."""
    version = name.split("-")[1] if name.count("-") > 1 else ""
    if version.count("+") < 2:  # noqa: PLR2004
        return ""
    public, _plus, local = version.partition("+")
    return f"; a version has one '+': write {public}+{local.replace('+', '.')}"


def agreement(subject: Subject) -> Iterator[Finding]:
    """WG102: file name, folder and METADATA say the same."""
    wheel = subject.wheel
    if wheel.metadata is None:
        yield error("WG102", "the wheel has no .dist-info/METADATA")
        return
    if len(wheel.dist_infos) > 1:
        names = ", ".join(sorted(wheel.dist_infos))
        yield error("WG102", f"the wheel has {len(wheel.dist_infos)} metadata folders: {names}")
        return
    if wheel.name is None:
        return
    name, version = str(wheel.metadata.get("Name")), str(wheel.metadata.get("Version"))
    if canonicalize_name(name) != wheel.name.distribution:
        yield error("WG102", f"METADATA has Name {name}, the file {wheel.name.distribution}")
    if _version(version) != wheel.name.version:
        yield error("WG102", f"METADATA has Version {version}, the file {wheel.name.version_text}")
    folder, _dash, folder_version = wheel.dist_info.removesuffix(".dist-info").rpartition("-")
    same = canonicalize_name(folder) == wheel.name.distribution
    if not same or _version(folder_version) != wheel.name.version:
        yield error("WG102", f"the metadata folder is named {wheel.dist_info}")


def metadata(subject: Subject) -> Iterator[Finding]:
    """WG107 and WG109: Requires-Python and Requires-Dist are there and can be read."""
    wheel = subject.wheel
    if wheel.metadata is None:
        return
    python = wheel.metadata.get("Requires-Python")
    if not python:
        yield error("WG107", "METADATA has no Requires-Python")
    else:
        try:
            SpecifierSet(str(python))
        except InvalidSpecifier:
            yield error("WG107", f"Requires-Python {python} is not a version specifier")
    for text in requirements(wheel)[1]:
        yield error("WG109", f"Requires-Dist {text} is not a requirement")


def format_files(subject: Subject) -> Iterator[Finding]:
    """WG110: a known Wheel-Version, an honest Root-Is-Purelib, only known .data folders."""
    wheel = subject.wheel
    if wheel.about is None:
        yield error("WG110", "the wheel has no .dist-info/WHEEL")
        return
    version = str(wheel.about.get("Wheel-Version", ""))
    if version.partition(".")[0] != "1":
        yield error("WG110", f"Wheel-Version {version or 'is missing'}; installers know 1.x")
    pure = str(wheel.about.get("Root-Is-Purelib", "")).lower() == "true"
    outside = [m for m in wheel.native if ".data/" not in m.path]
    if pure and outside:
        yield error("WG110", "Root-Is-Purelib is true, but this is native", outside[0].path)
    own = wheel.dist_info.removesuffix(".dist-info") + ".data"
    for path in wheel.members:
        top, _slash, rest = path.partition("/")
        if top.endswith(".data") and (top != own or rest.partition("/")[0] not in _DATA_KEYS):
            yield error("WG110", "is in a .data folder that installers do not know", path)


def asked_for(subject: Subject) -> Iterator[Finding]:
    """WG108: it is the package and version, label included, that the plan asked for."""
    wheel, expected = subject.wheel, subject.expected
    if expected is None or wheel.name is None:
        return
    if wheel.name.distribution != canonicalize_name(expected.package):
        yield error("WG108", f"asked for {expected.package}, got {wheel.name.distribution}")
    if wheel.name.version != Version(expected.version):
        yield error("WG108", f"asked for {expected.version}, got {wheel.name.version}")
