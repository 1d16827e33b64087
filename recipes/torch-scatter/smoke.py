# SPDX-License-Identifier: Apache-2.0
"""Smoke test of an installed torch-scatter wheel.

Every native operator that is used here is compared with a plain Python loop over the same
numbers. The last line of standard output is one JSON object with the outcome of each check.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

Groups = list[list[int]]
NATIVE_OPS = ("scatter_mul", "scatter_min", "scatter_max", "segment_sum_csr", "segment_sum_coo")
LIBRARIES = ("_version", "_scatter", "_segment_csr", "_segment_coo")
INDEX = [3, 0, 1, 0, 3, 1, 0, 5, 1]
SORTED_INDEX = [0, 0, 1, 1, 1, 3, 3, 5, 5]
POINTERS = [0, 2, 5, 5, 7, 7, 9]
SIZE = 6


class Skipped(Exception):
    """A check cannot run here, for a reason the report has to carry."""


def groups_of(index: Sequence[int], size: int) -> Groups:
    """List, for each of `size` targets, the source rows that go to it."""
    return [[row for row, target in enumerate(index) if target == slot] for slot in range(size)]


def source(rows: int, columns: int = 3) -> torch.Tensor:
    """Make distinct values without a random generator, so that minima have one winner."""
    values = [math.sin(1.0 + 7.3 * k) + 0.01 * k for k in range(rows * columns)]
    return torch.tensor(values, dtype=torch.float64).reshape(rows, columns)


def reduce_values(values: Sequence[float], how: str) -> float:
    """Reduce one non-empty group in plain Python."""
    if how == "sum":
        return math.fsum(values)
    if how == "mean":
        return math.fsum(values) / len(values)
    if how == "mul":
        return math.prod(values)
    return min(values) if how == "min" else max(values)


def expected_forward(src: torch.Tensor, groups: Groups, how: str) -> torch.Tensor:
    """Reduce every column of every group in plain Python; an empty group gives 0 (mul: 1)."""
    empty = 1.0 if how == "mul" else 0.0
    table = src.tolist()
    rows = [
        [reduce_values([table[r][c] for r in rows], how) if rows else empty for c in range(3)]
        for rows in groups
    ]
    return torch.tensor(rows, dtype=src.dtype)


def one_derivative(values: Sequence[float], position: int, how: str) -> float:
    """Differentiate one group's reduction with respect to one of its members."""
    if how == "sum":
        return 1.0
    if how == "mean":
        return 1.0 / len(values)
    if how == "mul":
        return math.prod(v for k, v in enumerate(values) if k != position)
    return 1.0 if values[position] == reduce_values(values, how) else 0.0


def expected_backward(
    src: torch.Tensor, groups: Groups, how: str, upstream: torch.Tensor
) -> torch.Tensor:
    """Compute the gradient of sum(out * upstream) in plain Python."""
    table, weights = src.tolist(), upstream.tolist()
    grad = [[0.0] * 3 for _ in table]
    for slot, rows in enumerate(groups):
        for column in range(3):
            values = [table[r][column] for r in rows]
            for position, row in enumerate(rows):
                slope = one_derivative(values, position, how)
                grad[row][column] += slope * weights[slot][column]
    return torch.tensor(grad, dtype=src.dtype)


def same(name: str, got: torch.Tensor, want: torch.Tensor, tolerance: float = 1e-12) -> float:
    """Return the largest difference, or raise when it is more than the tolerance."""
    if got.shape != want.shape:
        raise AssertionError(f"{name}: shape {tuple(got.shape)}, expected {tuple(want.shape)}")
    worst = float((got - want).abs().max()) if want.numel() else 0.0
    if not worst <= tolerance:
        raise AssertionError(f"{name}: largest difference {worst:.3e}")
    return worst


