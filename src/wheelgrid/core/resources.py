"""How many compile jobs a machine can carry."""

from __future__ import annotations

__all__ = ["RESERVE", "compile_jobs"]

RESERVE = 0.2
"""Share of memory that builds leave alone: estimates are estimates, and others live here too."""


def compile_jobs(
    *, cores: int, memory_mib: int, per_thread_mib: int, threads: int = 1, reserve: float = RESERVE
) -> int:
    """Jobs that fit: memory less the reserve, over what one job with its threads takes.

    Never above the cores, never below one. Memory is what this process may use (its cgroup
    limit where there is one), not what the machine holds.
    """
    usable = memory_mib * (1.0 - reserve)
    by_memory = int(usable // (per_thread_mib * threads))
    return max(1, min(cores, by_memory))
