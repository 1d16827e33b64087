"""Takes a wheel's file name apart: its parts, the faults of each, and the name that was meant."""

from __future__ import annotations

import re
from math import prod

from packaging.tags import Tag, parse_tag
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelgrid.core.filename import FileName, Kind, NameFault, file_part
from wheelgrid.core.wheeltags import PYTHON_TAG, abi_faults, platform_faults
from wheelgrid.core.wheelversion import read_version

__all__ = ["WheelParts"]

_MOST_TAGS = 1000
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?\Z")
_BUILD = re.compile(r"([0-9]{1,18})([^-]*)\Z")
_VARIANT = re.compile(r"[0-9a-z_.]+\Z")
_LEAST_PARTS = 5


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except (InvalidVersion, ValueError):
        return None


class WheelParts:
    """One wheel name on its way from parts to facts."""

    def __init__(self, name: str, *, suggest: bool = True) -> None:
        """Split the name at its dashes; without `suggest` no better name is looked for."""
        self.name = name
        self.suggest = suggest
        self.parts = name.removesuffix(".whl").split("-")
        self.faults: list[NameFault] = []

    def _fault(self, code: str, message: str, *, suggestion: str = "", fatal: bool = True) -> None:
        self.faults.append(
            NameFault(code=code, message=message, suggestion=suggestion, fatal=fatal)
        )

    def _python_at(self) -> int:
        """Where the Python tag is: the first part from the third on that looks like one."""
        for index in range(2, len(self.parts)):
            if all(PYTHON_TAG.match(p) for p in self.parts[index].split(".")):
                return index
        return max(2, len(self.parts) - 3)

    def read(self) -> FileName:
        """The facts and every fault."""
        parts = self.parts
        if len(parts) < _LEAST_PARTS:
            shape = "name-version(-build)-python-abi-platform.whl"
            self._fault("parts", f"wrong number of parts: {len(parts)}; a wheel is named {shape}")
            version = _version(parts[1]) if len(parts) > 1 else None
            project = canonicalize_name(parts[0]) if parts[0] else ""
            return self._done(project, version, parts[1] if len(parts) > 1 else "")
        at = self._python_at()
        name, text, middle = self._front(at)
        tags, variant, rest = parts[at : at + 3], "", parts[at + 3 :]
        if len(tags) < 3:  # noqa: PLR2004 - python, abi, platform
            self._fault("parts", "lacks a part: after the Python tag come the ABI and the platform")
            return self._done(canonicalize_name(name), _version(text), text)
        build, words = self._build(middle)
        if rest:
            words += rest
            variant = rest[0] if len(rest) == 1 and _VARIANT.match(rest[0]) else ""
            self._rest(rest, variant)
        version, better = self._version(text, words)
        found = self._tags(tags)
        self._suggest(file_part(name), better, build, tags)
        return self._done(
            canonicalize_name(name), version, text, build=build, tags=found, variant=variant
        )

    def _front(self, at: int) -> tuple[str, str, list[str]]:
        """Name, version and what stands between the version and the Python tag."""
        parts = self.parts
        where = 1
        if _version(parts[1]) is None and not parts[1][:1].isdigit():
            later = [i for i in range(2, at) if _version(parts[i]) and not parts[i].isdigit()]
            where = later[0] if later else 1
        name = "-".join(parts[:where])
        if where > 1:
            self._fault("name-dash", f"the name {name!r} has dashes; write {file_part(name)!r}")
        elif not _DISTRIBUTION.match(name):
            self._fault("name", f"{name!r} is not a distribution name")
        elif "__" in name:
            self._fault("name", f"{name!r} is not normalised; write {file_part(name)!r}")
        elif name != file_part(name):
            message = f"the name {name!r} is not normalised; write {file_part(name)!r}"
            self._fault("name-not-normalised", message, fatal=False)
        return name, parts[where], parts[where + 1 : at]

    def _build(self, middle: list[str]) -> tuple[tuple[int, str] | None, list[str]]:
        """The build tag, and words that should have been a local label."""
        match = _BUILD.match(middle[0]) if middle else None
        build = (int(match[1]), match[2]) if match else None
        words = middle[1:] if match else list(middle)
        for word in words:
            message = (
                f"{word!r} is read as a build tag, and a build tag must start with a digit; "
                "variant information goes in the local label"
            )
            self._fault("build-tag", message)
        return build, words

    def _rest(self, rest: list[str], variant: str) -> None:
        """Parts after the platform: a draft-PEP-825 variant label, or too many parts."""
        python = self.parts[-3 - len(rest)]
        message = f"has {len(self.parts)} parts: {'-'.join(rest)!r} follows the platform"
        if variant:
            message += (
                f"; uv reads it as a wheel variant (draft PEP 825) when asked to, others read "
                f"{python!r} as a build tag, and a build tag must start with a digit; "
                "variant information goes in the local label"
            )
        self._fault("variant" if variant else "parts", message)

    def _version(self, text: str, words: list[str]) -> tuple[Version | None, str]:
        """The version, and how it should be written with the words that belong into its label."""
        version, faults = read_version(text)
        better = str(version) if version is not None else ""
        for fault in faults:
            self._fault(fault.code, fault.message, fatal=fault.fatal)
            better = fault.better or better
        label = ".".join(w.lower() for w in words)
        joined = f"{better}{'.' if '+' in better else '+'}{label}"
        if label and better and (mended := _version(joined)):
            better = str(mended)
        return version, better

    def _tags(self, tags: list[str]) -> frozenset[Tag]:
        """The tags; `tags` is corrected in place where the right spelling is known."""
        if prod(p.count(".") + 1 for p in tags) > _MOST_TAGS:
            message = f"the compressed tag set stands for more than {_MOST_TAGS} tags"
            self._fault("tags", message)
            return frozenset()
        try:
            found = frozenset(parse_tag("-".join(tags)))
        except ValueError:
            found = frozenset()
        if not found or any(not p for part in tags for p in part.split(".")):
            self._fault("tags", "has a tag that is empty or malformed")
            return frozenset()
        if not all(PYTHON_TAG.match(p) for p in tags[0].split(".")):
            self._fault("python-tag", f"{tags[0]!r} is not a Python tag such as 'cp313' or 'py3'")
        for code, message in abi_faults(found):
            self._fault(code, message, fatal=False)
        message, better = platform_faults(tags[2])
        if message:
            self._fault("platform-tag", message, fatal=False)
        tags[2] = better
        return found

    def _suggest(
        self, name: str, version: str, build: tuple[int, str] | None, tags: list[str]
    ) -> None:
        """Give every fault the one name that mends all that can be mended."""
        number = [f"{build[0]}{build[1]}"] if build else []
        better = "-".join([name, version, *number, *tags]) + ".whl"
        if not version or better == self.name or not self.suggest:
            return
        if not WheelParts(better, suggest=False).read().readable:
            return
        self.faults = [
            NameFault(code=f.code, message=f.message, fatal=f.fatal, suggestion=better)
            for f in self.faults
        ]

    def _done(
        self,
        project: str,
        version: Version | None,
        text: str,
        *,
        build: tuple[int, str] | None = None,
        tags: frozenset[Tag] = frozenset(),
        variant: str = "",
    ) -> FileName:
        return FileName(
            name=self.name,
            kind=Kind.WHEEL,
            project=project,
            version=version,
            version_text=text,
            build=build,
            tags=tags,
            variant=variant,
            faults=tuple(self.faults),
        )
