# SPDX-License-Identifier: Apache-2.0
"""Smoke test of an installed torch-linear-assignment wheel.

Every assignment is compared with the best one that a plain Python search over all
permutations finds. The last line of standard output is one JSON object with the outcome of
each check.
"""

from __future__ import annotations

import importlib
import itertools
import json
import math
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

Matrix = list[list[float]]
SHAPES = ((1, 1), (4, 4), (5, 5), (3, 6), (6, 3), (1, 5), (5, 1))
BATCH = 4


class Skipped(Exception):
    """A check cannot run here, for a reason the report has to carry."""


def costs(workers: int, tasks: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Make a batch of reproducible integer costs, which every tested dtype holds exactly."""
    count = BATCH * workers * tasks
    flat = [(37 * k * k + 11 * k + 5 * workers) % 61 - 20 for k in range(count)]
    return torch.tensor(flat).reshape(BATCH, workers, tasks).to(dtype)


def brute_force(matrix: Matrix) -> float:
    """Find the least total cost by trying every way to match the shorter side."""
    if len(matrix) > len(matrix[0]):
        matrix = [list(column) for column in zip(*matrix, strict=True)]
    choices = itertools.permutations(range(len(matrix[0])), len(matrix))
    return min(math.fsum(matrix[w][t] for w, t in enumerate(choice)) for choice in choices)


def total_of(matrix: Matrix, row: list[int]) -> float:
    """Validate one assignment and return its cost."""
    matched = [(worker, task) for worker, task in enumerate(row) if task != -1]
    tasks = [task for _, task in matched]
    if len(row) != len(matrix) or len(set(tasks)) != len(tasks):
        raise AssertionError(f"not an assignment: {row}")
    if len(matched) != min(len(matrix), len(matrix[0])):
        raise AssertionError(f"not a maximal assignment: {row}")
    return math.fsum(matrix[worker][task] for worker, task in matched)


def verify(cost: torch.Tensor, matching: torch.Tensor) -> int:
    """Check that every matching of the batch is valid and optimal; return how many."""
    if matching.dtype != torch.int64 or tuple(matching.shape) != tuple(cost.shape[:2]):
        raise AssertionError(f"result has {matching.dtype}, shape {tuple(matching.shape)}")
    if matching.device != cost.device:
        raise AssertionError(f"result is on {matching.device}, the cost on {cost.device}")
    for matrix, row in zip(cost.cpu().double().tolist(), matching.tolist(), strict=True):
        got, want = total_of(matrix, row), brute_force(matrix)
        if got != want:
            raise AssertionError(f"assignment {row} costs {got}, the best one costs {want}")
    return len(matching)


def shapes_check() -> str:
    """Check square, wide and tall problems."""
    from torch_linear_assignment import batch_linear_assignment

    done = 0
    for workers, tasks in SHAPES:
        cost = costs(workers, tasks)
        done += verify(cost, batch_linear_assignment(cost))
    return f"{done} problems of {len(SHAPES)} shapes are solved at the least cost"


def dtypes_check() -> str:
    """Check every element type that the package documents."""
    from torch_linear_assignment import batch_linear_assignment

    dtypes = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64)
    for dtype in dtypes:
        cost = costs(4, 5, dtype)
        verify(cost, batch_linear_assignment(cost))
    return ", ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)


def forbidden_check() -> str:
    """Check that infinite costs forbid an edge and that impossible input is refused."""
    from torch_linear_assignment import batch_linear_assignment

    inf = float("inf")
    cost = torch.tensor([[[inf, 1.0, 9.0], [1.0, 0.0, inf], [inf, 2.0, inf]]])
    got = batch_linear_assignment(cost).tolist()
    if got != [[2, 0, 1]]:
        raise AssertionError(f"forbidden edges: {got}, expected [[2, 0, 1]]")
    for bad in (torch.full((1, 2, 2), inf), torch.full((1, 2, 2), float("nan"))):
        try:
            batch_linear_assignment(bad)
        except ValueError:
            continue
        raise AssertionError(f"accepted {bad.tolist()}")
    return "inf forbids an edge; all-inf and nan raise ValueError"


def indices_check() -> str:
    """Check assignment_to_indices on a tall problem, and an empty batch."""
    from torch_linear_assignment import assignment_to_indices, batch_linear_assignment

    matching = batch_linear_assignment(costs(5, 3))
    rows, columns = assignment_to_indices(matching)
    for batch, row in enumerate(matching.tolist()):
        want = [(worker, task) for worker, task in enumerate(row) if task != -1]
        got = list(zip(rows[batch].tolist(), columns[batch].tolist(), strict=True))
        if got != want:
            raise AssertionError(f"indices {got}, expected {want}")
    empty = batch_linear_assignment(torch.zeros(0, 3, 4))
    if tuple(empty.shape) != (0, 3):
        raise AssertionError(f"an empty batch gives shape {tuple(empty.shape)}")
    return "row and column indices agree; an empty batch stays empty"


def modules_check() -> str:
    """Report the package's native modules: none, or only its optional CUDA extension."""
    import torch_linear_assignment

    folder = Path(torch_linear_assignment.__file__).resolve().parent
    found = sorted(p.name for p in folder.iterdir() if p.name.endswith(tuple(EXTENSION_SUFFIXES)))
    strange = [name for name in found if not name.startswith("_backend.")]
    if strange:
        raise AssertionError(f"unexpected native modules: {strange}")
    return f"native modules: {found or 'none, the package is pure Python'}"


def backend_check() -> str:
    """Load the optional CUDA extension where the wheel has it; it must refuse a CPU tensor."""
    if find_spec("torch_linear_assignment._backend") is None:
        raise Skipped("not in this wheel: torch_linear_assignment._backend is an optional part")
    backend = importlib.import_module("torch_linear_assignment._backend")
    if backend.has_cuda() is not True:
        raise AssertionError("the extension says that it was compiled without CUDA")
    try:
        backend.batch_linear_assignment(costs(2, 2))
    except RuntimeError as error:
        if "must be a CUDA tensor" not in str(error):
            raise
        return "compiled for CUDA; refuses a CPU tensor"
    raise AssertionError("the extension accepted a CPU tensor")


def triton_check() -> str:
    """Import the Triton kernels, which needs Triton but no device."""
    if find_spec("triton") is None:
        raise Skipped("triton is not installed")
    module = importlib.import_module("torch_linear_assignment._triton")
    try:
        module.batch_linear_assignment(costs(2, 2))
    except ValueError as error:
        if "CUDA tensor" not in str(error):
            raise
        return "imports; refuses a CPU tensor"
    raise AssertionError("the Triton path accepted a CPU tensor")


def cuda_check() -> str:
    """Solve on a CUDA device through the public function."""
    if not torch.cuda.is_available():
        raise Skipped("no device: torch.cuda.is_available() is False")
    from torch_linear_assignment import batch_linear_assignment

    done = 0
    for workers, tasks in SHAPES:
        cost = costs(workers, tasks).cuda()
        done += verify(cost, batch_linear_assignment(cost))
    return f"{done} problems on {torch.cuda.get_device_name()}"


def cuda_backend_check() -> str:
    """Solve on a CUDA device with the optional extension."""
    if not torch.cuda.is_available():
        raise Skipped("no device: torch.cuda.is_available() is False")
    if find_spec("torch_linear_assignment._backend") is None:
        raise Skipped("not in this wheel: torch_linear_assignment._backend is an optional part")
    backend = importlib.import_module("torch_linear_assignment._backend")
    cost = costs(4, 6).cuda()
    matching = backend.batch_linear_assignment(cost.contiguous())[0].long()
    return f"{verify(cost, matching)} problems on {torch.cuda.get_device_name()}"


CHECKS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("modules", modules_check),
    ("shapes", shapes_check),
    ("dtypes", dtypes_check),
    ("forbidden", forbidden_check),
    ("indices", indices_check),
    ("backend", backend_check),
    ("triton", triton_check),
    ("cuda", cuda_check),
    ("cuda-backend", cuda_backend_check),
)


def run(name: str, check: Callable[[], str]) -> dict[str, Any]:
    """Run one check and describe how it ended."""
    device = "cuda" if name.startswith("cuda") else "cpu"
    try:
        return {"name": name, "outcome": "passed", "detail": check(), "device": device}
    except Skipped as reason:
        return {"name": name, "outcome": "skipped", "detail": str(reason), "device": device}
    except Exception as error:  # a smoke test reports every failure, whatever its type
        return {"name": name, "outcome": "failed", "detail": f"{type(error).__name__}: {error}"}


def main() -> int:
    """Run all checks, print the report and return the exit status."""
    results = [run(name, check) for name, check in CHECKS]
    print(json.dumps({"checks": results}))
    return 1 if any(r["outcome"] == "failed" for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
