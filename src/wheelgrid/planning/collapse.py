"""Collapses cells into builds: one wheel serves every cell that its ABI allows."""

from __future__ import annotations

from collections.abc import Iterable

from wheelgrid.core.build import ANY, Build, local_label
from wheelgrid.core.cell import Cell
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Abi, Recipe

__all__ = ["applies", "collapse"]

Key = tuple[str, ...]


def applies(recipe: Recipe, cell: Cell) -> bool:
    """Whether the recipe can be built for the cell at all."""
    if not recipe.when.matches(cell):
        return False
    if recipe.abi_for(cell.accelerator) is not Abi.LIBTORCH_STABLE:
        return True
    if recipe.stable_torch is None or recipe.limited_api is None:
        return False
    floor = recipe.limited_api.release
    return cell.torch >= recipe.stable_torch and cell.python.release >= floor


def _key(recipe: Recipe, cell: Cell) -> Key:
    """Cells with equal keys share a wheel.

    abi3 covers default builds of CPython only: a free-threaded interpreter cannot load it
    (PEP 703), so its cells get a wheel of their own.
    """
    abi = recipe.abi_for(cell.accelerator)
    platform, accelerator = str(cell.platform), str(cell.accelerator)
    match abi:
        case Abi.PURE:
            return (abi, "", "", "", accelerator)
        case Abi.NONE:
            return (abi, platform, "", str(cell.python), "")
        case Abi.LIBTORCH:
            return (abi, platform, cell.torch_minor, str(cell.python), accelerator)
        case Abi.LIBTORCH_STABLE:
            python = str(cell.python) if cell.python.free_threaded else "abi3"
            return (abi, platform, "", python, accelerator)


def _build(recipe: Recipe, cells: list[Cell]) -> Build:
    first = min(cells)
    abi = recipe.abi_for(first.accelerator)
    limited = abi is Abi.LIBTORCH_STABLE and not first.python.free_threaded
    python = first.python
    if limited and recipe.limited_api is not None:
        python = PythonVersion(*recipe.limited_api.release)
    torch = first.torch if abi.uses_torch else None
    if abi is Abi.LIBTORCH_STABLE:
        torch = recipe.stable_torch
    return Build(
        package=recipe.name,
        version=recipe.version,
        abi=abi,
        python=python,
        platform=first.platform,
        accelerator=first.accelerator,
        folder=ANY if abi is Abi.NONE else str(first.accelerator),
        torch=torch,
        label=local_label(abi, first.accelerator, torch),
        limited=limited,
        cells=tuple(sorted(cells)),
    )


def collapse(recipe: Recipe, cells: Iterable[Cell]) -> tuple[Build, ...]:
    """The smallest set of builds for the included cells; each cell is served exactly once."""
    groups: dict[Key, list[Cell]] = {}
    for cell in cells:
        if applies(recipe, cell):
            groups.setdefault(_key(recipe, cell), []).append(cell)
    return tuple(sorted((_build(recipe, group) for group in groups.values()), key=lambda b: b.id))
