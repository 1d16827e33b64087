"""The audit: rules on what a wheel contains, each with an id, a reason and a fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.platforms import Platform
from wheelgrid.core.recipe import Abi
from wheelgrid.core.rung import Outcome
from wheelgrid.inspect.wheel import Member, Wheel, read_wheel, record_hash

__all__ = ["RULES", "Audit", "Expected", "Finding", "Level", "audit"]


class Level(StrEnum):
    """error fails the audit; warning is shown; unchecked means the tool could not look."""

    ERROR = "error"
    WARNING = "warning"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found, in which member, and what to do."""

    rule: str
    level: Level
    message: str
    member: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the plan says the wheel must be."""

    package: str
    version: str
    abi: Abi
    python_tag: str
    abi_tag: str
    platform: Platform | None
    accelerator: Accelerator
    extensions: tuple[str, ...]
    torch: Version | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All findings on one wheel."""

    wheel: str
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """Failed with an error, unknown with something unchecked, else passed."""
        levels = {f.level for f in self.findings}
        if Level.ERROR in levels:
            return Outcome.FAILED
        return Outcome.UNKNOWN if Level.UNCHECKED in levels else Outcome.PASSED


Rule = Callable[[Wheel, Expected | None], Iterator[Finding]]

RULES: dict[str, tuple[str, str]] = {
    "WG101": ("The file name follows the binary distribution format.", "Rename by building again."),
    "WG102": (
        "File name, dist-info folder and METADATA agree on name and version.",
        "Put the local label into the version before the build; never rename a finished wheel.",
    ),
    "WG103": ("The tags in WHEEL are the tags of the file name.", "Retag with `wheel tags`."),
    "WG104": ("RECORD lists every member with its true hash.", "Repack with `wheel pack`."),
    "WG105": ("Every member can be read in full.", "Build or download the wheel again."),
    "WG106": ("No member leaves the installation folder.", "Do not install this wheel."),
    "WG107": ("METADATA has Requires-Python.", "Set requires-python, or old pips take the wheel."),
    "WG108": ("Name and version are the ones that the plan asked for.", "Check the recipe."),
    "WG201": (
        "The tags fit the cells that the build serves.",
        "Check the interpreter and the ABI.",
    ),
    "WG202": (
        "The platform tag promises no older glibc than the symbols need.",
        "Build on an older base, or let auditwheel choose the tag.",
    ),
    "WG203": (
        "An abi3 wheel has no extension for one Python version.",
        "Build it with the limited API, or drop the abi3 tag.",
    ),
    "WG204": ("ELF files are for the machine of the platform tag.", "Check the cross compiler."),
    "WG301": (
        "Each declared extension is there, has content and registers something.",
        "The build skipped its extension: set what makes it compile (FORCE_CUDA, CUDA_HOME ...).",
    ),
    "WG303": (
        "A wheel for an accelerator holds code for it.",
        "Set FORCE_CUDA=1 and an explicit arch list.",
    ),
    "WG304": ("A pure wheel holds no native file.", "Correct the recipe's abi."),
    "WG401": (
        "No library of torch, the driver or the vendor's runtime is bundled.",
        "Exclude it from repair: a second copy in one process does not work.",
    ),
    "WG402": (
        "Every library named in version needs is also in DT_NEEDED.",
        "A repair renamed a library in one place only; repair again with a newer auditwheel.",
    ),
    "WG403": (
        "RUNPATH stays inside the installation.",
        "Link without -rpath to the build machine.",
    ),
    "WG404": (
        "A stable-ABI extension uses no C++ symbol of libtorch.",
        "Compile with TORCH_TARGET_VERSION and include only torch/csrc/stable and headeronly.",
    ),
    "WG405": (
        "A wheel of the C++ ABI requires the torch line it was built for.",
        "Add Requires-Dist: torch==X.Y.* before the build.",
    ),
    "WG501": ("Every native file could be looked into.", "Audit it on a platform that can."),
}

