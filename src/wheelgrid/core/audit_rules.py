"""The rules of the audit by id: what must hold, and how to put it right."""

from __future__ import annotations

__all__ = ["NEVER_WAIVED", "RULES"]

NEVER_WAIVED = frozenset({"WG105", "WG106", "WG601"})
"""Damage, members that leave the folder, and faults of the exceptions themselves."""

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
        "The platform tag promises no older system than the files need.",
        "Build on an older base, or use the lowest true tag; let auditwheel or delocate choose it.",
    ),
    "WG203": (
        "Extensions are named for the Pythons of the tag.",
        "Build for that Python; in an abi3 wheel with the limited API and the suffix .abi3.",
    ),
    "WG204": (
        "Native files are for the machine of the platform tag.",
        "Check the cross compiler and _PYTHON_HOST_PLATFORM.",
    ),
    "WG205": (
        "An abi3 or abi3t wheel uses only the stable ABI of the Python in its tag.",
        "Define Py_LIMITED_API (Py_TARGET_ABI3T) for that Python, or raise the tag.",
    ),
    "WG206": (
        "The platform tag is not needlessly high, and not above the floor of the policy.",
        "Use the lowest true tag: `auditwheel repair`, `delocate-wheel`, `wheel tags`.",
    ),
    "WG207": (
        "The platform tag is one that PyPI takes.",
        "Repair the wheel with auditwheel; `linux_*` promises nothing about the system.",
    ),
    "WG208": (
        "A wheel without a Python ABI in its tag uses no C API that is of one Python.",
        "Tag it for that Python, or use the limited API and the tag abi3.",
    ),
    "WG209": (
        "The wheel is not tied to one Python without need.",
        "Build it with the tag that its files allow: one wheel then serves many Pythons.",
    ),
    "WG210": (
        "Files are for the Python and the threading of the tag.",
        "Build with the interpreter of the tag: cp314t has another ABI than cp314.",
    ),
    "WG301": (
        "Each declared extension is there, loads on the tagged Python and registers something.",
        "The build skipped its extension: set what makes it compile (FORCE_CUDA, CUDA_HOME ...).",
    ),
    "WG302": (
        "Each declared GPU target is in the device code, in every translation unit.",
        "Set TORCH_CUDA_ARCH_LIST (PYTORCH_ROCM_ARCH) for the build, or correct the declaration.",
    ),
    "WG303": (
        "A wheel for an accelerator holds code for it.",
        "Set FORCE_CUDA=1 and an explicit arch list.",
    ),
    "WG304": ("A pure wheel holds no native file.", "Correct the recipe's abi."),
    "WG305": (
        "A wheel holds code for one accelerator, or those that its policy names.",
        "Build one wheel per accelerator, or list them: `accelerators: [cuda, rocm]`.",
    ),
    "WG306": (
        "No library is in the wheel twice.",
        "Keep one copy under its soname: a wheel cannot hold links, so each name costs its size.",
    ),
    "WG307": (
        "The wheel is not larger than its index and its policy allow.",
        "Fewer GPU targets, `-Xfatbin -compress-all`, no bundled library, or a higher limit.",
    ),
    "WG308": ("Native files carry no debug data.", "Link with -s, or run strip --strip-debug."),
    "WG309": (
        "The declared list names each GPU target once and leaves a way to newer GPUs.",
        "Write the normalised list; add +PTX to the newest plain target.",
    ),
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
    "WG406": (
        "Files have RUNPATH, not the older RPATH.",
        "Link with -Wl,--enable-new-dtags: users cannot override RPATH with LD_LIBRARY_PATH.",
    ),
    "WG407": (
        "RUNPATH to NVIDIA's packages follows the layout of their CUDA major version.",
        "CUDA 13: nvidia/cu13/lib. CUDA 12: nvidia/<component>/lib for each component.",
    ),
    "WG408": (
        "Every exclude of repair matches a library that the files need.",
        "Write the soname with a wildcard: libfoo.so* matches libfoo.so.1, libfoo.so does not.",
    ),
    "WG409": (
        "A file needs one major version of each vendor's runtime.",
        "Rebuild all of it with one toolkit: two runtimes in one process do not work together.",
    ),
    "WG410": (
        "The local label names the accelerator and the torch that the files are for.",
        "Correct the label before the build, or build with that toolkit and torch.",
    ),
    "WG411": (
        "A wheel labelled for an accelerator limits the torch that it runs with.",
        "Add Requires-Dist: torch==X.Y.*, and name the index of that accelerator.",
    ),
    "WG412": (
        "No requirement names a package that is only a stub.",
        "CUDA 13 packages of NVIDIA have no suffix: nvidia-cusparse, not nvidia-cusparse-cu13.",
    ),
    "WG413": (
        "Requires-Dist admits no torch without the shims that the extension uses.",
        "Raise the lower bound of torch, or set TORCH_TARGET_VERSION to the oldest one.",
    ),
    "WG414": (
        "The torch that is declared, or given by --against, has what the extension needs of it.",
        "Build against that torch, with the same _GLIBCXX_USE_CXX11_ABI.",
    ),
    "WG415": (
        "No requirement pins a runtime that torch pins as well.",
        "Leave the runtime to torch: two pins meet by luck only.",
    ),
    "WG416": (
        "The SYCL runtime that the files need is the one of the declared torch.",
        "Build with the oneAPI of that torch, or once per oneAPI.",
    ),
    "WG501": ("Every native file could be looked into.", "Audit it on a platform that can."),
    "WG601": (
        "Each exception of the policy is in force and needed.",
        "Solve what it excuses, renew it with a new reason, or delete it.",
    ),
}
