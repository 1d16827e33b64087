"""How an inspection reads in a terminal. Names in a wheel are hostile: they are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from wheelgrid.inspect.order import by_number

__all__ = ["kernel_lines", "library_lines", "wheel_lines"]

Document = dict[str, Any]
_FAMILIES = {"glibc": "glibc", "glibcxx": "GLIBCXX", "cxxabi": "CXXABI", "gcc": "GCC"}
_MOST = 6


def _plain(text: str) -> str:
    """Printable text on one line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _size(count: int) -> str:
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} B"


def _line(name: str, text: str) -> str:
    return f"  {name:<12} {_plain(text)}"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _floor_lines(libraries: list[Document]) -> Iterator[str]:
    """The highest version of each family, with the file and the symbol that cause it."""
    for key, name in _FAMILIES.items():
        needs = [row for row in libraries if row[key]]
        if not needs:
            continue
        top = max(needs, key=lambda row: _number(row[key]))
        cause = top["causes"][key]
        symbol = f"symbol {cause['symbol']} of" if cause["symbol"] else "of"
        yield _line(name, f"{top[key]}  ({top['path']}: {symbol} {cause['library']})")


def _python_text(found: Document) -> str:
    if found["kind"] == "limited":
        floor = f" from {found['floor']} on ({found['floor_symbol']})" if found["floor"] else ""
        return f"limited API{floor}"
    if found["kind"] == "full":
        outside = f", such as {found['outside'][0]}" if found["outside"] else ""
        free = ", free-threaded" if found["free_threaded"] else ""
        return f"C API of one version{free} ({found['outside_count']} symbols{outside})"
    return "no C API"


def _torch_text(found: Document | None) -> str:
    if found is None:
        return ""
    if found["kind"] == "stable":
        oldest = found["oldest_torch"]
        least = f", torch {oldest} or newer" if oldest and not found["or_older"] else ""
        unknown = f", {len(found['unknown_shims'])} unknown" if found["unknown_shims"] else ""
        return f"stable ABI{least} ({found['shims']} shims{unknown})"
    if found["kind"] == "none":
        return "links to torch, uses no symbol of it"
    return "C++ ABI of one torch line"


def _gpu_texts(gpu: Document) -> Iterator[tuple[str, str]]:
    """Vendor and what there is for it."""
    if cuda := gpu["cuda"]:
        parts = [" ".join(cuda["elf"]) or "no machine code"]
        parts += [f"PTX {' '.join(cuda['ptx'])}"] if cuda["ptx"] else []
        parts += [f"LTO {' '.join(cuda['lto'])} (input of the linker)"] if cuda["lto"] else []
        yield "CUDA", "; ".join(parts)
    if gpu["rocm"] or gpu["kpack"]:
        kpack = ["in .kpack files"] if gpu["kpack"] else []
        yield "ROCm", " ".join([*gpu["rocm"], *kpack])
    if sycl := gpu["sycl"]:
        spirv = ["SPIR-V (compiled when loaded)"] if sycl["spirv"] else []
        yield "SYCL", " ".join([*sycl["aot"], *spirv])
    if metal := gpu["metal"]:
        yield "Metal", f"{metal['platform']} {metal['os_version']}"


