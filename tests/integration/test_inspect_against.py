"""An extension against a torch: real compilers, both string ABIs, wheels and folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from packaging.version import Version

from wheelgrid.core.shim import StringAbi
from wheelgrid.inspect.against import Cause, Missing, compare, torch_names, wanted_exports
from wheelgrid.inspect.formats.elf import read_elf, read_header
from wheelgrid.inspect.place import open_source
from wheelgrid.inspect.stream import Pages
from wheelgrid.inspect.torch_exports import (
    Exports,
    NoTorchError,
    installed_exports,
    seen_shims,
    wheel_exports,
)

pytestmark = pytest.mark.integration

TORCH = """
#include <string>
namespace c10 {
struct SourceLocation { const char* file; int line; };
class Error { public: Error(SourceLocation, std::string); std::string what() const; };
Error::Error(SourceLocation, std::string) {}
std::string Error::what() const { return ""; }
namespace cuda { void SetDevice(int, bool) {} }
}
extern "C" void aoti_torch_empty() {}
extern "C" void torch_call_dispatcher() {}
"""
EXTENSION = """
#include <string>
namespace c10 {
struct SourceLocation { const char* file; int line; };
class Error { public: Error(SourceLocation, std::string); std::string what() const; };
namespace cuda { void SetDevice(signed char); void NewThing(); }
}
extern "C" void aoti_torch_empty();
extern "C" void torch_has_storage();
void use() {
  c10::Error error({"", 0}, "x");
  error.what();
  c10::cuda::SetDevice(0);
  c10::cuda::NewThing();
  aoti_torch_empty();
  torch_has_storage();
}
"""


def compiled(folder: Path, name: str, text: str, *, cxx11: bool) -> Path:
    """A shared library; skips where there is no compiler."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ on this machine")
    source = folder / f"{name}.cpp"
    source.write_text(text, encoding="utf-8")
    library = folder / f"{name}.so"
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(cxx11)}"
    command = ["g++", "-shared", "-fPIC", "-O1", abi, str(source), "-o", str(library)]
    subprocess.run(command, check=True, timeout=120)
    return library


def undefined(library: Path) -> frozenset[str]:
    data = library.read_bytes()
    with Pages(len(data)) as pages:
        pages.write(0, data)
        return read_elf(pages, read_header(data)).undefined


def wheel_of(folder: Path, library: Path) -> Path:
    path = folder / "torch-2.6.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(library, "torch/lib/libc10.so")
    return path


def asked(library: Path, torch: Path) -> tuple[Exports, dict[str, Missing]]:
    names = undefined(library)
    wanted = wanted_exports(torch_names(names))
    if torch.is_dir():
        exports = installed_exports(torch, wanted)
    else:
        with open_source(str(torch)) as source:
            exports = wheel_exports(source, wanted)
    return exports, {missing.symbol: missing for missing in compare(names, exports)}


@pytest.mark.parametrize("cxx11", [True, False])
def test_w01_w02_the_two_causes_are_told_apart(tmp_path: Path, *, cxx11: bool) -> None:
    """The torch has the other std::string, and another signature of one function."""
    torch = wheel_of(tmp_path, compiled(tmp_path, "torch", TORCH, cxx11=not cxx11))
    extension = compiled(tmp_path, "extension", EXTENSION, cxx11=cxx11)
    exports, missing = asked(extension, torch)
    mine, theirs = ("new", "old") if cxx11 else ("old", "new")
    assert exports.torch == Version("2.6.0")
    assert exports.string_abi == theirs
    error = next(m for m in missing.values() if m.function == "c10::Error::Error")
    assert error.cause is Cause.STRING_ABI
    assert error.text.endswith(f"the C++11 string ABI differs: wheel {mine}, torch {theirs}")
    device = missing["_ZN3c104cuda9SetDeviceEa"]
    assert device.cause is Cause.SIGNATURE
    assert "torch exports c10::cuda::SetDevice(int, bool)" in device.text
    assert "the wheel wants c10::cuda::SetDevice(signed char)" in device.text
    assert missing["_ZN3c104cuda8NewThingEv"].cause is Cause.NOT_EXPORTED
    assert missing["torch_has_storage"].cause is Cause.NOT_EXPORTED
    assert "aoti_torch_empty" not in missing


