"""Measures `wheelgrid inspect` against its peers, on the wheels given, in one run.

Run on demand: `nox -s bench_inspecting -- WHEEL...`. Prints for each wheel CPU seconds (user and
system of the child, the best of N runs) and the peak memory of the child, and ratios:

- inspect: `wheelgrid inspect --json --no-cache`; again: the second inspection with the cache;
  kernels: the same as inspect with `--kernels`.
- isal, zlib: bare inflate of all members in pieces of 256 KiB, in a child of its own. The bound of
  every tool that reads a whole wheel.
- auditwheel: `auditwheel show`.
- cuobjdump: `cuobjdump --list-elf --list-ptx` of each library that holds device code of CUDA,
  unpacked before; its memory is that of the largest run.

A star marks a run that ended in an error. A peer that is not installed has a dash. Asserts nothing.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import statistics
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PIECE = 256 * 1024
WIDTH = 11
ENOUGH = 20.0
"""CPU seconds after which a measurement is not repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU seconds, and peak MiB of the largest process. `note` says what is odd about the run."""

    cpu: float
    peak: float
    note: str = ""


Row = dict[str, Cost | None]


def measured(command: Sequence[str], env: dict[str, str], output: Path | None = None) -> Cost:
    """Run one process to its end; what it prints goes to `output`.

    Linux counts the memory of the starting process in the peak of the child, so this one stays
    small: it reads no wheel itself.
    """
    with (output or Path(os.devnull)).open("wb") as stdout:
        streams = (stdout.fileno(), sys.stderr.fileno() if output else stdout.fileno())
        actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in zip((1, 2), streams, strict=True)]
        child = os.posix_spawn(command[0], list(command), env, file_actions=actions)
        _pid, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    note = f"exit {code}" if code else ""
    return Cost(cpu=usage.ru_utime + usage.ru_stime, peak=usage.ru_maxrss / 1024, note=note)


def best(times: int, run: Callable[[], Cost]) -> Cost:
    """The run with the least CPU, with the highest peak of all; fewer runs of what is slow."""
    runs = [run()]
    while len(runs) < times and sum(cost.cpu for cost in runs) < ENOUGH:
        runs.append(run())
    first = min(runs, key=lambda cost: cost.cpu)
    return Cost(cpu=first.cpu, peak=max(cost.peak for cost in runs), note=first.note)


def summed(costs: Iterable[Cost]) -> Cost | None:
    """Several processes as one; None without any."""
    found = list(costs)
    if not found:
        return None
    bad = sum(1 for cost in found if cost.note)
    return Cost(
        cpu=sum(cost.cpu for cost in found),
        peak=max(cost.peak for cost in found),
        note=f"{bad} of {len(found)} not read" if bad else "",
    )


def inflate_all(wheel: str, engine: str) -> None:
    """What a child does that only inflates."""
    module: Any = zlib
    if engine == "isal":
        from isal import isal_zlib as module
    with zipfile.ZipFile(wheel) as archive, Path(wheel).open("rb") as file:
        for entry in archive.infolist():
            file.seek(entry.header_offset + 26)
            lengths = file.read(4)
            file.seek(
                int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1
            )
            state = module.decompressobj(wbits=-15) if entry.compress_type else None
            left = entry.compress_size
            while left:
                data = file.read(min(PIECE, left))
                left -= len(data)
                while state is not None and data:
                    state.decompress(data, PIECE)
                    data = state.unconsumed_tail


def cuda_libraries(report: Path) -> list[str]:
    """Members with device code of CUDA, by our own report."""
    (document,) = json.loads(report.read_bytes())["wheels"]
    return [row["path"] for row in document["libraries"] if row["gpu"]["cuda"]]


def find_cuobjdump() -> str | None:
    """The tool on the path or in the package nvidia-cuda-cuobjdump."""
    if found := shutil.which("cuobjdump"):
        return found
    try:
        parts = importlib.metadata.files("nvidia-cuda-cuobjdump") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((str(p.locate()) for p in parts if p.name == "cuobjdump"), None)


def list_all(tool: str, wheel: str, members: list[str], env: dict[str, str]) -> Cost | None:
    """Unpack one library after the other and let cuobjdump list it."""
    costs = []
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        place = Path(folder) / "library.so"
        for member in members:
            with archive.open(member) as source, place.open("wb") as file:
                shutil.copyfileobj(source, file, PIECE)
            costs.append(measured([tool, "--list-elf", "--list-ptx", str(place)], env))
    return summed(costs)


def costs_of(wheel: str, times: int, cuobjdump: str | None, folder: Path) -> Row:
    """All measurements of one wheel."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["WHEELGRID_CACHE_DIR"] = str(folder / "cache")
    document = folder / "report.json"
    ours = [sys.executable, "-m", "wheelgrid", "inspect", "--json", wheel]

    def run(*command: str, output: Path | None = None) -> Cost:
        return best(times, lambda: measured(command, env, output))

    row: Row = {"inspect": run(*ours, "--no-cache", output=document)}
    measured(ours, env)
    row["again"] = run(*ours)
    row["kernels"] = run(*ours, "--no-cache", "--kernels")
    for engine in ("isal", "zlib"):
        missing = engine == "isal" and find_spec("isal") is None
        bare = (sys.executable, __file__, "--inflate", engine, wheel)
        row[engine] = None if missing else run(*bare)
    show = (sys.executable, "-m", "auditwheel", "show", wheel)
    row["auditwheel"] = None if find_spec("auditwheel") is None else run(*show)
    libraries = cuda_libraries(document)
    row["cuobjdump"] = list_all(cuobjdump, wheel, libraries, env) if cuobjdump else None
    return row