# Sonames that must come from the user's environment: torch, NVIDIA, AMD, Intel runtimes.
_VENDOR = re.compile(
    r"lib(torch|c10|shm\.|cuda\.|cudart|cublas|cudnn|cufft|cusolver|cusparse|curand|nccl|nvrtc|"
    r"nvJitLink|nvToolsExt|nvshmem|cupti|amdhip64|hsa-runtime|hipblas|rocblas|miopen|MIOpen|rccl|"
    r"hiprtc|rocsolver|rocsparse|rocfft|sycl|ze_loader|mkl_sycl|ur_loader|pi_level_zero)",
    re.IGNORECASE,
)
_TORCH_CXX = re.compile(
    r"_ZN?[KVr]*\d*(3c10|2at|5torch|6caffe2)|_ZT[IVS]N(3c10|2at|5torch|6caffe2)"
)
# What a library uses to make operators known when it is loaded: torch::Library (TORCH_LIBRARY),
# c10::RegisterOperators (the older way), or the shim of the stable ABI.
_REGISTERS = re.compile(r"_ZN5torch7Library|_ZN3c1017RegisterOperators|aoti_torch_library_")
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_")
_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
_GPU_SECTIONS = {Family.CUDA: (".nv_fatbin",), Family.ROCM: (".hip_fatbin",)}


def _error(rule: str, message: str, member: str = "") -> Finding:
    return Finding(rule=rule, level=Level.ERROR, message=message, member=member)


def _warning(rule: str, message: str, member: str = "") -> Finding:
    return Finding(rule=rule, level=Level.WARNING, message=message, member=member)


