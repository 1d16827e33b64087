"""Decodes compat/: torch releases, accelerators, lifecycle, features and index observations."""

from __future__ import annotations

from collections.abc import Iterator

from wheelgrid.config.compat_abi import load_shims
from wheelgrid.config.compat_features import FEATURE_STATUSES, STABILITIES, read_feature
from wheelgrid.config.compat_ground import (
    read_manylinux,
    read_pythons,
    read_run_rules,
    read_sunsets,
)
from wheelgrid.config.compat_index import INDEX_OBSERVATIONS, read_index
from wheelgrid.config.compat_torch import Releases, read_torch
from wheelgrid.config.compat_vendor import read_vendor
from wheelgrid.config.files import Project, read_yaml
from wheelgrid.config.statements import Statement
from wheelgrid.config.yaml import Faults, Item
from wheelgrid.core.accelerator import Family
from wheelgrid.core.knowledge import AcceleratorKnowledge, Knowledge
from wheelgrid.core.shim import ShimKnowledge

__all__ = ["FEATURE_STATUSES", "INDEX_OBSERVATIONS", "STABILITIES", "load_knowledge"]


def _read_all(project: Project, folder: str, faults: Faults) -> Iterator[Item]:
    for path in sorted((project.compat / folder).glob("*.yaml")):
        item = read_yaml(path, root=project.root, faults=faults)
        if item is not None:
            yield item


def _read_one(project: Project, name: str, faults: Faults) -> Item | None:
    path = project.compat / name
    return read_yaml(path, root=project.root, faults=faults) if path.is_file() else None


def _torch(project: Project, faults: Faults, kept: list[Statement] | None) -> Releases:
    releases = Releases()
    for item in _read_all(project, "torch", faults):
        read_torch(item, releases, kept)
    for path in sorted((project.compat / INDEX_OBSERVATIONS).glob("torch*.json")):
        name = path.relative_to(project.root).as_posix()
        for torch, statements in read_index(path, name, faults):
            releases.add_pythons(torch, statements)
    return releases


def load_knowledge(
    project: Project,
    faults: Faults,
    *,
    features: bool = False,
    abi: bool = False,
    kept: list[Statement] | None = None,
) -> Knowledge:
    """Read compat/. Features and the stable ABI are decoded only where a caller uses them.

    `kept` takes every statement as it is written, with its place, for lint rules.
    """
    releases = _torch(project, faults, kept)
    accelerators: dict[Family, AcceleratorKnowledge] = {}
    for item in _read_all(project, "accelerators", faults):
        known = read_vendor(item, kept)
        if known is not None:
            accelerators[known.family] = known
    lifecycle = _read_one(project, "lifecycle.yaml", faults)
    pythons = _read_one(project, "pythons.yaml", faults)
    manylinux = _read_one(project, "manylinux.yaml", faults)
    run_rules = _read_one(project, "run-rules.yaml", faults) if features else None
    read = (
        [read_feature(item, kept) for item in _read_all(project, "features", faults)]
        if features
        else []
    )
    return Knowledge(
        torch=releases.finished(),
        accelerators=accelerators,
        sunsets=read_sunsets(lifecycle) if lifecycle else (),
        features=tuple(f for f in read if f is not None),
        pythons={life.python: life for life in read_pythons(pythons, kept)} if pythons else {},
        manylinux=tuple(read_manylinux(manylinux, kept)) if manylinux else (),
        run_rules=tuple(read_run_rules(run_rules, kept)) if run_rules else (),
        torch_abi=load_shims(project, faults) if abi else ShimKnowledge(),
    )
