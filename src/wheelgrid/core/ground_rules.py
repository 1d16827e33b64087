"""What holds for every project: CPython's support, manylinux tags, and which code a GPU runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from packaging.version import Version

from wheelgrid.core.evidence import Source
from wheelgrid.core.python import PythonVersion

__all__ = ["IsaRelease", "ManylinuxTag", "PythonLife", "RunRule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonLife:
    """The life of a CPython minor: first release, end of life, and its free-threaded build.

    `precision` is `month` where the source names only the month; `end_of_life` is then its last
    day. `free_threaded` is none, experimental or supported.
    """

    python: PythonVersion
    released: date
    end_of_life: date
    precision: str
    free_threaded: str
    source: Source

    def has_ended(self, as_of: date) -> bool:
        """Whether the end of life has come."""
        return self.end_of_life <= as_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ManylinuxTag:
    """A platform tag family and the oldest glibc that it promises; `alias` is its legacy name."""

    tag: str
    glibc: str
    alias: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class IsaRelease:
    """A version of an intermediate language (PTX), and the first toolkit and driver with it."""

    isa: Version
    toolkit: Version
    driver: Version


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRule:
    """Which GPUs run one kind of image. `match` is how the target is compared with the device.

    exact: the same, or another name of it in `members`; same-major: the same major and not above;
    family: listed in `members`; any-newer: any that is not older; any: every device of the vendor;
    never: linker input only. `doubtful` are targets that it is not known to hold for; `releases`
    are in the order of versions.
    """

    id: str
    family: str
    image: str
    match: str
    text: str
    members: tuple[tuple[str, tuple[str, ...]], ...]
    source: Source
    doubtful: tuple[str, ...] = ()
    releases: tuple[IsaRelease, ...] = ()

    def members_of(self, target: str) -> tuple[str, ...]:
        """The targets that are listed for one; empty where none are."""
        return dict(self.members).get(target, ())
