"""Libraries that zig builds for macOS and Windows are read for what they were built from."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wheelgrid.inspect.formats.macho import read_macho
from wheelgrid.inspect.formats.pe import read_pe
from wheelgrid.inspect.stream import Pages

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed"
    ),
]
SOURCE = Path(__file__).parent.parent / "fixtures" / "native" / "demo.c"
IMPORTS = {
    "python313.dll": "PyModule_Create2",
    "torch_cpu.dll": "aoti_torch_get_device_type",
    "optional.dll": "optional_feature",
}


def zig(folder: Path, *arguments: str) -> None:
    """Run zig; its caches are in the folder."""
    env = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(folder), "ZIG_LOCAL_CACHE_DIR": str(folder)}
    command = [sys.executable, "-m", "ziglang", *arguments]
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, timeout=600)


def pages(file: Path) -> Pages:
    data = file.read_bytes()
    kept = Pages(len(data))
    kept.write(0, data)
    return kept


@pytest.mark.parametrize(
    ("target", "arch", "minimum"),
    [("aarch64-macos.14.0", "arm64", "macOS 14.0"), ("x86_64-macos.12.0", "x86_64", "macOS 12.0")],
)
def test_a_library_for_macos(tmp_path: Path, target: str, arch: str, minimum: str) -> None:
    """Its CPU, oldest system, run paths and symbols are those of the command and the source."""
    options = ["-undefined", "dynamic_lookup", "-Wl,-rpath,@loader_path/lib"]
    name = ["-Wl,-install_name,@rpath/demo.so", "-o", "demo.so"]
    zig(tmp_path, "cc", "-target", target, "-O1", "-shared", *options, *name, str(SOURCE))
    (found,) = read_macho(pages(tmp_path / "demo.so")).slices
    assert (found.arch, found.minimum_os) == (arch, minimum)
    assert (found.install_name, found.rpaths) == ("@rpath/demo.so", ("@loader_path/lib",))
    assert found.needed == ("/usr/lib/libSystem.B.dylib",)
    assert found.undefined == {*IMPORTS.values(), "dyld_stub_binder"}
    assert found.entry_points == {"PyInit_demo"}
    assert found.damage == ()


@pytest.mark.parametrize(
    ("cpu", "machine", "arch"),
    [("x86_64", "i386:x86-64", "x86_64"), ("aarch64", "arm64", "arm64"), ("x86", "i386", "i386")],
)
def test_a_library_for_windows(tmp_path: Path, cpu: str, machine: str, arch: str) -> None:
    """Its CPU and imports are those of the command and the source."""
    libraries = []
    for number, (library, symbol) in enumerate(IMPORTS.items()):
        text = f"LIBRARY {library}\nEXPORTS\n  {symbol}\n"
        (tmp_path / f"{number}.def").write_text(text, encoding="ascii")
        zig(tmp_path, "dlltool", "-m", machine, "-d", f"{number}.def", "-l", f"{number}.lib")
        libraries.append(f"{number}.lib")
    options = ["-O1", "-s", "-shared", "-nostdlib", "-o", "demo.pyd", str(SOURCE), *libraries]
    zig(tmp_path, "cc", "-target", f"{cpu}-windows-gnu", *options)
    found = read_pe(pages(tmp_path / "demo.pyd"))
    assert (found.machine, found.is_dll, found.hybrid) == (arch, True, False)
    assert found.imported_from == {library: {symbol} for library, symbol in IMPORTS.items()}
    assert found.entry_points == {"PyInit_demo"}
    assert found.damage == ()
