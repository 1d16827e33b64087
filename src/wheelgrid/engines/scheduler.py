"""Runs independent tasks in parallel within the cores and the memory of the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from wheelgrid.core.resources import RESERVE, compile_jobs

__all__ = ["Task", "run_tasks"]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[T]):
    """One piece of work: how many jobs it can use, memory per job (MiB), expected minutes."""

    item: T
    max_jobs: int = 1
    memory_mib: int = 512
    minutes: float = 1.0


class _Pool(Generic[T, R]):
    """Admits the longest task first, with as many jobs as are free and as it can use."""

    def __init__(self, cores: int, memory_mib: int) -> None:
        self.cores, self.memory = cores, int(memory_mib * (1.0 - RESERVE))
        self.total = memory_mib
        self.running = 0
        self.changed = threading.Condition()
        self.results: list[tuple[T, R]] = []
        self.failure: BaseException | None = None

    def jobs_for(self, task: Task[T]) -> int:
        """Jobs to start it with now; 0 when it must wait. An idle machine takes any task."""
        fits = compile_jobs(
            cores=min(self.cores, task.max_jobs),
            memory_mib=self.memory,
            per_thread_mib=task.memory_mib,
            reserve=0.0,
        )
        if self.running == 0:
            return max(1, fits)
        return fits if self.cores >= 1 and self.memory >= task.memory_mib else 0

    def work(self, task: Task[T], jobs: int, do: Callable[[T, int], R]) -> None:
        """Thread body: do it, keep the result or the failure, give the tokens back."""
        try:
            result = do(task.item, jobs)
        except BaseException as error:  # noqa: BLE001 - re-raised in the caller's thread
            with self.changed:
                self.failure = self.failure or error
        else:
            with self.changed:
                self.results.append((task.item, result))
        finally:
            with self.changed:
                self.cores += jobs
                self.memory += jobs * task.memory_mib
                self.running -= 1
                self.changed.notify_all()

    def run(
        self, tasks: Sequence[Task[T]], do: Callable[[T, int], R], stop: Callable[[], None]
    ) -> list[tuple[T, R]]:
        """Run all tasks; the first failure stops the admission of others and is raised.

        On an interrupt `stop` is called, and the running tasks are waited for: none writes
        anything after this method has ended.
        """
        try:
            self._admit(tasks, do)
        except BaseException:
            stop()
            with self.changed:
                while self.running:
                    self.changed.wait(timeout=0.2)
            raise
        if self.failure is not None:
            raise self.failure
        return self.results

    def _admit(self, tasks: Sequence[Task[T]], do: Callable[[T, int], R]) -> None:
        """Start tasks as tokens allow, until all have ended or one has failed."""
        waiting = sorted(tasks, key=lambda t: -t.minutes)
        with self.changed:
            while (waiting and self.failure is None) or self.running:
                task = next((t for t in waiting if self.jobs_for(t)), None)
                if task is None or self.failure is not None:
                    # A time limit, so that Ctrl-C is seen by this thread while others work.
                    self.changed.wait(timeout=0.2)
                    continue
                jobs = self.jobs_for(task)
                waiting.remove(task)
                self.cores -= jobs
                self.memory -= jobs * task.memory_mib
                self.running += 1
                threading.Thread(target=self.work, args=(task, jobs, do), daemon=True).start()


def run_tasks(
    tasks: Sequence[Task[T]],
    do: Callable[[T, int], R],
    *,
    cores: int,
    memory_mib: int,
    stop: Callable[[], None] = lambda: None,
) -> list[tuple[T, R]]:
    """Run `do(item, jobs)` for every task; results in order of completion.

    `stop` must end what `do` is waiting for; it is called when the caller is interrupted.
    """
    return _Pool[T, R](cores, memory_mib).run(tasks, do, stop)