def compare(call: Callable[[torch.Tensor], torch.Tensor], groups: Groups, how: str) -> str:
    """Check values and gradient of one reduction against the Python loops."""
    src = source(len(INDEX)).requires_grad_()
    out = call(src)
    upstream = source(SIZE) + 2.0
    forward = same("forward", out.detach(), expected_forward(src.detach(), groups, how))
    (out * upstream).sum().backward()
    if src.grad is None:
        raise AssertionError("no gradient reached the source")
    wanted = expected_backward(src.detach(), groups, how, upstream)
    backward = same("backward", src.grad, wanted)
    return f"largest difference: forward {forward:.1e}, backward {backward:.1e}"


def scatter_check(how: str) -> str:
    """Check torch_scatter.scatter with an unsorted index."""
    from torch_scatter import scatter

    index = torch.tensor(INDEX)
    return compare(
        lambda src: scatter(src, index, dim=0, dim_size=SIZE, reduce=how),
        groups_of(INDEX, SIZE),
        how,
    )


def native_scatter_check(how: str) -> str:
    """Check the compiled sum and mean, which the Python functions of that name bypass."""
    operator = getattr(torch.ops.torch_scatter, f"scatter_{how}")
    index = torch.tensor(INDEX)
    return compare(lambda src: operator(src, index, 0, None, SIZE), groups_of(INDEX, SIZE), how)


def segment_csr_check(how: str) -> str:
    """Check torch_scatter.segment_csr, which takes group boundaries."""
    from torch_scatter import segment_csr

    pointers = torch.tensor(POINTERS)
    groups = [list(range(a, b)) for a, b in pairwise(POINTERS)]
    return compare(lambda src: segment_csr(src, pointers, reduce=how), groups, how)


def segment_coo_check(how: str) -> str:
    """Check torch_scatter.segment_coo, which takes a sorted index."""
    from torch_scatter import segment_coo

    index = torch.tensor(SORTED_INDEX)
    return compare(
        lambda src: segment_coo(src, index, dim_size=SIZE, reduce=how),
        groups_of(SORTED_INDEX, SIZE),
        how,
    )


def arguments_check() -> str:
    """Check the positions that scatter_min and scatter_max return."""
    from torch_scatter import scatter_max, scatter_min

    src, index = source(len(INDEX)), torch.tensor(INDEX)
    table = src.tolist()
    for function, pick in ((scatter_min, min), (scatter_max, max)):
        _, positions = function(src, index, dim=0, dim_size=SIZE)
        for slot, rows in enumerate(groups_of(INDEX, SIZE)):
            for column in range(3):
                want = pick(rows, key=lambda r, c=column: table[r][c]) if rows else len(INDEX)
                got = int(positions[slot, column])
                if got != want:
                    raise AssertionError(f"{function.__name__}[{slot}]: {got}, expected {want}")
    return "positions agree; an empty group gives the number of rows"


def gather_check() -> str:
    """Check gather_csr and gather_coo, the inverses of the segment reductions."""
    from torch_scatter import gather_coo, gather_csr

    slots = source(SIZE)
    counts = [b - a for a, b in pairwise(POINTERS)]
    rows = [slots[k].tolist() for k, count in enumerate(counts) for _ in range(count)]
    want = torch.tensor(rows, dtype=slots.dtype)
    same("gather_csr", gather_csr(slots, torch.tensor(POINTERS)), want, 0.0)
    same("gather_coo", gather_coo(slots, torch.tensor(SORTED_INDEX)), want, 0.0)
    return "both repeat each row as often as its group is long"


def softmax_check() -> str:
    """Check scatter_softmax and scatter_log_softmax against math.exp."""
    from torch_scatter import scatter_log_softmax, scatter_softmax

    src, index = source(len(INDEX)), torch.tensor(INDEX)
    table = src.tolist()
    want = [[0.0] * 3 for _ in table]
    for rows in groups_of(INDEX, SIZE):
        for column in range(3):
            total = math.fsum(math.exp(table[r][column]) for r in rows)
            for row in rows:
                want[row][column] = math.exp(table[row][column]) / total
    expected = torch.tensor(want, dtype=src.dtype)
    worst = same("softmax", scatter_softmax(src, index, dim=0), expected)
    same("log_softmax", scatter_log_softmax(src, index, dim=0), expected.log(), 1e-10)
    return f"largest difference {worst:.1e}"


