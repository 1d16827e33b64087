"""Whether a file is for a cell, from its label and, where known, its requirements.

Tags cannot say for which torch and accelerator a wheel was built. What no label and no pin says
is unknown, never supported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from packaging.requirements import Requirement
from packaging.version import Version

from wheelgrid.core.accelerator import Family
from wheelgrid.core.cell import Cell
from wheelgrid.core.filelist import ListedFile, requirements_on
from wheelgrid.core.labels import Fit, accelerator_fit, torch_fit
from wheelgrid.core.wheelname import Kind

__all__ = ["Fitness", "TorchUse", "fitness", "neighbours", "pins_line", "uses_torch"]

_CXX11_ALWAYS = Version("2.7")
"""From this torch on every published build has the C++11 ABI (facts of its release notes)."""


class TorchUse(StrEnum):
    """What binds the package to torch: the C++ ABI of a line, the stable ABI, or nothing."""

    AUTO = "auto"
    CXX = "cxx"
    STABLE = "stable"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Fitness:
    """The verdict on one file: True, False or None (nothing says so), why, and notes.

    `torch_only` says that nothing but its torch stands between the file and the cell.
    """

    file: ListedFile
    fits: bool | None
    why: str = ""
    torch_only: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def exactness(self) -> tuple[int, ...]:
        """How much its label says, to prefer the file that says most; higher is better."""
        label = self.file.name.label
        toolkit = label.toolkit
        exact = 0 if toolkit is None else 1 if toolkit.major_only else 2
        named = label.torch is not None
        return (not self.notes, exact, named, label.cxx11_abi is not None)


def neighbours(torch: Version) -> tuple[Version, ...]:
    """Releases of the lines around one: a pin on the line admits none of them."""
    major, minor = torch.major, torch.minor
    before = [f"{major}.{minor - 1}.0", f"{major}.{minor - 1}.99"] if minor else []
    after = [f"{major}.{minor + 1}.0", f"{major}.{minor + 1}.9", f"{major + 1}.0.0"]
    return tuple(map(Version, ["0.1", *before, *after]))


def pins_line(requirements: Iterable[Requirement], torch: Version) -> bool:
    """Whether a requirement admits this torch line and refuses the lines around it."""
    return any(
        r.specifier.contains(torch.public, prereleases=True)
        and not any(r.specifier.contains(o, prereleases=True) for o in neighbours(torch))
        for r in requirements
    )


def uses_torch(files: Iterable[ListedFile]) -> bool:
    """Whether anything says that the project is built against torch or an accelerator."""
    return any(
        f.name.label.torch is not None
        or f.name.label.family is not None
        or bool(requirements_on(f.requires, "torch", {"extra": ""}))
        for f in files
    )


def _accelerator(file: ListedFile, cell: Cell, use: TorchUse) -> Fit:
    found = accelerator_fit(file.name.label, cell.accelerator)
    if found.fits is not None or use is TorchUse.NONE:
        return found if found.fits is not None else Fit(fits=True)
    family = cell.accelerator.family
    if cell.platform.startswith("macosx") and family in {Family.MPS, Family.CPU}:
        return Fit(fits=True)  # wheels for macOS carry no label: they all hold both
    return found


def _torch_itself(file: ListedFile, cell: Cell) -> Fit:
    version = file.name.version
    if version is not None and Version(version.public) == Version(cell.torch.public):
        return Fit(fits=True)
    return Fit(fits=False, why=f"is torch {version}, the cell has {cell.torch}")


def _torch(file: ListedFile, cell: Cell, use: TorchUse, markers: dict[str, str]) -> Fit:
    """The torch that a file is for: by its label, its pin, or the stable ABI."""
    if file.name.project == "torch":
        return _torch_itself(file, cell)
    if use is TorchUse.NONE:
        return Fit(fits=True)
    named = torch_fit(file.name.label, cell.torch)
    if named.fits is False:
        return named
    asked = requirements_on(file.requires, "torch", markers)
    refusing = [r for r in asked if not r.specifier.contains(cell.torch.public, prereleases=True)]
    if refusing:
        why = f"requires {refusing[0]}, the cell has {cell.torch}"
        if cell.torch.is_prerelease and refusing[0].specifier.contains(
            cell.torch.base_version, prereleases=True
        ):
            low = f"{cell.torch.major}.{cell.torch.minor}.0.dev0"
            why += f", which comes before it: a nightly needs a dev lower bound, >={low}"
        return Fit(fits=False, why=why)
    if named.fits or use is TorchUse.STABLE or pins_line(asked, cell.torch):
        return named if named.fits else Fit(fits=True)
    open_pin = f", and {asked[0]} pins none" if asked else ""
    return Fit(fits=None, why=f"its label names no torch{open_pin}: for {cell.torch} unknown")


def _cxx11(file: ListedFile, cell: Cell, wanted: bool | None) -> Fit:
    stated = file.name.label.cxx11_abi
    if wanted is None and cell.torch >= _CXX11_ALWAYS:
        wanted = True
    if stated is None or wanted is None or stated == wanted:
        return Fit(fits=True)
    return Fit(fits=False, why=f"has cxx11abi {str(stated).lower()}, not {str(wanted).lower()}")


def fitness(
    file: ListedFile,
    cell: Cell,
    markers: dict[str, str],
    *,
    use: TorchUse = TorchUse.CXX,
    cxx11: bool | None = None,
) -> Fitness:
    """Whether an installable file is for a cell. Source distributions are for none: unknown."""
    if file.name.kind is not Kind.WHEEL:
        return Fitness(file=file, fits=None, why="is a source distribution: it would be compiled")
    if all(tag.abi == "none" and tag.platform == "any" for tag in file.name.tags):
        use = TorchUse.STABLE
        named = accelerator_fit(file.name.label, cell.accelerator)
        others = [Fit(fits=named.fits is not False, why=named.why)]
    else:
        others = [_accelerator(file, cell, use), _cxx11(file, cell, cxx11)]
    torch = _torch(file, cell, use, markers)
    found = [*others, torch]
    torch_only = all(f.fits for f in others)
    notes = tuple(f.note for f in found if f.note)
    bad = next((f for f in found if f.fits is False), None)
    unknown = [f.why for f in found if f.fits is None]
    if bad is not None:
        return Fitness(file=file, fits=False, why=bad.why, notes=notes, torch_only=torch_only)
    if unknown:
        why = "; ".join(unknown)
        return Fitness(file=file, fits=None, why=why, notes=notes, torch_only=torch_only)
    return Fitness(file=file, fits=True, notes=notes)
