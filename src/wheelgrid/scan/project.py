"""Walks a project, reads the files that can pin a version, and judges them. Bounded, read only."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from wheelgrid.core.lifecycle import Sunset
from wheelgrid.scan import ini_files, python_files, toml_files, yaml_files
from wheelgrid.scan.judge import Kind, Reliance, allows, judge
from wheelgrid.scan.mention import Mention, What, line_mentions

__all__ = ["MAX_BYTES", "MAX_FILES", "Scan", "scan_project"]

MAX_BYTES = 1024 * 1024
"""Largest file that is read; what pins a version is written by hand."""
MAX_FILES = 5000
"""Most files that are read; more are counted and named as not looked at."""
_MAX_DEPTH = 12
_MAX_VISITED = 200_000
_SKIPPED_FOLDERS = {
    *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__"),
    *("build", "dist", "site-packages", ".mypy_cache", ".ruff_cache", "third_party", "csrc"),
}

Reader = Callable[[str, str], Iterator[Mention]]


def _plain(what: What, context: str = "") -> Reader:
    def read(text: str, file: str) -> Iterator[Mention]:
        return line_mentions(file, text.splitlines(), what, context=context)

    return read


_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (r"(.*/)?pyproject\.toml\Z", toml_files.pyproject),
        (r"(.*/)?Pipfile\Z", toml_files.pipfile),
        (r"(.*/)?setup\.py\Z", python_files.setup_py),
        (r"(.*/)?noxfile\.py\Z", python_files.noxfile),
        (r"(.*/)?setup\.cfg\Z", ini_files.setup_cfg),
        (r"(.*/)?tox\.ini\Z", ini_files.tox_ini),
        (r"(.*/)?(PKG-INFO|METADATA)\Z", ini_files.metadata),
        (r"(.*/)?(meta|recipe)\.ya?ml\Z", yaml_files.conda_recipe),
        (
            r"(.*/)?(\.github/.*|action|environment[^/]*|conda_build_config)\.ya?ml\Z",
            yaml_files.any_yaml,
        ),
        (r"(.*/)?\.(readthedocs|pre-commit-config|gitlab-ci)\.ya?ml\Z", yaml_files.any_yaml),
        (r"(.*/)?(readthedocs|azure-pipelines[^/]*|appveyor)\.ya?ml\Z", yaml_files.any_yaml),
        (r"(.*/)?\.circleci/.*\.ya?ml\Z", yaml_files.any_yaml),
        (r"(.*/)?(Dockerfile|Containerfile)([.-][^/]*)?\Z", _plain(What.TEXT, "image")),
        (r"(.*/)?[^/]*\.(Dockerfile|dockerfile)\Z", _plain(What.TEXT, "image")),
        (r"(.*/)?\.python-version\Z", _plain(What.PYTHON, ".python-version")),
        (r"(.*/)?runtime\.txt\Z", _plain(What.PYTHON, "runtime.txt")),
        (r"(.*/)?(requirements|constraints)[^/]*\.(txt|in)\Z", _plain(What.REQUIREMENT)),
        (r"(.*/)?requirements/[^/]*\.(txt|in)\Z", _plain(What.REQUIREMENT)),
    )
)
_METADATA = re.compile(r"(.*/)?[^/]+\.(egg-info|dist-info)/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a project relies on, which files were looked at, and which could not be read."""

    found: tuple[Reliance, ...]
    looked_at: tuple[str, ...]
    unread: tuple[tuple[str, str], ...]


def _walk(root: Path) -> Iterator[str]:
    """Files below the root by relative name, in order; links are not followed."""
    visited = 0
    for folder, folders, files in os.walk(root, followlinks=False):
        depth = len(Path(folder).relative_to(root).parts)
        folders[:] = sorted(f for f in folders if f not in _SKIPPED_FOLDERS and depth < _MAX_DEPTH)
        for name in sorted(files):
            visited += 1
            if visited > _MAX_VISITED:
                return
            path = Path(folder) / name
            if not path.is_symlink():
                yield path.relative_to(root).as_posix()


