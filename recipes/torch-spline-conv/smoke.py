# SPDX-License-Identifier: Apache-2.0
"""Smoke test of an installed torch-spline-conv wheel.

The native B-spline basis and its convolution are compared with a direct evaluation: the
Cox-de Boor recursion for cardinal B-splines, one edge at a time, whose gradients come from
torch's own automatic differentiation. The last line of standard output is one JSON object
with the outcome of each check.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

KERNEL = (5, 4)
OPEN = (1, 0)
EDGES = ((0, 0, 1, 1, 2, 3, 0), (1, 2, 0, 3, 1, 2, 3))
NODES, INPUTS, OUTPUTS = 5, 2, 3
LIBRARIES = ("_version", "_basis", "_weighting")


class Skipped(Exception):
    """A check cannot run here, for a reason the report has to carry."""


@dataclass(frozen=True)
class Problem:
    """The tensors of one convolution, all of them leaves that want a gradient."""

    x: torch.Tensor
    pseudo: torch.Tensor
    weight: torch.Tensor
    root: torch.Tensor
    bias: torch.Tensor

    def leaves(self) -> dict[str, torch.Tensor]:
        """Name the tensors in a fixed order."""
        return dict(vars(self))


def values(*shape: int, phase: float = 0.0) -> torch.Tensor:
    """Make reproducible float64 values in [-1, 1] without a random generator."""
    count = math.prod(shape)
    flat = [math.sin(1.0 + phase + 5.1 * k + 0.3 * k * k) for k in range(count)]
    return torch.tensor(flat, dtype=torch.float64).reshape(shape)


def make_problem() -> Problem:
    """Build a small graph problem; pseudo coordinates keep away from the knots."""
    edges = len(EDGES[0])
    pseudo = (values(edges, 2, phase=0.4) * 0.48 + 0.5).clamp(0.02, 0.98)
    return Problem(
        x=values(NODES, INPUTS).requires_grad_(),
        pseudo=pseudo.requires_grad_(),
        weight=values(math.prod(KERNEL), INPUTS, OUTPUTS, phase=0.9).requires_grad_(),
        root=values(INPUTS, OUTPUTS, phase=1.7).requires_grad_(),
        bias=values(OUTPUTS, phase=2.2).requires_grad_(),
    )


def cardinal(degree: int, at: torch.Tensor) -> torch.Tensor:
    """Evaluate the cardinal B-spline with knots 0, 1, ..., degree + 1."""
    if degree == 0:
        return torch.ones_like(at) if 0.0 <= at.item() < 1.0 else torch.zeros_like(at)
    left = at * cardinal(degree - 1, at)
    right = (degree + 1 - at) * cardinal(degree - 1, at - 1)
    return (left + right) / degree


def axis_terms(u: torch.Tensor, axis: int, degree: int) -> list[tuple[int, torch.Tensor]]:
    """List (control point, basis value) of the splines that are not zero at `u`."""
    position = u * (KERNEL[axis] - degree * OPEN[axis])
    first = math.floor(position.item())
    points = range(first, first + degree + 1)
    return [(k % KERNEL[axis], cardinal(degree, position - k + degree)) for k in points]


def edge_terms(pseudo: torch.Tensor, degree: int) -> Iterator[tuple[int, torch.Tensor]]:
    """Give (row of the weight tensor, tensor-product basis value) for one edge."""
    axes = [axis_terms(pseudo[axis], axis, degree) for axis in range(len(KERNEL))]
    for (k0, b0), (k1, b1) in itertools.product(*axes):
        yield k0 + KERNEL[0] * k1, b0 * b1


def direct(problem: Problem, degree: int, norm: bool) -> torch.Tensor:
    """Evaluate the convolution edge by edge from its definition."""
    rows = [torch.zeros(OUTPUTS, dtype=torch.float64) for _ in range(NODES)]
    degrees = [EDGES[0].count(node) for node in range(NODES)]
    for edge, (row, col) in enumerate(zip(*EDGES, strict=True)):
        kernel = sum(
            basis * problem.weight[index]
            for index, basis in edge_terms(problem.pseudo[edge], degree)
        )
        scale = 1.0 / degrees[row] if norm else 1.0
        rows[row] = rows[row] + scale * (problem.x[col] @ kernel)
    return torch.stack(rows) + problem.x @ problem.root + problem.bias


def native(problem: Problem, degree: int, norm: bool, device: str = "cpu") -> torch.Tensor:
    """Evaluate the same convolution with the package."""
    from torch_spline_conv import spline_conv

    moved = {name: leaf.to(device) for name, leaf in problem.leaves().items()}
    return spline_conv(
        moved["x"],
        torch.tensor(EDGES, device=device),
        moved["pseudo"],
        moved["weight"],
        torch.tensor(KERNEL, device=device),
        torch.tensor(OPEN, dtype=torch.uint8, device=device),
        degree,
        norm,
        moved["root"],
        moved["bias"],
    )


def same(name: str, got: torch.Tensor, want: torch.Tensor, tolerance: float = 1e-12) -> float:
    """Return the largest difference, or raise when it is more than the tolerance."""
    if got.shape != want.shape:
        raise AssertionError(f"{name}: shape {tuple(got.shape)}, expected {tuple(want.shape)}")
    worst = float((got - want).detach().abs().max())
    if not worst <= tolerance:
        raise AssertionError(f"{name}: largest difference {worst:.3e}")
    return worst


def gradients(out: torch.Tensor, problem: Problem) -> dict[str, torch.Tensor]:
    """Differentiate a weighted sum of the output with respect to every leaf."""
    upstream = values(NODES, OUTPUTS, phase=3.1).to(out.device)
    leaves = problem.leaves()
    grads = torch.autograd.grad((out * upstream).sum(), list(leaves.values()))
    return dict(zip(leaves, grads, strict=True))


def conv_check(degree: int, norm: bool) -> str:
    """Check values and all five gradients of spline_conv for one degree."""
    problem = make_problem()
    got, want = native(problem, degree, norm), direct(problem, degree, norm)
    forward = same("forward", got, want)
    expected = gradients(want, problem)
    found = gradients(got, problem)
    backward = max(same(f"gradient of {k}", found[k], expected[k]) for k in expected)
    return f"largest difference: forward {forward:.1e}, backward {backward:.1e}"


def basis_check(degree: int) -> str:
    """Check every entry of spline_basis, and that each edge's basis sums to one."""
    from torch_spline_conv import spline_basis

    pseudo = make_problem().pseudo.detach()
    opened = torch.tensor(OPEN, dtype=torch.uint8)
    basis, index = spline_basis(pseudo, torch.tensor(KERNEL), opened, degree)
    worst = same("partition of unity", basis.sum(1), torch.ones(len(pseudo), dtype=basis.dtype))
    for edge, point in enumerate(pseudo):
        want = {row: float(value) for row, value in edge_terms(point, degree)}
        pairs = zip(index[edge].tolist(), basis[edge].tolist(), strict=True)
        for row, value in pairs:
            difference = abs(value - want[row])
            if not difference <= 1e-12:
                raise AssertionError(f"edge {edge}, weight {row}: {value}, expected {want[row]}")
            worst = max(worst, difference)
    return f"{basis.numel()} entries; largest difference {worst:.1e}"


