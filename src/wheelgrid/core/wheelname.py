"""Names of wheels and sdists: every fault with what to write, and what their labels say.

Source of the rules: the binary distribution format and the core metadata specifications of PyPA;
PEP 440 (versions and local labels), PEP 503 (names), PEP 803 (abi3t), PEP 825 (variants).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from packaging.tags import Tag, parse_tag
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

__all__ = ["Label", "NameFault", "Severity", "WheelName", "parse_label", "read_name"]

_BUILD = re.compile(r"[0-9][0-9a-zA-Z_.]*\Z")
_VARIANT_LABEL = re.compile(r"[0-9a-z_.]+\Z")
_PYTHON_TAG = re.compile(
    r"(?:cp|py|pp|jy|ip|graalpy)[0-9][0-9a-z_]*(?:\.(?:cp|py|pp)[0-9][0-9_]*)*\Z"
)
_PLATFORM = re.compile(
    r"any|win32|win_amd64|win_arm64|linux_(?:x86_64|aarch64|i686|armv[67]l|ppc64le|s390x|riscv64)"
    r"|(?:manylinux(?:1|2010|2014|_[0-9]+_[0-9]+)|musllinux_[0-9]+_[0-9]+)_[a-z0-9_]+"
    r"|macosx_[0-9]+_[0-9]+_[a-z0-9_]+|(?:android|ios)_[0-9_]+[a-z0-9_]*|pyodide_[a-z0-9_]+\Z"
)
_SDIST_ENDS = (".tar.gz", ".zip")
_LENGTH = 400


class Severity(StrEnum):
    """error: no installer takes it. warning: it is read, but must not be published so."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFault:
    """One thing wrong with a name, and what to write in its place."""

    severity: Severity
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelName:
    """A file name that can be read. `kind` is wheel or sdist; `variant` is PEP 825's label."""

    filename: str
    kind: str
    project: str
    version: Version
    build: str = ""
    tags: frozenset[Tag] = frozenset()
    variant: str = ""


def _error(message: str, fix: str = "") -> NameFault:
    return NameFault(severity=Severity.ERROR, message=message, fix=fix)


def _warning(message: str, fix: str = "") -> NameFault:
    return NameFault(severity=Severity.WARNING, message=message, fix=fix)


def _one_label(version: str) -> str:
    """A version with several plus signs, its labels joined by dots: PEP 440 has one label."""
    public, *labels = version.split("+")
    return f"{public}+{'.'.join(labels)}".lower()


def _version(text: str) -> tuple[Version | None, list[NameFault]]:
    if text.count("+") > 1:
        fix = f"write {_one_label(text)}"
        return None, [_error(f"version {text!r} has {text.count('+')} plus signs", fix)]
    try:
        version = Version(text)
    except (InvalidVersion, ValueError):
        fix = "a dated build is a dev release, such as 2.15.0.dev20261130"
        return None, [_error(f"{text[:80]!r} is not a version (PEP 440)", fix)]
    # In file names the separator of a label is written '_' or '.'; both are read.
    if str(version) != text.replace("_", "."):
        return version, [_warning(f"version {text!r} is not normalised", f"write {version}")]
    return version, []


