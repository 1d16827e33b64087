"""Rules on what must be inside: WG301, WG303, WG304, WG305."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wheelgrid.core.accelerator import Family
from wheelgrid.core.recipe import Abi
from wheelgrid.inspect.device import code_families
from wheelgrid.inspect.findings import Expected, Finding, error, shown, warning
from wheelgrid.inspect.library import Library
from wheelgrid.inspect.runtimes import jit_compilers, runtimes
from wheelgrid.inspect.subject import Subject
from wheelgrid.inspect.wheel import Member, Wheel

__all__ = ["device_code", "extensions", "several_accelerators"]

# What a library uses to make operators known when it is loaded: torch::Library (TORCH_LIBRARY),
# c10::RegisterOperators (the older way), or the shim of the stable ABI.
_REGISTERS = re.compile(
    r"_?_ZN5torch7Library|_?_ZN3c1017RegisterOperators|_?(?:aoti_)?torch_library_|\?.*Library@torch@@"
)


def extensions(subject: Subject) -> Iterator[Finding]:
    """WG301 and WG304: the declared extensions, and nothing native in a pure wheel."""
    wheel, expected = subject.wheel, subject.expected
    if expected is None:
        yield from _nothing_native(subject)
        return
    if expected.abi is Abi.PURE:
        for member in wheel.native:
            yield error("WG304", "is native code in a wheel declared pure", member.path)
        return
    for module in expected.extensions:
        problem, path = _problem(wheel, module, expected)
        if problem:
            yield error("WG301", f"the extension {module} {problem}", path)


def _nothing_native(subject: Subject) -> Iterator[Finding]:
    """Without a plan: a tag for one platform on a wheel that has nothing for it."""
    native = any(m.library or m.unreadable or m.size == 0 for m in subject.wheel.native)
    platforms = [t.platform for t in subject.tags if t.platform != "any"]
    if platforms and not native and not subject.wheel.damage:
        text = f"is tagged {subject.tags[0]} and holds no native file: is its extension missing?"
        yield warning("WG301", text)


def _suffixes(expected: Expected) -> re.Pattern[str]:
    """File name endings that the tagged interpreter imports (importlib's EXTENSION_SUFFIXES)."""
    version = re.escape(expected.abi_tag.removeprefix("cp"))
    exact = rf"\.cpython-{version}-[a-z0-9_]+-linux-gnu|\.cpython-{version}-darwin"
    windows = rf"\.{re.escape(expected.abi_tag)}-win_[a-z0-9]+"
    if expected.abi_tag in {"abi3", "abi3t"}:
        return re.compile(rf"(?:\.{expected.abi_tag})?\.(?:so|pyd)\Z")
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


def device_code(subject: Subject) -> Iterator[Finding]:
    """WG303: code of the vendor that can be loaded: machine code, PTX or SPIR-V."""
    expected = subject.expected
    if expected is None:
        yield from _no_trace(subject)
        return
    family = expected.accelerator.family
    if not expected.extensions or not expected.abi.uses_torch or not family.has_version:
        return
    if not any(family in code_families(library) for library in subject.wheel.libraries):
        yield error("WG303", f"no native file holds code for {expected.accelerator}")


def _no_trace(subject: Subject) -> Iterator[Finding]:
    """Without a plan: a label that names a vendor of whom the native files know nothing."""
    family = subject.label.family
    if family is None or not family.has_version or not subject.libraries or subject.is_torch:
        return
    known = set(subject.wheel.jit)
    for library in subject.wheel.libraries:
        known |= {str(one) for one in code_families(library)}
        known |= {*runtimes(library), *jit_compilers(library)}
        known |= {"sycl"} & set(runtimes(library))
    vendor = {Family.XPU: {"xpu", "sycl"}}.get(family, {str(family)})
    if not known & vendor and not subject.wheel.jit:
        text = f"the label says {family}, and no native file holds code for it or needs its runtime"
        yield warning("WG303", text)


def several_accelerators(subject: Subject) -> Iterator[Finding]:
    """WG305: code of more vendors than one, unless the policy names them all."""
    files: dict[Family, list[str]] = {}
    for library in subject.wheel.libraries:
        for family in code_families(library):
            files.setdefault(family, []).append(library.path)
    if len(files) > 1 and not set(files) <= subject.policy.accelerators:
        parts = [f"{family} ({shown(files[family])})" for family in sorted(files)]
        yield warning("WG305", f"holds code for {len(files)} accelerators: {'; '.join(parts)}")
