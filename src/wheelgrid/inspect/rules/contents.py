"""Rules on what must be inside: WG301, WG303, WG304."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.core.accelerator import Family
from wheelgrid.core.recipe import Abi
from wheelgrid.inspect.findings import Expected, Finding, error
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.wheel import Member, Wheel

__all__ = ["device_code", "extensions"]

# What a library uses to make operators known when it is loaded: torch::Library (TORCH_LIBRARY),
# c10::RegisterOperators (the older way), or the shim of the stable ABI.
_REGISTERS = re.compile(r"_ZN5torch7Library|_ZN3c1017RegisterOperators|aoti_torch_library_")


def extensions(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    """WG301 and WG304: the declared extensions, and nothing native in a pure wheel."""
    if expected is None:
        return
    if expected.abi is Abi.PURE:
        for member in wheel.native:
            yield error("WG304", "is native code in a wheel declared pure", member.path)
        return
    for module in expected.extensions:
        problem, path = _problem(wheel, module, expected)
        if problem:
            yield error("WG301", f"the extension {module} {problem}", path)


def _suffixes(expected: Expected) -> re.Pattern[str]:
    """File name endings that the tagged interpreter imports (importlib's EXTENSION_SUFFIXES)."""
    version = re.escape(expected.abi_tag.removeprefix("cp"))
    exact = rf"\.cpython-{version}-[a-z0-9_]+-linux-gnu|\.cpython-{version}-darwin"
    windows = rf"\.{re.escape(expected.abi_tag)}-win_[a-z0-9]+"
    if expected.abi_tag == "abi3":
        return re.compile(r"(?:\.abi3)?\.(?:so|pyd)\Z")
    abi3 = "" if expected.abi_tag.endswith("t") else r"|\.abi3"
    return re.compile(rf"(?:(?:{exact}{abi3})?\.so|(?:{windows})?\.pyd)\Z")


def _members(wheel: Wheel, module: str) -> dict[str, Member]:
    """Members that may provide a module, by the part of their name after it."""
    stem = module.replace(".", "/")
    found = {}
    for member in wheel.members.values():
        name = member.path.partition(".data/platlib/")[2] or member.path
        if name.startswith(stem + ".") and name.endswith((".so", ".pyd")):
            found[name[len(stem) :]] = member
    return found


def _problem(wheel: Wheel, module: str, expected: Expected) -> tuple[str, str]:
    """What is wrong with a declared extension, and the member; empty when nothing is."""
    found = _members(wheel, module)
    if not found:
        pure = "" if wheel.native else "; the wheel is pure: it holds no native file at all"
        return f"is missing{pure}", ""
    loadable = [m for suffix, m in found.items() if _suffixes(expected).match(suffix)]
    if not loadable:
        member = next(iter(found.values()))
        return f"is not for {expected.abi_tag}: no such Python loads it", member.path
    member = loadable[0]
    if member.size == 0:
        return "is an empty file", member.path
    if member.unreadable:
        return "", ""
    if member.library is None:
        return "is not native code", member.path
    if not _registers(member.library, module):
        return "has neither PyInit nor a torch library registration", member.path
    return "", ""


def _registers(library: Library, module: str) -> bool:
    """Whether importing or loading the library makes anything known."""
    if f"PyInit_{module.rpartition('.')[2]}" in library.entry_points:
        return True
    return any(_REGISTERS.match(symbol) for symbol in library.undefined)


def _has_code(library: Library, family: Family) -> bool | None:
    """Whether a file holds code of a vendor that can be loaded; None where nobody knows how."""
    code = library.device
    match family:
        case Family.CUDA:
            return any(group.loadable and group.images for group in code.cuda)
        case Family.ROCM:
            return code.kpack or any(bundle.targets for bundle in code.bundles)
        case Family.XPU:
            return code.sycl is not None and bool(code.sycl.devices or code.sycl.spirv)
        case _:
            return None


def device_code(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    """WG303: code of the vendor that can be loaded: machine code, PTX or SPIR-V."""
    if expected is None or not expected.extensions or not expected.abi.uses_torch:
        return
    family = expected.accelerator.family
    found = [_has_code(library, family) for library in wheel.libraries]
    if family in {Family.CPU, Family.MPS} or True in found:
        return
    yield error("WG303", f"no native file holds code for {expected.accelerator}")
