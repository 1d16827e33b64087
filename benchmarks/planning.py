"""Measures what a user waits for: start-up, plan, report; and the memory of wheelgrid itself.

Run on demand: `nox -s bench`. Prints medians of wall time and the peak memory; asserts nothing.
The peer, in the same run, is the plain loop: the product of the axes with `packaging` versions,
compared with every torch statement, and no reasons kept.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from packaging.version import Version

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.matrix import load_matrix
from wheelgrid.config.recipe import load_recipes
from wheelgrid.config.yaml import Faults
from wheelgrid.planning.plan import make_plan

ROOT = Path(__file__).parent.parent
REPEATS = 9


def median_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median wall time of some work, after one warm-up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def command(*arguments: str) -> Callable[[], None]:
    """One run of the command line, as a user starts it."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run() -> None:
        subprocess.run(
            [sys.executable, "-m", "wheelgrid", *arguments],
            cwd=ROOT,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )

    return run


def peak_mib(*arguments: str) -> float:
    """Peak resident memory of wheelgrid's own process for one command."""
    code = (
        "import resource, sys\n"
        "from wheelgrid.cli.main import run\n"
        "code = run(sys.argv[1:])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(shown.stderr.strip().splitlines()[-1]) / 1024


def main() -> None:
    """Print the table."""
    faults = Faults()
    project = Project(ROOT)
    matrix = load_matrix(project, faults)
    assert matrix is not None  # noqa: S101 - the shipped matrix
    recipes = load_recipes(project, matrix.packages, faults)
    knowledge = load_knowledge(project, faults)
    faults.check()

    def decide() -> object:
        return make_plan(matrix, recipes, knowledge, as_of=date(2026, 12, 1))

    def plain_loop() -> int:
        axes = [matrix.axis_values(a) for a in ("torch", "platform", "accelerator", "python")]
        kept = 0
        for torch, platform, accelerator, _ in itertools.product(*axes):
            release = knowledge.torch[Version(torch)]
            kept += any(
                platform in p.platforms and accelerator in {str(v) for v in p.values}
                for p in release.published
            )
        return kept

    cells = len(matrix.torch) * len(matrix.python) * len(matrix.accelerator) * len(matrix.platform)
    ours, peer = median_seconds(decide), median_seconds(plain_loop)
    print(f"start-up (--version)            {median_seconds(command('--version')):.3f} s")
    print(f"plan, {cells} candidates            {median_seconds(command('plan')):.3f} s")
    print(f"plan --json                     {median_seconds(command('plan', '--json')):.3f} s")
    with tempfile.TemporaryDirectory() as folder:
        out = ("report", "--out", f"{folder}/site")
        print(f"report                          {median_seconds(command(*out), 3):.3f} s")
        print(f"peak memory, report             {peak_mib(*out):.0f} MiB")
    print(f"peak memory, plan               {peak_mib('plan'):.0f} MiB")
    print(f"decide + collapse in memory     {ours:.3f} s")
    print(f"plain loop, no reasons          {peer:.3f} s  (ratio {ours / peer:.1f})")


if __name__ == "__main__":
    main()