def _reader(name: str) -> Reader | None:
    """The reader of a file, by its name; egg-info beside its own sources says nothing new."""
    if _METADATA.match(name):
        return None
    return next((reader for pattern, reader in _READERS if pattern.match(name)), None)


def _read(path: Path) -> tuple[str, str]:
    """The text of a file, or why it could not be read."""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
    except OSError as error:
        return "", error.strerror or "cannot be read"
    if len(data) > MAX_BYTES:
        return "", f"larger than {MAX_BYTES} bytes"
    if b"\0" in data:
        return "", "binary"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        return "", f"not UTF-8: byte {error.start}"


def _supported(mentions: list[Mention], sunsets: tuple[Sunset, ...]) -> frozenset[str]:
    """The Pythons in sunset that the project admits; all of them where it says nothing."""
    floors = [m.text for m in mentions if m.what is What.REQUIRES_PYTHON]
    return frozenset(
        s.value
        for s in sunsets
        if s.axis == "python" and (not floors or any(allows(f, s.value) for f in floors))
    )


def _counted(found: list[Reliance], text: str, file: str) -> Iterator[Reliance]:
    """Findings inside a workflow's matrix say how many of its cells have the value."""
    counts = yaml_files.matrix_counts(text, file)
    for one in found:
        cells: dict[str, int] = {}
        for job, (rows, line) in counts.items():
            spellings = {one.value, _as_number(one.value)}
            hits = sum(any(str(v) in spellings for v in row.values()) for row in rows)
            if hits and line <= one.line:
                cells = {"job": len(rows), "with_value": hits}
                suffix = f" ({hits} of {len(rows)} cells of job {job})"
                if one.kind is Kind.PIN and _inside(counts, job, one.line):
                    one = replace(one, message=one.message + suffix, cells=cells)  # noqa: PLW2901
                    break
        yield one


def _as_number(value: str) -> str:
    """3.10 as YAML reads it without quotes."""
    try:
        return str(float(value))
    except ValueError:
        return value


def _inside(counts: dict[str, tuple[list[dict[str, object]], int]], job: str, line: int) -> bool:
    """Whether a line is in the matrix of a job: after it begins, before the next one does."""
    starts = sorted(start for _, start in counts.values())
    own = counts[job][1]
    following = [start for start in starts if start > own]
    return own <= line and (not following or line < following[0])


def scan_project(root: Path, sunsets: tuple[Sunset, ...]) -> Scan:
    """Read every file of a project that can pin a version, and judge it against the sunsets."""
    looked: list[str] = []
    unread: list[tuple[str, str]] = []
    mentions: dict[str, list[Mention]] = {}
    texts: dict[str, str] = {}
    for name in _walk(root):
        reader = _reader(name)
        if reader is None:
            continue
        if len(looked) >= MAX_FILES:
            unread.append((name, f"more than {MAX_FILES} files"))
            continue
        text, problem = _read(root / name)
        if problem:
            unread.append((name, problem))
            continue
        looked.append(name)
        texts[name] = text
        mentions[name] = list(reader(text, name))
    supports = _supported([m for found in mentions.values() for m in found], sunsets)
    found: list[Reliance] = []
    for name, given in mentions.items():
        judged = list(judge(iter(given), sunsets, supports=supports))
        if ".github/workflows/" in name:
            judged = list(_counted(judged, texts[name], name))
        found += judged
    ordered = sorted(_once(found), key=lambda r: (r.file, r.line, r.column, r.kind, r.sunset))
    return Scan(found=tuple(ordered), looked_at=tuple(looked), unread=tuple(unread))


def _once(found: list[Reliance]) -> list[Reliance]:
    """Findings without repeats: one line may be read in two ways, and PKG-INFO is generated."""
    seen: dict[tuple[str, int, str, str], Reliance] = {}
    written = {(one.kind, one.sunset) for one in found if not _is_generated(one.file)}
    for one in found:
        if not _is_generated(one.file) or (one.kind, one.sunset) not in written:
            seen.setdefault((one.file, one.line, one.kind, one.sunset), one)
    return list(seen.values())


def _is_generated(file: str) -> bool:
    return file.rpartition("/")[2] in {"PKG-INFO", "METADATA"}
