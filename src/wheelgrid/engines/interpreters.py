"""Finds CPython interpreters: on PATH, of version managers and of uv."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from wheelgrid.core.python import PythonVersion
from wheelgrid.engines.process import ask

__all__ = ["Interpreter", "find_interpreters"]

_NAME = re.compile(r"python3(\.[0-9]+t?)?\Z")
_QUERY = (
    "import json,sys,sysconfig,platform;print(json.dumps([platform.python_implementation(),"
    "list(sys.version_info[:3]),bool(sysconfig.get_config_var('Py_GIL_DISABLED'))"
    ",sys._base_executable,sys.prefix!=sys.base_prefix,sysconfig.get_path('include'),"
    "{n:sysconfig.get_config_var(n) or '' for n in ('LDSHARED','LDCXXSHARED')}]))"
)
# Where version managers keep interpreters, below the home folder: a shim on PATH answers only for
# the version that is switched on.
_MANAGED = (
    ".pyenv/versions/*/bin",
    ".local/share/uv/python/*/bin",
    ".local/share/mise/installs/python/*/bin",
    ".asdf/installs/python/*/bin",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """One CPython that runs, with the headers that builds need."""

    version: PythonVersion
    patch: int
    path: Path
    has_headers: bool
    linkers: tuple[tuple[str, str], ...] = ()

    @property
    def identity(self) -> str:
        """Version and build: two interpreters of one version may compile differently."""
        text = json.dumps([str(self.path), self.linkers])
        return f"{self.version}.{self.patch} {hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def linker_environment(self) -> dict[str, str]:
        """Linker commands without the RPATHs that the interpreter was itself linked with.

        Interpreters of version managers carry `-Wl,-rpath,<their prefix>/lib` in LDSHARED, and
        setuptools would write that path of the build machine into every extension.
        """
        return {
            name: " ".join(w for w in command.split() if not w.startswith("-Wl,-rpath"))
            for name, command in self.linkers
            if "-rpath" in command
        }


def _candidates(env: Mapping[str, str]) -> list[Path]:
    folders = [Path(p) for p in env.get("PATH", "").split(":") if p]
    home = Path(env.get("HOME", "/nonexistent"))
    for pattern in _MANAGED:
        folders += sorted(home.glob(pattern))
    if "PYENV_ROOT" in env:
        folders += sorted(Path(env["PYENV_ROOT"]).glob("versions/*/bin"))
    if "UV_PYTHON_INSTALL_DIR" in env:
        folders += sorted(Path(env["UV_PYTHON_INSTALL_DIR"]).glob("*/bin"))
    folders += sorted(Path("/opt/python").glob("*/bin"))
    found: dict[Path, None] = {}
    for folder in folders:
        try:
            names = sorted(p for p in folder.iterdir() if _NAME.match(p.name))
        except OSError:
            continue
        for path in names:
            found.setdefault(path.resolve() if path.is_symlink() else path)
    return [path for path in found if not _is_script(path)]


def _is_script(path: Path) -> bool:
    """Shims of version managers are scripts: slow to ask, and the real ones are found anyway."""
    try:
        with path.open("rb") as handle:
            return handle.read(2) == b"#!"
    except OSError:
        return True


def _query(path: Path) -> Interpreter | None:
    """Ask one interpreter; None for shims that refuse, other implementations and virtual
    environments (their base is found by itself).
    """
    try:
        answer = json.loads(ask([str(path), "-I", "-S", "-c", _QUERY]))
        name, numbers, gil_disabled, base, virtual, include, linkers = answer
    except ValueError:
        return None
    if name != "CPython" or virtual:
        return None
    return Interpreter(
        version=PythonVersion(numbers[0], numbers[1], gil_disabled),
        patch=numbers[2],
        path=Path(base or path),
        has_headers=(Path(include) / "Python.h").is_file(),
        linkers=tuple(sorted(linkers.items())),
    )


def find_interpreters(env: Mapping[str, str]) -> dict[PythonVersion, Interpreter]:
    """The newest patch release of each version found, with headers preferred."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = [found for found in pool.map(_query, _candidates(env)) if found is not None]
    best: dict[PythonVersion, Interpreter] = {}
    for found in answers:
        known = best.get(found.version)
        if known is None or (found.has_headers, found.patch) > (known.has_headers, known.patch):
            best[found.version] = found
    return dict(sorted(best.items()))
