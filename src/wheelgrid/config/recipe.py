"""Decodes recipes/<package>/recipe.yaml."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from packaging.utils import InvalidSdistFilename, parse_sdist_filename
from packaging.version import Version

from wheelgrid.config import fields
from wheelgrid.config.audit_policy import audit_policy
from wheelgrid.config.environment import check_macos, check_variable
from wheelgrid.config.files import Project, read_yaml
from wheelgrid.config.yaml import Faults, Item, nearest
from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.audit_policy import NO_POLICY
from wheelgrid.core.axis import Role
from wheelgrid.core.cell import AXES
from wheelgrid.core.condition import Condition
from wheelgrid.core.errors import Fault
from wheelgrid.core.recipe import Abi, DirectorySource, Reach, Recipe, SdistSource

__all__ = ["decode_recipe", "load_recipes"]

T = TypeVar("T")

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_ENV_NAME = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_ABI3T = (3, 15)
_REQUIRED = ("name", "version", "summary", "source", "abi", "build", "test")
_OPTIONAL = ("when", "extensions", "patches", "stable", "reach", "uses", "audit")


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
        if "/" in filename or "\\" in filename:
            given["filename"].fault(f"{filename!r} is not a bare file name")
    return SdistSource(filename=filename, sha256=sha256)


def _by_accelerator(item: Item, decode: Callable[[Item], T]) -> dict[str, T]:
    return {fields.accelerator_key(v, key): decode(v) for key, v in item.entries().items()}


def _build_torch(item: Item) -> str:
    """The accelerator of the torch to compile against, or `same` as the cell's."""
    text = item.text()
    if text and text != "same":
        item.build(lambda: Accelerator.parse(text))
    return text


def _environment(item: Item) -> dict[str, str]:
    found = {}
    for name, value in item.entries().items():
        if not _ENV_NAME.match(name):
            value.fault(f"{name!r} is not an environment variable name")
        found[name] = value.text()
        check_variable(value, name, found[name])
    check_macos(item, found)
    return found


def _abi(item: Item) -> Abi:
    return Abi(item.choice([str(abi) for abi in Abi]))


def _reach(item: Item) -> Reach:
    return Reach(item.choice([str(reach) for reach in Reach]))


@dataclass(slots=True)
class _Fields:
    """Fields of one mapping, each decoded if it is there, else a default."""

    given: dict[str, Item]

    def get(self, name: str, decode: Callable[[Item], Any], default: Any) -> Any:  # noqa: ANN401
        """The decoded field, or the default; the value type checks it all on construction."""
        return decode(self.given[name]) if name in self.given else default


def _build_fields(item: Item) -> dict[str, Any]:
    optional = ("env", "torch", "memory_mib_per_job", "max_jobs", "minutes")
    build = _Fields(item.fields(("requires",), optional))
    return {
        "requires": build.get("requires", lambda i: _by_accelerator(i, fields.pinned), {}),
        "env": build.get("env", lambda i: _by_accelerator(i, _environment), {}),
        "build_torch": build.get("torch", lambda i: _by_accelerator(i, _build_torch), {}),
        "memory_mib": max(1, int(build.get("memory_mib_per_job", Item.number, 1024.0))),
        "max_jobs": max(1, int(build.get("max_jobs", Item.number, 1.0))),
        "minutes": build.get("minutes", Item.number, 1.0),
    }


def _test_fields(item: Item) -> dict[str, Any]:
    test = _Fields(item.fields(("import", "scripts"), ("requires",)))
    return {
        "import_name": test.get("import", Item.text, ""),
        "tests": test.get("scripts", _paths, ()),
        "test_requires": test.get("requires", fields.pinned, ()),
    }


def _stable_fields(item: Item) -> dict[str, Any]:
    stable = _Fields(item.fields((), ("torch", "python", "free_threaded")))
    free_threaded = stable.get("free_threaded", fields.python, None)
    if free_threaded is not None and free_threaded.release < _ABI3T:
        stable.given["free_threaded"].fault(
            f"abi3t does not exist for Python {free_threaded}: it begins with 3.15 (PEP 803)",
            hint='write "3.15"; before it, free-threaded Pythons get one wheel each',
        )
    return {
        "stable_torch": stable.get("torch", fields.version, None),
        "limited_api": stable.get("python", fields.python, None),
        "limited_api_t": free_threaded,
    }


