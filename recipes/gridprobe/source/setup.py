# SPDX-License-Identifier: Apache-2.0
"""Build gridprobe for the accelerator that the environment names.

Nothing is detected: a build gives the same wheel on a machine with a GPU as on one without.

GRIDPROBE_ACCELERATOR   cpu (default), cuda or hip
CUDA_HOME               toolkit root, for cuda
TORCH_CUDA_ARCH_LIST    for cuda, for example "8.0;9.0;12.0+PTX"
ROCM_HOME               ROCm root, for hip
HIPCC                   the HIP compiler, $ROCM_HOME/bin/hipcc unless set
PYTORCH_ROCM_ARCH       for hip, for example "gfx90a;gfx942"
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ACCELERATORS = ("cpu", "cuda", "hip")
DEVICE_SOURCE = "csrc/device_kernel.cu"
HEADERS = ["csrc/checks.h", "csrc/device_kernel.h"]


def fail(message: str) -> SystemExit:
    """Return the exception that ends the build with one readable line."""
    return SystemExit(f"gridprobe: {message}")


def torch_root() -> Path:
    """Find the installed torch package without importing it, which takes seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise fail("torch is not installed in the building interpreter")
    return Path(spec.submodule_search_locations[0])


def environment_directory(variable: str, purpose: str) -> Path:
    """Read a directory from the environment, or fail with the variable's name."""
    value = os.environ.get(variable, "")
    if not value:
        raise fail(f"set {variable} to {purpose}")
    path = Path(value)
    if not path.is_dir():
        raise fail(f"{variable}={value} is not a directory; it must be {purpose}")
    return path


def environment_list(variable: str, example: str) -> list[str]:
    """Read a list separated by semicolons or blanks; an empty one is an error."""
    items = [item for item in re.split(r"[;\s]+", os.environ.get(variable, "")) if item]
    if not items:
        raise fail(f'set {variable}, for example to "{example}"')
    return list(dict.fromkeys(items))


def gencode_flags(architectures: list[str]) -> list[str]:
    """Turn the items of TORCH_CUDA_ARCH_LIST into nvcc options."""
    flags: list[str] = []
    for item in architectures:
        match = re.fullmatch(r"(\d+)\.(\d)([af]?)(\+PTX)?", item)
        if match is None:
            raise fail(f'TORCH_CUDA_ARCH_LIST: "{item}" is not like 9.0, 9.0a or 12.0+PTX')
        number = "".join(match.group(1, 2, 3))
        flags.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        if match.group(4):
            flags.append(f"-gencode=arch=compute_{number},code=compute_{number}")
    return flags


@dataclass
class DeviceBuild:
    """How the device source is compiled and what the extension links for it."""

    command: list[str]
    libraries: list[str]
    library_dirs: list[str]
    architectures: list[str]
    environment: dict[str, str] = field(default_factory=dict)


def cuda_build() -> DeviceBuild:
    """Read the CUDA part of the environment."""
    home = environment_directory("CUDA_HOME", "the root of a CUDA toolkit")
    nvcc = home / "bin" / "nvcc"
    if not nvcc.is_file():
        raise fail(f"CUDA_HOME={home} has no bin/nvcc")
    # The shared runtime, so that wheel repair can leave it to the CUDA build of torch.
    directories = [home / name for name in ("lib64", "lib") if (home / name).is_dir()]
    if not any((directory / "libcudart.so").exists() for directory in directories):
        raise fail(f"CUDA_HOME={home} has no libcudart.so in lib64 or lib")
    architectures = environment_list("TORCH_CUDA_ARCH_LIST", "8.0;9.0;12.0+PTX")
    command = [
        str(nvcc),
        "-std=c++17",
        "-O2",
        "-Xcompiler",
        "-fPIC,-fvisibility=hidden",
        *gencode_flags(architectures),
    ]
    return DeviceBuild(command, ["cudart"], [str(path) for path in directories], architectures)


