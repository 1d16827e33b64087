"""Collapses cells into builds: one wheel serves every cell that its ABI allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wheelgrid.core.build import Build, local_label, reach_name
from wheelgrid.core.cell import Cell
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import Abi, Proof, Reach, Recipe, Unproven

__all__ = ["applies", "collapse"]

_ABI3T = PythonVersion(3, 15, free_threaded=True)
"""The first CPython with a stable ABI for free-threaded builds (PEP 803)."""


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


@dataclass(frozen=True, slots=True, order=True)
class _Key:
    """What tells wheels apart; cells with equal keys share one."""

    abi: Abi
    reach: Reach
    accelerator: str
    platform: str
    torch: str
    python: str
    free: tuple[tuple[str, str], ...]


def _python(recipe: Recipe, cell: Cell, *, proven: bool) -> str:
    """`abi3`, `abi3t`, or one Python.

    abi3 covers default builds of CPython only: a free-threaded interpreter cannot load it
    (PEP 703). abi3t covers free-threaded ones from 3.15 on (PEP 803).
    """
    floor = recipe.limited_api_t if cell.python.free_threaded else recipe.limited_api
    if proven and floor is not None and cell.python.release >= floor.release:
        return "abi3t" if cell.python.free_threaded else "abi3"
    return str(cell.python)


def _key(recipe: Recipe, cell: Cell, refuted: frozenset[Proof]) -> _Key:
    abi = recipe.abi_for(cell.accelerator)
    if abi is Abi.LIBTORCH_STABLE and Proof.TORCH_STABLE_ABI in refuted:
        abi = Abi.LIBTORCH
    reach = recipe.reach_for(cell.accelerator)
    pure = abi is Abi.PURE
    proven = Proof.PYTHON_STABLE_ABI not in refuted
    return _Key(
        abi=abi,
        reach=reach,
        accelerator=reach_name(cell.accelerator, reach),
        platform="" if pure else str(cell.platform),
        torch=cell.torch_minor if abi is Abi.LIBTORCH else "",
        python="" if pure else _python(recipe, cell, proven=proven),
        free=tuple((name, value) for name, value in cell.free if name in recipe.uses),
    )


def _build(recipe: Recipe, key: _Key, cells: list[Cell]) -> Build:
    first = min(cells)
    # One wheel for a major version is built with its oldest toolkit, which all later ones run.
    accelerator = min(cell.accelerator for cell in cells)
    limited = key.python in {"abi3", "abi3t"}
    python = first.python
    if limited:
        floor = recipe.limited_api_t if key.python == "abi3t" else recipe.limited_api
        assert floor is not None  # noqa: S101 - the key says so
        python = PythonVersion(*floor.release, free_threaded=key.python == "abi3t")
    torch = first.torch if key.abi.uses_torch else None
    if key.abi is Abi.LIBTORCH_STABLE:
        torch = recipe.stable_torch
    return Build(
        package=recipe.name,
        version=recipe.version,
        abi=key.abi,
        python=python,
        platform=first.platform,
        accelerator=accelerator,
        folder=key.accelerator,
        torch=torch,
        label=local_label(key.abi, accelerator, torch, reach=key.reach, free=key.free),
        limited=limited,
        cells=tuple(sorted(cells)),
        free=key.free,
    )


def _refuted(recipe: Recipe, unproven: Iterable[Unproven]) -> dict[str, frozenset[Proof]]:
    """By accelerator, the claims of this version of the package that an audit refuted."""
    found: dict[str, frozenset[Proof]] = {}
    for one in unproven:
        if (one.package, one.version) == (recipe.name, str(recipe.version)):
            found[one.accelerator] = found.get(one.accelerator, frozenset()) | {one.proof}
    return found


def collapse(
    recipe: Recipe, cells: Iterable[Cell], unproven: Iterable[Unproven] = ()
) -> tuple[Build, ...]:
    """The smallest set of builds for the included cells; each cell is served exactly once.

    Claims that an audit has refuted no longer collapse: those cells get the builds that they
    would have without the claim.
    """
    refuted = _refuted(recipe, unproven)
    groups: dict[_Key, list[Cell]] = {}
    for cell in cells:
        if applies(recipe, cell):
            claims = refuted.get(str(cell.accelerator), frozenset())
            groups.setdefault(_key(recipe, cell, claims), []).append(cell)
    builds = (_build(recipe, key, group) for key, group in groups.items())
    return tuple(sorted(builds, key=lambda b: b.id))
