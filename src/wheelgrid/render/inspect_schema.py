"""JSON Schema of `wheelgrid inspect --json`."""

from __future__ import annotations

from typing import Any

from wheelgrid.inspect.torch_abi import TorchAbiKind

__all__ = ["inspect_schema"]

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_VERSION: Schema = {"anyOf": [{"type": "string", "pattern": r"^\d+(\.\d+)*$"}, {"type": "null"}]}


def _object(fields: Schema) -> Schema:
    return {
        "type": "object",
        "properties": fields,
        "required": sorted(fields),
        "additionalProperties": False,
    }


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _map(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _cuda() -> Schema:
    images = {"elf": _TEXTS, "ptx": _TEXTS, "lto": _TEXTS}
    group = _object(
        {
            "section": _TEXT,
            "loadable": _FLAG,
            "images": _TEXTS,
            "ptx_isa": _VERSION,
            "containers": _COUNT,
            "kernels": _null(_TEXTS),
        }
    )
    return _object({**images, "relocatable": _object(images), "sets": _list(group)})


def _gpu() -> Schema:
    metal = {
        "platform": _TEXT,
        "os_version": _TEXT,
        "air": _VERSION,
        "language": _VERSION,
        "functions": _COUNT,
    }
    return _object(
        {
            "cuda": _null(_cuda()),
            "rocm": _TEXTS,
            "rocm_kernels": _null(_map(_TEXTS)),
            "kpack": _FLAG,
            "sycl": _null(_object({"aot": _TEXTS, "spirv": _FLAG})),
            "metal": _null(_object(metal)),
        }
    )


def _python() -> Schema:
    return _object(
        {
            "kind": {"enum": ["none", "limited", "full"]},
            "floor": _VERSION,
            "floor_symbol": _TEXT,
            "outside": _TEXTS,
            "outside_count": _COUNT,
            "symbols": _COUNT,
            "free_threaded": _FLAG,
            "dll": _TEXT,
        }
    )


def _torch() -> Schema:
    return _object(
        {
            "kind": {"enum": [kind.value for kind in TorchAbiKind]},
            "shims": _COUNT,
            "unknown_shims": _TEXTS,
            "oldest_torch": _null(_TEXT),
            "or_older": _FLAG,
            "because_of": _TEXTS,
            "below_torch": _null(_TEXT),
            "cxx_symbols": _COUNT,
            "cxx_examples": _TEXTS,
            "string_abi": _null({"enum": ["new", "old"]}),
            "libraries": _TEXTS,
            "needs_c10": _FLAG,
            "needs_python": _FLAG,
            "registers": _TEXTS,
        }
    )


def _library() -> Schema:
    texts = ("path", "format", "kind", "minimum_os", "soname")
    lists = ("machines", "needed", "rpath", "runpath", "jit", "damage")
    return _object(
        {
            **dict.fromkeys(texts, _TEXT),
            **dict.fromkeys(lists, _TEXTS),
            **dict.fromkeys(("glibc", "glibcxx", "cxxabi", "gcc"), _VERSION),
            "causes": _map(_object({"library": _TEXT, "symbol": _TEXT})),
            "size": _COUNT,
            "known": _FLAG,
            "python_abi": _python(),
            "torch_abi": _null(_torch()),
            "gpu": _gpu(),
            "runtimes": _map(_TEXT),
            "debug_bytes": _COUNT,
        }
    )


def inspect_schema() -> Schema:
    """Wheels with their native files; `errors` are wheels whose bytes could not be had."""
    problem = _object({"path": _TEXT, "problem": _TEXT})
    wheel = {
        **dict.fromkeys(("wheel", "name_error", "requires_python"), _TEXT),
        "distribution": _null(_TEXT),
        "version": _null(_TEXT),
        **dict.fromkeys(("tags", "requires_dist", "notes"), _TEXTS),
        **dict.fromkeys(("size", "members", "transferred"), _COUNT),
        "complete": _FLAG,
        "metadata_only": _FLAG,
        "jit_sources": _map(_TEXTS),
        "damage": _list(problem),
        "libraries": _list(_library()),
    }
    return _object(
        {
            "schema_version": {"const": 1},
            "wheels": _list(_object(wheel)),
            "errors": _TEXTS,
        }
    )
