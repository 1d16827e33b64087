"""What an installer picks for a cell from a project page, and the traps on the way.

A pure simulation of the rules that pip and uv share: tags, Requires-Python, yanks (PEP 592) and
version order (PEP 440). Nothing is asked or downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag
from packaging.version import Version

from wheelgrid.core.cell import Cell
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.wheelname import Label, Severity, WheelName, parse_label, read_name

__all__ = ["Choice", "File", "Target", "Trap", "choose_file", "label_traps", "name_faults"]

_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_OLD_DAYS = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file of a project page. Empty fields are not known."""

    filename: str
    requires_python: str = ""
    yanked: str | None = None
    uploaded: date | None = None
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where it is installed: the cell, and the floors of the machine."""

    cell: Cell
    glibc: tuple[int, int] = (2, 28)
    macos: tuple[int, int] = (14, 0)
    musl: tuple[int, int] = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """Something that goes wrong without an error of the installer."""

    code: str
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The file that an installer takes, why each other is out, and the traps."""

    chosen: str
    why: str
    out: tuple[tuple[str, str], ...]
    traps: tuple[Trap, ...]
    python_range: tuple[str, str] = ("", "")


def name_faults(names: Iterable[str]) -> list[tuple[str, tuple[Severity, str, str]]]:
    """Every fault of every name: (name, (severity, message, fix))."""
    return [
        (name, (fault.severity, fault.message, fault.fix))
        for name in names
        for fault in read_name(name)[1]
    ]


def _platform_fits(tag: str, target: Target) -> str:
    """Empty where a platform tag installs on the target, else why not."""
    platform = target.cell.platform
    if tag == "any":
        return ""
    match = re.match(r"(manylinux|musllinux)_([0-9]+)_([0-9]+)_(.+)\Z", tag)
    legacy = _LEGACY.get(tag.partition("_")[0])
    if match or legacy:
        floor = legacy or (int(match[2]), int(match[3]))  # type: ignore[index]
        libc = match[1] if match else "manylinux"
        if not platform.matches_wheel_platform(tag):
            return f"is for {tag}"
        have = target.musl if libc == "musllinux" else target.glibc
        name = "musl" if libc == "musllinux" else "glibc"
        need = ".".join(map(str, floor))
        return "" if floor <= have else f"needs {name} {need}, there is {'.'.join(map(str, have))}"
    mac = re.match(r"macosx_([0-9]+)_([0-9]+)_", tag)
    if mac and platform.matches_wheel_platform(tag):
        floor = (int(mac[1]), int(mac[2]))
        return "" if floor <= target.macos else f"needs macOS {floor[0]}.{floor[1]}"
    return "" if platform.matches_wheel_platform(tag) else f"is for {tag}"


def _python_fits(tag: Tag, python: PythonVersion) -> str:
    """Empty where the interpreter takes the Python and ABI tags, else why not (PEP 425, 803)."""
    match = re.match(r"(cp|py)([0-9])([0-9]*)\Z", tag.interpreter)
    if match is None:
        return f"is for {tag.interpreter}"
    floor = (int(match[2]), int(match[3] or 0))
    if tag.abi == "none":
        exact = match[1] == "cp" and match[3]
        fits = floor == python.release if exact else floor <= python.release
        return "" if fits and floor[0] == python.major else f"is for {tag.interpreter}"
    if tag.abi in {"abi3", "abi3t"}:
        if (tag.abi == "abi3t") != python.free_threaded:
            return f"{tag.abi} is not loaded by {python.tag}"
        return "" if floor <= python.release else f"needs Python {floor[0]}.{floor[1]} or newer"
    return "" if tag.abi == python.tag else f"is for {tag.abi}"


def _tag_problem(name: WheelName, target: Target) -> str:
    """Why no tag of a wheel fits; empty where one does."""
    reasons = []
    for tag in sorted(name.tags, key=str):
        problem = _python_fits(tag, target.cell.python) or _platform_fits(tag.platform, target)
        if not problem:
            return ""
        reasons.append(problem)
    return reasons[0] if reasons else "has no tag that can be read"


def _requires_problem(file: File, python: PythonVersion) -> str:
    if not file.requires_python:
        return ""
    try:
        specifiers = SpecifierSet(file.requires_python)
    except InvalidSpecifier:
        return f"Requires-Python {file.requires_python!r} cannot be read"
    version = f"{python.major}.{python.minor}"
    fits = specifiers.contains(Version(version)) or specifiers.contains(Version(f"{version}.99"))
    return "" if fits else f"requires Python {file.requires_python}"


@dataclass(slots=True)
class _Page:
    """A project page, read: usable files, and why the others are out."""

    usable: list[tuple[File, WheelName]] = field(default_factory=list)
    out: list[tuple[str, str]] = field(default_factory=list)
    every: list[tuple[File, WheelName]] = field(default_factory=list)


