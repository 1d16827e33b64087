"""Runs units of work to the rung that is asked for, and records every one of them."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from wheelgrid import __version__
from wheelgrid.core.build import Build
from wheelgrid.core.errors import CouldNotCheckError
from wheelgrid.core.evidence import Observation, Provenance, is_weaker
from wheelgrid.core.rung import RUNGS, Outcome, Rung, RungResult
from wheelgrid.engines.builder import Built, LocalBuilder
from wheelgrid.engines.environments import Environments, payload
from wheelgrid.engines.process import Processes
from wheelgrid.engines.progress import Progress
from wheelgrid.engines.records import decode_observation, record_name, write_record
from wheelgrid.engines.scheduler import Task, run_tasks
from wheelgrid.engines.sources import file_sha256
from wheelgrid.engines.store import Action, Store
from wheelgrid.engines.tester import Tester
from wheelgrid.engines.text import Cleaner
from wheelgrid.engines.uv import Uv
from wheelgrid.planning.document import canonical
from wheelgrid.planning.select import Unit

__all__ = ["TEST_REVISION", "UnitResult", "run_units"]

TEST_REVISION = 1
"""Raised when the engine changes what a test proves; part of every test key."""

_TEST_MEMORY_MIB = 1536
_TESTED = (Rung.RESOLVED, Rung.INSTALLED, Rung.IMPORTED, Rung.EXECUTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitResult:
    """How one unit ended. `fresh` is false when an earlier record still holds."""

    unit: Unit
    rungs: tuple[RungResult, ...]
    fresh: bool
    wheel: Path | None

    @property
    def outcome(self) -> Outcome:
        """Passed if every wanted rung passed, else the outcome of the first that did not."""
        # Resolution stands below building on the ladder, but is only asked for with a test.
        installs = self.unit.wants(Rung.INSTALLED)
        wanted = [
            r.outcome
            for r in self.rungs
            if self.unit.wants(r.rung) and (installs or r.rung in {Rung.BUILT, Rung.AUDITED})
        ]
        if not wanted:
            return Outcome.UNKNOWN
        return next((o for o in wanted if o is not Outcome.PASSED), Outcome.PASSED)


class _Run:
    """One run: its store, its tools, its clock."""

    def __init__(self, store: Store, progress: Progress, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.progress = progress
        self.clock = clock
        self.processes = Processes(store.env)
        self.uv = Uv(self.processes, store.env)
        environments = Environments(store.project.work / "envs", self.uv)
        self.builder = LocalBuilder(store, self.uv, environments, progress)
        self.tester = Tester(store, self.uv, progress)
        self.records = store.project.work / "records"
        known = store.plan.knowledge.accelerators.values()
        urls = [url for family in known for url, _ in family.torch_index.values()]
        self.cleaner = Cleaner.of(store.project.root, store.env.get("HOME", ""), urls)

    def build(self, builds: list[Build]) -> dict[str, Built]:
        """Bring builds up to date, the longest first, within cores and memory."""
        tasks: list[Task[Action]] = []
        done: dict[str, Built] = {}
        self.builder.fetch_interpreters(builds)
        for build in builds:
            action = self.store.action(build)
            if action.sign == "=":
                done[build.id] = self.builder.run(action, 1)
                continue
            if action.sign == "!":
                rung = RungResult(
                    rung=Rung.BUILT,
                    outcome=Outcome.SKIPPED,
                    why=f"cannot be built here: {action.why}",
                )
                done[build.id] = Built(build=build, rungs=(rung,))
                continue
            recipe = self.store.plan.recipes[build.package]
            tasks.append(
                Task(
                    item=action,
                    max_jobs=recipe.max_jobs,
                    memory_mib=recipe.memory_mib,
                    minutes=recipe.minutes,
                )
            )
        host = self.store.host
        results = run_tasks(
            tasks,
            self.builder.run,
            cores=host.cores,
            memory_mib=host.memory_mib,
            stop=self.processes.stop,
        )
        return done | {action.build.id: built for action, built in results}

    def test_key(self, unit: Unit, built: Built) -> str:
        """What a test's outcome depends on: wheel, torch, scripts, interpreter, devices."""
        recipe = self.store.plan.recipes[unit.package]
        folder = self.store.project.recipes / recipe.folder
        interpreter = self.store.interpreters.get(unit.cell.python)
        inputs = [
            TEST_REVISION,
            built.sha256,
            unit.cell.id,
            recipe.import_name,
            [file_sha256(p) for p in sorted(payload(".").glob("*.py"))],
            [file_sha256(folder / name) for name in recipe.tests],
            list(recipe.test_requires),
            interpreter.patch if interpreter else None,
            list(self.store.host.devices),
        ]
        return hashlib.sha256(canonical(inputs)).hexdigest()

    def recorded(self, unit: Unit) -> Observation | None:
        """The record of an earlier run; an unreadable one counts as none."""
        path = self.records / record_name(unit.package, unit.cell.id)
        try:
            return decode_observation(path.read_bytes())
        except (OSError, ValueError):
            return None

    def _cleaned(self, rung: RungResult) -> RungResult:
        """A rung without the machine in its texts."""
        clean = self.cleaner.clean
        return replace(
            rung,
            why=clean(rung.why),
            evidence=tuple(map(clean, rung.evidence)),
            checks=tuple(
                replace(c, name=clean(c.name), detail=clean(c.detail)) for c in rung.checks
            ),
        )

    def known(self, unit: Unit, built: Built, key: str) -> UnitResult | None:
        """An earlier record that still holds: same key, all that is wanted passed or skipped."""
        record = self.recorded(unit)
        if record is None:
            return None
        wanted = {r for r in _TESTED if unit.wants(r) and unit.wants(Rung.INSTALLED)}
        settled = {
            r.rung
            for r in record.rungs
            if r.outcome in {Outcome.PASSED, Outcome.SKIPPED} and not r.why.startswith("not wanted")
        }
        if record.key != key or not wanted <= settled:
            return None
        return UnitResult(unit=unit, rungs=record.rungs, fresh=False, wheel=built.wheel)

    def test(self, unit: Unit, built: Built) -> UnitResult:
        """Test one unit, unless its record holds or there is no wheel; record it."""
        key = self.test_key(unit, built) if built.wheel else ""
        if built.wheel is not None:
            known = self.known(unit, built, key)
            if known is not None:
                return known
        rungs = built.rungs
        resolved: dict[str, str] = {}
        seconds = {"build": round(built.seconds, 1)} if built.fresh else {}
        if built.wheel is not None and unit.wants(Rung.INSTALLED):
            start = time.monotonic()
            tested, resolved = self.tester.run(unit, built)
            seconds["test"] = round(time.monotonic() - start, 1)
            rungs = (*built.rungs, *tested)
        if self.processes.stopped.is_set():
            msg = "the run was stopped"
            raise CouldNotCheckError(msg)
        rungs = _complete(unit, tuple(self._cleaned(r) for r in rungs))
        observation = self._observation(unit, built, rungs, key, resolved=resolved, seconds=seconds)
        before = self.recorded(unit)
        if before is None or not is_weaker(observation, before):
            write_record(self.records, observation)
        return UnitResult(unit=unit, rungs=rungs, fresh=True, wheel=built.wheel)

    def _observation(
        self,
        unit: Unit,
        built: Built,
        rungs: tuple[RungResult, ...],
        key: str,
        *,
        resolved: dict[str, str],
        seconds: dict[str, float],
    ) -> Observation:
        host = self.store.host
        interpreter = self.store.interpreters.get(unit.cell.python)
        version = f"{interpreter.version}.{interpreter.patch}" if interpreter else ""
        return Observation(
            package=unit.package,
            package_version=built.build.wheel_version,
            cell=unit.cell.id,
            build=built.build.id,
            key=key,
            wheel=built.wheel.name if built.wheel else "",
            wheel_sha256=built.sha256,
            rungs=rungs,
            provenance=Provenance(
                time=self.clock().isoformat(),
                tool=f"wheelgrid {__version__}",
                platform=str(host.platform or platform.machine()),
                python=version,
                host={
                    "libc": host.libc,
                    "compiler": host.compiler,
                    "cores": str(host.cores),
                    "devices": ", ".join(host.devices) or "none",
                },
                inputs={"build_key": built.key, **resolved},
            ),
            seconds=seconds,
        )


