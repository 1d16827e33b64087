"""The local engine: one wheel from its source, in a pinned environment, with no container."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from wheelgrid.config.compat_abi import load_shims
from wheelgrid.config.yaml import Faults
from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.build import Build
from wheelgrid.core.errors import BuildError, CouldNotCheckError
from wheelgrid.core.matrix import Toolchain
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Abi, DirectorySource, Recipe
from wheelgrid.core.rung import Outcome, Rung, RungResult
from wheelgrid.engines.environments import Environments
from wheelgrid.engines.faults import infrastructure_fault
from wheelgrid.engines.finish import require_torch_line
from wheelgrid.engines.interpreters import Interpreter
from wheelgrid.engines.process import Result
from wheelgrid.engines.progress import Progress
from wheelgrid.engines.proofs import keep_refuted
from wheelgrid.engines.sources import copy_tree, fetch_sdist, file_sha256, unpack
from wheelgrid.engines.store import RECORD_VERSION, Action, Store
from wheelgrid.engines.torch_source import TorchSource, torch_sources
from wheelgrid.engines.upstream import upstream_of
from wheelgrid.engines.uv import Uv, tool
from wheelgrid.inspect.audit import Audit, audit
from wheelgrid.inspect.findings import Expected, Level
from wheelgrid.inspect.subject import Upstream

__all__ = ["Built", "LocalBuilder", "expected_of"]

_HOURS_6 = 6 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """How one build ended: its rungs, and the wheel if there is one."""

    build: Build
    rungs: tuple[RungResult, ...]
    wheel: Path | None = None
    sha256: str = ""
    key: str = ""
    seconds: float = 0.0
    fresh: bool = False
    log: Path | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of the last rung that was tried."""
        return self.rungs[-1].outcome


def expected_of(build: Build, recipe: Recipe, toolchain: Toolchain | None) -> Expected:
    """What the audit must find in the build's wheel; a toolchain names the GPU targets."""
    pure = build.abi is Abi.PURE
    archs = toolchain.archs if toolchain is not None and build.abi.uses_torch else ()
    return Expected(
        package=build.package,
        version=build.wheel_version,
        abi=build.abi,
        python_tag="py3" if pure else build.python.interpreter_tag,
        abi_tag=build.abi_tag,
        platform=None if pure else build.platform,
        accelerator=build.accelerator,
        extensions=recipe.extensions_for(build.accelerator),
        torch=build.torch,
        archs=archs,
    )


def _summary(findings: Iterable[str]) -> str:
    shown = list(findings)
    more = f" (and {len(shown) - 3} more)" if len(shown) > 3 else ""  # noqa: PLR2004
    return "; ".join(shown[:3]) + more


def audit_result(found: Audit) -> RungResult:
    """The audited rung from an audit."""
    bad = [f for f in found.findings if f.level is not Level.WARNING]
    why = _summary(f"{f.rule} {f.member + ': ' if f.member else ''}{f.message}" for f in bad)
    return RungResult(rung=Rung.AUDITED, outcome=found.outcome, why=why, evidence=(found.wheel,))