def test_a_function_that_returns_a_string_has_a_tag_in_the_new_abi(tmp_path: Path) -> None:
    torch = wheel_of(tmp_path, compiled(tmp_path, "torch", TORCH, cxx11=False))
    extension = compiled(tmp_path, "extension", EXTENSION, cxx11=True)
    _exports, missing = asked(extension, torch)
    assert missing["_ZNK3c105Error4whatB5cxx11Ev"].cause is Cause.STRING_ABI


def test_the_same_string_abi_leaves_the_other_causes(tmp_path: Path) -> None:
    folder = tmp_path / "site" / "torch" / "lib"
    folder.mkdir(parents=True)
    shutil.copy(compiled(tmp_path, "torch", TORCH, cxx11=True), folder / "libc10.so")
    (folder.parent / "version.py").write_text("__version__ = '2.9.1+cpu'\n", encoding="utf-8")
    extension = compiled(tmp_path, "extension", EXTENSION, cxx11=True)
    for torch in (tmp_path / "site", folder.parent):
        exports, missing = asked(extension, torch)
        assert exports.torch == Version("2.9.1+cpu")
        assert {m.cause for m in missing.values()} == {Cause.SIGNATURE, Cause.NOT_EXPORTED}
        assert len(missing) == 3


def test_shims_of_a_wheel_are_listed_with_its_digest(tmp_path: Path) -> None:
    torch = wheel_of(tmp_path, compiled(tmp_path, "torch", TORCH, cxx11=False))
    with open_source(str(torch)) as source:
        (seen,) = seen_shims(source)
    assert seen.names == {"aoti_torch_empty", "torch_call_dispatcher"}
    assert (seen.library, seen.line, seen.string_abi) == ("c10", "c10/linux", StringAbi.OLD)
    assert (len(seen.sha256), seen.sha256_of) == (64, "file")


@pytest.mark.parametrize("text", [b"", b"\x7fELF", b"\x7fELF" + b"\xff" * 500, b"\xcf\xfa\xed\xfe"])
def test_what_is_no_torch_could_not_be_checked(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "torch-2.6.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch/lib/libc10.so", text)
    with open_source(str(path)) as source, pytest.raises(NoTorchError):
        wheel_exports(source, lambda _: True)
    lib = tmp_path / "torch" / "lib"
    lib.mkdir(parents=True)
    with pytest.raises(NoTorchError):
        installed_exports(tmp_path, lambda _: True)
    (lib / "libc10.so").write_bytes(text)
    with pytest.raises(NoTorchError):
        installed_exports(tmp_path, lambda _: True)


def test_w02_against_a_real_torch() -> None:
    """c10::Error of torch 2.13.0+cpu has a newer constructor, and new strings."""
    found = [
        path
        for folder in os.environ.get("PIP_FIND_LINKS", "").split()
        for path in Path(folder).glob("torch-2.13.0+cpu-*linux*x86_64.whl")
    ]
    if not found:
        pytest.skip("no wheel of torch 2.13.0+cpu in PIP_FIND_LINKS")
    names = frozenset({
        "_ZN3c105ErrorC2ENS_14SourceLocationESs",
        "_ZN3c106ErrorC2Ev",
        "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
        "_ZN3c1013setThreadNameEi",
    })  # fmt: skip
    with open_source(str(found[0])) as source:
        exports = wheel_exports(source, wanted_exports(names), frozenset({"c10"}))
    assert exports.string_abi is StringAbi.NEW
    missing = {m.symbol: m for m in compare(names, exports)}
    old = missing["_ZN3c105ErrorC2ENS_14SourceLocationESs"]
    assert old.text.endswith("wheel old, torch new")
    named = missing["_ZN3c1013setThreadNameEi"]
    assert named.text == (
        "another signature: torch exports c10::setThreadName(std::__cxx11::string), "
        "the wheel wants c10::setThreadName(int)"
    )
    assert len(missing) == 3
