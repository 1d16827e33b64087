"""`wheelgrid doctor`: what this machine can do, what is missing, and what would fix it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click

from wheelgrid.cli.context import load_stack, now, open_project
from wheelgrid.cli.output import json_option, print_json
from wheelgrid.core.errors import CouldNotCheckError, ExitCode
from wheelgrid.engines.indexes import pip_settings, unreachable
from wheelgrid.engines.process import ask
from wheelgrid.engines.store import Store
from wheelgrid.engines.uv import tool
from wheelgrid.planning.plan import Plan

__all__ = ["command"]

DOCTOR_SCHEMA_VERSION = 1
_GLYPH = {"ok": "✓", "missing": "✕", "absent": "–", "unknown": "?"}
_MIN_FREE_GIB = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at. `missing` stops the main job; `absent` only narrows it."""

    name: str
    status: str
    found: str
    fix: str = ""


def _tools(env: dict[str, str]) -> Iterator[Check]:
    for name, why in (
        ("uv", "makes every environment"),
        ("auditwheel", "gives Linux wheels their platform tag"),
        ("patchelf", "is used by auditwheel"),
    ):
        try:
            version = ask([tool(name, env), "--version"]).strip().partition("\n")[0]
            broken = "is installed, but does not run"
            yield Check(
                name=name,
                status="ok" if version else "missing",
                found=version or broken,
                fix="" if version else f"pip install --force-reinstall {name}",
            )
        except CouldNotCheckError:
            fix = "pip install 'wheelgrid[build]'"
            yield Check(name=name, status="missing", found=f"not installed; it {why}", fix=fix)
    patch = shutil.which("patch")
    yield Check(
        name="patch",
        status="ok" if patch else "absent",
        found="runs" if patch else "not installed; recipes with patches need it",
        fix="" if patch else "apt-get install patch",
    )


def _machine(store: Store) -> Iterator[Check]:
    host = store.host
    yield Check(
        name="platform",
        status="ok" if host.platform else "missing",
        found=f"{host.platform or 'not a platform of the matrix'}, {host.libc}, "
        f"{host.cores} cores, {host.memory_mib} MiB available",
    )
    yield Check(
        name="C++ compiler",
        status="ok" if host.compiler else "missing",
        found=host.compiler or "none found",
        fix="" if host.compiler else "apt-get install g++   (or set CXX)",
    )
    free = shutil.disk_usage(store.project.root).free >> 30
    yield Check(
        name="disk",
        status="ok" if free >= _MIN_FREE_GIB else "missing",
        found=f"{free} GiB free",
        fix="" if free >= _MIN_FREE_GIB else f"the main job needs about {_MIN_FREE_GIB} GiB",
    )


def _pythons(store: Store, plan: Plan) -> Iterator[Check]:
    for version in plan.matrix.python:
        found = store.interpreters.get(version)
        name = f"CPython {version}"
        if found is None:
            fix = f"uv python install {version}"
            yield Check(name=name, status="absent", found="not found", fix=fix)
        elif not found.has_headers:
            fix = f"apt-get install python{version}-dev"
            yield Check(name=name, status="absent", found=f"{found.path}: no headers", fix=fix)
        else:
            yield Check(name=name, status="ok", found=f"{found.version}.{found.patch} {found.path}")


def _indexes(store: Store, plan: Plan) -> Iterator[Check]:
    settings = pip_settings(store.env)
    own = ", ".join(sorted(settings)) or "none: the default package index"
    yield Check(name="your index settings", status="ok", found=f"from pip: {own}")
    wanted: dict[str, list[str]] = {}
    for accelerator in plan.matrix.accelerator:
        family = plan.knowledge.accelerators.get(accelerator.family)
        index = family.torch_index.get(str(accelerator.version or "")) if family else None
        if index and index[0]:
            wanted.setdefault(index[0], []).append(str(accelerator))
    with ThreadPoolExecutor(max_workers=8) as pool:
        problems = dict(zip(wanted, pool.map(unreachable, wanted), strict=True))
    for url, names in wanted.items():
        problem = problems[url]
        yield Check(
            name=f"torch index {', '.join(names)}",
            status="unknown" if problem else "ok",
            found=problem or url,
            fix="cells of it are 'could not check' until it answers" if problem else "",
        )


def _devices(store: Store) -> Iterator[Check]:
    for family, what in (("cuda", "NVIDIA"), ("rocm", "AMD"), ("xpu", "Intel")):
        here = family in store.host.devices
        yield Check(
            name=f"{what} GPU",
            status="ok" if here else "absent",
            found="device node present" if here else "no device: GPU checks are skipped here",
        )


@click.command(name="doctor", short_help="What this machine can do.")
@json_option
@click.pass_obj
def command(root: Path | None, *, as_json: bool) -> int:
    """Look at tools, interpreters, compilers, indexes and devices; print what would fix it.

    Exit 0 if the main job can run, 3 if something that it needs is missing.
    """
    project = open_project(root)
    plan = load_stack(project, now().date())
    store = Store(project, plan)
    checks = [
        *_machine(store),
        *_tools(dict(os.environ)),
        *_pythons(store, plan),
        *_indexes(store, plan),
        *_devices(store),
    ]
    able = all(c.status != "missing" for c in checks)
    if as_json:
        document = {
            "schema_version": DOCTOR_SCHEMA_VERSION,
            "able": able,
            "checks": [
                {"name": c.name, "status": c.status, "found": c.found, "fix": c.fix} for c in checks
            ],
        }
        print_json(document)
    else:
        width = max(len(c.name) for c in checks)
        for check in checks:
            click.echo(f"{_GLYPH[check.status]} {check.name:{width}}  {check.found}")
            if check.fix:
                click.echo(f"  {'':{width}}  -> {check.fix}")
        click.echo("the main job can run here" if able else "the main job cannot run here yet")
    return int(ExitCode.GOOD if able else ExitCode.COULD_NOT_CHECK)