def cell(cost: Cost | None) -> str:
    """Seconds and MiB; a star where the run ended in an error."""
    if cost is None:
        return "-".rjust(WIDTH)
    return f"{cost.cpu:.2f} {cost.peak:.0f}{'*' if cost.note else ''}".rjust(WIDTH)


def ratio(row: Row, above: str, below: str) -> float | None:
    """How many times the CPU of the second the first takes."""
    over, under = row[above], row[below]
    return over.cpu / under.cpu if over and under and under.cpu else None


RATIOS = (("inspect", "isal"), ("auditwheel", "inspect"), ("cuobjdump", "inspect"))
COLUMNS = ("inspect", "again", "kernels", "isal", "zlib", "auditwheel", "cuobjdump")


def shown(number: float | None) -> str:
    """A ratio, or that there is none."""
    return ("-" if number is None else f"{number:.2f}").rjust(WIDTH)


def summarise(rows: dict[str, Row]) -> None:
    """What each ratio is over all wheels, the highest peak, and what ended in an error."""
    for above, below in RATIOS:
        found = [r for row in rows.values() if (r := ratio(row, above, below)) is not None]
        if found:
            middle = statistics.median(found)
            print(f"{above}/{below}: {min(found):.2f} to {max(found):.2f}, median {middle:.2f}")
    for column in ("inspect", "again", "kernels"):
        found_costs = [cost for row in rows.values() if (cost := row[column])]
        most = max(found_costs, key=lambda cost: cost.peak)
        slowest = max(found_costs, key=lambda cost: cost.cpu)
        print(f"{column}: at most {slowest.cpu:.2f} s and {most.peak:.0f} MiB")
    for name, row in rows.items():
        for column, cost in row.items():
            if cost and cost.note:
                print(f"* {name[:40]} {column}: {cost.note}")


def main() -> None:
    """Print a line for each wheel as it is measured, then the summary."""
    parser = argparse.ArgumentParser(description="CPU and memory of inspection and its peers")
    parser.add_argument("wheels", nargs="+", metavar="WHEEL")
    parser.add_argument("--times", type=int, default=3, help="the best of so many runs")
    parser.add_argument("--cuobjdump", default=find_cuobjdump(), help="where the tool is")
    parser.add_argument("--inflate", choices=("isal", "zlib"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inflate:
        inflate_all(options.wheels[0], options.inflate)
        return
    print(
        "CPU seconds and peak MiB; ratios of CPU".ljust(32),
        *(c.rjust(WIDTH) for c in COLUMNS),
        end="",
    )
    print(*(f"{a[:5]}/{b[:5]}".rjust(WIDTH) for a, b in RATIOS))
    rows: dict[str, Row] = {}
    for wheel in options.wheels:
        with tempfile.TemporaryDirectory() as folder:
            row = costs_of(wheel, options.times, options.cuobjdump, Path(folder))
        name = Path(wheel).name
        rows[name] = row
        line = [name[:31].ljust(32), *(cell(row[column]) for column in COLUMNS)]
        print(*line, *(shown(ratio(row, *pair)) for pair in RATIOS), flush=True)
    summarise(rows)


if __name__ == "__main__":
    main()