class LocalBuilder:
    """Builds on this machine. Unfinished work is in staging; results move in by one rename."""

    def __init__(
        self, store: Store, uv: Uv, environments: Environments, progress: Progress
    ) -> None:
        """Everything it works with comes from the caller."""
        self.store = store
        self.uv = uv
        self.environments = environments
        self.progress = progress
        self.not_fetched: dict[PythonVersion, str] = {}

    @cached_property
    def _upstream(self) -> Upstream:
        """What is known of torch, its stable ABI included, which only the audit asks for."""
        faults = Faults()
        shims = load_shims(self.store.project, faults)
        faults.check()
        return upstream_of(replace(self.store.plan.knowledge, torch_abi=shims))

    def run(self, action: Action, jobs: int) -> Built:
        """Do what the action says; failures become rungs, never exceptions.

        Only an interrupt, a full disk and wrong configuration leave this method as errors.
        """
        build = action.build
        if action.sign == "=":
            return self._up_to_date(action)
        log = self.store.project.work / "logs" / f"{build.id}.log"
        log.unlink(missing_ok=True)
        start = time.monotonic()
        try:
            with self.store.staging(build.id) as staging:
                return self._build(action, jobs, staging, log, start)
        except CouldNotCheckError as error:
            outcome, why = Outcome.UNKNOWN, f"could not check: {error}"
        except BuildError as error:
            outcome, why = Outcome.FAILED, str(error)
        rung = RungResult(rung=Rung.BUILT, outcome=outcome, why=why)
        return self._ended(action, (rung,), start, log)

    def _up_to_date(self, action: Action) -> Built:
        record = self.store.record(action.build) or {}
        wheel = self.store.wheel_path(action.build, str(record.get("wheel")))
        rungs = (
            RungResult(rung=Rung.BUILT, outcome=Outcome.PASSED, evidence=(wheel.name,)),
            RungResult(rung=Rung.AUDITED, outcome=Outcome.PASSED, evidence=(wheel.name,)),
        )
        return Built(
            build=action.build,
            rungs=rungs,
            wheel=wheel,
            sha256=str(record.get("sha256")),
            key=action.key,
        )

    def _step(self, build: Build, text: str) -> None:
        self.progress.started(build.id, text)

    def _build(self, action: Action, jobs: int, staging: Path, log: Path, start: float) -> Built:
        build = action.build
        recipe = self.store.plan.recipes[build.package]
        self._step(build, "fetch the source")
        source = self._source(recipe, staging, log)
        self._step(build, "make the build environment")
        environment, env = self._environment(build, recipe, log)
        config = staging / "extra.cfg"
        config.write_text(_extra_config(build, jobs), encoding="utf-8")
        self._step(build, f"compile with {jobs} job{'s' if jobs > 1 else ''}")
        env |= {
            "DIST_EXTRA_CONFIG": str(config),
            # No configuration of the user's own (~/.pydistutils.cfg) may reach into a build.
            "HOME": str(staging),
            "MAX_JOBS": str(jobs),
            # The values of free axes that the recipe says it uses.
            **{f"WHEELGRID_{n.upper().replace('-', '_')}": v for n, v in build.free},
            "PATH": f"{environment / 'bin'}{os.pathsep}{self.uv.processes.env.get('PATH', '')}",
        }
        out = staging / "raw"
        result = self.uv.build_wheel(source, environment, out, log=log, env=env, timeout=_HOURS_6)
        wheel = _one_wheel(out, result, log)
        self._step(build, "repair and audit")
        if build.abi is Abi.LIBTORCH and build.torch is not None:
            wheel = require_torch_line(
                wheel, build.torch, staging, processes=self.uv.processes, log=log
            )
        wheel = self._repair(build, wheel, staging, environment, log)
        found = audit(
            wheel,
            expected_of(build, recipe, self.store.toolchain(build)),
            policy=recipe.audit,
            as_of=self.store.plan.as_of,
            upstream=self._upstream,
        )
        built = RungResult(rung=Rung.BUILT, outcome=Outcome.PASSED, evidence=(wheel.name,))
        rungs = (built, audit_result(found))
        if found.outcome is not Outcome.PASSED:
            keep_refuted(self.store.project, build, found, file_sha256(wheel))
            self.store.reject(build, wheel)
            return self._ended(action, rungs, start, log)
        resolved = self.uv.freeze(environment, log=log)
        return self._ended(action, rungs, start, log, wheel=wheel, resolved=resolved)

    def _source(self, recipe: Recipe, staging: Path, log: Path) -> Path:
        folder = self.store.project.recipes / recipe.folder
        if isinstance(recipe.source, DirectorySource):
            tree = copy_tree(folder / recipe.source.path, staging / "source")
        else:
            cache = self.store.project.work / "sources"
            archive = fetch_sdist(recipe, recipe.source, cache, uv=self.uv, log=log)
            tree = unpack(archive, staging / "source")
        for name in recipe.patches:
            argv = ["patch", "-p1", "--batch", "--fuzz=0", "-i", str(folder / name)]
            result = self.uv.processes.run(argv, cwd=tree, log=log)
            if not result.ok:
                msg = f"{name} does not apply to {recipe.name} {recipe.version}:\n"
                raise BuildError(msg + result.last_lines(10))
        return tree

    def fetch_interpreters(self, builds: list[Build]) -> None:
        """Ask uv for the interpreters that are not here, before any key is computed from them."""
        log = self.store.project.work / "logs" / "interpreters.log"
        wanted = {
            b.python
            for b in builds
            if not self.store.obstacle(b) and self.store.interpreter(b) is None
        }
        for version in sorted(wanted):
            result = self.uv.run(
                *("python", "install", str(version)),
                log=log,
                env={"UV_PYTHON_DOWNLOADS": "manual", "UV_HTTP_RETRIES": "0"},
                timeout=600,
            )
            self.not_fetched[version] = "" if result.ok else result.last_lines(1).strip()
        if any(not problem for problem in self.not_fetched.values()):
            self.store.forget_interpreters()

    def interpreter(self, build: Build) -> Interpreter:
        """The interpreter to build with; CouldNotCheckError says why there is none."""
        found = self.store.interpreter(build)
        if found is None:
            why = self.not_fetched.get(build.python, "") or "it was not found afterwards"
            msg = f"no CPython {build.python} is here, and uv could not fetch one: {why}"
            raise CouldNotCheckError(msg)
        return found

    def _environment(self, build: Build, recipe: Recipe, log: Path) -> tuple[Path, dict[str, str]]:
        """The build environment and the variables that select what is compiled."""
        env = recipe.env_for(build.accelerator)
        toolchain = self.store.toolchain(build)
        if toolchain is not None and build.abi.uses_torch:
            home = self.environments.toolchain(toolchain, log=log)
            env |= {
                "CUDA_HOME": str(home),
                "TORCH_CUDA_ARCH_LIST": ";".join(toolchain.archs),
            }
        torch: tuple[TorchSource, ...] = ()
        expect = None
        if build.torch is not None:
            declared = recipe.build_torch_for(build.accelerator)
            wanted = build.accelerator if declared == "same" else Accelerator.parse(declared)
            torch = torch_sources(build.torch, wanted, build.platform, self.store.plan.knowledge)
            expect = (build.torch, wanted)
        interpreter = self.interpreter(build)
        env |= interpreter.linker_environment
        environment = self.environments.for_build(
            interpreter,
            recipe.requires_for(build.accelerator),
            torch,
            expect=expect,
            log=log,
        )
        headers = sorted(environment.glob("lib/python3*/site-packages/nvidia/cu*/include"))
        if headers and toolchain is not None:
            # cuBLAS and the like come with torch, not with the compiler.
            env["CPATH"] = os.pathsep.join(map(str, headers))
        return environment, env

    def _repair(
        self, build: Build, wheel: Path, staging: Path, environment: Path, log: Path
    ) -> Path:
        """Give a Linux wheel the oldest platform tag that its symbols allow, with the libraries
        that the user's torch or toolkit provides left out.
        """
        if build.abi is Abi.PURE or not build.platform.is_linux or wheel.name.endswith("-any.whl"):
            return wheel
        out = staging / "repaired"
        excludes = [a for name in _provided(environment) for a in ("--exclude", name)]
        program = tool("auditwheel", self.uv.env)
        path = f"{Path(program).parent}{os.pathsep}{self.uv.processes.env.get('PATH', '')}"
        result = self.uv.processes.run(
            [program, "repair", *excludes, "--wheel-dir", str(out), str(wheel)],
            log=log,
            env={"PATH": path},
            timeout=1800,
        )
        if not result.ok:
            msg = f"auditwheel could not repair {wheel.name}:\n{result.last_lines(10)}"
            raise BuildError(msg)
        return _one_wheel(out, result, log)

    def _ended(
        self,
        action: Action,
        rungs: tuple[RungResult, ...],
        start: float,
        log: Path,
        *,
        wheel: Path | None = None,
        resolved: dict[str, str] | None = None,
    ) -> Built:
        """Publish a good wheel, record how it went either way; nothing once stopped."""
        if self.uv.processes.stopped.is_set():
            msg = "the run was stopped"
            raise CouldNotCheckError(msg)
        build, seconds = action.build, time.monotonic() - start
        sha256 = file_sha256(wheel) if wheel else ""
        record: dict[str, Any] = {
            "schema_version": RECORD_VERSION,
            "build": build.id,
            "outcome": str(rungs[-1].outcome),
            "rungs": [asdict(r) for r in rungs],
            "key": action.key,
            "inputs": self.store.inputs(build),
            "seconds": round(seconds, 1),
            "wheel": wheel.name if wheel else "",
            "sha256": sha256,
            "size": wheel.stat().st_size if wheel else 0,
            "resolved": resolved or {},
        }
        final = self.store.publish(build, wheel, record) if wheel else None
        if wheel is None:
            self.store.write_record(build, record)
        why = rungs[-1].why or (final.name if final else "")
        self.progress.finished(build.id, str(rungs[-1].outcome), why, seconds)
        return Built(
            build=build,
            rungs=rungs,
            wheel=final,
            sha256=sha256,
            key=action.key,
            seconds=seconds,
            fresh=True,
            log=log,
        )


