"""What the audit says: findings, the rules they belong to, and what a wheel is expected to be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.platforms import Platform
from wheelgrid.core.recipe import Abi

__all__ = ["RULES", "Expected", "Finding", "Level", "error", "unchecked", "warning"]


class Level(StrEnum):
    """error fails the audit; warning is shown; unchecked means the tool could not look."""

    ERROR = "error"
    WARNING = "warning"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found, and in which member."""

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


def error(rule: str, message: str, member: str = "") -> Finding:
    """A finding that fails the audit."""
    return Finding(rule=rule, level=Level.ERROR, message=message, member=member)


def warning(rule: str, message: str, member: str = "") -> Finding:
    """A finding that is shown and fails nothing."""
    return Finding(rule=rule, level=Level.WARNING, message=message, member=member)


def unchecked(rule: str, message: str, member: str = "") -> Finding:
    """Something that could not be looked at: no pass."""
    return Finding(rule=rule, level=Level.UNCHECKED, message=message, member=member)


RULES: dict[str, tuple[str, str]] = {
    "WG101": ("The file name follows the binary distribution format.", "Rename by building again."),
    "WG102": (
        "File name, dist-info folder and METADATA agree on name and version.",
        "Put the local label into the version before the build; never rename a finished wheel.",
    ),
    "WG103": ("The tags in WHEEL are the tags of the file name.", "Retag with `wheel tags`."),
    "WG104": (
        "RECORD lists every member with its true SHA-256 and size.",
        "Repack with `wheel pack`.",
    ),
    "WG105": ("Every member can be read in full.", "Build or download the wheel again."),
    "WG106": ("No member leaves the installation folder.", "Do not install this wheel."),
    "WG107": (
        "METADATA has a Requires-Python that can be read.",
        "Set requires-python, or old pips take the wheel.",
    ),
    "WG108": ("Name and version are the ones that the plan asked for.", "Check the recipe."),
    "WG109": ("Every Requires-Dist can be read.", "Correct the project's dependencies."),
    "WG110": (
        "The WHEEL file and the .data folder follow the format.",
        "Build with a current build backend.",
    ),
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
    "WG204": (
        "Native files are for the machine of the platform tag.",
        "Check the cross compiler and _PYTHON_HOST_PLATFORM.",
    ),
    "WG205": (
        "An abi3 wheel uses only the stable ABI of the Python in its tag.",
        "Define Py_LIMITED_API for that Python, or raise the tag.",
    ),
    "WG301": (
        "Each declared extension is there, loads on the tagged Python and registers something.",
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
        "Link without -rpath to a folder of the build.",
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
