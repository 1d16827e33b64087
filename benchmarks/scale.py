"""Measures expand, decide and explain on a million candidates with 60 rules.

Run on demand: `nox -s bench`. Prints wall times and peak memory; asserts nothing about them. The
peers run in the same process on a tenth of the matrix, as they keep a dict of each candidate: a
plain loop with itertools and packaging, and the expansion of rapids-dependency-file-generator.
"""

from __future__ import annotations

import fnmatch
import itertools
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.condition import Condition
from wheelgrid.core.evidence import Kind, Source
from wheelgrid.core.grid import Exclusion
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix, stack_axes
from wheelgrid.core.platforms import Platform
from wheelgrid.planning.listing import listing
from wheelgrid.planning.plan import Plan, make_plan

ROOT = Path(__file__).parent.parent
DAY = date(2026, 12, 1)
RULES = 60
AXES: dict[str, list[str]] = {
    "torch": [*(f"2.{minor}.0" for minor in range(8, 15)), "2.15.0"],
    "python": ["3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t"],
    "accelerator": [
        "cpu",
        *(f"cuda{version}" for version in ("12.6", "12.8", "12.9", "13.0", "13.2", "13.4")),
        *(f"rocm{version}" for version in ("7.1", "7.2", "7.14")),
        *(f"xpu{version}" for version in ("2025.3", "2026.0", "2026.1")),
        "mps",
    ],
    "platform": [str(platform) for platform in Platform],
    "gpu_arch": [
        *(f"sm_{n}" for n in (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100)),
        *(f"sm_{n}" for n in (101, 103, 107, 110, 120, 121)),
        *(f"gfx{n}" for n in ("900", "906", "90a", "942", "950", "1100", "1201")),
        *("pvc", "bmg"),
    ],
    "variant": list("abcde"),
}


def rules() -> list[dict[str, str]]:
    """Sixty conditions over four axes, as authors write them."""
    accelerators = AXES["accelerator"]
    return [
        {
            "torch": f">=2.{8 + index % 7}",
            "accelerator": accelerators[index % len(accelerators)],
            "gpu_arch": "sm_*" if index % 2 else "gfx*",
            "variant": "abcde"[index % 5],
        }
        for index in range(RULES)
    ]


def matrix(axes: dict[str, list[str]]) -> Matrix:
    """The matrix with these axes and all rules."""
    made = stack_axes(**axes)
    roles = {axis.name: axis.role for axis in made}
    source = Source(id="b", kind=Kind.POLICY, source="benchmarks/scale.py", date="2026-12-01")
    exclusions = tuple(
        Exclusion(
            id=f"r{index}",
            when=Condition.of({axis: (text,) for axis, text in rule.items()}, roles),
            reason="measured",
            source=source,
        )
        for index, rule in enumerate(rules())
    )
    return Matrix(name="scale", title="scale", axes=made, exclusions=exclusions)


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Wall seconds of one run, and what it gave."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def plain_loop(axes: dict[str, list[str]]) -> int:
    """The loop that projects write: product, packaging, every rule in turn; no reason kept."""
    wanted = [(SpecifierSet(r["torch"]), r) for r in rules()]
    kept = 0
    for values in itertools.product(*axes.values()):
        cell = dict(zip(axes, values, strict=True))
        torch = Version(cell["torch"])
        kept += not any(
            cell["accelerator"] == rule["accelerator"]
            and cell["variant"] == rule["variant"]
            and fnmatch.fnmatchcase(cell["gpu_arch"], rule["gpu_arch"])
            and torch in spec
            for spec, rule in wanted
        )
    return kept


def neighbour(axes: dict[str, list[str]]) -> int | None:
    """The same with rapids-dependency-file-generator; it has globs only, so ranges are written so.

    None where it is not installed.
    """
    try:
        from rapids_dependency_file_generator import _rapids_dependency_file_generator as rapids
    except ImportError:
        return None
    globs = [{**rule, "torch": "2.*"} for rule in rules()]
    kept = 0
    for cell in rapids.grid(axes):
        kept += not any(rapids.should_use_specific_entry(cell, rule) for rule in globs)
    return kept


def decided(axes: dict[str, list[str]], knowledge: Knowledge) -> Plan:
    """Every candidate decided: the sets are made, counted and added up."""
    plan = make_plan(matrix(axes), {}, knowledge, as_of=DAY)
    excluded = sum(plan.excluded_by_reason().values())
    assert excluded + plan.decided.included_count == plan.decided.size  # noqa: S101
    return plan


def one_size(part: str) -> None:
    """One size in this process: times and peak memory."""
    faults = Faults()
    knowledge = load_knowledge(Project(ROOT), faults)
    faults.check()
    axes = dict(AXES)
    axes["torch"] = AXES["torch"][: int(part)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, plan = timed(lambda: decided(axes, knowledge))
    assert isinstance(plan, Plan)  # noqa: S101
    listed, _ = timed(lambda: sum(1 for _ in listing(plan.decided)))
    middle = plan.decided.size // 2
    explained, _ = timed(lambda: plan.decided.decision(middle))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{plan.decided.size:>8} candidates: expand+decide {seconds:.3f} s, every id and reason "
        f"listed {listed:.2f} s, explain {explained * 1000:.1f} ms, peak {peak:.0f} MiB "
        f"({before:.0f} before)",
        flush=True,
    )


def main() -> None:
    """Print the table; each size in a process of its own, so that peaks are its own."""
    if len(sys.argv) > 1:
        one_size(sys.argv[1])
        return
    for part in ("2", "4", "8"):
        subprocess.run([sys.executable, __file__, part], check=True)
    small = {**AXES, "torch": AXES["torch"][:4], "variant": ["a"]}
    knowledge = Knowledge(torch={}, accelerators={})
    ours, plan = timed(lambda: decided(small, knowledge))
    assert isinstance(plan, Plan)  # noqa: S101
    print(f"{plan.decided.size:>8} candidates, {RULES} rules, no knowledge: ours {ours:.3f} s")
    for name, peer in (("itertools + packaging loop", plain_loop), ("rapids", neighbour)):
        seconds, kept = timed(lambda peer=peer: peer(small))  # type: ignore[misc]
        if kept is None:
            print(f"{name}: not installed")
            continue
        print(f"{name}: {seconds:.2f} s, {seconds / ours:.0f} times ours")


if __name__ == "__main__":
    main()
