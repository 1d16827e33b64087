# SPDX-License-Identifier: Apache-2.0
"""Smoke test of an installed gridprobe wheel: results against torch's own GELU.

Needs the standard library, torch and gridprobe. The last line of standard output is one JSON
object, ``{"checks": [{"name", "outcome", "detail", "device"}, ...]}``; the exit status is 1 if one
failed. A check that needs a device which is not there is skipped, never passed.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

try:
    import gridprobe
    import torch
except Exception as error:  # a wheel that cannot be imported is a result as well
    traceback.print_exc()
    failure = {"name": "import", "outcome": "failed", "detail": f"{type(error).__name__}: {error}"}
    print(json.dumps({"checks": [failure]}))
    sys.exit(1)

DEVICE_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
# Relative and absolute, against a float64 reference: twice the rounding of the half types' result.
TOLERANCE = {
    torch.float32: 1e-6,
    torch.float64: 1e-14,
    torch.float16: 1e-3,
    torch.bfloat16: 8e-3,
}


class NotHereError(Exception):
    """A check that cannot be made here; its text says why."""


def device_or_skip() -> torch.device:
    """Return the device of this wheel's device kernel, or skip the check."""
    built = [name for name in gridprobe.accelerators() if name != "cpu"]
    if not built:
        raise NotHereError("no device: this wheel has a CPU kernel only")
    if not torch.cuda.is_available():
        raise NotHereError(f"no device: torch {torch.__version__} sees none for {built[0]}")
    # torch names AMD devices "cuda" too, so the wheel's kind has to be compared with torch's.
    kind = "hip" if torch.version.hip else "cuda"
    if kind != built[0]:
        raise NotHereError(f"no device: the wheel is built for {built[0]}, torch for {kind}")
    return torch.device("cuda", torch.cuda.current_device())


def compare(x: torch.Tensor, bias: torch.Tensor) -> str:
    """Check one call against the unfused expression; return the largest deviation.

    The expression is evaluated in float64: torch's own float32 GELU deviates from that by more
    than 1e-6, so comparing with it would test torch's vectorized erf.
    """
    actual = gridprobe.fused_bias_gelu(x, bias)
    expected = torch.nn.functional.gelu(x.double() + bias.double())
    if actual.shape != x.shape or actual.dtype != x.dtype or actual.device != x.device:
        raise AssertionError(
            f"got {tuple(actual.shape)} {actual.dtype} {actual.device}, "
            f"expected {tuple(x.shape)} {x.dtype} {x.device}"
        )
    if not actual.is_contiguous():
        raise AssertionError("the result is not contiguous")
    tolerance = TOLERANCE[x.dtype]
    torch.testing.assert_close(actual.double(), expected, rtol=tolerance, atol=tolerance)
    deviation = (actual - expected).abs().max().item() if actual.numel() else 0.0
    return f"shape {tuple(actual.shape)}, largest deviation {deviation:.2e}"


