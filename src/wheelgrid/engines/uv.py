"""uv, run as a process: environments, installs, resolution, wheels."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wheelgrid.core.errors import CouldNotCheckError
from wheelgrid.engines.indexes import default_index, uv_arguments
from wheelgrid.engines.process import Processes, Result

__all__ = ["Uv", "tool"]

_NO_VERSION = re.compile(r"there is no version of|not found in the package registry")
"""What uv 0.13 says of a version or a project that no index has."""
_NETWORK_STATUS = 2
"""uv's exit status for network and usage errors; 1 means that no solution exists."""


def tool(name: str, env: Mapping[str, str]) -> str:
    """A program installed beside this interpreter, else on PATH; CouldNotCheckError if none."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name, path=env.get("PATH"))
    if found is None:
        msg = f"{name} is not installed"
        raise CouldNotCheckError(msg, hint="pip install 'wheelgrid[build]'")
    return found


@dataclass(frozen=True, slots=True)
class Uv:
    """uv with the user's own index configuration."""

    processes: Processes
    env: Mapping[str, str]

    def run(
        self,
        *arguments: str,
        log: Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Run one uv command."""
        argv = [tool("uv", self.env), *arguments]
        return self.processes.run(argv, log=log, cwd=cwd, env=env, timeout=timeout)

    def venv(self, folder: Path, python: Path, *, log: Path) -> None:
        """Make an empty environment; CouldNotCheckError if uv cannot."""
        result = self.run(
            "venv", "--quiet", "--clear", "--python", str(python), str(folder), log=log
        )
        if not result.ok:
            msg = f"uv could not make an environment: {result.last_lines(5)}"
            raise CouldNotCheckError(msg)

    def install(
        self,
        environment: Path,
        requirements: list[str],
        *,
        log: Path,
        indexes: tuple[str, ...] = (),
    ) -> Result:
        """Install requirements; `indexes` are asked besides the user's own."""
        extra = [item for url in indexes for item in ("--index", url)]
        if extra:
            extra += ["--index-strategy", "unsafe-best-match"]
        user = uv_arguments(self.env)
        if extra and "--index-strategy" in user:
            extra = extra[:-2]
        return self.run(
            "pip",
            "install",
            "--quiet",
            "--python",
            str(environment / "bin" / "python"),
            *user,
            *extra,
            "--",
            *requirements,
            log=log,
            timeout=1800,
        )

    def freeze(self, environment: Path, *, log: Path) -> dict[str, str]:
        """Installed distributions and their versions."""
        result = self.run("pip", "freeze", "--python", str(environment / "bin" / "python"), log=log)
        if not result.ok:
            msg = f"uv cannot list what is installed: {result.last_lines(3)}"
            raise CouldNotCheckError(msg)
        pairs = (line.partition("==") for line in result.output.splitlines() if "==" in line)
        return {name: version for name, _, version in pairs}

    def build_wheel(
        self,
        source: Path,
        environment: Path,
        out: Path,
        *,
        log: Path,
        env: Mapping[str, str],
        timeout: float,
    ) -> Result:
        """Build one wheel in an environment that already has everything (no isolation)."""
        return self.run(
            "build",
            "--wheel",
            "--no-build-isolation",
            "--offline",
            "--python",
            str(environment / "bin" / "python"),
            "--out-dir",
            str(out),
            str(source),
            log=log,
            cwd=out.parent,
            env=env,
            timeout=timeout,
        )

    def locate_sdist(self, name: str, version: str, folder: Path, *, log: Path) -> dict[str, Any]:
        """The sdist's entry in the index (url, size, hashes), without running any of its code.

        uv resolves to a lock file (PEP 751); metadata given up front keeps it from building.
        CouldNotCheckError if the index cannot be asked, or has no such file.
        """
        folder.mkdir(parents=True, exist_ok=True)
        settings, asked, lock = (folder / n for n in ("uv.toml", "asked.txt", "pylock.toml"))
        settings.write_text(
            f'[[dependency-metadata]]\nname = "{name}"\nversion = "{version}"\n'
            "requires-dist = []\n",
            encoding="utf-8",
        )
        asked.write_text(f"{name}=={version}\n", encoding="utf-8")
        result = self.run(
            *("pip", "compile", "--quiet", "--no-deps", "--no-binary", name),
            *("--config-file", str(settings), "--format", "pylock.toml", "-o", str(lock)),
            *uv_arguments(self.env),
            str(asked),
            log=log,
            timeout=300,
        )
        if not result.ok:
            why = "the index cannot be asked" if result.status == _NETWORK_STATUS else "not found"
            msg = f"sdist of {name} {version}: {why}: {result.last_lines(4)}"
            raise CouldNotCheckError(msg)
        packages = tomllib.loads(lock.read_text(encoding="utf-8")).get("packages", [])
        entry = packages[0].get("sdist") if packages else None
        if not isinstance(entry, dict):
            msg = f"the index has no sdist of {name} {version}"
            raise CouldNotCheckError(msg)
        return entry

    def published_wheels(
        self,
        name: str,
        version: str,
        pythons: list[str],
        folder: Path,
        *,
        log: Path,
        absent_is_empty: bool = False,
    ) -> list[str]:
        """File names of a release's wheels in the default index, for these Pythons and newer.

        A universal resolution lists all of them. The lowest Python that resolves is used: a
        release whose Requires-Python is above it has no wheels below. CouldNotCheckError if
        the index cannot be asked, or has no such release unless `absent_is_empty`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        asked, lock = folder / "asked.txt", folder / "pylock.toml"
        asked.write_text(f"{name}=={version}\n", encoding="utf-8")
        lock.unlink(missing_ok=True)
        problem = ""
        for python in pythons:
            result = self.run(
                *("pip", "compile", "--quiet", "--universal", "--no-deps", "--no-build"),
                *("--python-version", python, "--format", "pylock.toml", "-o", str(lock)),
                *default_index(self.env),
                str(asked),
                log=log,
                timeout=300,
            )
            if result.ok:
                packages = tomllib.loads(lock.read_text(encoding="utf-8")).get("packages", [])
                wheels = packages[0].get("wheels", []) if packages else []
                return [str(w.get("url", "")).rpartition("/")[2] for w in wheels]
            problem = result.last_lines(4)
            if result.status == _NETWORK_STATUS:
                break
            if absent_is_empty and _NO_VERSION.search(problem):
                return []
        msg = f"{name} {version}: the index cannot be asked: {problem}"
        raise CouldNotCheckError(msg)