def operators_check() -> str:
    """Check that the wheel's own libraries are loaded and registered the operators."""
    import torch_scatter

    folder = Path(torch_scatter.__file__).resolve().parent
    loaded = {Path(p).resolve() for p in torch.ops.loaded_libraries}
    names = sorted(p.name for p in loaded if p.parent == folder)
    for stem in LIBRARIES:
        if not any(n.startswith((f"{stem}_cpu.", f"{stem}_cuda.")) for n in names):
            raise AssertionError(f"{stem}: no native library loaded from the package ({names})")
    missing = [op for op in NATIVE_OPS if not hasattr(torch.ops.torch_scatter, op)]
    if missing:
        raise AssertionError(f"operators that are not registered: {missing}")
    return f"{', '.join(names)}; cuda_version {torch.ops.torch_scatter.cuda_version()}"


def label_check() -> str:
    """Check that the accelerator in the wheel's version label is the one it was compiled for."""
    label = version("torch_scatter").partition("+")[2]
    compiled = torch.ops.torch_scatter.cuda_version()
    if label.startswith("cpu") and compiled != -1:
        raise AssertionError(f"label {label!r}, but compiled for CUDA {compiled}")
    if re.match(r"cu\d", label) and compiled == -1:
        raise AssertionError(f"label {label!r}, but compiled without CUDA")
    return f"label {label!r}, cuda_version {compiled}"


def cuda_check() -> str:
    """Compare CUDA results with the CPU ones, where a device and a CUDA build are present."""
    if not torch.cuda.is_available():
        raise Skipped("no device: torch.cuda.is_available() is False")
    import torch_scatter

    if torch.ops.torch_scatter.cuda_version() == -1:
        raise Skipped("no CUDA code in this wheel: torch_scatter.cuda_version() is -1")
    src, index = source(len(INDEX)), torch.tensor(INDEX)
    for how in ("sum", "mean", "mul", "min", "max"):
        on_cpu = torch_scatter.scatter(src, index, dim=0, reduce=how)
        on_gpu = torch_scatter.scatter(src.cuda(), index.cuda(), dim=0, reduce=how)
        same(f"cuda {how}", on_gpu.cpu(), on_cpu)
    pointers = torch.tensor(POINTERS)
    on_gpu = torch_scatter.segment_csr(src.cuda(), pointers.cuda())
    same("cuda segment_csr", on_gpu.cpu(), torch_scatter.segment_csr(src, pointers))
    return f"agrees with the CPU on {torch.cuda.get_device_name()}"


def all_checks() -> list[tuple[str, Callable[[], str]]]:
    """List every check with its name."""
    checks: list[tuple[str, Callable[[], str]]] = [("operators", operators_check)]
    checks.append(("label", label_check))
    for how in ("sum", "mean", "mul", "min", "max"):
        checks.append((f"scatter-{how}", lambda how=how: scatter_check(how)))
    for how in ("sum", "mean"):
        checks.append((f"native-scatter-{how}", lambda how=how: native_scatter_check(how)))
    for how in ("sum", "mean", "min", "max"):
        checks.append((f"segment-csr-{how}", lambda how=how: segment_csr_check(how)))
        checks.append((f"segment-coo-{how}", lambda how=how: segment_coo_check(how)))
    checks += [("arguments", arguments_check), ("gather", gather_check)]
    checks += [("softmax", softmax_check), ("cuda", cuda_check)]
    return checks


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
    results = [run(name, check) for name, check in all_checks()]
    print(json.dumps({"checks": results}))
    return 1 if any(r["outcome"] == "failed" for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
