"""The only door to processes: list arguments, own process group, bounded output, guarded."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wheelgrid.core.errors import CouldNotCheckError

__all__ = ["TAIL_BYTES", "Processes", "Result", "ask", "child_environment"]

TAIL_BYTES = 64 * 1024
"""How much of the end of an output is read back; the log file keeps all of it."""

_EPOCH = "315619200"
"""1980-01-02: no zip archive can hold an earlier time. Builds see this clock, so that the same
source gives the same bytes."""

_PASSED_ON = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CC",
    "CXX",
    "SYSTEMROOT",
)


def child_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What a child may see of the caller's environment: enough to run and to reach indexes.

    Everything else (CFLAGS, FORCE_CUDA, TORCH_CUDA_ARCH_LIST ...) would change a build without
    showing in its key, so recipes set it or nobody does.
    """
    kept = {name: env[name] for name in _PASSED_ON if name in env}
    kept |= {name: value for name, value in env.items() if name.startswith("UV_")}
    return kept | {
        "LANG": "C.UTF-8",
        "SOURCE_DATE_EPOCH": _EPOCH,
        "NO_COLOR": "1",
        "PYTHONNOUSERSITE": "1",
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }


def ask(argv: list[str], *, env: Mapping[str, str] | None = None) -> str:
    """Standard output of a short question (`--version`); empty if it fails or takes 20 s."""
    try:
        answer = subprocess.run(  # noqa: S603 - list arguments, no shell
            argv, capture_output=True, timeout=20, check=True, stdin=subprocess.DEVNULL, env=env
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class Result:
    """How a process ended: exit status (negative: the signal), end of its output, timeout."""

    status: int
    output: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Whether it exited with 0 in time."""
        return self.status == 0 and not self.timed_out

    def last_lines(self, count: int = 30) -> str:
        """The end of the output, for a message."""
        return "\n".join(self.output.rstrip().splitlines()[-count:])


class Processes:
    """Runs processes and, on `stop` or when this process dies, ends them with all children."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """Start nothing yet; `env` is the caller's environment, filtered for children."""
        self.env = child_environment(env)
        self._groups: set[int] = set()
        self._lock = threading.Lock()
        self._guard: subprocess.Popen[str] | None = None
        self.stopped = threading.Event()

    def _tell_guard(self, line: str) -> None:
        if self._guard is None:
            script = Path(__file__).parent.parent / "payload" / "guard.py"
            self._guard = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, "-I", "-S", str(script)],
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        if self._guard.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._guard.stdin.write(line + "\n")
                self._guard.stdin.flush()

    def _register(self, group: int) -> None:
        with self._lock:
            self._groups.add(group)
            self._tell_guard(f"+{group}")
            if self.stopped.is_set():
                _kill_group(group)

    def _forget(self, group: int) -> None:
        with self._lock:
            self._groups.discard(group)
            self._tell_guard(f"-{group}")

    def stop(self) -> None:
        """End every running process group; further runs are refused."""
        self.stopped.set()
        with self._lock:
            groups = list(self._groups)
        for group in groups:
            _kill_group(group)

    def close(self) -> None:
        """Let the guard go; safe to call twice."""
        guard, self._guard = self._guard, None
        if guard is not None and guard.stdin is not None:
            guard.stdin.close()
            guard.wait(timeout=10)

    def run(
        self,
        argv: list[str],
        *,
        log: Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Run to the end; standard output and error go to `log`, appended.

        CouldNotCheckError if the program does not exist or the run was stopped.
        """
        if self.stopped.is_set():
            msg = "the run was stopped"
            raise CouldNotCheckError(msg)
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as sink:
            start = sink.tell()
            try:
                process = subprocess.Popen(  # noqa: S603 - list arguments, no shell
                    argv,
                    cwd=cwd,
                    env={**self.env, **(env or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                msg = f"cannot run {argv[0]}: {error.strerror}"
                raise CouldNotCheckError(msg) from error
        timed_out = False
        try:
            self._register(process.pid)
            status = process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            status = -signal.SIGKILL
        finally:
            if process.poll() is None:
                _kill_group(process.pid)
                process.wait()
            self._forget(process.pid)
        if self.stopped.is_set():
            # It was killed from here: how it ended says nothing about what it did.
            msg = "the run was stopped"
            raise CouldNotCheckError(msg)
        return Result(status, _tail(log, start), timed_out)


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as handle:
        end = handle.seek(0, os.SEEK_END)
        handle.seek(max(start, end - TAIL_BYTES))
        return handle.read().decode("utf-8", errors="replace")
