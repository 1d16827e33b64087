"""Takes one package in one cell up the rungs: resolve, install, import, execute."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

from wheelgrid.core.accelerator import Family
from wheelgrid.core.errors import CouldNotCheckError
from wheelgrid.core.recipe import Recipe
from wheelgrid.core.rung import Check, Outcome, Rung, RungResult
from wheelgrid.engines.builder import Built
from wheelgrid.engines.environments import install_with_torch, payload, torch_facts
from wheelgrid.engines.faults import DISK_FULL, infrastructure_fault
from wheelgrid.engines.process import Result
from wheelgrid.engines.progress import Progress
from wheelgrid.engines.store import Store
from wheelgrid.engines.text import MAX_TEXT
from wheelgrid.engines.torch_source import facts_disagree, torch_sources
from wheelgrid.engines.uv import Uv
from wheelgrid.inspect.wheel import required_names
from wheelgrid.planning.select import Unit

__all__ = ["Tester", "executed_rung", "machine_fault"]

_TIMEOUT = 900.0
_DEVICE_OF = {Family.CUDA: "cuda", Family.ROCM: "hip", Family.XPU: "xpu", Family.MPS: "mps"}


def _check(raw: object) -> Check:
    """One check of a smoke test's JSON; anything else is a failed check."""
    outcome = raw.get("outcome") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(outcome, str) or outcome not in set(Outcome):
        return Check(name="malformed check", outcome=Outcome.FAILED, detail=str(raw)[:MAX_TEXT])
    return Check(
        name=str(raw.get("name", "unnamed"))[:200],
        outcome=Outcome(outcome),
        detail=str(raw.get("detail", ""))[:MAX_TEXT],
        device=str(raw.get("device", "cpu"))[:40],
    )


def executed_rung(checks: tuple[Check, ...], family: Family) -> RungResult:
    """The executed rung from the checks of all scripts.

    A cell of an accelerator passes only if a check that computed on its device passed: a
    GPU cell in which everything was skipped is not tested, never passed.
    """
    by_outcome = Counter(c.outcome for c in checks)
    failed = [c for c in checks if c.outcome is Outcome.FAILED]
    if failed:
        why = "; ".join(f"{c.name}: {c.detail}" for c in failed[:3])
        return RungResult(rung=Rung.EXECUTED, outcome=Outcome.FAILED, why=why, checks=checks)
    device = _DEVICE_OF.get(family, "cpu")
    passed = [c for c in checks if c.outcome is Outcome.PASSED]
    unknown = next((c for c in checks if c.outcome is Outcome.UNKNOWN), None)
    if not checks or unknown is not None:
        why = f"{unknown.name}: {unknown.detail}" if unknown else "the tests reported no check"
        return RungResult(rung=Rung.EXECUTED, outcome=Outcome.UNKNOWN, why=why, checks=checks)
    if any(c.device == device for c in passed):
        return RungResult(rung=Rung.EXECUTED, outcome=Outcome.PASSED, checks=checks)
    reasons = [c.detail for c in checks if c.outcome is Outcome.SKIPPED and c.detail]
    first = reasons[0] if reasons else f"no check ran on {device}"
    why = f"{first} ({by_outcome[Outcome.PASSED]} checks passed elsewhere)"
    return RungResult(rung=Rung.EXECUTED, outcome=Outcome.SKIPPED, why=why, checks=checks)


