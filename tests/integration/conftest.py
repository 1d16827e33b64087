"""What tests of the audit share: a compiler, wheels written here, and findings by rule."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

Compile = Callable[..., bytes]
MakeWheel = Callable[..., Path]


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    """Compile C++ to a shared library; `libraries` are sonames of stubs that it is linked to."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")

    def stub(name: str) -> Path:
        path = tmp_path / "stubs" / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            source = path.with_suffix(".cpp")
            source.write_text("int nothing;", encoding="utf-8")
            command = ["g++", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", str(path)]
            command.append(str(source))
            subprocess.run(command, check=True, capture_output=True)
        return path

    def make(source: str, *arguments: str, libraries: tuple[str, ...] = ()) -> bytes:
        code, out = tmp_path / "x.cpp", tmp_path / "x.so"
        code.write_text(source, encoding="utf-8")
        linked = ["-Wl,--no-as-needed", *(str(stub(n)) for n in libraries)] if libraries else []
        command = ["g++", "-shared", "-fPIC", "-o", str(out), str(code), *linked, *arguments]
        subprocess.run(command, check=True, capture_output=True)
        return out.read_bytes()

    return make


@pytest.fixture
def wheel_of(tmp_path: Path) -> MakeWheel:
    """Write a wheel with a right RECORD; its metadata follow from the arguments."""

    def make(
        members: dict[str, bytes],
        tag: str = "cp311-cp311-manylinux_2_17_x86_64",
        *,
        version: str = "1.0",
        name: str = "demo",
        requires: tuple[str, ...] = (),
    ) -> Path:
        python, abi, platforms = tag.split("-")
        tags = [
            f"{p}-{a}-{f}"
            for p in python.split(".")
            for a in abi.split(".")
            for f in platforms.split(".")
        ]
        info = f"{name}-{version}.dist-info"
        lines = [f"Name: {name}", f"Version: {version}", "Requires-Python: >=3.9"]
        lines += [f"Requires-Dist: {text}" for text in requires]
        about = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n"
        about += "".join(f"Tag: {one}\n" for one in tags)
        files = {
            **members,
            f"{info}/METADATA": ("\n".join(lines) + "\n").encode(),
            f"{info}/WHEEL": about.encode(),
        }
        rows = [f"{info}/RECORD,,"]
        for path, data in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(data)}")
        wheel = tmp_path / f"{name}-{version}-{tag}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for path, data in {**files, f"{info}/RECORD": "\n".join(rows).encode()}.items():
                archive.writestr(path, data)
        return wheel

    return make