def _name(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    if wheel.name is None:
        yield _error("WG101", wheel.name_error + _label_hint(wheel.file.name))
    elif str(wheel.name.version) != wheel.name.version_text:
        yield _warning(
            "WG101",
            f"version {wheel.name.version_text!r} is not normalised; write {wheel.name.version}",
        )


def _label_hint(name: str) -> str:
    """For a version with several plus signs: the spelling that PEP 440 allows."""
    version = name.split("-")[1] if name.count("-") > 1 else ""
    if version.count("+") < 2:  # noqa: PLR2004
        return ""
    public, _, local = version.partition("+")
    return f"; a version has one '+': write {public}+{local.replace('+', '.')}"


def _agreement(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    if wheel.metadata is None:
        yield _error("WG102", "the wheel has no .dist-info/METADATA")
        return
    if wheel.name is None:
        return
    name, version = str(wheel.metadata.get("Name")), str(wheel.metadata.get("Version"))
    if canonicalize_name(name) != wheel.name.distribution:
        yield _error("WG102", f"METADATA has Name {name}, the file {wheel.name.distribution}")
    if _version(version) != wheel.name.version:
        yield _error("WG102", f"METADATA has Version {version}, the file {wheel.name.version_text}")
    folder = wheel.dist_info.removesuffix(".dist-info").rpartition("-")
    if _version(folder[2]) != wheel.name.version or (
        canonicalize_name(folder[0]) != wheel.name.distribution
    ):
        yield _error("WG102", f"the metadata folder is named {wheel.dist_info}")
    if not wheel.metadata.get("Requires-Python"):
        yield _error("WG107", "METADATA has no Requires-Python")


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _wheel_tags(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    if wheel.name is not None and wheel.wheel_tags != wheel.name.tags:
        inside = ", ".join(sorted(map(str, wheel.wheel_tags))) or "none"
        yield _error("WG103", f"WHEEL has the tags {inside}")


def _record(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    if not wheel.record:
        yield _error("WG104", "the wheel has no RECORD")
        return
    for path, member in wheel.members.items():
        if path.endswith(("/RECORD", "/RECORD.jws", "/RECORD.p7s")):
            continue
        listed = wheel.record.get(path)
        if listed is None:
            yield _error("WG104", "is not in RECORD", path)
        elif listed[0].startswith("sha256=") and listed[0] != record_hash(member.sha256):
            yield _error("WG104", "has another hash than RECORD says", path)
    for path in wheel.record.keys() - wheel.members.keys():
        yield _error("WG104", "is in RECORD but not in the wheel", path)


def _damage(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    for path, problem in wheel.damage:
        yield _error("WG105", problem, path)
    for path in wheel.members:
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts or "\\" in path or ":" in parts.parts[0]:
            yield _error("WG106", "leaves the installation folder", path)


def _asked_for(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    if expected is None or wheel.name is None:
        return
    if wheel.name.distribution != canonicalize_name(expected.package):
        yield _error("WG108", f"asked for {expected.package}, got {wheel.name.distribution}")
    if wheel.name.version != Version(expected.version):
        yield _error("WG108", f"asked for {expected.version}, got {wheel.name.version}")
    for tag in sorted(map(str, wheel.name.tags)):
        python, abi, platform = tag.split("-")
        if (python, abi) != (expected.python_tag, expected.abi_tag):
            want = f"{expected.python_tag}-{expected.abi_tag}"
            yield _error("WG201", f"tag {tag} where {want} was asked for")
        elif expected.platform is not None and not expected.platform.matches_wheel_platform(
            platform
        ):
            yield _error("WG201", f"tag {tag} does not install on {expected.platform}")


def _promised_glibc(tag: Tag) -> tuple[int, int] | None:
    match = _MANYLINUX.match(tag.platform)
    if match:
        return int(match[1]), int(match[2])
    return _LEGACY.get(tag.platform.partition("_")[0])


def _platform(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    if wheel.name is None:
        return
    floors = [floor for tag in wheel.name.tags if (floor := _promised_glibc(tag)) is not None]
    machines = {
        want for t in wheel.name.tags for m, want in _MACHINES.items() if t.platform.endswith(m)
    }
    for member in wheel.native:
        if member.elf is None:
            continue
        if floors and member.elf.glibc > min(floors):
            need = ".".join(map(str, member.elf.glibc))
            have = ".".join(map(str, min(floors)))
            yield _error(
                "WG202",
                f"needs glibc {need} (symbol {member.elf.glibc_symbol}), the tag promises {have}",
                member.path,
            )
        if machines and member.elf.machine not in machines:
            yield _error("WG204", f"is for {member.elf.machine}", member.path)


def _abi3(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    if wheel.name is None or not any(t.abi == "abi3" for t in wheel.name.tags):
        return
    for member in wheel.native:
        if re.search(r"\.cpython-\d+t?-", member.path) or re.search(r"\.cp\d+-win", member.path):
            yield _error("WG203", "is for one Python version", member.path)


def _extension_member(wheel: Wheel, module: str) -> Member | None:
    """The member that provides a module: `a.b` is a/b.so, a/b.abi3.so, a/b.cpython-….so ..."""
    stem = module.replace(".", "/")
    for member in wheel.members.values():
        name = member.path.partition(".data/platlib/")[2] or member.path
        if name.startswith(stem + ".") and _is_extension(name[len(stem) :]):
            return member
    return None


def _is_extension(suffix: str) -> bool:
    return suffix.endswith((".so", ".pyd"))


def _extensions(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    if expected is None:
        return
    if expected.abi is Abi.PURE:
        for member in wheel.native:
            yield _error("WG304", "is native code in a wheel declared pure", member.path)
        return
    for module in expected.extensions:
        problem, path = _extension_problem(wheel, module)
        if problem:
            yield _error("WG301", f"the extension {module} {problem}", path)


def _extension_problem(wheel: Wheel, module: str) -> tuple[str, str]:
    """What is wrong with a declared extension, and the member; empty when nothing is."""
    member = _extension_member(wheel, module)
    if member is None:
        pure = "" if wheel.native else "; the wheel is pure: it holds no native file at all"
        return f"is missing{pure}", ""
    if member.size == 0:
        return "is an empty file", member.path
    if not member.native:
        return "is not native code", member.path
    if not _registers(member, module):
        return "has neither PyInit nor a torch library registration", member.path
    return "", ""


def _registers(member: Member, module: str) -> bool:
    """Whether importing or loading the library makes anything known."""
    elf = member.elf
    if elf is None:
        return True
    name = module.rpartition(".")[2]
    if f"PyInit_{name}" in elf.defined:
        return True
    return any(_REGISTERS.match(symbol) for symbol in elf.undefined)


def _device_code(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    if expected is None or not expected.extensions or expected.abi is Abi.NONE:
        return
    wanted = _GPU_SECTIONS.get(expected.accelerator.family)
    if wanted is None:
        return
    sections = {s for m in wheel.native if m.elf is not None for s in m.elf.sections}
    if not sections & set(wanted):
        yield _error(
            "WG303", f"no member has a {wanted[0]} section: no {expected.accelerator} code"
        )


def _bundled(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    for member in wheel.native:
        path = PurePosixPath(member.path)
        inside = any(part.endswith(".libs") for part in path.parts[:-1])
        if inside and _VENDOR.match(path.name):
            yield _error("WG401", f"is bundled ({member.size} bytes)", member.path)


def _loading(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    for member in wheel.native:
        if member.elf is None:
            continue
        for library in sorted(set(member.elf.version_files) - set(member.elf.needed)):
            yield _error("WG402", f"asks versions of {library} without needing it", member.path)
        for path in member.elf.runpath:
            if path and not path.startswith(("$ORIGIN", "${ORIGIN}")):
                yield _error("WG403", f"has RUNPATH {path}", member.path)


def _torch_abi(wheel: Wheel, expected: Expected | None) -> Iterator[Finding]:
    if expected is None:
        return
    if expected.abi is Abi.LIBTORCH_STABLE:
        for member in wheel.native:
            bad = sorted(
                s for s in (member.elf.undefined if member.elf else ()) if _TORCH_CXX.match(s)
            )
            if bad:
                shown = ", ".join(bad[:3])
                yield _error(
                    "WG404", f"uses {len(bad)} C++ symbols of libtorch: {shown}", member.path
                )
    if (
        expected.abi is Abi.LIBTORCH
        and expected.torch is not None
        and not _pins(wheel, expected.torch)
    ):
        line = f"{expected.torch.major}.{expected.torch.minor}"
        yield _error("WG405", f"no Requires-Dist limits torch to {line}.*")


def _pins(wheel: Wheel, torch: Version) -> bool:
    """Whether a requirement admits this torch line and refuses its neighbours."""
    for text in (wheel.metadata.get_all("Requires-Dist") or []) if wheel.metadata else []:
        try:
            requirement = Requirement(str(text))
        except InvalidRequirement:
            continue
        if canonicalize_name(requirement.name) != "torch":
            continue
        after = Version(f"{torch.major}.{torch.minor + 1}.0")
        before = Version(f"{torch.major}.{max(torch.minor - 1, 0)}.0")
        allowed = requirement.specifier
        if torch in allowed and after not in allowed and before not in allowed:
            return True
    return False


def _unchecked(wheel: Wheel, _: Expected | None) -> Iterator[Finding]:
    for member in wheel.native:
        problem = member.unreadable
        if member.native not in {"ELF", ""}:
            problem = f"is {member.native}: not looked into yet"
        if problem:
            yield Finding(rule="WG501", level=Level.UNCHECKED, message=problem, member=member.path)


_ALL: tuple[Rule, ...] = (
    _name,
    _agreement,
    _wheel_tags,
    _record,
    _damage,
    _asked_for,
    _platform,
    _abi3,
    _extensions,
    _device_code,
    _bundled,
    _loading,
    _torch_abi,
    _unchecked,
)


def audit(file: Path, expected: Expected | None = None) -> Audit:
    """Read a wheel and apply every rule; with `expected`, also what the plan asked for."""
    wheel = read_wheel(file)
    found = tuple(finding for rule in _ALL for finding in rule(wheel, expected))
    return Audit(wheel=file.name, findings=found)