def errors_check() -> str:
    """Check that an impossible degree is refused and not computed."""
    try:
        native(make_problem(), 4, True)
    except RuntimeError as error:
        if "degree" in str(error):
            return "degree 4 is refused"
        raise
    raise AssertionError("degree 4 was accepted")


def operators_check() -> str:
    """Check that the wheel's own libraries are loaded."""
    import torch_spline_conv

    folder = Path(torch_spline_conv.__file__).resolve().parent
    loaded = {Path(p).resolve() for p in torch.ops.loaded_libraries}
    names = sorted(p.name for p in loaded if p.parent == folder)
    for stem in LIBRARIES:
        if not any(n.startswith((f"{stem}_cpu.", f"{stem}_cuda.")) for n in names):
            raise AssertionError(f"{stem}: no native library loaded from the package ({names})")
    return f"{', '.join(names)}; cuda_version {torch.ops.torch_spline_conv.cuda_version()}"


def label_check() -> str:
    """Check that the accelerator in the wheel's version label is the one it was compiled for."""
    label = version("torch_spline_conv").partition("+")[2]
    compiled = torch.ops.torch_spline_conv.cuda_version()
    if label.startswith("cpu") and compiled != -1:
        raise AssertionError(f"label {label!r}, but compiled for CUDA {compiled}")
    if re.match(r"cu\d", label) and compiled == -1:
        raise AssertionError(f"label {label!r}, but compiled without CUDA")
    return f"label {label!r}, cuda_version {compiled}"


def cuda_check() -> str:
    """Compare CUDA results with the CPU ones, where a device and a CUDA build are present."""
    if not torch.cuda.is_available():
        raise Skipped("no device: torch.cuda.is_available() is False")
    import torch_spline_conv  # noqa: F401

    if torch.ops.torch_spline_conv.cuda_version() == -1:
        raise Skipped("no CUDA code in this wheel: torch_spline_conv.cuda_version() is -1")
    for degree in (1, 2, 3):
        problem = make_problem()
        on_cpu, on_gpu = native(problem, degree, True), native(problem, degree, True, "cuda")
        same(f"cuda forward, degree {degree}", on_gpu.cpu(), on_cpu)
        expected, found = gradients(on_cpu, problem), gradients(on_gpu, problem)
        for name, grad in expected.items():
            same(f"cuda gradient of {name}, degree {degree}", found[name].cpu(), grad)
    return f"agrees with the CPU on {torch.cuda.get_device_name()}"


def all_checks() -> list[tuple[str, Callable[[], str]]]:
    """List every check with its name."""
    checks: list[tuple[str, Callable[[], str]]] = [("operators", operators_check)]
    checks.append(("label", label_check))
    for degree in (1, 2, 3):
        checks.append((f"basis-degree-{degree}", lambda d=degree: basis_check(d)))
        checks.append((f"conv-degree-{degree}", lambda d=degree: conv_check(d, True)))
    checks.append(("conv-not-normalised", lambda: conv_check(2, False)))
    checks += [("errors", errors_check), ("cuda", cuda_check)]
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