def decode_recipe(
    item: Item, folder: str, roles: Mapping[str, Role] | None = None
) -> Recipe | None:
    """Decode one recipe document; faults are left in the item's collector, all of them.

    `roles` are the axes of the matrix that its conditions may name; default the standard four.
    """
    given = item.fields(_REQUIRED, _OPTIONAL)
    top = _Fields(given)
    recipe = Recipe(
        name=top.get("name", fields.package_name, ""),
        version=top.get("version", fields.version, None) or Version("0"),
        summary=top.get("summary", Item.text, ""),
        source=top.get("source", _source, DirectorySource(path="")),
        folder=folder,
        abi=top.get("abi", lambda i: _by_accelerator(i, _abi), {}),
        when=top.get("when", lambda i: fields.condition(i, roles), Condition()),
        extensions=top.get("extensions", lambda i: _by_accelerator(i, Item.texts), {}),
        patches=top.get("patches", _paths, ()),
        reach=top.get("reach", lambda i: _by_accelerator(i, _reach), {}),
        uses=top.get("uses", Item.texts, ()),
        audit=top.get(
            "audit", lambda i: audit_policy(i, f"recipes/{folder}/recipe.yaml"), NO_POLICY
        ),
        **top.get("build", _build_fields, {"requires": {}, "env": {}}),
        **top.get("test", _test_fields, {}),
        **top.get("stable", _stable_fields, {}),
    )
    if not set(_REQUIRED) <= given.keys():
        return None
    _cross_checks(recipe, given)
    for name in recipe.uses:
        free = [axis for axis in roles or {} if axis not in AXES]
        if name not in free:
            given["uses"].fault(f"{name!r} is no free axis of the matrix", hint=nearest(name, free))
    return recipe


def _cross_checks(recipe: Recipe, given: dict[str, Item]) -> None:
    """What no single field can say wrong."""
    if "*" not in recipe.abi:
        given["abi"].fault("needs a general entry '*'")
    if recipe.name != recipe.folder:
        given["name"].fault(f"{recipe.name!r} is not the name of its folder {recipe.folder!r}")
    if isinstance(recipe.source, SdistSource) and recipe.source.filename:
        _check_sdist(recipe, given["source"], recipe.source.filename)
    stable = Abi.LIBTORCH_STABLE in recipe.abi.values()
    if stable and (recipe.stable_torch is None or recipe.limited_api is None):
        given["abi"].fault(
            "libtorch-stable needs the floors it is built for",
            hint='stable: {torch: "2.13", python: "3.11"}',
        )


def _check_sdist(recipe: Recipe, item: Item, filename: str) -> None:
    """The sdist must be of the package and the version that the recipe is about."""
    try:
        name, version = parse_sdist_filename(filename)
    except InvalidSdistFilename:
        return  # already a fault
    if (name, version) != (recipe.name, recipe.version):
        item.fault(f"{filename} is {name} {version}, the recipe is {recipe.name} {recipe.version}")


def _check_files(item: Item, recipe: Recipe, folder: Path) -> None:
    """Files that the recipe names must be there."""
    missing = [n for n in (*recipe.tests, *recipe.patches) if not (folder / n).is_file()]
    for name in missing:
        item.fault(f"{name}: no such file beside the recipe")
    if isinstance(recipe.source, DirectorySource):
        path = folder / recipe.source.path
        if not (path / "pyproject.toml").is_file() and not (path / "setup.py").is_file():
            item.fault(f"source {recipe.source.path!r} has neither pyproject.toml nor setup.py")


def load_recipes(
    project: Project,
    names: tuple[str, ...],
    faults: Faults,
    *,
    roles: Mapping[str, Role] | None = None,
) -> dict[str, Recipe]:
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
        recipe = decode_recipe(item, name, roles) if item is not None else None
        if item is not None and recipe is not None:
            _check_files(item, recipe, path.parent)
            found[name] = recipe
    return found