def _grouped(rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Lines with equal name and text together: one with the paths it holds for."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, text, path in rows:
        groups.setdefault((name, text), []).append(path)
    for (name, text), paths in groups.items():
        where = paths[0] if len(paths) == 1 else f"{len(paths)} files, {paths[0]} ..."
        yield _line(name, f"{text}  ({where})")


def _jit_lines(document: Document) -> Iterator[str]:
    for tool, paths in document["jit_sources"].items():
        yield _line("JIT", f"{tool}: {len(paths)} Python files, such as {paths[0]}")
    calls: dict[str, list[str]] = {}
    for row in document["libraries"]:
        for tool in row["jit"]:
            calls.setdefault(tool, []).append(row["path"])
    for tool, paths in calls.items():
        yield _line("JIT", f"{tool}, called by {', '.join(paths[:_MOST])}")


def wheel_lines(document: Document) -> list[str]:
    """One wheel: what the whole of it needs, and its device code by vendor."""
    rows = document["libraries"]
    natives = f"{len(rows)} native of {document['members']} files"
    if document["metadata_only"]:
        natives = f"{document['members']} files, not looked into"
    lines = [f"{_plain(document['wheel'])}: {_size(document['size'])}, {natives}"]
    lines += [_line("name", document["name_error"])] if document["name_error"] else []
    lines += [_line("tags", " ".join(document["tags"]))] if document["tags"] else []
    if document["metadata_only"]:
        lines += [_line("python", document["requires_python"])]
        lines += [_line("requires", text) for text in document["requires_dist"]]
    lines += _floor_lines(rows)
    systems = by_number(row["minimum_os"] for row in rows if row["minimum_os"])
    lines += [_line("system", ", ".join(systems))] if systems else []
    uses = [r for r in rows if r["python_abi"]["kind"] != "none"]
    lines += _grouped(("Python", _python_text(r["python_abi"]), r["path"]) for r in uses)
    if document["distribution"] != "torch":
        torch = [(r, text) for r in rows if (text := _torch_text(r["torch_abi"]))]
        lines += _grouped(("torch", text, r["path"]) for r, text in torch)
    lines += _grouped((n, t, r["path"]) for r in rows for n, t in _gpu_texts(r["gpu"]))
    runtimes = by_number(f"{k} {v}" for r in rows for k, v in r["runtimes"].items())
    lines += [_line("runtimes", ", ".join(runtimes))] if runtimes else []
    lines += _jit_lines(document)
    for problem in document["damage"]:
        lines.append(_line("could not", f"read {problem['path']}: {problem['problem']}"))
    lines += [_line("damage", f"{r['path']}: {text}") for r in rows for text in r["damage"]]
    known = sum(row["known"] for row in rows)
    if known:
        lines.append(_line("known", f"{known} files by their digest in RECORD, not read again"))
    if document["transferred"]:
        lines.append(_line("transferred", _size(document["transferred"])))
    return [*lines, *(_line("note", text) for text in document["notes"])]


def library_lines(document: Document) -> list[str]:
    """One block per native file."""
    lines: list[str] = []
    for row in document["libraries"]:
        what = " ".join([row["format"], row["kind"], *row["machines"]])
        lines += ["", f"  {_plain(row['path'])}: {_size(row['size'])}, {what}"]
        floors = [f"{name} {row[key]}" for key, name in _FAMILIES.items() if row[key]]
        fields = {
            "needs": " ".join(row["needed"]),
            "rpath": ":".join(row["rpath"]),
            "runpath": ":".join(row["runpath"]),
            "versions": ", ".join(floors),
            "system": row["minimum_os"],
            "Python": _python_text(row["python_abi"]),
            "torch": _torch_text(row["torch_abi"]),
            **dict(_gpu_texts(row["gpu"])),
            "runtimes": " ".join(f"{k} {v}" for k, v in row["runtimes"].items()),
            "JIT": " ".join(row["jit"]),
            "debug data": _size(row["debug_bytes"]) if row["debug_bytes"] else "",
            "damage": "; ".join(row["damage"]),
        }
        lines += [f"  {_line(name, text)}" for name, text in fields.items() if text]
    return lines


def kernel_lines(document: Document) -> list[str]:
    """Kernels by the images that they have."""
    lines: list[str] = []
    for row in document["libraries"]:
        sets = (row["gpu"]["cuda"] or {"sets": []})["sets"]
        lines += ["", f"  {_plain(row['path'])}"] if sets else []
        for group in sets:
            kernels = group["kernels"]
            count = "kernels not listed" if kernels is None else f"{len(kernels)} kernels"
            where = "" if group["loadable"] else f" in {group['section']} (not loadable)"
            images = " ".join(group["images"]) or "no image"
            lines.append(f"    {group['containers']} units, {count}: {_plain(images)}{where}")
    return lines