def hip_build() -> DeviceBuild:
    """Read the HIP part of the environment."""
    home = environment_directory("ROCM_HOME", "the root of a ROCm installation")
    compiler = Path(os.environ.get("HIPCC") or home / "bin" / "hipcc")
    if not compiler.is_file():
        raise fail(f"no HIP compiler at {compiler}; set HIPCC or ROCM_HOME")
    architectures = environment_list("PYTORCH_ROCM_ARCH", "gfx90a;gfx942")
    for item in architectures:
        if not re.fullmatch(r"gfx[0-9a-f]+(:\w+[+-])*", item):
            raise fail(f'PYTORCH_ROCM_ARCH: "{item}" is not like gfx942 or gfx90a:xnack-')
    command = [
        str(compiler),
        "-x",
        "hip",
        "-std=c++17",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-DGRIDPROBE_USE_HIP",
        *(f"--offload-arch={item}" for item in architectures),
    ]
    directories = [str(home / name) for name in ("lib", "lib64") if (home / name).is_dir()]
    # hipcc would otherwise turn itself into a front end of nvcc where it finds a CUDA toolkit.
    return DeviceBuild(command, ["amdhip64"], directories, architectures, {"HIP_PLATFORM": "amd"})


def device_build(accelerator: str) -> DeviceBuild | None:
    """Describe the device part of the build; None for a CPU-only wheel."""
    if accelerator == "cuda":
        return cuda_build()
    if accelerator == "hip":
        return hip_build()
    return None


class BuildExtension(build_ext):
    """build_ext that can hand one source to a device compiler first."""

    device: DeviceBuild | None = None

    def build_extension(self, ext: Extension) -> None:
        """Compile the device source to an object, then the rest as usual."""
        if self.device is not None:
            target = Path(self.build_temp) / "device_kernel.o"
            target.parent.mkdir(parents=True, exist_ok=True)
            command = [*self.device.command, "-c", DEVICE_SOURCE, "-o", str(target)]
            print(" ".join(command), flush=True)
            subprocess.run(command, check=True, env={**os.environ, **self.device.environment})
            ext.extra_objects = [*ext.extra_objects, str(target)]
        super().build_extension(ext)


def configure() -> tuple[Extension, type[BuildExtension]]:
    """Make the extension and the build command for the accelerator in the environment."""
    accelerator = os.environ.get("GRIDPROBE_ACCELERATOR") or "cpu"
    if accelerator not in ACCELERATORS:
        allowed = ", ".join(ACCELERATORS)
        raise fail(f'GRIDPROBE_ACCELERATOR="{accelerator}" is unknown; allowed: {allowed}')
    device = device_build(accelerator)
    torch = torch_root()
    sources = ["csrc/module.cpp", "csrc/cpu.cpp"]
    if device is not None:
        sources.append("csrc/device.cpp")
    extension = Extension(
        "gridprobe._C",
        sources=sources,
        depends=[*HEADERS, DEVICE_SOURCE],
        include_dirs=[str(torch / "include")],
        # libtorch_cpu alone: it exports every symbol of the stable ABI that is used here, and
        # every build of torch has it under this name.
        libraries=["torch_cpu", *(device.libraries if device else [])],
        library_dirs=[str(torch / "lib"), *(device.library_dirs if device else [])],
        define_macros=[
            ("TORCH_TARGET_VERSION", "0x020d000000000000"),
            ("Py_LIMITED_API", "0x030b0000"),
            ("GRIDPROBE_ACCELERATOR", f'"{accelerator}"'),
            ("GRIDPROBE_ARCHITECTURES", f'"{";".join(device.architectures if device else [])}"'),
        ],
        extra_compile_args=[
            "-std=c++20",
            "-O2",
            "-g0",
            "-fvisibility=hidden",
            "-fvisibility-inlines-hidden",
            # torch's headers put __FILE__ into messages; without this the wheel would carry the
            # path of the build environment.
            f"-fmacro-prefix-map={torch}=torch",
        ],
        extra_link_args=["-Wl,-s"],
        py_limited_api=True,
    )
    command = type("ConfiguredBuildExtension", (BuildExtension,), {"device": device})
    return extension, command


if __name__ == "__main__":
    the_extension, the_command = configure()
    setup(
        ext_modules=[the_extension],
        cmdclass={"build_ext": the_command},
        options={"bdist_wheel": {"py_limited_api": "cp311"}},
    )