def _complete(unit: Unit, rungs: tuple[RungResult, ...]) -> tuple[RungResult, ...]:
    """Every rung from built on gets a result, so that nothing ends without a reason."""
    have = {r.rung for r in rungs}
    last = rungs[-1]
    missing: list[RungResult] = []
    for rung in RUNGS[RUNGS.index(Rung.BUILT) :]:
        if rung in have:
            continue
        if last.outcome is not Outcome.PASSED:
            outcome, why = Outcome.SKIPPED, f"not reached: {last.rung} is {last.outcome}"
        else:
            reason = unit.why or f"only asked up to {unit.until}"
            outcome, why = Outcome.SKIPPED, f"not wanted: {reason}"
        missing.append(RungResult(rung=rung, outcome=outcome, why=why))
    order = list(RUNGS)
    return tuple(sorted((*rungs, *missing), key=lambda r: order.index(r.rung)))


def run_units(
    store: Store, units: tuple[Unit, ...], *, progress: Progress, clock: Callable[[], datetime]
) -> list[UnitResult]:
    """Build, audit and test units; every one is recorded. Ctrl-C ends all processes at once."""
    run = _Run(store, progress, clock)
    with store.exclusive():
        try:
            builds = list({unit.build.id: unit.build for unit in units}.values())
            built = run.build(builds)
            tasks = [
                Task(item=unit, memory_mib=_TEST_MEMORY_MIB, minutes=_weight(unit))
                for unit in units
            ]
            results = run_tasks(
                tasks,
                lambda unit, _: run.test(unit, built[unit.build.id]),
                cores=store.host.cores,
                memory_mib=store.host.memory_mib,
                stop=run.processes.stop,
            )
        finally:
            run.processes.stop()
            run.processes.close()
    by_id = {unit.id: result for unit, result in results}
    return [by_id[unit.id] for unit in units]


def _weight(unit: Unit) -> float:
    """Torch installs take longest, so they start first."""
    return 2.0 if unit.build.abi.uses_torch else 1.0
