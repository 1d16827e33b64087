"""Fuzz the parsers: `python tests/fuzz/run.py [TARGET...] --seconds 180`.

With atheris installed, coverage leads the search; else inputs are changed at random, the same for
the same `--seed`. An input that makes a parser raise another error than its own, take more than
two seconds or grow the process is written to the corpus, once per place in the code, and told.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from mutate import mutated
from targets import CORPUS, TARGETS, Target, seeds

_MOST_SECONDS = 2.0
_MOST_GROWTH = 48 << 20
_MOST_ADDRESS_SPACE = 4 << 30
_SOURCE = "wheelgrid"


class HangError(BaseException):
    """An input took too long; no parser catches this."""


def _peak() -> int:
    """Most bytes of memory that the process had since the last look."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(int(s.split()[1]) for s in status.splitlines() if s.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak * 1024


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise HangError


def _where(error: BaseException) -> str:
    """The last place of ours in the trace: findings at the same place are one."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if _SOURCE in f.filename] or list(frames)
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"


class Watch:
    """Runs inputs through one target and keeps what should not have happened."""

    def __init__(self, target: Target, report: Path, *, keep: Path = CORPUS) -> None:
        self.target = target
        self.report = report
        self.keep = keep
        self.inputs = 0
        self.slowest = 0.0
        self.findings: set[str] = set()
        self._before = 0

    def __call__(self, data: bytes) -> None:
        """Run one input."""
        self.inputs += 1
        if self.inputs % 64 == 1:
            self._before = _peak()
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 2 * _MOST_SECONDS)
        try:
            self.target.run(data)
        except HangError as error:
            self._note("hang", data, error)
        except ImportError:
            raise
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            if type(error).__name__ not in self.target.allowed:
                self._note(type(error).__name__, data, error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        self._measure(data, time.process_time() - start, _peak() - self._before)

    def _measure(self, data: bytes, taken: float, grown: int) -> None:
        """Note an input that ended well, yet late or large."""
        self.slowest = max(self.slowest, taken)
        if grown > _MOST_GROWTH:
            self._before += grown
            self._note("memory", data, None, f"{grown >> 20} MiB")
        elif _MOST_SECONDS < taken < 2 * _MOST_SECONDS:
            self._note("slow", data, None)

    def _note(self, kind: str, data: bytes, error: BaseException | None, more: str = "") -> None:
        place = _where(error) if error else ""
        if f"{kind} {place}" in self.findings:
            return
        self.findings.add(f"{kind} {place}")
        name = f"{kind.lower()}-{hashlib.sha256(data).hexdigest()[:12]}"
        folder = self.keep / self.target.name
        folder.mkdir(parents=True, exist_ok=True)
        if data not in seeds(self.target):
            (folder / name).write_bytes(data)
        trace = "".join(traceback.format_exception(error)[-6:]) if error else ""
        with self.report.open("a", encoding="utf-8") as report:
            report.write(f"## {self.target.name}: {kind} {place} {more}\n\n")
            report.write(f"{len(data)} bytes in {folder.name}/{name}\n\n```\n{trace}```\n\n")
        print(f"{self.target.name}: {kind} at {place} {more}: {name}", flush=True)

    def summary(self, seconds: float) -> str:
        """One line of numbers."""
        return (
            f"{self.target.name}: {self.inputs} inputs in {seconds:.0f} CPU seconds, "
            f"slowest {self.slowest:.3f} s, {len(self.findings)} findings"
        )


def _own(watch: Watch, seconds: float, seed: int) -> None:
    chance, pool = random.Random(seed), seeds(watch.target)
    for data in pool:
        watch(data)
    end = time.process_time() + seconds
    while time.process_time() < end:
        watch(mutated(chance, pool))


def _with_atheris(watch: Watch, seconds: float, seed: int, work: Path) -> None:
    atheris = importlib.import_module("atheris")
    start = work / "seeds" / watch.target.name
    found = work / "found" / watch.target.name
    shutil.rmtree(start, ignore_errors=True)
    for folder in (start, found):
        folder.mkdir(parents=True, exist_ok=True)
    for data in seeds(watch.target):
        (start / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    with atheris.instrument_imports(include=[_SOURCE]):
        for data in seeds(watch.target):
            watch(data)
    end = time.process_time() + seconds

    def one(data: bytes) -> None:
        watch(data)
        if time.process_time() > end:
            print(watch.summary(seconds), flush=True)
            sys.stdout.flush()
            importlib.import_module("os")._exit(0)

    options = ["-max_len=65536", "-rss_limit_mb=0", "-verbosity=0"]
    options += [f"-artifact_prefix={work}/", "-timeout=600", "-report_slow_units=600"]
    atheris.Setup([sys.argv[0], *options, f"-seed={seed + 1}", str(found), str(start)], one)
    atheris.Fuzz()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], default=[])
    parser.add_argument("--seconds", type=float, default=180.0, help="CPU seconds per target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=["atheris", "own"], default=None)
    parser.add_argument("--work", type=Path, default=Path(".wheelgrid/fuzz"))
    return parser.parse_args()


def _run(target: Target, options: argparse.Namespace, engine: str) -> int:
    """Fuzz one target in this process; the number of findings."""
    options.work.mkdir(parents=True, exist_ok=True)
    watch = Watch(target, options.work / "findings.md")
    signal.signal(signal.SIGPROF, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESS_SPACE, _MOST_ADDRESS_SPACE))
    if engine == "atheris":
        _with_atheris(watch, options.seconds, options.seed, options.work)
    else:
        _own(watch, options.seconds, options.seed)
    print(watch.summary(options.seconds), flush=True)
    return len(watch.findings)


def main() -> int:
    """Fuzz one target here, or several, each in a process of its own."""
    options = _options()
    engine = options.engine or ("atheris" if importlib.util.find_spec("atheris") else "own")
    names: list[str] = options.targets or list(TARGETS)
    if len(names) == 1:
        return min(1, _run(TARGETS[names[0]], options, engine))
    start: Callable[[str], list[str]] = lambda name: [  # noqa: E731
        *(sys.executable, __file__, name, f"--seconds={options.seconds}", f"--engine={engine}"),
        *(f"--seed={options.seed}", f"--work={options.work}"),
    ]
    return max(subprocess.run(start(name), check=False).returncode for name in names)


if __name__ == "__main__":
    sys.exit(main())
