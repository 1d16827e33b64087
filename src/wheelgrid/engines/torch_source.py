"""Where the torch of a cell comes from: PyTorch's index for the accelerator, or the default."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.platforms import Platform
from wheelgrid.engines.indexes import unreachable

__all__ = ["TorchSource", "facts_disagree", "torch_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchSource:
    """One way to get the torch of a cell; `note` says what could not be asked."""

    requirement: str
    indexes: tuple[str, ...] = ()
    note: str = ""


def torch_sources(
    torch: Version, accelerator: Accelerator, platform: Platform, knowledge: Knowledge
) -> tuple[TorchSource, ...]:
    """Ways to try, best first: the exact labelled build, then the default index's build.

    The default index serves one accelerator per release and platform without a label; it is
    used only where compat/ says that this is the accelerator asked for.
    """
    found: list[TorchSource] = []
    default = None
    release = knowledge.torch.get(torch)
    if release is not None:
        known = release.default_accelerator(platform)
        default = known[0] if known is not None else None
    family = knowledge.accelerators.get(accelerator.family)
    if accelerator.label and not platform.startswith("macosx"):
        index = family.torch_index.get(str(accelerator.version or "")) if family else None
        url = index[0] if index else ""
        note = unreachable(url) if url else f"no index of {accelerator} wheels is known"
        found.append(
            TorchSource(
                requirement=f"torch=={torch}+{accelerator.label}",
                indexes=() if note else (url,),
                note=note,
            )
        )
    if release is not None and (default == accelerator or platform.startswith("macosx")):
        # `===` compares text (PEP 440), so that no labelled build of another place is taken
        # for it: with `==`, 2.13.0+cpu would win over 2.13.0.
        found.append(TorchSource(requirement=f"torch==={release.torch}"))
    return tuple(found)


def facts_disagree(facts: dict[str, str | None], torch: Version, accelerator: Accelerator) -> str:
    """How an installed torch differs from the one asked for; empty when it does not.

    A wrong torch is the quiet way to a wheel without its GPU code, so this is checked before
    compiling and again after installing.
    """
    version = Version(str(facts.get("version")))
    if Version(version.public) != torch:
        return f"asked for torch {torch}, got {version}"
    runtime = {
        Family.CUDA: facts.get("cuda"),
        Family.ROCM: facts.get("hip"),
        Family.XPU: facts.get("xpu"),
    }
    present = {family: value for family, value in runtime.items() if value}
    if accelerator.family in {Family.CPU, Family.MPS}:
        return f"asked for {accelerator}, got a build for {next(iter(present))}" if present else ""
    got = present.get(accelerator.family)
    if not got:
        return f"asked for {accelerator}, got torch {version} without {accelerator.family}"
    if accelerator.family is Family.CUDA and Version(got) != accelerator.version:
        return f"asked for {accelerator}, got CUDA {got}"
    return ""
