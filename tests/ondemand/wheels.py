"""The wheels of the tests on demand: from a folder, or downloaded."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

__all__ = ["FOLDER", "SPECS", "Row", "elf_members", "get_wheel", "inspect", "names", "unpack"]

FOLDER = os.environ.get("WHEELGRID_WHEELS")
"""A folder of wheels; without it the wheels of SPECS are downloaded (3 GB)."""
SPECS = (
    "torchaudio==2.11.1",
    "torchao==0.18.0",
    "xformers==0.0.35",
    "torchvision==0.29.1",
    "torchcodec==0.17.0",
    "dpnp==0.20.0",
    "bitsandbytes==0.50.2",
    "onnxruntime-rocm==1.22.2.post3",
    "cupy-cuda13x==14.2.0",
    "cupy-rocm-7-0==14.2.0",
    "vllm-xpu-kernels==0.1.16.2",
    "nvidia-cufft==12.5.0.14",
    "transformer-engine-cu13==2.20.2",
    "triton==3.9.0",
    "nvidia-nccl-cu13==2.32.3",
    "vllm==0.33.0",
    "sglang-kernel==0.4.10",
    "torch==2.14.1",
)
_PLATFORMS = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in (17, 24, 27, 28, 34)))
_CHUNK = 1 << 20
Row = dict[str, Any]
"""What our report says of one library."""


def names() -> list[str]:
    """What there is to test: files of the folder, else SPECS."""
    return sorted(path.name for path in Path(FOLDER).glob("*.whl")) if FOLDER else list(SPECS)


def _stem(spec: str) -> str:
    name, version = spec.split("==")
    return f"{name.replace('-', '_')}-{version}-"


@cache
def _downloads() -> Path:
    """Where wheels are downloaded to; removed at the end."""
    folder = tempfile.mkdtemp(prefix="wheelgrid-wheels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def get_wheel(name: str) -> Path:
    """A wheel by file name or by spec, downloaded if need be; skips where it cannot be had."""
    if FOLDER and name.endswith(".whl"):
        return Path(FOLDER) / name
    folder = _downloads()
    for known in filter(None, (FOLDER, str(folder))):
        if found := sorted(Path(known).glob(f"{_stem(name)}*x86_64.whl")):
            return found[0]
    if FOLDER:
        pytest.skip(f"no {name} in the folder of wheels")
    if find_spec("pip") is None:
        pytest.skip("no pip to download wheels with, and no WHEELGRID_WHEELS")
    platforms = [f"--platform={name}_x86_64" for name in _PLATFORMS]
    where = ["--dest", str(folder), "--no-deps", "--only-binary=:all:", "--python-version=3.11"]
    command = [sys.executable, "-m", "pip", "download", "--no-cache-dir", "-q", *where, *platforms]
    got = subprocess.run([*command, name], capture_output=True, text=True, check=False)
    if got.returncode:
        pytest.skip(f"cannot download {name}: {got.stderr.strip().splitlines()[-1:]}")
    return next(folder.glob(f"{_stem(name)}*.whl"))


def elf_members(wheel: Path) -> Iterator[str]:
    """Names of the members that begin as ELF files do."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as stream:
                if stream.read(4) == b"\x7fELF":
                    yield entry.filename


def unpack(wheel: Path, member: str, to: Path) -> Path:
    """Write one member to a file in the folder `to`, over the one before; returns its place."""
    path = to / "library.so"
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, path.open("wb") as file:
        while piece := source.read(_CHUNK):
            file.write(piece)
    return path


def inspect(wheel: Path, *options: str) -> dict[str, Row]:
    """What wheelgrid says of the libraries of a wheel, by path."""
    command = [sys.executable, "-m", "wheelgrid", "inspect", "--json", "--no-cache", *options]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        [*command, str(wheel)], capture_output=True, text=True, check=False, env=env
    )
    assert result.stdout, result.stderr
    (document,) = json.loads(result.stdout)["wheels"]
    return {row["path"]: row for row in document["libraries"]}
