# SPDX-License-Identifier: Apache-2.0
"""Error paths of an installed gridprobe wheel: a C++ exception must arrive as RuntimeError.

An extension can pass every test of its results and still end the process at its first error, when
its toolchain linked a C++ runtime whose exceptions libtorch cannot catch. So each case runs in a
child process, and a child that dies is a failed check.

Needs the standard library, torch and gridprobe. The last line of standard output is one JSON
object, ``{"checks": [{"name", "outcome", "detail", "device"}, ...]}``; the exit status is 1 if one
failed. Device checks name no device: an error that arrives is no proof that a kernel ran there.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable

TIMEOUT_SECONDS = 300
MARK = "gridprobe-error-path "
THROWN = "thrown on purpose, 42 \N{GREEK SMALL LETTER ALPHA}"


def shape_mismatch() -> None:
    """A bias of the wrong length."""
    call(torch.zeros(2, 3), torch.zeros(4))


def bias_rank() -> None:
    """A bias with two dimensions."""
    call(torch.zeros(2, 3), torch.zeros(1, 3))


def scalar_input() -> None:
    """An x without a last dimension."""
    call(torch.tensor(1.0), torch.zeros(1))


def unsupported_dtype() -> None:
    """A dtype that the CPU kernel does not have."""
    call(torch.zeros(2, 3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64))


def mixed_dtypes() -> None:
    """Operands of two dtypes."""
    call(torch.zeros(2, 3), torch.zeros(3, dtype=torch.float64))


def mixed_devices_fake() -> None:
    """Operands on two devices; the meta device has priority, so the Python check answers."""
    call(torch.zeros(2, 3), torch.zeros(3, device="meta"))


def mixed_devices_kernel() -> None:
    """Operands on two devices, sent to the CPU kernel so that the C++ check answers."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    operator = torch.ops.gridprobe.fused_bias_gelu.default
    operator.redispatch(keys, torch.zeros(2, 3), torch.zeros(3, device="meta"))


def thrown_by_kernel() -> None:
    """A plain std::runtime_error from inside a kernel."""
    torch.ops.gridprobe.throw_error.default(THROWN)


def thrown_repeatedly() -> None:
    """A process that has caught an exception goes on, and catches the next."""
    for _ in range(100):
        try:
            torch.ops.gridprobe.throw_error.default("first")
        except RuntimeError:
            continue
    gridprobe.fused_bias_gelu(torch.zeros(2, 3), torch.zeros(3))
    torch.ops.gridprobe.throw_error.default(THROWN)


def device_kernel_refuses_cpu() -> None:
    """Operands on the CPU, sent to the device kernel: its code runs without a device."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    operator = torch.ops.gridprobe.fused_bias_gelu.default
    operator.redispatch(keys, torch.zeros(2, 3), torch.zeros(3))


def device_shape_mismatch() -> None:
    """A bias of the wrong length on the device."""
    call(torch.zeros(2, 3, device="cuda"), torch.zeros(4, device="cuda"))


def device_unsupported_dtype() -> None:
    """A dtype that the device kernel does not have."""
    x = torch.zeros(2, 3, dtype=torch.int32, device="cuda")
    call(x, torch.zeros(3, dtype=torch.int32, device="cuda"))


def device_mixed() -> None:
    """One operand on the device, the other not."""
    call(torch.zeros(2, 3, device="cuda"), torch.zeros(3))


# The text that the exception must carry.
CASES: dict[Callable[[], None], str] = {
    shape_mismatch: "shape mismatch, bias has 4 elements but the last dimension of x is 3",
    bias_rank: "bias must have one dimension, got 2",
    scalar_input: "x must have at least one dimension",
    unsupported_dtype: "the CPU kernel supports float32 and float64, got Long",
    mixed_dtypes: "x and bias must have the same dtype, got Float and Double",
    mixed_devices_fake: "x and bias must be on the same device",
    mixed_devices_kernel: "x and bias must be on the same device",
    thrown_by_kernel: THROWN,
    thrown_repeatedly: THROWN,
    device_kernel_refuses_cpu: "the device kernel needs tensors on the device",
    device_shape_mismatch: "shape mismatch, bias has 4 elements but the last dimension of x is 3",
    device_unsupported_dtype: "the device kernel supports",
    device_mixed: "x and bias must be on the same device",
}


def absence(name: str) -> str | None:
    """Say what a case needs that is not there; None if it can run."""
    if not name.startswith("device_"):
        return None
    built = [accelerator for accelerator in gridprobe.accelerators() if accelerator != "cpu"]
    if not built:
        return "no device: this wheel has a CPU kernel only"
    if name == "device_kernel_refuses_cpu":
        return None
    if not torch.cuda.is_available():
        return f"no device: torch {torch.__version__} sees none for {built[0]}"
    kind = "hip" if torch.version.hip else "cuda"
    if kind != built[0]:
        return f"no device: the wheel is built for {built[0]}, torch for {kind}"
    return None


def child(name: str) -> int:
    """Run one case and print what it raised."""
    case = next(case for case in CASES if case.__name__ == name)
    raised: list[str] | None = None
    missing = absence(name)
    if missing is None:
        try:
            case()
        except Exception as error:
            raised = [type(error).__name__, str(error)]
    print(MARK + json.dumps({"missing": missing, "raised": raised}))
    return 0


def ending(status: int) -> str:
    """Describe how a child ended that did not report."""
    number = -status if status < 0 else status - 128
    try:
        return f"the process was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"the process ended with status {status}"


def judge(name: str, expected: str) -> dict[str, str]:
    """Run one case in a child process and compare what it raised."""

    def outcome(kind: str, detail: str) -> dict[str, str]:
        return {"name": name, "outcome": kind, "detail": detail}

    try:
        done = subprocess.run(
            [sys.executable, __file__, "--case", name],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return outcome("failed", f"no answer after {TIMEOUT_SECONDS} s")
    reports = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not reports or done.returncode != 0:
        sys.stderr.write(done.stderr)
        last = (done.stderr.strip().splitlines() or ["nothing on standard error"])[-1]
        return outcome("failed", f"{ending(done.returncode)}: {last}")
    report = json.loads(reports[-1].removeprefix(MARK))
    if report["missing"] is not None:
        return outcome("skipped", report["missing"])
    if report["raised"] is None:
        return outcome("failed", "nothing was raised")
    kind, message = report["raised"]
    first = message.splitlines()[0] if message else ""
    if kind != "RuntimeError" or expected not in message:
        return outcome("failed", f'{kind}: {first} (expected RuntimeError with "{expected}")')
    return outcome("passed", f"{kind}: {first}")


def main() -> int:
    """Run every case and print the result."""
    checks: list[dict[str, str]] = []
    absent: str | None = None
    for case, expected in CASES.items():
        name = case.__name__
        if absent is not None and name.startswith("device_"):
            # One child has told that there is no device; the others would tell the same.
            checks.append({"name": name, "outcome": "skipped", "detail": absent})
            continue
        checks.append(judge(name, expected))
        if checks[-1]["outcome"] == "skipped":
            absent = checks[-1]["detail"]
    print(json.dumps({"checks": checks}))
    return 1 if any(check["outcome"] == "failed" for check in checks) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        # Only the children need torch: a wheel that cannot even be imported is then a failed
        # check with its message, not a crash of this script.
        import gridprobe
        import torch

        call = gridprobe.fused_bias_gelu
        sys.exit(child(sys.argv[2]))
    sys.exit(main())
