"""Every native file of real wheels, as readelf and cuobjdump see it.

Run on demand: `nox -s ondemand`, or `pytest tests/ondemand` with WHEELGRID_WHEELS set to a folder
of wheels. cuobjdump is run without an option, which prints the headings of its `-elf` dump (one
test compares them): it lists the executable fat binary, or the relocatable one where there is no
other, which are our `loadable` sets or else the rest; with `-all` it lists both.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from cuobjdump import find_cuobjdump, list_images
from tool_output import FAMILIES, Heading, ReadElf, parse_readelf
from wheels import Row, elf_members, get_wheel, inspect, names, unpack

pytestmark = [pytest.mark.ondemand, pytest.mark.network]

CUOBJDUMP, READELF = find_cuobjdump(), shutil.which("readelf")
KINDS = {"sm": "elf", "compute": "ptx", "lto": "lto"}
SECTIONS = {".nv_fatbin", "__nv_relfatbin"}
MOST_DUMPED = 8 << 20


@pytest.fixture(scope="module", params=names())
def wheel(request: pytest.FixtureRequest) -> Path:
    return get_wheel(request.param)


@pytest.fixture(scope="module")
def members(wheel: Path) -> list[str]:
    """Native files of Linux, found without our code."""
    found = list(elf_members(wheel))
    if not found:
        pytest.skip("no ELF file in this wheel")
    return found


@pytest.fixture(scope="module")
def rows(wheel: Path) -> dict[str, Row]:
    return inspect(wheel)


def read_by_readelf(path: Path) -> ReadElf:
    text = ""
    for option in ("-dVW", "--dyn-syms"):
        command = ["nice", "-n", "10", READELF or "readelf", option, "-W", str(path)]
        result = subprocess.run(command, capture_output=True, check=True)
        text += result.stdout.decode(errors="surrogateescape") + "\n"
    return parse_readelf(text)


def read_by_us(row: Row) -> ReadElf:
    return ReadElf(
        needed=tuple(row["needed"]),
        rpath=":".join(row["rpath"]),
        runpath=":".join(row["runpath"]),
        floors={f: row[f.lower()] for f in sorted(FAMILIES) if row[f.lower()]},
        python_symbols=row["python_abi"]["symbols"],
    )


def images_of(row: Row, *, whole: bool) -> Counter[Heading]:
    """All images; or those of the loadable sets, else of the relocatable ones."""
    sets = row["gpu"]["cuda"]["sets"] if row["gpu"]["cuda"] else []
    chosen = sets if whole else [s for s in sets if s["loadable"]] or sets
    found: Counter[Heading] = Counter()
    for part in chosen:
        for target in part["images"]:
            found[KINDS[target.split("_")[0]], target] += part["containers"]
    return found


def has_other_sections(row: Row) -> bool:
    """Whether all its device code lies where cuobjdump does not look."""
    return all(part["section"] not in SECTIONS for part in row["gpu"]["cuda"]["sets"])


def test_every_native_file_is_found(members: list[str], rows: dict[str, Row]) -> None:
    assert sorted(members) == sorted(p for p, row in rows.items() if row["format"] == "ELF")
    assert {path: row["damage"] for path, row in rows.items() if row["damage"]} == {}


@pytest.mark.skipif(READELF is None, reason="no readelf")
def test_agrees_with_readelf(
    wheel: Path,
    members: list[str],
    rows: dict[str, Row],
    tmp_path: Path,
    subtests: pytest.Subtests,
) -> None:
    for member in members:
        with subtests.test(library=member):
            assert member in rows
            assert read_by_us(rows[member]) == read_by_readelf(unpack(wheel, member, tmp_path))


def compare(tool: str, path: Path, row: Row, *options: str) -> None:
    """Same images, and as many of each; a file that the tool cannot read is a skip."""
    ours, theirs = images_of(row, whole=bool(options)), list_images(tool, path, *options)
    if theirs.says_nothing and not ours:
        return
    if theirs.problem:
        assert theirs.images - ours == Counter()
        assert not theirs.says_nothing or has_other_sections(row)
        pytest.skip(theirs.problem)
    assert ours == theirs.images


@pytest.mark.skipif(CUOBJDUMP is None, reason="no cuobjdump")
def test_agrees_with_cuobjdump(
    wheel: Path,
    members: list[str],
    rows: dict[str, Row],
    tmp_path: Path,
    subtests: pytest.Subtests,
) -> None:
    for member in members:
        path = unpack(wheel, member, tmp_path)
        for options in ((), ("-all",)):
            with subtests.test(library=member, options=options):
                assert member in rows
                compare(CUOBJDUMP or "", path, rows[member], *options)


@pytest.mark.skipif(CUOBJDUMP is None, reason="no cuobjdump")
def test_headings_are_those_of_the_dump(
    wheel: Path, rows: dict[str, Row], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """What the other test relies on, where a dump takes seconds."""
    for member, row in rows.items():
        if not row["gpu"]["cuda"] or row["size"] > MOST_DUMPED:
            continue
        path = unpack(wheel, member, tmp_path)
        with subtests.test(library=member):
            listed = list_images(CUOBJDUMP or "", path)
            if listed.problem:
                pytest.skip(listed.problem)
            dumped = list_images(CUOBJDUMP or "", path, "-elf")
            elf = Counter({h: n for h, n in listed.images.items() if h[0] == "elf"})
            assert Counter({h: n for h, n in dumped.images.items() if h[0] == "elf"}) == elf
