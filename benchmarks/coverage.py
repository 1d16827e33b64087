"""Compares test selection with covertable and allpairspy, on the same matrices in the same run.

Run on demand: `nox -s bench_coverage`, or `python benchmarks/coverage.py [--three-way]`. Prints for
each: rows chosen, combinations shown of those achievable, rows that break a constraint, seconds.
Shares of combinations are counted here, from the valid rows, by the same code for all. A peer that
is not installed is named and left out. Asserts nothing.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from wheelgrid.planning.coverage import prove, select

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """Values on some axes that may go together."""

    axes: tuple[str, ...]
    holds: Callable[..., bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Axes and constraints."""

    name: str
    axes: dict[str, tuple[str, ...]]
    constraints: tuple[Constraint, ...]

    def valid(self, row: Sequence[str]) -> bool:
        """Whether a row, or the first values of one, breaks no constraint."""
        given = dict(zip(self.axes, row, strict=False))
        return all(
            c.holds(*(given[axis] for axis in c.axes))
            for c in self.constraints
            if all(axis in given for axis in c.axes)
        )

    def rows(self) -> list[Row]:
        """Every valid row."""
        return [row for row in itertools.product(*self.axes.values()) if self.valid(row)]

    @property
    def candidates(self) -> int:
        """How many rows there are, valid or not."""
        return len(list(itertools.product(*self.axes.values())))


def number(text: str) -> tuple[int, ...]:
    """A version as numbers: `cuda12.6` and `3.13t` as well."""
    return tuple(int(part) for part in text.strip("cudaropt").split("."))


def torch_python(torch: str, python: str) -> bool:
    """Pythons by torch: floors rise, 3.13t ends, 3.14 and 3.15 begin."""
    line = number(torch)
    floor = (3, 9) if line < (2, 11) else (3, 10) if line < (2, 15) else (3, 11)
    begun: dict[tuple[int, ...], tuple[int, ...]] = {(3, 14): (2, 11), (3, 15): (2, 14)}
    first = begun.get(number(python), (0,))
    ended = python == "3.13t" and line >= (2, 12)
    return number(python) >= floor and line >= first and not ended


CUDA = {
    "cuda12.6": ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"),
    "cuda12.8": ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"),
    "cuda12.9": (
        "sm_70",
        "sm_75",
        "sm_80",
        "sm_86",
        "sm_89",
        "sm_90",
        "sm_100",
        "sm_103",
        "sm_120",
    ),
    "cuda13.0": ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"),
    "cuda13.2": ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"),
    "cuda13.4": (
        "sm_75",
        "sm_80",
        "sm_86",
        "sm_89",
        "sm_90",
        "sm_100",
        "sm_103",
        "sm_107",
        "sm_120",
    ),
}
ROCM = {
    "rocm6.4": ("gfx90a", "gfx942", "gfx1100"),
    "rocm7.2": ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
    "rocm7.14": ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"),
}
LINUX_GPUS = {**CUDA, **ROCM, "cpu": ("none",), "xpu2025.3": ("pvc",), "xpu2026.1": ("bmg",)}
MIXED_GPUS = {**CUDA, **ROCM, "xpu": ("pvc",), "mps": ("apple",)}

TORCHES = ("2.10", "2.11", "2.12", "2.13", "2.14", "2.15")
PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
MODES = ("eager", "compile", "export")