def random_operands(
    *shape: int, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make repeatable operands with values on both sides of the GELU's knee."""
    generator = torch.Generator().manual_seed(20260101)
    x = torch.randn(*shape, dtype=torch.float64, generator=generator) * 3
    bias = torch.randn(shape[-1], dtype=torch.float64, generator=generator)
    return x.to(device, dtype), bias.to(device, dtype)


def check_import() -> str:
    """The wheel was imported, at the top of this file; tell which and with what."""
    return f"gridprobe {importlib.metadata.version('gridprobe')}, torch {torch.__version__}"


def check_contents() -> str:
    """The registered kernels are those that the wheel says it has."""
    name = "gridprobe::fused_bias_gelu"
    built = gridprobe.accelerators()
    registered = {
        key: torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in ("CPU", "CUDA")
    }
    if registered != {"CPU": True, "CUDA": len(built) == 2}:
        raise AssertionError(f"accelerators() is {built} but the dispatcher has {registered}")
    if bool(gridprobe.architectures()) != (len(built) == 2):
        raise AssertionError(f"architectures() is {gridprobe.architectures()} for {built}")
    return f"accelerators {', '.join(built)}; architectures {list(gridprobe.architectures())}"


def check_limited_api() -> str:
    """The extension is a limited-API module."""
    name = Path(str(gridprobe._C.__file__)).name
    if name != "_C.abi3.so":
        raise AssertionError(f"the extension is {name}")
    return name


def check_cpu_float32() -> str:
    """float32 values."""
    return compare(*random_operands(7, 33, dtype=torch.float32))


def check_cpu_float64() -> str:
    """float64 values."""
    return compare(*random_operands(7, 33, dtype=torch.float64))


def check_cpu_parallel() -> str:
    """A size that is split over threads, in three dimensions."""
    return compare(*random_operands(4, 300, 129, dtype=torch.float32))


def check_cpu_noncontiguous() -> str:
    """Strided operands: a transposed x and every second bias element."""
    x, _ = random_operands(16, 9, dtype=torch.float32)
    _, bias = random_operands(32, dtype=torch.float32)
    x, bias = x.t(), bias[::2]
    if x.is_contiguous() or bias.is_contiguous():
        raise AssertionError("the operands of this check must be strided")
    return compare(x, bias)


def check_cpu_empty() -> str:
    """No rows, and no columns."""
    rows = compare(*random_operands(0, 5, dtype=torch.float32))
    columns = compare(*random_operands(5, 0, dtype=torch.float32))
    return f"{rows}; {columns}"


def check_gradient() -> str:
    """Analytic gradients against numeric ones."""
    x, bias = random_operands(3, 5, dtype=torch.float64)
    x.requires_grad_()
    bias.requires_grad_()
    torch.autograd.gradcheck(gridprobe.fused_bias_gelu, (x, bias))
    return "gradcheck of x and bias"


def check_opcheck() -> str:
    """Torch's own consistency tests for custom operators."""
    x, bias = random_operands(3, 5, dtype=torch.float32)
    x.requires_grad_()
    bias.requires_grad_()
    results = torch.library.opcheck(torch.ops.gridprobe.fused_bias_gelu.default, (x, bias))
    return ", ".join(f"{name} {result}" for name, result in sorted(results.items()))


def check_compile() -> str:
    """One graph through torch.compile; aot_eager needs no compiler on this machine."""
    x, bias = random_operands(6, 11, dtype=torch.float32)
    compiled = torch.compile(
        lambda a, b: gridprobe.fused_bias_gelu(a * 2, b), fullgraph=True, backend="aot_eager"
    )
    torch.testing.assert_close(compiled(x, bias), torch.nn.functional.gelu(x * 2 + bias))
    return "fullgraph, backend aot_eager"


def check_device_values() -> str:
    """Every dtype of the device kernel."""
    device = device_or_skip()
    parts = [
        f"{dtype}: {compare(*random_operands(65, 129, dtype=dtype, device=device))}"
        for dtype in DEVICE_DTYPES
    ]
    return f"{torch.cuda.get_device_name(device)}; {'; '.join(parts)}"


def check_device_noncontiguous() -> str:
    """Strided operands on the device."""
    device = device_or_skip()
    x, _ = random_operands(16, 9, dtype=torch.float32, device=device)
    _, bias = random_operands(16, dtype=torch.float32, device=device)
    return compare(x.t(), bias)


def check_device_empty() -> str:
    """An empty tensor, for which no kernel may be launched."""
    device = device_or_skip()
    return compare(*random_operands(0, 5, dtype=torch.float32, device=device))


def check_device_stream() -> str:
    """The kernel runs on torch's current stream, not on the default one."""
    device = device_or_skip()
    x, bias = random_operands(512, 1024, dtype=torch.float32, device=device)
    expected = torch.nn.functional.gelu(x.double() + bias.double()).float()
    torch.cuda.synchronize(device)
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        late = torch.zeros_like(x)
        torch.cuda._sleep(200_000_000)  # keep the stream busy so that a wrong stream reads zeros
        late.copy_(x)
        actual = gridprobe.fused_bias_gelu(late, bias)
    stream.synchronize()
    torch.testing.assert_close(actual, expected)
    return "ordered after work on a side stream"


CHECKS: tuple[Callable[[], str], ...] = (
    check_import,
    check_contents,
    check_limited_api,
    check_cpu_float32,
    check_cpu_float64,
    check_cpu_parallel,
    check_cpu_noncontiguous,
    check_cpu_empty,
    check_gradient,
    check_opcheck,
    check_compile,
    check_device_values,
    check_device_noncontiguous,
    check_device_empty,
    check_device_stream,
)


def run(check: Callable[[], str]) -> dict[str, str]:
    """Run one check and describe how it ended."""
    name = check.__name__.removeprefix("check_")
    device = gridprobe.accelerators()[-1] if name.startswith("device_") else "cpu"
    try:
        outcome, detail = "passed", check()
    except NotHereError as reason:
        outcome, detail = "skipped", str(reason)
    except Exception as error:
        traceback.print_exc()
        outcome, detail = "failed", f"{type(error).__name__}: {error}"
    return {"name": name, "outcome": outcome, "detail": detail, "device": device}


def main() -> int:
    """Run every check and print the result."""
    checks = [run(check) for check in CHECKS]
    print(json.dumps({"checks": checks}))
    return 1 if any(check["outcome"] == "failed" for check in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
