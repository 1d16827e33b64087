"""`wheelgrid inspect` on wheels made here and on small binaries with known contents."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from wheelgrid.cli.main import run as wheelgrid

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
SCHEMA = json.loads(
    (ROOT / "src" / "wheelgrid" / "schemas" / "inspect.schema.json").read_text(encoding="utf-8")
)
Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def inspect(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run the command with --json, validate what it prints, return exit code and document."""
    monkeypatch.setenv("WHEELGRID_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(ROOT)

    def run(*arguments: str) -> tuple[int, Any]:
        code = wheelgrid(["inspect", "--json", *arguments])
        document = json.loads(capsys.readouterr().out)
        Draft202012Validator(SCHEMA).validate(document)
        return code, document

    return run


def wheel_of(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("demo-1.0.dist-info/METADATA", "Name: demo\nVersion: 1.0\n")
    return path


def libraries(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in document["wheels"][0]["libraries"]}


def compiled(tmp_path: Path, source: str, *arguments: str) -> bytes:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc on this machine")
    code, out = tmp_path / "x.c", tmp_path / "x.so"
    code.write_text(source, encoding="utf-8")
    command = ["gcc", "-fPIC", "-o", str(out), str(code), *arguments]
    subprocess.run(command, check=True, capture_output=True)
    return out.read_bytes()


def test_native_files_are_found_by_their_first_bytes(tmp_path: Path, inspect: Run) -> None:
    library = compiled(tmp_path, "int f(void) { return 0; }", "-shared")
    program = compiled(tmp_path, "int main(void) { return 0; }")
    members = {
        "demo/data.bin": library,
        "demo/tool": program,
        "demo/text.so": b"not native",
        "demo/a.class": b"\xca\xfe\xba\xbe\0\0\0\x41",
        "demo/x.py": b"import triton\n\n@triton.jit\ndef f(): pass\n",
    }
    code, document = inspect(str(wheel_of(tmp_path / "demo-1.0-py3-none-any.whl", members)))
    rows = libraries(document)
    assert (code, list(rows)) == (0, ["demo/data.bin", "demo/tool"])
    assert [row["kind"] for row in rows.values()] == ["library", "executable"]
    assert document["wheels"][0]["jit_sources"] == {"triton": ["demo/x.py"]}


def test_needs_and_floors_agree_with_readelf(tmp_path: Path, inspect: Run) -> None:
    """Readelf of binutils is the peer: needs, search path, the highest version and its symbol."""
    if shutil.which("readelf") is None:
        pytest.skip("no readelf on this machine")
    source = "#include <math.h>\nint printf(const char *, ...);\n"
    source += 'double f(double x) { printf("%f", x); return pow(x, 2.5); }\n'
    data = compiled(
        tmp_path, source, "-shared", "-lm", "-Wl,-rpath,$ORIGIN/../lib", "-Wl,-soname,x.so.1"
    )
    path = tmp_path / "x.so"
    path.write_bytes(data)
    text = subprocess.run(
        ["readelf", "-dVW", "--dyn-syms", str(path)], check=True, capture_output=True, text=True
    ).stdout
    code, document = inspect(str(path))
    row = libraries(document)["x.so"]
    needed = [line.split("[")[1][:-1] for line in text.splitlines() if "(NEEDED)" in line]
    versions = {w for w in text.replace("@", " ").split() if w.startswith("GLIBC_2")}
    highest = max(tuple(map(int, v[6:].split("."))) for v in versions)
    assert code == 0
    assert row["needed"] == needed
    assert row["runpath"] + row["rpath"] == ["$ORIGIN/../lib"]
    assert row["soname"] == "x.so.1"
    assert row["glibc"] == ".".join(map(str, highest))
    assert f"{row['causes']['glibc']['symbol']}@GLIBC_{row['glibc']}" in text


def test_hash_tables_of_both_kinds_give_the_same(tmp_path: Path, inspect: Run) -> None:
    """Without section headers only DT_HASH or DT_GNU_HASH tells how many symbols there are."""
    source = "void *PyList_New(long); void *PyInit__C(void) { return PyList_New(0); }"
    rows = []
    for style in ("sysv", "gnu", "both"):
        data = bytearray(compiled(tmp_path, source, "-shared", f"-Wl,--hash-style={style}"))
        data[0x28:0x30] = bytes(8)  # no section headers
        data[0x3C:0x40] = bytes(4)
        path = tmp_path / f"{style}.so"
        path.write_bytes(data)
        _, document = inspect(str(path))
        rows.append(libraries(document)[f"{style}.so"]["python_abi"])
    assert rows[0] == rows[1] == rows[2]
    assert (rows[0]["kind"], rows[0]["floor"], rows[0]["symbols"]) == ("limited", "3.2", 1)


@pytest.mark.parametrize("style", ["sysv", "gnu"])
def test_symbols_of_a_library_that_exports_nothing(
    tmp_path: Path, inspect: Run, style: str
) -> None:
    """Its GNU hash table is empty (torch's libtorch_global_deps.so is such a library)."""
    source = "void *PyList_New(long);\n"
    source += "__attribute__((constructor)) static void f(void) { PyList_New(0); }"
    data = compiled(tmp_path, source, "-shared", "-nostdlib", f"-Wl,--hash-style={style}")
    path = tmp_path / "quiet.so"
    path.write_bytes(data)
    _, document = inspect(str(path))
    assert libraries(document)["quiet.so"]["python_abi"]["symbols"] == 1


def test_a_library_repaired_by_patchelf_is_read(tmp_path: Path, inspect: Run) -> None:
    """Patchelf moves tables to the end of the file, and the section headers as well."""
    if shutil.which("patchelf") is None:
        pytest.skip("no patchelf on this machine")
    data = compiled(
        tmp_path,
        "double pow(double, double); double f(double x) { return pow(x, 3.5); }",
        "-shared",
        "-lm",
    )
    path = tmp_path / "moved.so"
    path.write_bytes(data)
    subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/" + "x" * 5000, str(path)], check=True)
    code, document = inspect(str(path))
    row = libraries(document)["moved.so"]
    assert (code, row["damage"]) == (0, [])
    assert row["rpath"] + row["runpath"] == ["$ORIGIN/" + "x" * 5000]
    assert "libm.so.6" in row["needed"]


def test_a_damaged_library_is_not_a_clean_answer(tmp_path: Path, inspect: Run) -> None:
    data = compiled(tmp_path, "int f(void) { return 0; }", "-shared")
    members = {"demo/a.so": data[: len(data) // 4], "demo/b.so": data}
    code, document = inspect(str(wheel_of(tmp_path / "demo-1.0-py3-none-any.whl", members)))
    wheel = document["wheels"][0]
    assert code == 3
    assert not wheel["complete"]
    assert [p["path"] for p in wheel["damage"]] == ["demo/a.so"]
    assert list(libraries(document)) == ["demo/b.so"]


def test_a_known_wheel_is_not_read_again_but_a_changed_one_is(tmp_path: Path, inspect: Run) -> None:
    wheel = wheel_of(
        tmp_path / "demo-1.0-py3-none-any.whl",
        {"demo/a.so": compiled(tmp_path, "int f(void) { return 0; }", "-shared")},
    )
    first = inspect(str(wheel))
    assert inspect(str(wheel)) == first
    wheel_of(wheel, {"demo/b.so": compiled(tmp_path, "int g(void) { return 0; }", "-shared")})
    assert list(libraries(inspect(str(wheel))[1])) == ["demo/b.so"]


def with_record(path: Path, name: str, data: bytes) -> Path:
    """A wheel of one native file whose RECORD is right."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record = f"{name},sha256={digest},{len(data)}\n".encode()
    return wheel_of(path, {name: data, "demo-1.0.dist-info/RECORD": record})


def test_a_file_is_known_in_another_wheel_once_it_was_digested(
    tmp_path: Path, inspect: Run
) -> None:
    data = compiled(tmp_path, 'int puts(const char *); int f(void) { return puts(""); }', "-shared")
    first = with_record(tmp_path / "demo-1.0-cp311-cp311-linux_x86_64.whl", "demo/a.so", data)
    second = with_record(tmp_path / "demo-1.0-cp312-cp312-linux_x86_64.whl", "demo/b.so", data)
    third = with_record(tmp_path / "demo-1.0-cp313-cp313-linux_x86_64.whl", "demo/c.so", data)
    inspect(str(first))
    assert not libraries(inspect(str(second))[1])["demo/b.so"]["known"]
    assert not libraries(inspect("--digests", str(first))[1])["demo/a.so"]["known"]
    row = libraries(inspect(str(third))[1])["demo/c.so"]
    assert (row["known"], row["needed"]) == (True, ["libc.so.6"])


def test_a_record_that_lies_teaches_nothing(tmp_path: Path, inspect: Run) -> None:
    data = compiled(tmp_path, "int f(void) { return 0; }", "-shared")
    other = compiled(tmp_path, "int g(void) { return 1; }", "-shared", "-Wl,-soname,evil.so")
    wheel = tmp_path / "demo-1.0-cp311-cp311-linux_x86_64.whl"
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record = f"demo/a.so,sha256={digest},{len(other)}\n".encode()
    inspect(
        "--digests", str(wheel_of(wheel, {"demo/a.so": other, "demo-1.0.dist-info/RECORD": record}))
    )
    honest = with_record(tmp_path / "demo-1.0-cp312-cp312-linux_x86_64.whl", "demo/a.so", data)
    row = libraries(inspect(str(honest))[1])["demo/a.so"]
    assert (row["known"], row["soname"]) == (False, "")


def test_no_such_wheel_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert wheelgrid(["inspect", str(tmp_path / "no.whl"), str(tmp_path / "none.whl")]) == 2
    errors = capsys.readouterr().err
    assert "no.whl: no such file" in errors
    assert "none.whl: no such file" in errors


def test_a_hostile_name_forges_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHEELGRID_CACHE_DIR", str(tmp_path / "cache"))
    data = compiled(tmp_path, "int f(void) { return 0; }", "-shared")
    wheel = wheel_of(
        tmp_path / "demo-1.0-py3-none-any.whl", {"demo/a\n  CUDA sm_90\x1b[2J.so": data}
    )
    assert wheelgrid(["inspect", "--libs", str(wheel)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\n  CUDA sm_90" not in out


@pytest.mark.parametrize(
    ("fixture", "elf", "ptx", "runtimes"),
    [
        ("cuda/cuda130_sharedcudart_sm90_120_ptx.so", ["sm_90", "sm_120"], ["compute_120"], "13"),
        ("cuda/plain.fatbin", None, None, None),
    ],
)
def test_cuda_code_of_known_binaries(
    inspect: Run, fixture: str, elf: list[str] | None, ptx: list[str] | None, runtimes: str | None
) -> None:
    code, document = inspect(str(FIXTURES / fixture))
    (row,) = libraries(document).values()
    assert code == 0
    if elf is None:
        assert row["format"] == "fatbin"
        assert row["gpu"]["cuda"]["sets"]
        return
    assert (row["gpu"]["cuda"]["elf"], row["gpu"]["cuda"]["ptx"]) == (elf, ptx)
    assert row["runtimes"] == {"cuda": runtimes}


@pytest.mark.parametrize(
    ("fixture", "targets"),
    [
        ("hip_gfx942.so", ["gfx942"]),
        ("hip_gfx1201.so", ["gfx1201"]),
        ("hip_hipcc_gfx942_950_1201.so", ["gfx942", "gfx950", "gfx1201"]),
    ],
)
def test_rocm_targets_of_known_binaries(inspect: Run, fixture: str, targets: list[str]) -> None:
    code, document = inspect("--kernels", str(FIXTURES / "gpu" / fixture))
    (row,) = libraries(document).values()
    assert (code, row["gpu"]["rocm"]) == (0, targets)
    assert sorted(row["gpu"]["rocm_kernels"]) == sorted(targets)


def test_a_spirv_module_is_device_code_by_itself(inspect: Run) -> None:
    code, document = inspect(str(FIXTURES / "gpu" / "sy23.spv"))
    (row,) = libraries(document).values()
    assert (code, row["format"]) == (0, "SPIR-V")


@pytest.mark.parametrize(
    ("fixture", "machine", "system"),
    [
        ("demo-arm64.so", ["arm64"], "macOS"),
        ("demo-x86_64.so", ["x86_64"], "macOS"),
        ("demo-x86_64.pyd", ["x86_64"], "Windows"),
        ("demo-arm64.pyd", ["arm64"], "Windows"),
        ("demo-i386.pyd", ["i386"], "Windows"),
    ],
)
def test_files_of_other_systems(
    inspect: Run, fixture: str, machine: list[str], system: str
) -> None:
    code, document = inspect(str(FIXTURES / "native" / fixture))
    (row,) = libraries(document).values()
    assert (code, row["machines"]) == (0, machine)
    assert row["minimum_os"].startswith(system)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """A server of one wheel that knows ranges; the address, and the ranges it was asked for."""
    members = {f"demo/data{i}.bin": random.Random(i).randbytes(400_000) for i in range(5)}
    members["demo/a.so"] = compiled(tmp_path, "int f(void) { return 0; }", "-shared")
    data = wheel_of(tmp_path / "demo-1.0-py3-none-any.whl", members).read_bytes()
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers["Range"])
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            begin = int(first) if first else max(0, len(data) - int(last))
            end = min(int(last) + 1, len(data)) if first and last else len(data)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")
            self.send_header("Content-Length", str(end - begin))
            self.end_headers()
            self.wfile.write(data[begin:end])

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/demo-1.0-py3-none-any.whl", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_remote_wheel_is_read_by_ranges(served: tuple[str, list[str]], inspect: Run) -> None:
    address, _ = served
    code, document = inspect(address)
    assert (code, list(libraries(document))) == (0, ["demo/a.so"])
    assert document["wheels"][0]["transferred"] > 100_000


def test_metadata_of_a_remote_wheel_comes_without_its_body(
    served: tuple[str, list[str]], inspect: Run
) -> None:
    address, _ = served
    code, document = inspect("--metadata", address)
    wheel = document["wheels"][0]
    assert (code, wheel["metadata_only"], wheel["libraries"]) == (0, True, [])
    assert (wheel["members"], wheel["distribution"]) == (7, "demo")
    assert wheel["transferred"] < 100_000


def test_a_server_that_is_not_there_is_could_not_check(inspect: Run) -> None:
    code, document = inspect("http://127.0.0.1:9/demo-1.0-py3-none-any.whl")
    assert (code, document["wheels"]) == (3, [])
    assert "127.0.0.1:9" in document["errors"][0]