def _project(text: str) -> list[NameFault]:
    normal = canonicalize_name(text).replace("-", "_")
    if not re.match(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z", text):
        return [_error(f"{text[:80]!r} is not a distribution name", f"write {normal}")]
    if text != normal:
        return [_warning(f"name {text!r} is not normalised", f"write {normal}")]
    return []


def _platforms(tags: frozenset[Tag]) -> list[NameFault]:
    found = []
    for platform in sorted({tag.platform for tag in tags}):
        if not _PLATFORM.match(platform):
            fix = {"linux_amd64": "linux_x86_64", "linux_arm64": "linux_aarch64"}.get(platform, "")
            hint = f"write {fix}" if fix else "installers know no such platform"
            found.append(_error(f"unknown platform tag {platform!r}", hint))
    return found


def _abis(tags: frozenset[Tag]) -> list[NameFault]:
    """abi3 needs a Python tag of its floor; abi3t exists from 3.15 on (PEP 803)."""
    found = []
    for tag in sorted(tags, key=str):
        match = re.match(r"cp3([0-9]+)\Z", tag.interpreter)
        minor = int(match[1]) if match else None
        if tag.abi == "abi3t" and (minor is None or minor < 15):  # noqa: PLR2004 - PEP 803
            fix = "tag it cp315-abi3t, or make one cp3XXt wheel for each Python before 3.15"
            found.append(_error(f"{tag}: abi3t begins with Python 3.15", fix))
        if tag.abi == "abi3" and minor is None:
            found.append(_error(f"{tag}: abi3 needs a CPython tag", "tag it cp3XX-abi3"))
    return found


def _shape(parts: list[str]) -> tuple[list[str], str, list[NameFault]]:
    """Name, version, build, three tags; the variant label; and faults of the shape."""
    if len(parts) == 5:  # noqa: PLR2004 - name, version, three tags
        return [parts[0], parts[1], "", *parts[2:]], "", []
    if len(parts) == 6 and _BUILD.match(parts[2]):  # noqa: PLR2004 - with a build tag
        return parts, "", []
    if len(parts) == 6 and _PYTHON_TAG.match(parts[2]):  # noqa: PLR2004 - something at the end
        name, version, *tags, label = parts
        fix = f"put it into the label: {name}-{version}+{label}-{'-'.join(tags)}.whl"
        message = f"{label!r} after the platform tag"
        if _VARIANT_LABEL.match(label):
            return [name, version, "", *tags], label, [_variant(message, fix)]
        return [], "", [_error(message, fix)]
    if len(parts) == 6:  # noqa: PLR2004
        name, version, build, *tags = parts
        fix = (
            "variant information goes into the local label: "
            f"{name}-{version}+{build.lower().replace('-', '.')}-{'-'.join(tags)}.whl"
        )
        return [], "", [_error(f"build tag {build!r} does not start with a digit", fix)]
    return (
        [],
        "",
        [
            _error(
                f"has {len(parts)} parts between dashes",
                "a wheel is name-version(-build)-python-abi-platform.whl",
            )
        ],
    )


def _variant(message: str, fix: str) -> NameFault:
    note = "a variant wheel (PEP 825, draft) that most installers do not see"
    return _error(f"{message}: read as {note}", f"{fix}; or publish a plain wheel beside it")


def _wheel(filename: str) -> tuple[WheelName | None, list[NameFault]]:
    parts, variant, faults = _shape(filename.removesuffix(".whl").split("-"))
    if not parts:
        return None, faults
    name, version_text, build, python, abi, platform = parts
    version, more = _version(version_text)
    faults = [*faults, *more, *_project(name)]
    try:
        tags = frozenset(parse_tag(f"{python}-{abi}-{platform}"))
    except ValueError:
        tags = frozenset()
    faults += [*_platforms(tags), *_abis(tags)]
    if version is None:
        return None, faults
    return (
        WheelName(
            filename=filename,
            kind="wheel",
            project=canonicalize_name(name),
            version=version,
            build=build,
            tags=tags,
            variant=variant,
        ),
        faults,
    )


def _sdist(filename: str, end: str) -> tuple[WheelName | None, list[NameFault]]:
    stem = filename.removesuffix(end)
    name, dash, version_text = stem.rpartition("-")
    if not dash:
        return None, [_error("is not name-version", f"an sdist is name-version{_SDIST_ENDS[0]}")]
    version, faults = _version(version_text)
    faults += _project(name)
    if version is None:
        return None, faults
    found = WheelName(
        filename=filename, kind="sdist", project=canonicalize_name(name), version=version
    )
    return found, faults


def read_name(filename: str) -> tuple[WheelName | None, tuple[NameFault, ...]]:
    """What a file name says, as far as it can be read, and all that is wrong with it."""
    if len(filename) > _LENGTH or not filename.isprintable() or "/" in filename:
        return None, (_error("is not a plain file name of sane length"),)
    if filename.endswith(".whl"):
        found, faults = _wheel(filename)
        return found, tuple(faults)
    for end in _SDIST_ENDS:
        if filename.endswith(end):
            found, faults = _sdist(filename, end)
            return found, tuple(faults)
    return None, (_error("is neither a wheel (.whl) nor an sdist (.tar.gz)"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a local label says. Empty where it says nothing; `ambiguous` names digits that can be
    read in two ways.

    `accelerator` keeps its dot: `cuda13.0`, `cuda13` where only the major is named, `rocm7.14`,
    `xpu`, `cpu`. `torch` is a release line such as `2.10`.
    """

    accelerator: str = ""
    torch: str = ""
    cxx11_abi: str = ""
    ambiguous: tuple[str, ...] = ()


_LABEL_PARTS = re.compile(
    r"(?P<cuda>cu(?:da)?)(?P<cu_n>[0-9]+(?:\.[0-9]+)?)"
    r"|rocm(?P<rocm>[0-9]+(?:\.[0-9]+)*)"
    r"|xpu(?P<xpu>[0-9.]*)"
    r"|(?P<cpu>cpu)"
    r"|(?:torch|pt)(?P<torch>[0-9]+(?:\.[0-9]+)*)"
    r"|cxx11abi(?P<abi>true|false)"
)


def _split_digits(digits: str, majors: tuple[int, ...]) -> tuple[str, bool]:
    """Digits without their dot as major.minor, and whether another reading is as likely."""
    readings = [
        f"{digits[:cut]}.{digits[cut:]}"
        for cut in range(1, len(digits))
        if int(digits[:cut]) in majors and not (len(digits[cut:]) > 1 and digits[cut] == "0")
    ]
    return (readings[0] if readings else digits), len(readings) > 1


def _cuda(digits: str) -> tuple[str, bool]:
    if "." in digits:
        return f"cuda{digits}", False
    if len(digits) < 3:  # noqa: PLR2004 - a major alone
        return f"cuda{digits}", False
    version, ambiguous = _split_digits(digits, (*range(9, 20),))
    # Four digits: cu1210 can be 12.10, and 121.0 is no CUDA, but a text sort cannot know.
    return f"cuda{version}", ambiguous or len(digits) > 3  # noqa: PLR2004


def parse_label(text: str) -> Label:
    """Read a local label of any convention: `cu130torch2.15`, `pt215cu130`, `cu13torch2.14cxx11abiTRUE`."""  # noqa: E501
    accelerator = torch = abi = ""
    unclear: list[str] = []
    for match in _LABEL_PARTS.finditer(text.lower().replace("_", ".")):
        if match["cuda"]:
            accelerator, doubt = _cuda(match["cu_n"].rstrip("."))
            if doubt:
                unclear.append(match[0])
        elif match["rocm"]:
            accelerator = f"rocm{'.'.join(match['rocm'].split('.')[:2])}"
        elif match["xpu"] is not None:
            accelerator = "xpu"
        elif match["cpu"]:
            accelerator = accelerator or "cpu"
        elif match["torch"]:
            digits = match["torch"]
            torch, doubt = (
                (".".join(digits.split(".")[:2]), False)
                if "." in digits
                else _split_digits(digits, (1, 2, 3))
            )
            if doubt:
                unclear.append(match[0])
        elif match["abi"]:
            abi = match["abi"]
    return Label(accelerator=accelerator, torch=torch, cxx11_abi=abi, ambiguous=tuple(unclear))