def _read(files: Iterable[File], target: Target, specifier: SpecifierSet | None) -> _Page:
    page = _Page()
    for file in files:
        name, faults = read_name(file.filename)
        errors = [f.message for f in faults if f.severity is Severity.ERROR]
        if name is None or (errors and name.kind == "wheel"):
            page.out.append((file.filename, errors[0] if errors else "cannot be read"))
            continue
        page.every.append((file, name))
        problem = _requires_problem(file, target.cell.python)
        if not problem and name.kind == "wheel":
            problem = _tag_problem(name, target)
        if not problem and specifier is not None:
            pre = specifier.prereleases or name.version.is_devrelease
            if not specifier.contains(name.version, prereleases=bool(specifier.prereleases)):
                word = "is a pre-release, which" if name.version.is_prerelease and not pre else "is"
                problem = f"{word} outside {specifier}"
        if problem:
            page.out.append((file.filename, problem))
        else:
            page.usable.append((file, name))
    return page


def _wanted(name: WheelName, wish: Label) -> str:
    """Why a wheel is for another torch or accelerator than wished; empty where it fits."""
    label = parse_label(name.version.local or "")
    if label.ambiguous:
        return f"label {', '.join(label.ambiguous)} can be read in two ways"
    if wish.accelerator and label.accelerator:
        major = wish.accelerator.split(".")[0]
        if label.accelerator not in {wish.accelerator, major}:
            return f"is built for {label.accelerator}"
    if wish.torch and label.torch and label.torch != wish.torch:
        return f"is built for torch {label.torch}"
    if wish.cxx11_abi and label.cxx11_abi and label.cxx11_abi != wish.cxx11_abi:
        return f"has cxx11abi {label.cxx11_abi}"
    return ""


def _pick(usable: Sequence[tuple[File, WheelName]]) -> tuple[File, WheelName] | None:
    """The newest version, a wheel before its sdist; yanked files only where nothing else is."""
    kept = [one for one in usable if one[0].yanked is None] or list(usable)
    ranked = sorted(
        kept,
        key=lambda one: (one[1].version, one[1].kind == "wheel", one[1].build, one[0].filename),
    )
    return ranked[-1] if ranked else None


def label_traps(files: Iterable[File]) -> list[Trap]:
    """Labels that sort against their toolkits, torches or dates within one index.

    PEP 440 compares a segment with letters as text, so rocm7 is above rocm10 and pt28 above pt210.
    """
    read = [(file, name) for file in files if (name := read_name(file.filename)[0])]
    labelled = [(f, n, parse_label(n.version.local)) for f, n in read if n.version.local]
    seen: dict[tuple[str, str], Trap] = {}
    for index, (file, name, label) in enumerate(labelled):
        for other_file, other, other_label in labelled[index + 1 :]:
            if name.project != other.project or name.version.public != other.version.public:
                continue
            pair = _inverted((file, name, label), (other_file, other, other_label))
            if pair is not None:
                newer, older, what = pair
                seen.setdefault(
                    (newer, older),
                    Trap(
                        code="label-order",
                        severity=Severity.WARNING,
                        message=f"{newer} sorts below {older}, though its {what} is newer: "
                        "installers take the older one",
                    ),
                )
    return list(seen.values())


def _numbers(text: str) -> tuple[str, tuple[int, ...]]:
    family = text.rstrip("0123456789.")
    digits = [int(part) for part in text[len(family) :].split(".") if part]
    return family, tuple(digits)


def _inverted(
    one: tuple[File, WheelName, Label], other: tuple[File, WheelName, Label]
) -> tuple[str, str, str] | None:
    """(newer, older, what) where the order of versions is against what the labels say."""
    (file, name, label), (other_file, second, other_label) = one, other
    if name.version == second.version:
        return None
    family, toolkit = _numbers(label.accelerator)
    other_family, other_toolkit = _numbers(other_label.accelerator)
    by_version = name.version > second.version
    signs: list[tuple[bool, str]] = []
    if label.torch != other_label.torch and label.torch and other_label.torch:
        signs.append((_numbers(label.torch)[1] > _numbers(other_label.torch)[1], "torch"))
    elif family == other_family and toolkit != other_toolkit and toolkit and other_toolkit:
        signs.append((toolkit > other_toolkit, "toolkit"))
    elif family == other_family:
        days = (file.uploaded, other_file.uploaded)
        if days[0] and days[1] and days[0] != days[1]:
            signs.append((days[0] > days[1], "upload"))
    for newer, what in signs:
        if newer is not by_version:
            pair = (str(name.version), str(second.version))
            return (*(pair if newer else pair[::-1]), what)
    return None


