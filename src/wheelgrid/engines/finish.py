"""Finishes a raw wheel before repair: states which torch it was built for."""

from __future__ import annotations

import sys
from pathlib import Path

from packaging.version import Version

from wheelgrid.core.errors import BuildError
from wheelgrid.engines.process import Processes

__all__ = ["require_torch_line"]


def _wheel_tool(processes: Processes, arguments: list[str], log: Path) -> None:
    """Run the `wheel` package's own tool; it writes RECORD anew when it packs."""
    result = processes.run([sys.executable, "-m", "wheel", *arguments], log=log, timeout=600)
    if not result.ok:
        msg = f"wheel {arguments[0]} failed: {result.last_lines(6)}"
        raise BuildError(msg)


def require_torch_line(
    wheel: Path, torch: Version, staging: Path, *, processes: Processes, log: Path
) -> Path:
    """Add `Requires-Dist: torch==X.Y.*` and return the new wheel, under the same name.

    A wheel of the C++ ABI works with the torch line that it was built for and no other. Sources
    cannot know that line, and setuptools takes requirements from outside only where the project
    has none, so the statement is added here, in staging, before the audit.
    """
    unpacked, packed = staging / "unpacked", staging / "packed"
    packed.mkdir()
    _wheel_tool(processes, ["unpack", "--dest", str(unpacked), str(wheel)], log)
    tree = next(unpacked.iterdir())
    metadata = next(tree.glob("*.dist-info/METADATA"))
    headers, _, body = metadata.read_text(encoding="utf-8").partition("\n\n")
    line = f"Requires-Dist: torch=={torch.major}.{torch.minor}.*"
    metadata.write_text(f"{headers}\n{line}\n\n{body}", encoding="utf-8")
    _wheel_tool(processes, ["pack", "--dest-dir", str(packed), str(tree)], log)
    return packed / wheel.name