def gpus(table: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Every GPU of a table, in order."""
    return tuple(dict.fromkeys(itertools.chain.from_iterable(table.values())))


def old_export(accelerator: str, gpu: str, mode: str) -> bool:
    """A constraint on three axes."""
    return not (accelerator == "cuda12.6" and gpu in {"sm_70", "sm_75"} and mode == "export")


def on_platform(platform: str, accelerator: str) -> bool:
    """Accelerators by platform."""
    if platform == "macosx_arm64" or accelerator == "mps":
        return accelerator == "cpu" or (platform == "macosx_arm64" and accelerator == "mps")
    if platform == "linux_aarch64":
        return accelerator == "cpu" or (accelerator[:4] == "cuda" and accelerator != "cuda12.8")
    return platform == "linux_x86_64" or not accelerator.startswith(("rocm6", "rocm7.2"))


def torch_accelerator(torch: str, accelerator: str) -> bool:
    """Accelerators by torch."""
    first = {"cuda13.2": (2, 13), "rocm7.14": (2, 14), "cuda13.4": (2, 15)}
    last = {"cuda12.8": (2, 11), "rocm6.4": (2, 11), "cuda12.9": (2, 10)}
    return first.get(accelerator, (0,)) <= number(torch) <= last.get(accelerator, (9,))


LINUX = Problem(
    name="linux",
    axes={
        "torch": TORCHES,
        "python": PYTHONS,
        "accelerator": tuple(LINUX_GPUS),
        "image": ("debian-13", "rhel-10", "ubuntu-24.04", "ubuntu-26.04"),
        "gpu": gpus(LINUX_GPUS),
        "mode": MODES,
    },
    constraints=(
        Constraint(axes=("torch", "python"), holds=torch_python),
        Constraint(axes=("accelerator", "gpu"), holds=lambda a, g: g in LINUX_GPUS[a]),
        Constraint(axes=("accelerator", "gpu", "mode"), holds=old_export),
    ),
)
MIXED = Problem(
    name="mixed",
    axes={
        "torch": TORCHES,
        "python": PYTHONS,
        "accelerator": ("cpu", *MIXED_GPUS),
        "platform": ("linux_x86_64", "linux_aarch64", "win_amd64", "macosx_arm64"),
        "gpu": ("none", *gpus(MIXED_GPUS)),
        "mode": MODES,
    },
    constraints=(
        Constraint(axes=("torch", "python"), holds=torch_python),
        Constraint(axes=("platform", "accelerator"), holds=on_platform),
        Constraint(
            axes=("accelerator", "gpu"), holds=lambda a, g: a == "cpu" or g in MIXED_GPUS[a]
        ),
        Constraint(axes=("torch", "accelerator"), holds=torch_accelerator),
    ),
)


def covertable(problem: Problem, strength: int, salt: str = "") -> list[Row]:
    """The peer, with constraints declared, so that it can look ahead."""
    from covertable.main import Controller

    def declared(constraint: Constraint) -> dict[str, Any]:
        def evaluate(row: dict[str, str]) -> bool:
            return constraint.holds(*(row[axis] for axis in constraint.axes))

        return {"operator": "fn", "requires": list(constraint.axes), "evaluate": evaluate}

    controller = Controller(
        {name: list(values) for name, values in problem.axes.items()},
        strength=strength,
        salt=salt,
        constraints=[declared(c) for c in problem.constraints],
    )
    return [tuple(row[name] for name in problem.axes) for row in controller.make()]


def allpairspy(problem: Problem, strength: int) -> list[Row]:
    """The peer, with its filter of partial rows."""
    from allpairspy import AllPairs

    values = [list(texts) for texts in problem.axes.values()]
    return [tuple(row) for row in AllPairs(values, filter_func=problem.valid, n=strength)]


def contestants(problem: Problem, strength: int) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    """Who takes part, with versions; peers that are not installed say so."""
    rows = problem.rows()

    def ours() -> list[Row]:
        return [rows[index] for index in select(rows, strength=strength).chosen]

    yield "wheelgrid", ours
    peers: dict[str, Callable[[], list[Row]]] = {
        "covertable": lambda: covertable(problem, strength),
        "allpairspy": lambda: allpairspy(problem, strength),
    }
    for name, work in peers.items():
        try:
            yield f"{name} {version(name)}", work
        except PackageNotFoundError:
            print(f"{name:18} left out: not installed (dependency group `bench`)")


def compare(problem: Problem, strength: int) -> None:
    """Print one table."""
    valid = problem.rows()
    allowed = {row: index for index, row in enumerate(valid)}
    size = f"{len(valid):,} valid rows of {problem.candidates:,}"
    least = select(valid, strength=strength).least
    print(f"\n{problem.name}, strength {strength}: {size}; no fewer than {least} rows can do")
    for name, work in contestants(problem, strength):
        start = time.perf_counter()
        rows = work()
        seconds = time.perf_counter() - start
        found = prove(valid, [allowed[row] for row in rows if row in allowed], strength)
        invalid = sum(row not in allowed for row in rows)
        print(
            f"{name:18} {len(rows):5} rows  {found.covered:5} of {found.achievable} combinations  "
            f"{invalid:3} invalid  {seconds:6.2f} s"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--three-way", action="store_true", help="also strength 3; takes minutes")
    three_way: bool = parser.parse_args().three_way
    for strength in (2, 3) if three_way else (2,):
        for problem in (LINUX, MIXED):
            compare(problem, strength)


if __name__ == "__main__":
    main()