def _extra_config(build: Build, jobs: int) -> str:
    """A setuptools configuration file that names the label before the build (DIST_EXTRA_CONFIG).

    So METADATA, folder and file name agree without renaming; values are checked text, no
    template.
    """
    lines = ["[build_ext]", f"parallel = {jobs}"]
    if build.label:
        lines += ["[egg_info]", f"tag_build = +{build.label}"]
    return "\n".join(lines) + "\n"


def _provided(environment: Path) -> list[str]:
    """Library names that users get from torch and from NVIDIA's packages, by looking at them.

    Plus the driver's and the runtimes of vendors whose packages are not in this environment.
    """
    names: set[str] = set()
    for pattern in ("torch/lib/*.so*", "nvidia/**/lib/*.so*"):
        for library in environment.glob(f"lib/python3*/site-packages/{pattern}"):
            names.add(re.sub(r"\.so.*", ".so*", library.name))
    fixed = ("libcuda.so*", "libcudart.so*", "libamdhip64.so*", "libsycl.so*", "libze_loader.so*")
    always = ("libtorch*.so*", "libc10*.so*", *fixed)
    # torch carries its own copy of libgomp under another name; the extension's libgomp.so.1 is
    # the system's and is grafted as usual.
    return sorted({n for n in names if not n.startswith("libgomp")} | set(always))


def _one_wheel(folder: Path, result: Result, log: Path) -> Path:
    """The single wheel in a folder; BuildError with the end of the log otherwise."""
    wheels = sorted(folder.glob("*.whl")) if result.ok else []
    if len(wheels) == 1:
        return wheels[0]
    fault = "" if result.ok else infrastructure_fault(result.output)
    if fault:
        msg = f"{fault}; log: {log.name}"
        raise CouldNotCheckError(msg)
    if result.timed_out:
        msg = f"timed out; log: {log.name}"
    elif not result.ok:
        msg = f"exit status {result.status}:\n{_relevant(result.output)}"
    else:
        msg = f"expected one wheel, found {len(wheels)}: {', '.join(w.name for w in wheels)}"
    raise BuildError(msg)


def _relevant(output: str) -> str:
    """The lines around the first compiler error, else the last 30."""
    lines = output.rstrip().splitlines()
    first = next((i for i, line in enumerate(lines) if re.search(r"\berror:", line)), None)
    if first is None:
        return "\n".join(lines[-30:])
    return "\n".join(lines[max(0, first - 5) : first + 25])
