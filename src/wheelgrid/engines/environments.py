"""Environments kept between runs: build environments and packaged toolchains."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.errors import CouldNotCheckError
from wheelgrid.core.matrix import Toolchain
from wheelgrid.engines.interpreters import Interpreter
from wheelgrid.engines.process import Processes
from wheelgrid.engines.torch_source import TorchSource, facts_disagree
from wheelgrid.engines.uv import Uv
from wheelgrid.planning.document import canonical

__all__ = ["Environments", "install_with_torch", "payload", "torch_facts"]

_DONE = ".wheelgrid-complete"


def payload(name: str) -> Path:
    """A script that is run by another interpreter."""
    return Path(__file__).parent.parent / "payload" / name


def torch_facts(processes: Processes, python: Path, *, log: Path) -> dict[str, str | None]:
    """What the torch of an environment was built for; CouldNotCheckError if it cannot say."""
    result = processes.run(
        [str(python), "-I", str(payload("torch_facts.py"))], log=log, timeout=300
    )
    try:
        facts = json.loads(result.output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        facts = None
    if not result.ok or not isinstance(facts, dict):
        msg = f"torch does not import: {result.last_lines(5)}"
        raise CouldNotCheckError(msg)
    return facts


class Environments:
    """Makes each environment once; equal requests wait for the first and share it."""

    def __init__(self, folder: Path, uv: Uv) -> None:
        """Keep environments in `folder`; each is complete or absent."""
        self.folder = folder
        self.uv = uv
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def _once(self, kind: str, key: object, make: Callable[[Path], None]) -> Path:
        """Make `<kind>-<digest of key>` unless it is complete."""
        digest = hashlib.sha256(canonical(key)).hexdigest()[:16]
        target = self.folder / f"{kind}-{digest}"
        with self._guard:
            lock = self._locks.setdefault(target.name, threading.Lock())
        with lock:
            if not (target / _DONE).is_file():
                shutil.rmtree(target, ignore_errors=True)
                try:
                    make(target)
                except BaseException:
                    shutil.rmtree(target, ignore_errors=True)
                    raise
                (target / _DONE).touch()
        return target

    def for_build(
        self,
        interpreter: Interpreter,
        requires: tuple[str, ...],
        torch: tuple[TorchSource, ...],
        *,
        expect: tuple[Version, Accelerator] | None,
        log: Path,
    ) -> Path:
        """An environment with pinned build requirements and, where asked, the right torch."""

        def make(target: Path) -> None:
            self.uv.venv(target, interpreter.path, log=log)
            install_with_torch(self.uv, target, list(requires), torch, log=log)
            if expect is not None:
                facts = torch_facts(self.uv.processes, target / "bin" / "python", log=log)
                wrong = facts_disagree(facts, *expect)
                if wrong:
                    msg = f"build environment: {wrong}"
                    raise CouldNotCheckError(msg)

        key = [
            str(interpreter.path),
            interpreter.patch,
            list(requires),
            [t.requirement for t in torch],
        ]
        return self._once("build", key, make)

    def toolchain(self, toolchain: Toolchain, *, log: Path) -> Path:
        """A CUDA_HOME made of NVIDIA's packages: bin, include, nvvm, and lib64 with the names
        that linkers look for (the packages have no `libcudart.so`, only `libcudart.so.13`).
        """

        def make(target: Path) -> None:
            self.uv.venv(target, Path(sys.executable), log=log)
            result = self.uv.install(target, list(toolchain.requires), log=log)
            if not result.ok:
                msg = f"toolchain {toolchain.accelerator}: {result.last_lines(6)}"
                raise CouldNotCheckError(msg)
            _cuda_home(target, toolchain.accelerator)

        key = [str(toolchain.accelerator), list(toolchain.requires)]
        return self._once("toolchain", key, make) / "cuda_home"


def _cuda_home(target: Path, accelerator: Accelerator) -> None:
    major = accelerator.version.major if accelerator.version else 0
    packages = next(target.glob("lib/python3*/site-packages"))
    root = packages / "nvidia" / f"cu{major}"
    if not (root / "bin" / "nvcc").is_file():
        msg = f"the toolchain packages of {accelerator} have no nvidia/cu{major}/bin/nvcc"
        raise CouldNotCheckError(msg)
    home = target / "cuda_home"
    (home / "lib64").mkdir(parents=True)
    for name in ("bin", "include", "nvvm"):
        (home / name).symlink_to(root / name)
    for library in (root / "lib").iterdir():
        (home / "lib64" / library.name).symlink_to(library)
        plain = home / "lib64" / (library.name.partition(".so")[0] + ".so")
        if ".so." in library.name and not plain.is_symlink():
            plain.symlink_to(library)


def install_with_torch(
    uv: Uv, target: Path, requirements: list[str], torch: tuple[TorchSource, ...], *, log: Path
) -> TorchSource | None:
    """Install requirements with the first torch source that works; returns that source.

    CouldNotCheckError tells an unreachable index from a version that no index has.
    """
    if not torch:
        _install(uv, target, requirements, (), log=log)
        return None
    problems: list[str] = []
    for source in torch:
        try:
            _install(uv, target, [source.requirement, *requirements], source.indexes, log=log)
        except CouldNotCheckError as error:
            problems.append(f"{source.requirement}: {source.note or error}")
        else:
            return source
    raise CouldNotCheckError("; ".join(problems))


def _install(
    uv: Uv, target: Path, requirements: list[str], indexes: tuple[str, ...], *, log: Path
) -> None:
    if not requirements:
        return
    result = uv.install(target, requirements, log=log, indexes=indexes)
    if not result.ok:
        raise CouldNotCheckError(result.last_lines(6))