def _traps(
    page: _Page, picked: tuple[File, WheelName], wish: Label, as_of: date | None
) -> list[Trap]:
    file, name = picked
    found: list[Trap] = []

    def trap(code: str, severity: Severity, message: str) -> None:
        found.append(Trap(code=code, severity=severity, message=message))

    if name.kind == "sdist":
        trap("builds-from-source", Severity.ERROR, f"no wheel fits: {file.filename} is compiled")
    if file.yanked is not None:
        why = file.yanked or "no reason given"
        trap("yanked", Severity.ERROR, f"{file.filename} is yanked ({why}) and all that is left")
    newest = max((n.version for _, n in page.every if not n.version.is_prerelease), default=None)
    if newest is not None and name.version.public != newest.public and newest > name.version:
        trap(
            "silent-downgrade",
            Severity.WARNING,
            f"{name.version} is installed without an error, although {newest} is out",
        )
    label = parse_label(name.version.local or "")
    pins_torch = any(re.match(r"torch\s*(\(|==|~=|<)", text) for text in file.requires)
    if wish.torch and name.kind == "wheel" and not label.torch and not pins_torch:
        trap(
            "torch-unknown",
            Severity.WARNING,
            f"{file.filename} names no torch: whether it fits torch {wish.torch} is unknown",
        )
    if as_of and file.uploaded and (as_of - file.uploaded).days > _OLD_DAYS:
        days = (as_of - file.uploaded).days
        trap("stale", Severity.WARNING, f"{file.filename} is {days} days old")
    return found


def _python_range(page: _Page) -> tuple[str, str]:
    """The Pythons that can be had: the floor that is declared, the ceiling that wheels have."""
    floors = [
        m[1] for f, _ in page.every if (m := re.search(r">=\s*([0-9]+\.[0-9]+)", f.requires_python))
    ]
    highest: list[PythonVersion] = []
    for _, name in page.every:
        for tag in name.tags:
            match = re.match(r"cp([0-9])([0-9]+)\Z", tag.interpreter)
            if match and tag.abi not in {"abi3", "abi3t", "none"}:
                highest.append(PythonVersion(int(match[1]), int(match[2])))
    floor = str(min(map(Version, floors))) if floors else ""
    return floor, str(max(highest)) if highest else ""


def choose_file(
    files: Sequence[File],
    target: Target,
    *,
    wish: Label | None = None,
    specifier: str = "",
    as_of: date | None = None,
) -> Choice:
    """What an installer takes on the target, and why each other file is out.

    `wish` narrows by label (accelerator, torch, ABI) as a user does who picks a file by hand;
    without it the newest version wins, whatever its label is for. ValueError for a bad specifier.
    """
    wish = wish or Label()
    wanted = SpecifierSet(specifier) if specifier else None
    page = _read(files, target, wanted)
    kept = []
    for file, name in page.usable:
        problem = _wanted(name, wish) if name.kind == "wheel" else ""
        if problem:
            page.out.append((file.filename, problem))
        else:
            kept.append((file, name))
    picked = _pick(kept)
    if picked is None:
        return Choice(
            chosen="",
            why=_none(page, target),
            out=tuple(sorted(page.out)),
            traps=tuple(label_traps(files)),
            python_range=_python_range(page),
        )
    others = [
        (f.filename, f"{picked[1].version} is preferred") for f, _ in kept if f is not picked[0]
    ]
    traps = [*_traps(page, picked, wish, as_of), *label_traps(files)]
    if not wish.accelerator:
        traps += _mixed(kept, picked)
    return Choice(
        chosen=picked[0].filename,
        why=f"the newest version whose tags fit {target.cell.id}",
        out=tuple(sorted([*page.out, *others])),
        traps=tuple(traps),
        python_range=_python_range(page),
    )


def _mixed(kept: Sequence[tuple[File, WheelName]], picked: tuple[File, WheelName]) -> list[Trap]:
    """One version with builds for several accelerators: the label's spelling decides."""
    same = {
        parse_label(n.version.local).accelerator
        for _, n in kept
        if n.version.local and n.version.public == picked[1].version.public
    }
    if len(same) < 2:  # noqa: PLR2004 - one accelerator is no mixture
        return []
    return [
        Trap(
            code="mixed-accelerators",
            severity=Severity.ERROR,
            message=f"one index holds {', '.join(sorted(same))}: every machine gets "
            f"{picked[1].version}, whatever its hardware is; use one index per accelerator",
        )
    ]


def _none(page: _Page, target: Target) -> str:
    cell = target.cell
    if cell.platform is Platform.MUSLLINUX_X86_64:
        return (
            f"no file fits {cell.platform}: musl systems need musllinux wheels, and torch has none"
        )
    if not page.every:
        return "the page has no file that can be read"
    return f"no file fits {cell.python.tag} on {cell.platform}"
