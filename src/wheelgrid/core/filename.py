"""A file name of a distribution as facts, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from packaging.tags import Tag
from packaging.utils import canonicalize_name
from packaging.version import Version

from wheelgrid.core.labels import Label, parse_label

__all__ = ["FileName", "Kind", "NameFault", "file_part", "index_folder"]


class Kind(StrEnum):
    """What a file is, by the end of its name."""

    WHEEL = "wheel"
    SDIST = "sdist"
    EGG = "egg"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFault:
    """One thing wrong. `fatal`: installers refuse it too; else they read it, we do not publish it.

    `suggestion` is the whole file name to use, or empty where it cannot be derived.
    """

    code: str
    message: str
    suggestion: str = ""
    fatal: bool = False


@dataclass(frozen=True, kw_only=True)
class FileName:
    """A file name, taken apart as far as it can be. `project` is normalised (PEP 503)."""

    name: str
    kind: Kind
    project: str = ""
    version: Version | None = None
    version_text: str = ""
    build: tuple[int, str] | None = None
    tags: frozenset[Tag] = frozenset()
    variant: str = ""
    faults: tuple[NameFault, ...] = field(default=())

    @property
    def readable(self) -> bool:
        """Whether installers can read it."""
        return not any(f.fatal for f in self.faults)

    @property
    def publishable(self) -> bool:
        """Whether nothing at all is wrong with it."""
        return not self.faults

    @cached_property
    def label(self) -> Label:
        """What the local label says."""
        return parse_label(self.version.local if self.version is not None else None)

    @property
    def suggestion(self) -> str:
        """The file name that mends the most, where one can be derived."""
        return next((f.suggestion for f in reversed(self.faults) if f.suggestion), "")


def file_part(name: str) -> str:
    """A project name as file names spell it: `Flash_Attn` and `flash-attn` give `flash_attn`."""
    return canonicalize_name(name).replace("-", "_")


def index_folder(name: str) -> str:
    """A project name as index URLs spell it (PEP 503): `flash-attn`."""
    return canonicalize_name(name)
