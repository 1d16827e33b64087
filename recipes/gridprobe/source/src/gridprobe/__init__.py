# SPDX-License-Identifier: Apache-2.0
"""One fused operator on the libtorch stable ABI: exact GELU of ``x + bias``."""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import torch  # loads libtorch_cpu, which the extension needs before it can be loaded

__all__ = ["accelerators", "architectures", "fused_bias_gelu"]
# From the metadata: a build may have added a local label such as +cu130.
__version__ = importlib.metadata.version("gridprobe")


def _runtime_in_packages(name: str) -> Path | None:
    """Find a vendor runtime library that a Python package of the vendor carries."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        for path in sorted(Path(root).glob(f"*/lib/{name}")):
            return path
    return None


def _load_extension() -> ModuleType:
    """Import the extension, which registers the operators.

    A CUDA wheel needs the CUDA runtime. A CUDA build of torch has loaded it already; with a CPU
    build of torch it may still be there as a package, outside the loader's search path.
    """
    try:
        return importlib.import_module("gridprobe._C")
    except ImportError as error:
        missing = re.match(r"(libcudart\.so\.\d+): cannot open shared object", str(error))
        if missing is None:
            raise
        path = _runtime_in_packages(missing[1])
        if path is None:
            raise ImportError(
                f"this gridprobe wheel is built for CUDA and needs {missing[1]}; install a CUDA "
                "build of torch or the nvidia-cuda-runtime package of the same major version"
            ) from error
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        return importlib.import_module("gridprobe._C")


_C = _load_extension()


def fused_bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the exact (erf) GELU of ``x + bias``, ``bias`` broadcast over the last dimension."""
    result: torch.Tensor = torch.ops.gridprobe.fused_bias_gelu.default(x, bias)
    return result


def accelerators() -> tuple[str, ...]:
    """Name the kernels in this wheel: ``cpu``, and ``cuda`` or ``hip`` if built for one."""
    built: str = _C.ACCELERATOR
    return ("cpu",) if built == "cpu" else ("cpu", built)


def architectures() -> tuple[str, ...]:
    """Name the device architectures this wheel was built for; empty for a CPU wheel."""
    built: str = _C.ARCHITECTURES
    return tuple(built.split(";")) if built else ()


@torch.library.register_fake("gridprobe::fused_bias_gelu")
def _(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Give torch.compile the result's metadata, with the checks of the real kernels."""
    torch._check(
        x.device == bias.device,
        lambda: "fused_bias_gelu: x and bias must be on the same device",
    )
    torch._check(
        x.dtype == bias.dtype,
        lambda: "fused_bias_gelu: x and bias must have the same dtype",
    )
    torch._check(
        x.dim() >= 1 and bias.dim() == 1,
        lambda: "fused_bias_gelu: x needs a dimension and bias exactly one",
    )
    torch._check(
        bias.shape[0] == x.shape[-1],
        lambda: "fused_bias_gelu: shape mismatch",
    )
    return x.new_empty(x.shape)


def _setup_context(
    ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor], output: torch.Tensor
) -> None:
    """Keep what the gradient needs."""
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Differentiate through torch's own GELU gradient."""
    x, bias = ctx.saved_tensors
    grad_x = torch.ops.aten.gelu_backward.default(grad, x + bias)
    return grad_x, grad_x.sum_to_size(bias.shape)


torch.library.register_autograd(
    "gridprobe::fused_bias_gelu", _backward, setup_context=_setup_context
)
