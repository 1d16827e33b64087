"""Which options a pinned cibuildwheel needs for a CPython, and which `enable` groups it knows.

Read from the sources of cibuildwheel 2.19.2, 2.20.0, 2.21.3, 2.22.0, 2.23.3, 3.0.0, 3.1.0, 3.2.1,
3.4.1, 4.0.0, 4.1.0, 4.2.0 and 4.3.5: cibuildwheel/selector.py (before 3.0: util.py), options.py
and resources/build-platforms.toml. An unknown group makes it exit, so none may be guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.version import Version

from wheelgrid.core.python import PythonVersion

__all__ = ["NotBuildableError", "Release", "build_options", "enable_groups", "release_of"]

_FREE_THREADING = "cpython-freethreading"
_PRERELEASE = "cpython-prerelease"


class NotBuildableError(ValueError):
    """That release of cibuildwheel has no build of that Python at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One span of releases, from `since` on.

    `gated` are the free-threaded minors that need asking, `prerelease` the minors that count as
    pre-releases. Before 2.22 there was no `enable`: `groups` is empty and options ask instead.
    """

    since: Version
    groups: frozenset[str]
    pythons: tuple[int, int]
    free_threaded: frozenset[int]
    gated: frozenset[int]
    prerelease: frozenset[int]


def _release(
    since: str,
    groups: str,
    pythons: tuple[int, int],
    *,
    free: tuple[int, ...],
    gated: tuple[int, ...] = (),
    pre: tuple[int, ...] = (),
) -> Release:
    return Release(
        since=Version(since),
        groups=frozenset(groups.split()),
        pythons=pythons,
        free_threaded=frozenset(free),
        gated=frozenset(gated),
        prerelease=frozenset(pre),
    )


_TWO = f"{_FREE_THREADING} {_PRERELEASE} pypy"
_THREE = f"{_TWO} pypy-eol graalpy pyodide-prerelease"
_FOUR = f"{_PRERELEASE} pypy pypy-eol graalpy pyodide-eol pyodide-prerelease"
_RISCV = "cpython-experimental-riscv64"

_RELEASES = (
    _release("2.19", "", (6, 13), free=(13,), gated=(13,), pre=(13,)),
    _release("2.20", "", (6, 13), free=(13,), gated=(13,)),
    _release("2.22", _TWO, (6, 13), free=(13,), gated=(13,)),
    _release("3.0", f"{_THREE} {_RISCV}", (8, 14), free=(13, 14), gated=(13, 14), pre=(14,)),
    _release("3.1", f"{_THREE} {_RISCV}", (8, 14), free=(13, 14), gated=(13,)),
    _release("3.4", _THREE, (8, 14), free=(13, 14), gated=(13,)),
    _release("4.0", _FOUR, (9, 15), free=(14, 15), pre=(15,)),
    _release("4.2", _FOUR, (9, 15), free=(14, 15)),
)


def release_of(version: Version) -> Release:
    """What is known of a release; ValueError for one older than 2.19, which nobody looked at."""
    known = [r for r in _RELEASES if r.since <= version]
    if not known:
        msg = f"cibuildwheel {version} is older than {_RELEASES[0].since}: its options are unknown"
        raise ValueError(msg)
    return known[-1]


def enable_groups(version: Version) -> frozenset[str]:
    """The names that `enable` takes; empty before 2.22, which has no such option."""
    return release_of(version).groups


def _check(release: Release, version: Version, python: PythonVersion) -> None:
    low, high = release.pythons
    there = python.major == 3 and low <= python.minor <= high  # noqa: PLR2004 - Python 3
    if there and (not python.free_threaded or python.minor in release.free_threaded):
        return
    free = ", ".join(f"3.{minor}t" for minor in sorted(release.free_threaded))
    msg = (
        f"cibuildwheel {version} does not build Python {python}: it builds 3.{low} to 3.{high}, "
        f"and free-threaded {free}"
    )
    raise NotBuildableError(msg)


def build_options(version: Version, python: PythonVersion) -> Mapping[str, str]:
    """Environment that makes this cibuildwheel build this Python; empty where it does so anyway.

    Only options and groups that the release knows. NotBuildableError if it cannot.
    """
    release = release_of(version)
    _check(release, version, python)
    gated = python.free_threaded and python.minor in release.gated
    early = python.minor in release.prerelease
    if not release.groups:
        found = {"CIBW_FREE_THREADED_SUPPORT": "1"} if gated else {}
        return {**found, **({"CIBW_PRERELEASE_PYTHONS": "1"} if early else {})}
    asked = [name for name, on in ((_FREE_THREADING, gated), (_PRERELEASE, early)) if on]
    return {"CIBW_ENABLE": " ".join(asked)} if asked else {}
