"""Runs NVIDIA's cuobjdump, which lists the device code of a file."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from tool_output import Heading, parse_cuobjdump

__all__ = ["Listing", "find_cuobjdump", "list_images"]

_SECONDS = 900
_NOTHING = "does not contain device code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Images of one file; `problem` says why the tool did not read all of it."""

    images: Counter[Heading]
    problem: str

    @property
    def says_nothing(self) -> bool:
        """Whether the tool found no device code, in the sections that it looks at."""
        return _NOTHING in self.problem


def find_cuobjdump() -> str | None:
    """The tool in WHEELGRID_CUDA_HOME, on the path, or in the package nvidia-cuda-cuobjdump."""
    home = os.environ.get("WHEELGRID_CUDA_HOME")
    if found := shutil.which("cuobjdump", path=f"{home}/bin" if home else None):
        return found
    try:
        parts = files("nvidia-cuda-cuobjdump") or []
    except PackageNotFoundError:
        return None
    return next((str(p.locate()) for p in parts if p.name in {"cuobjdump", "cuobjdump.exe"}), None)


def list_images(tool: str, path: Path, *options: str) -> Listing:
    """Run the tool; its output, which may be gigabytes, is read as it comes."""
    command = ["nice", "-n", "10", tool, *options, str(path)]
    messages: list[str] = []

    def lines(stream: Iterator[str]) -> Iterator[str]:
        for line in stream:
            if line.startswith("cuobjdump "):
                messages.append(line.strip().replace(str(path), path.name))
            yield line.rstrip("\n")

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        timer = threading.Timer(_SECONDS, process.kill)
        timer.start()
        assert process.stdout is not None
        images = parse_cuobjdump(lines(process.stdout))
        status = process.wait()
        timer.cancel()
    problem = "; ".join(messages) or f"ends with {status}" if status else ""
    return Listing(images=images, problem=problem)
