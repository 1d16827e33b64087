"""Decodes recipes/<package>/recipe.yaml."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidSdistFilename, parse_sdist_filename

from wheelgrid.config import fields
from wheelgrid.config.files import Project, read_yaml
from wheelgrid.config.yaml import Faults, Item
from wheelgrid.core.condition import Condition
from wheelgrid.core.errors import Fault
from wheelgrid.core.recipe import Abi, DirectorySource, Recipe, SdistSource

__all__ = ["decode_recipe", "load_recipes"]

T = TypeVar("T")

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_ENV_NAME = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_REQUIRED = ("name", "version", "summary", "source", "abi", "build", "test")
_OPTIONAL = ("when", "extensions", "patches", "stable")


def _relative(item: Item, text: str) -> str:
    """A path inside the recipe's folder; absolute paths and `..` are faults."""
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or "\\" in text:
        item.fault(f"{text!r} leaves the recipe's folder")
        return ""
    return text


def _paths(item: Item) -> tuple[str, ...]:
    return tuple(_relative(child, child.text()) for child in item.items())


def _source(item: Item) -> SdistSource | DirectorySource:
    given = item.fields(("kind",), ("filename", "sha256", "path"))
    kind = given["kind"].choice(["sdist", "directory"]) if "kind" in given else "sdist"
    if kind == "directory":
        given = item.fields(("kind", "path"))
        return DirectorySource(
            path=_relative(item, given["path"].text() if "path" in given else "")
        )
    given = item.fields(("kind", "filename", "sha256"))
    filename = given["filename"].text() if "filename" in given else ""
    sha256 = given["sha256"].text() if "sha256" in given else ""
    if sha256 and not _SHA256.match(sha256):
        given["sha256"].fault(f"{sha256!r} is not a SHA-256 digest (64 hexadecimal digits)")
    if filename:
        try:
            parse_sdist_filename(filename)
        except InvalidSdistFilename as error:
            given["filename"].fault(str(error))
    return SdistSource(filename=filename, sha256=sha256)


def _by_accelerator(item: Item, decode: Callable[[Item], T]) -> dict[str, T]:
    return {fields.accelerator_key(v, key): decode(v) for key, v in item.entries().items()}


def _requirements(item: Item) -> tuple[str, ...]:
    found = []
    for child in item.items():
        text = child.text()
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            if text:
                child.fault(f"{text!r} is not a requirement: {error}")
            continue
        if not str(requirement.specifier).startswith("=="):
            child.fault(f"{text!r} is not pinned", hint=f"write {requirement.name}==VERSION")
        found.append(text)
    return tuple(found)


def _environment(item: Item) -> dict[str, str]:
    found = {}
    for name, value in item.entries().items():
        if not _ENV_NAME.match(name):
            value.fault(f"{name!r} is not an environment variable name")
        found[name] = value.text()
    return found


def _abi(item: Item) -> Abi:
    return Abi(item.choice([str(abi) for abi in Abi]))


def decode_recipe(item: Item, folder: str) -> Recipe | None:
    """Decode one recipe document; faults are left in the item's collector."""
    given = item.fields(_REQUIRED, _OPTIONAL)
    if not set(_REQUIRED) <= given.keys():
        return None
    build = given["build"].fields(
        ("requires",), ("env", "torch", "memory_mib_per_job", "max_jobs", "minutes")
    )
    test = given["test"].fields(("import", "scripts"), ("requires",))
    stable = given["stable"].fields(("torch", "python")) if "stable" in given else {}
    version = fields.version(given["version"])
    if version is None:
        return None
    recipe = Recipe(
        name=fields.package_name(given["name"]),
        version=version,
        summary=given["summary"].text(),
        source=_source(given["source"]),
        folder=folder,
        abi=_by_accelerator(given["abi"], _abi),
        when=fields.condition(given["when"]) if "when" in given else Condition(),
        extensions=_by_accelerator(given["extensions"], Item.texts)
        if "extensions" in given
        else {},
        requires=_by_accelerator(build["requires"], _requirements) if "requires" in build else {},
        env=_by_accelerator(build["env"], _environment) if "env" in build else {},
        build_torch=_by_accelerator(build["torch"], Item.text) if "torch" in build else {},
        stable_torch=fields.version(stable["torch"]) if "torch" in stable else None,
        limited_api=fields.python(stable["python"]) if "python" in stable else None,
        patches=_paths(given["patches"]) if "patches" in given else (),
        memory_mib=int(build["memory_mib_per_job"].number())
        if "memory_mib_per_job" in build
        else 1024,
        max_jobs=int(build["max_jobs"].number()) if "max_jobs" in build else 1,
        minutes=build["minutes"].number() if "minutes" in build else 1.0,
        import_name=test["import"].text() if "import" in test else "",
        tests=_paths(test["scripts"]) if "scripts" in test else (),
        test_requires=_requirements(test["requires"]) if "requires" in test else (),
    )
    _cross_checks(recipe, given)
    return recipe


def _cross_checks(recipe: Recipe, given: dict[str, Item]) -> None:
    """What no single field can say wrong."""
    if "*" not in recipe.abi:
        given["abi"].fault("needs a general entry '*'")
    if recipe.name != recipe.folder:
        given["name"].fault(f"{recipe.name!r} is not the name of its folder {recipe.folder!r}")
    stable = Abi.LIBTORCH_STABLE in recipe.abi.values()
    if stable and (recipe.stable_torch is None or recipe.limited_api is None):
        given["abi"].fault(
            "libtorch-stable needs the floors it is built for",
            hint='stable: {torch: "2.13", python: "3.11"}',
        )


def load_recipes(project: Project, names: tuple[str, ...], faults: Faults) -> dict[str, Recipe]:
    """Read the recipes of the named packages; a missing one is a fault."""
    found: dict[str, Recipe] = {}
    for name in names:
        path = project.recipes / name / "recipe.yaml"
        if not path.is_file():
            faults.found.append(
                Fault(
                    file=f"recipes/{name}/recipe.yaml",
                    message=f"not found, but matrix.yaml lists the package {name!r}",
                )
            )
            continue
        item = read_yaml(path, root=project.root, faults=faults)
        recipe = decode_recipe(item, name) if item is not None else None
        if recipe is not None:
            found[name] = recipe
    return found