class Tester:
    """Tests finished wheels; every unit in an environment of its own, removed afterwards."""

    def __init__(self, store: Store, uv: Uv, progress: Progress) -> None:
        """Everything it works with comes from the caller."""
        self.store = store
        self.uv = uv
        self.progress = progress

    def run(self, unit: Unit, built: Built) -> tuple[tuple[RungResult, ...], dict[str, str]]:
        """The rungs from resolved to executed, and the versions that were installed."""
        log = self.store.project.work / "logs" / f"{unit.package}@{unit.cell.id}.log"
        log.unlink(missing_ok=True)
        start = time.monotonic()
        with self.store.staging(f"test-{unit.id}") as staging:
            rungs, resolved = self._climb(unit, built, staging, log)
        last = rungs[-1]
        detail = last.why or _count(last.checks)
        self.progress.finished(unit.id, str(last.outcome), detail, time.monotonic() - start)
        return rungs, resolved

    def _climb(
        self, unit: Unit, built: Built, staging: Path, log: Path
    ) -> tuple[tuple[RungResult, ...], dict[str, str]]:
        recipe = self.store.plan.recipes[unit.package]
        self.progress.started(unit.id, "install")
        interpreter = self.store.interpreters.get(unit.cell.python)
        if interpreter is None or built.wheel is None:
            why = f"could not check: no CPython {unit.cell.python} is here"
            return (RungResult(rung=Rung.RESOLVED, outcome=Outcome.UNKNOWN, why=why),), {}
        environment = staging / "env"
        python = environment / "bin" / "python"
        try:
            self.uv.venv(environment, interpreter.path, log=log)
            resolved = self._install(unit, recipe, built.wheel, environment, log)
            if "torch" in required_names(built.wheel):
                facts = torch_facts(self.uv.processes, python, log=log)
                wrong = facts_disagree(facts, unit.cell.torch, unit.cell.accelerator)
                if wrong:
                    return (RungResult(rung=Rung.RESOLVED, outcome=Outcome.FAILED, why=wrong),), {}
        except CouldNotCheckError as error:
            why = f"could not check: {error}"
            return (RungResult(rung=Rung.RESOLVED, outcome=Outcome.UNKNOWN, why=why),), {}
        versions = tuple(f"{n}=={v}" for n, v in sorted(resolved.items()))
        done = [
            RungResult(rung=Rung.RESOLVED, outcome=Outcome.PASSED, evidence=versions),
            RungResult(rung=Rung.INSTALLED, outcome=Outcome.PASSED, evidence=(built.wheel.name,)),
        ]
        if unit.wants(Rung.IMPORTED):
            done.append(self._import(unit, recipe, python, staging, log))
        if unit.wants(Rung.EXECUTED) and done[-1].outcome is Outcome.PASSED:
            done.append(self._execute(unit, recipe, python, staging, log))
        return tuple(done), resolved

    def _install(
        self, unit: Unit, recipe: Recipe, wheel: Path, environment: Path, log: Path
    ) -> dict[str, str]:
        """Install the wheel with the torch of the cell; torch-free packages get none."""
        needs_torch = "torch" in required_names(wheel)
        torch = (
            torch_sources(
                unit.cell.torch,
                unit.cell.accelerator,
                unit.cell.platform,
                self.store.plan.knowledge,
            )
            if needs_torch
            else ()
        )
        install_with_torch(
            self.uv, environment, [str(wheel), *recipe.test_requires], torch, log=log
        )
        return self.uv.freeze(environment, log=log)

    def _script(self, python: Path, argv: list[str], staging: Path, log: Path) -> Result:
        return self.uv.processes.run(
            [str(python), "-I", *argv], cwd=staging, log=log, timeout=_TIMEOUT
        )

    def _import(
        self, unit: Unit, recipe: Recipe, python: Path, staging: Path, log: Path
    ) -> RungResult:
        self.progress.started(unit.id, "import")
        argv = [str(payload("import_package.py")), recipe.import_name]
        result = self._script(python, argv, staging, log)
        answer = _last_json(result)
        if not result.ok or not answer.get("imported"):
            why = str(answer.get("why") or _ended(result))
            return RungResult(rung=Rung.IMPORTED, outcome=Outcome.FAILED, why=why)
        evidence = [f"{recipe.import_name} {answer.get('version', '')}".strip()]
        if answer.get("gil_enabled_by_import"):
            evidence.append("imports, but enables the GIL")
        return RungResult(rung=Rung.IMPORTED, outcome=Outcome.PASSED, evidence=tuple(evidence))

    def _execute(
        self, unit: Unit, recipe: Recipe, python: Path, staging: Path, log: Path
    ) -> RungResult:
        checks: list[Check] = []
        folder = self.store.project.recipes / recipe.folder
        for name in recipe.tests:
            self.progress.started(unit.id, f"execute {name}")
            result = self._script(python, [str(folder / name)], staging, log)
            answer = _last_json(result)
            reported = answer.get("checks")
            found = [_check(raw) for raw in reported] if isinstance(reported, list) else []
            checks += found
            if not found or (not result.ok and all(c.outcome is not Outcome.FAILED for c in found)):
                fault = machine_fault(result)
                outcome = Outcome.UNKNOWN if fault else Outcome.FAILED
                detail = f"{fault + ': ' if fault else ''}{_ended(result)}"
                checks.append(Check(name=name, outcome=outcome, detail=detail))
        return executed_rung(tuple(checks), unit.cell.accelerator.family)


def machine_fault(result: Result) -> str:
    """What of the machine ended a script. What a script prints is its own word: only a kill
    from outside (the kernel's, out of memory) and a full disk are taken for the machine's.
    """
    if result.status == -signal.SIGKILL and not result.timed_out:
        return "killed from outside, as for lack of memory"
    fault = infrastructure_fault(result.output)
    return fault if fault == DISK_FULL else ""


def _ended(result: Result) -> str:
    """How a script ended, for a failure message."""
    if result.timed_out:
        return f"timed out after {_TIMEOUT:.0f} s"
    how = f"signal {-result.status}" if result.status < 0 else f"exit status {result.status}"
    return f"{how}: {result.last_lines(8)}"


def _last_json(result: Result) -> dict[str, Any]:
    """The JSON object on the last line of the output that is one; empty without one."""
    for line in reversed(result.output.strip().splitlines()):
        if line.startswith("{"):
            try:
                answer = json.loads(line)
            except (ValueError, RecursionError):
                return {}
            return answer if isinstance(answer, dict) else {}
    return {}


def _count(checks: tuple[Check, ...]) -> str:
    counts = Counter(str(c.outcome) for c in checks)
    return ", ".join(f"{n} checks {outcome}" for outcome, n in sorted(counts.items()))
