"""Reads the versions list of a kernel: records of a torch and a backend, in four syntaxes."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field

from wheelgrid.config.foreign import ForeignNode, Kind, parse_foreign
from wheelgrid.config.yaml import Faults, nearest
from wheelgrid.core.errors import BadInputError, Fault
from wheelgrid.importers.github_read import to_value
from wheelgrid.importers.nix import Record, read_nix_records
from wheelgrid.importers.report import Place

__all__ = ["BACKENDS", "BuildSet", "Getter", "read_versions"]

BACKENDS = ("cpu", "cuda", "metal", "rocm", "tpu", "xpu")
_VERSIONED = ("cuda", "rocm", "xpu")
_NAMES = {
    "torchVersion": "torch",
    "bundleBuild": "bundle",
    "tvmFfiVersion": "tvm_ffi",
    "system": "systems",
    **{f"{backend}Version": backend for backend in _VERSIONED},
    **{name: name for name in ("torch", "bundle", "systems", "tvm_ffi", *BACKENDS)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSet:
    """One entry of the versions list: a torch and a backend on some systems."""

    torch: str
    backend: str
    version: str
    systems: tuple[str, ...]
    bundle: bool
    tvm_ffi: str
    place: Place


@dataclass(slots=True)
class Getter:
    """Takes typed values out of parsed data and collects what is wrong with them."""

    place: Place
    faults: list[Fault] = field(default_factory=list)

    def fault(self, message: str, hint: str = "") -> None:
        """Record one fault at the place of the entry."""
        at = self.place
        self.faults.append(
            Fault(file=at.file, line=at.line, column=at.column, message=message, hint=hint)
        )

    def text(self, name: str, value: object) -> str:
        """Text that is not empty; a number is a fault of its own kind."""
        if isinstance(value, str) and value:
            return value
        kind = "number where a version string is required" if _is_number(value) else "not text"
        self.fault(f"{name}: {kind}: {value!r}", hint=f'write "{value}"')
        return ""

    def texts(self, name: str, value: object) -> tuple[str, ...]:
        """A list of texts, or one text."""
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not items:
            self.fault(f"{name}: expected a list of strings, found {value!r}")
            return ()
        return tuple(self.text(name, item) for item in items)

    def flag(self, name: str, value: object) -> bool:
        """True or false."""
        if not isinstance(value, bool):
            self.fault(f"{name}: expected true or false, found {value!r}")
        return value is True


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _build_set(record: Record, faults: list[Fault]) -> BuildSet | None:
    getter = Getter(record.place)
    given: dict[str, object] = {}
    for key, value in record.values.items():
        if key not in _NAMES:
            getter.fault(f"unknown name {key!r}", hint=nearest(key, list(_NAMES)))
        else:
            given[_NAMES[key]] = value
    named = [b for b in BACKENDS if b in given and given[b] is not False]
    if len(named) != 1:
        found = ", ".join(named) or "none"
        getter.fault(
            f"expected exactly one backend, found {found}", "one of " + ", ".join(BACKENDS)
        )
    for key in ("torch", "systems"):
        if key not in given:
            getter.fault(f"missing name {key!r}")
    torch = getter.text("torch", given["torch"]) if "torch" in given else ""
    systems = getter.texts("systems", given["systems"]) if "systems" in given else ()
    bundle = getter.flag("bundle", given.get("bundle", False))
    backend, version = (named[0] if len(named) == 1 else ""), ""
    if backend in _VERSIONED:
        version = getter.text(backend, given[backend])
    elif backend:
        getter.flag(backend, given[backend])
    ffi = getter.text("tvm_ffi", given["tvm_ffi"]) if "tvm_ffi" in given else ""
    faults += getter.faults
    if getter.faults:
        return None
    return BuildSet(
        torch=torch,
        backend=backend,
        version=version,
        systems=systems,
        bundle=bundle,
        tvm_ffi=ffi,
        place=record.place,
    )


def _yaml_records(text: str, file: str) -> list[Record]:
    faults = Faults()
    node = parse_foreign(text, file=file, faults=faults)
    faults.check()
    if node is not None and node.kind is Kind.MAPPING and len(node.pairs) == 1:
        node = node.pairs[0][1]
    if node is None or node.kind is not Kind.LIST:
        raise BadInputError([Fault(file=file, message="expected a list of records")])
    return [_record(item, file) for item in node.items]


def _record(node: ForeignNode, file: str) -> Record:
    value = to_value(node)
    if not isinstance(value, dict):
        at = Fault(file=file, line=node.line, column=node.column, message="expected a mapping")
        raise BadInputError([at])
    return Record(values=value, place=Place(file=file, line=node.line, column=node.column))


def _plain_records(found: object, file: str) -> list[Record]:
    """Records of JSON or TOML, whose readers keep no positions."""
    if isinstance(found, dict) and len(found) == 1:
        found = next(iter(found.values()))
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BadInputError([Fault(file=file, message="expected a list of records")])
    return [Record(values=item, place=Place(file=file)) for item in found]


def read_versions(text: str, *, file: str) -> list[BuildSet]:
    """Every build set of a versions list: Nix records, YAML, JSON or TOML by the file's suffix."""
    suffix = file.rpartition(".")[2].lower()
    try:
        if suffix == "nix":
            records = read_nix_records(text, file=file)
        elif suffix == "json":
            records = _plain_records(json.loads(text), file)
        elif suffix == "toml":
            records = _plain_records(tomllib.loads(text), file)
        else:
            records = _yaml_records(text, file)
    except (ValueError, RecursionError) as error:
        message = f"is not {suffix.upper()}: {str(error)[:200]}"
        raise BadInputError([Fault(file=file, message=message)]) from error
    faults: list[Fault] = []
    found = [_build_set(record, faults) for record in records]
    if faults:
        raise BadInputError(faults)
    return [one for one in found if one is not None]
