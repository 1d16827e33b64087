"""The local engine on a small real C extension: builds, faults, kills, second runs."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

from wheelgrid.core.rung import Outcome
from wheelgrid.inspect.audit import audit

Run = Callable[..., subprocess.CompletedProcess[str]]

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
CELL = f"torch2.14.1-{TAG}-linux_x86_64-cpu"
UNIT = f"tinyext@{CELL}"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="the local engine is tested on Linux"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine"),
]

C_SOURCE = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *none) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, 0}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", 0, 0, methods};
PyMODINIT_FUNC PyInit__C(void) { return PyModule_Create(&module); }
"""
SETUP = """\
from setuptools import Extension, setup
setup(name="tinyext", version="1.0", python_requires=">=3.8", packages=["tinyext"],
      ext_modules=[Extension("tinyext._C", ["tinyext/_C.c"])])
"""
RECIPE = """\
name: tinyext
version: "1.0"
summary: A test
source: {kind: directory, path: source}
abi: {"*": none}
extensions: {"*": [tinyext._C]}
build:
  requires: {"*": ["setuptools==84.2.1"]}
test: {import: tinyext, scripts: [smoke.py]}
"""
SMOKE = """\
import json
import tinyext._C as C
ok = C.answer() == 42
print(json.dumps({"checks": [{"name": "answer", "outcome": "passed" if ok else "failed"}]}))
"""
MATRIX = f"""\
schema: "1"
name: small
axes:
  torch: ["2.14.1"]
  python: ["{VERSION}"]
  accelerator: [cpu]
  platform: [linux_x86_64]
packages: [tinyext]
tiers:
  stack: [{{packages: [tinyext], when: {{}}}}]
"""


@pytest.fixture(scope="session")
def index() -> None:
    """Skip where no package index answers: build environments cannot be made."""
    uv = Path(sys.executable).parent / "uv"
    if not uv.is_file():
        pytest.skip("uv is not installed beside this interpreter")
    asked = subprocess.run(
        [uv, "pip", "compile", "--no-deps", "--no-build", "-"],
        input="setuptools==84.2.1",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if asked.returncode != 0:
        pytest.skip("no package index can be reached")


@pytest.fixture
def tiny(tmp_path: Path, repository: Path, index: None) -> Path:
    """A project with one small C extension."""
    del index
    shutil.copytree(repository / "compat", tmp_path / "compat")
    shutil.rmtree(tmp_path / "compat" / "observations" / "runs", ignore_errors=True)
    folder = tmp_path / "recipes" / "tinyext"
    package = folder / "source" / "tinyext"
    package.mkdir(parents=True)
    (tmp_path / "matrix.yaml").write_text(MATRIX, encoding="utf-8")
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    (folder / "smoke.py").write_text(SMOKE, encoding="utf-8")
    (folder / "source" / "setup.py").write_text(SETUP, encoding="utf-8")
    (package / "__init__.py").touch()
    (package / "_C.c").write_text(C_SOURCE, encoding="utf-8")
    return tmp_path


def wheels(project: Path) -> list[Path]:
    return sorted((project / "dist").glob("*/*"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_from_source_to_executed_and_recorded_then_nothing_to_do(
    wheelgrid: Run, tiny: Path, repository: Path
) -> None:
    first = wheelgrid("test", "--json", cwd=tiny)
    assert first.returncode == 0, first.stderr + first.stdout
    document = json.loads(first.stdout)
    schemas = repository / "src" / "wheelgrid" / "schemas"
    jsonschema.validate(document, json.loads((schemas / "run.schema.json").read_bytes()))
    outcomes = {r["rung"]: r["outcome"] for r in document["units"][0]["rungs"]}
    assert set(outcomes.values()) == {"passed"}
    (wheel,) = wheels(tiny)
    assert wheel.parent.name == "any"
    assert "manylinux" in wheel.name
    assert audit(wheel).outcome is Outcome.PASSED
    (record,) = (tiny / ".wheelgrid" / "records").glob("*/*.json")
    parsed = json.loads(record.read_bytes())
    jsonschema.validate(parsed, json.loads((schemas / "observation.schema.json").read_bytes()))
    assert str(tiny) not in record.read_text(encoding="utf-8")
    before = wheel.stat().st_mtime_ns
    second = wheelgrid("test", cwd=tiny)
    assert second.returncode == 0
    assert second.stdout.splitlines()[0] == f"✓ passed  {UNIT} (up to date)"
    assert second.stdout.splitlines()[1] == "1 units up to executed: 1 passed"
    assert "nothing to do: all that can be done here is up to date" in second.stdout
    assert wheel.stat().st_mtime_ns == before


def test_plan_says_what_a_change_does(wheelgrid: Run, tiny: Path) -> None:
    assert (
        f"+ tinyext-1.0-{TAG}-linux_x86_64-any: never built here"
        in wheelgrid("plan", cwd=tiny).stdout
    )
    assert wheelgrid("build", cwd=tiny).returncode == 0
    assert "= tinyext" in wheelgrid("plan", cwd=tiny).stdout
    source = tiny / "recipes" / "tinyext" / "source" / "tinyext" / "_C.c"
    edit(source, "42", "43")
    assert "changed: files" in wheelgrid("plan", cwd=tiny).stdout
    edit(source, "43", "42")
    (wheel,) = wheels(tiny)
    wheel.write_bytes(b"tampered")
    assert "is not in dist/ as it was built" in wheelgrid("plan", cwd=tiny).stdout
    assert wheelgrid("build", cwd=tiny).returncode == 0
    assert zipfile.is_zipfile(wheel)


def test_the_same_source_gives_the_same_bytes(wheelgrid: Run, tiny: Path) -> None:
    assert wheelgrid("build", cwd=tiny).returncode == 0
    (wheel,) = wheels(tiny)
    first = wheel.read_bytes()
    shutil.rmtree(tiny / "dist")
    assert wheelgrid("build", cwd=tiny).returncode == 0
    assert wheel.read_bytes() == first


def test_a_failing_test_is_a_failure_with_its_reason(wheelgrid: Run, tiny: Path) -> None:
    edit(tiny / "recipes" / "tinyext" / "smoke.py", "== 42", "== 41")
    shown = wheelgrid("test", cwd=tiny)
    assert shown.returncode == 1
    assert "executed: answer" in shown.stdout


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import os; os.abort()", "signal 6"),
        ("print('{not json')", "exit status 0"),
        ("raise SystemExit(3)", "exit status 3"),
        ('print(\'{"checks": [{"outcome": "great"}]}\')', "malformed check"),
        ("print('{\"checks\": []}')", "exit status 0"),
    ],
)
def test_tests_that_die_or_report_nonsense_are_failures(
    wheelgrid: Run, tiny: Path, script: str, words: str
) -> None:
    (tiny / "recipes" / "tinyext" / "smoke.py").write_text(script, encoding="utf-8")
    shown = wheelgrid("test", cwd=tiny)
    assert shown.returncode == 1
    assert words in shown.stdout


def test_an_import_that_ends_the_process_is_a_failed_import(wheelgrid: Run, tiny: Path) -> None:
    source = tiny / "recipes" / "tinyext" / "source" / "tinyext"
    (source / "__init__.py").write_text("import os\nos._exit(1)\n", encoding="utf-8")
    shown = wheelgrid("test", cwd=tiny)
    assert shown.returncode == 1
    assert "imported: exit status 1" in shown.stdout


def test_a_compile_error_shows_the_compilers_lines(wheelgrid: Run, tiny: Path) -> None:
    source = tiny / "recipes" / "tinyext" / "source" / "tinyext" / "_C.c"
    edit(source, "PyLong_FromLong(42)", "undeclared_name(42)")
    edit(source, "static PyObject *answer", "#error stop here\nstatic PyObject *answer")
    shown = wheelgrid("build", cwd=tiny)
    assert shown.returncode == 1
    assert "error: #error stop here" in shown.stdout
    assert wheels(tiny) == []


def test_an_extension_that_was_quietly_not_built_fails_the_audit(
    wheelgrid: Run, tiny: Path
) -> None:
    setup = tiny / "recipes" / "tinyext" / "source" / "setup.py"
    edit(setup, 'ext_modules=[Extension("tinyext._C", ["tinyext/_C.c"])]', "ext_modules=[]")
    shown = wheelgrid("build", cwd=tiny)
    assert shown.returncode == 1
    assert "WG301" in shown.stdout
    assert "the wheel is pure" in shown.stdout
    assert wheels(tiny) == []
    assert list((tiny / ".wheelgrid" / "rejected").glob("*/*.whl"))


def test_a_patch_that_does_not_apply_says_so(wheelgrid: Run, tiny: Path) -> None:
    folder = tiny / "recipes" / "tinyext"
    (folder / "bad.patch").write_text(
        "--- a/setup.py\n+++ b/setup.py\n@@ -1 +1 @@\n-no such line\n+x\n", encoding="utf-8"
    )
    edit(folder / "recipe.yaml", "build:\n", "patches: [bad.patch]\nbuild:\n")
    shown = wheelgrid("build", cwd=tiny)
    assert shown.returncode == 1
    assert "bad.patch does not apply to tinyext 1.0" in shown.stdout
    edit(folder / "recipe.yaml", "bad.patch", "none.patch")
    shown = wheelgrid("build", cwd=tiny)
    assert shown.returncode == 2
    assert "none.patch: no such file" in shown.stderr


def test_a_missing_interpreter_is_could_not_check(wheelgrid: Run, tiny: Path) -> None:
    edit(tiny / "matrix.yaml", f'["{VERSION}"]', '["3.14t"]')
    if shutil.which("python3.14t"):
        pytest.skip("this machine has CPython 3.14t")
    shown = wheelgrid("test", cwd=tiny, env={"UV_OFFLINE": "1"})
    assert shown.returncode == 3
    assert "no CPython 3.14t is here" in shown.stdout
    record = next((tiny / ".wheelgrid" / "records").glob("*/*.json"))
    outcomes = {r["rung"]: r["outcome"] for r in json.loads(record.read_bytes())["rungs"]}
    assert outcomes["built"] == "unknown"
    assert outcomes["executed"] == "skipped"


def test_no_network_is_could_not_check_never_a_failure(wheelgrid: Run, tiny: Path) -> None:
    env = {
        "UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple",
        "UV_CACHE_DIR": str(tiny / "empty-cache"),
        "UV_HTTP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
        "HOME": str(tiny),
        "PIP_FIND_LINKS": "",
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYENV_ROOT": os.environ.get("PYENV_ROOT", ""),
    }
    shown = wheelgrid("build", cwd=tiny, env=env)
    assert shown.returncode == 3, shown.stdout + shown.stderr
    assert "could not check" in shown.stdout
    assert wheels(tiny) == []


@pytest.mark.network
def test_an_sdist_with_another_hash_is_refused_with_both_hashes(
    wheelgrid: Run, project: Path, index: None
) -> None:
    """Public case B14: stop, show both, build nothing."""
    del index
    recipe = project / "recipes" / "regex" / "recipe.yaml"
    text = recipe.read_text(encoding="utf-8")
    right = next(line.split()[-1] for line in text.splitlines() if "sha256:" in line)
    wrong = "0f" * 32
    recipe.write_text(text.replace(right, wrong), encoding="utf-8")
    shown = wheelgrid("build", f"regex@torch2.14.1-{TAG}-linux_x86_64-cpu", cwd=project)
    if "names no package" in shown.stderr:
        pytest.skip(f"Python {VERSION} is not on the axis of the test project")
    assert shown.returncode == 2, shown.stdout
    assert right in shown.stderr
    assert wrong in shown.stderr
    assert wheels(project) == []
    assert not list((project / ".wheelgrid" / "sources").glob("*/*.tar.gz"))


def test_a_second_run_at_the_same_time_is_told_to_wait(wheelgrid: Run, tiny: Path) -> None:
    slow = tiny / "recipes" / "tinyext" / "source" / "setup.py"
    slow.write_text("import time\ntime.sleep(30)\n" + SETUP, encoding="utf-8")
    first = start(tiny)
    try:
        wait_for((tiny / ".wheelgrid" / "staging").is_dir)
        shown = wheelgrid("build", cwd=tiny)
        assert shown.returncode == 3
        assert "another wheelgrid run is working in this project" in shown.stderr
    finally:
        first.kill()
        first.wait()


def start(project: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "wheelgrid", "build"],
        cwd=project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "CI": "true"},
    )


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.05)


def children_of(project: Path) -> Iterator[int]:
    """Processes whose working folder or arguments lie in the project."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            cwd = (entry / "cwd").readlink()
        except OSError:
            continue
        if str(project).encode() in command or cwd.is_relative_to(project):
            yield int(entry.name)


def test_interrupt_ends_everything_at_once(tiny: Path) -> None:
    slow = tiny / "recipes" / "tinyext" / "source" / "setup.py"
    slow.write_text("import time\ntime.sleep(60)\n" + SETUP, encoding="utf-8")
    run = start(tiny)
    wait_for(lambda: any("setup" in p or "uv" in p for p in names(tiny)))
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=20) == 130
    wait_for(lambda: not list(children_of(tiny)))
    assert wheels(tiny) == []


def names(project: Path) -> list[str]:
    found = []
    for pid in children_of(project):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return found


def test_kill_9_at_random_moments_leaves_nothing_half_done(wheelgrid: Run, tiny: Path) -> None:
    """Ten kills; afterwards no incomplete file in dist/, no orphan, and the next run finishes."""
    moments = random.Random(20261201)
    assert wheelgrid("build", cwd=tiny).returncode == 0  # warms the build environment
    source = tiny / "recipes" / "tinyext" / "source" / "tinyext" / "_C.c"
    for number in range(10):
        source.write_text(C_SOURCE + f"/* {number} */\n", encoding="utf-8")
        run = start(tiny)
        time.sleep(moments.uniform(0.1, 2.5))
        run.kill()
        run.wait()
        for wheel in wheels(tiny):
            if wheel.name.startswith("."):
                continue  # unfinished, and hidden from every installer
            assert audit(wheel).outcome is Outcome.PASSED, wheel
        wait_for(lambda: not list(children_of(tiny)))
    done = wheelgrid("build", cwd=tiny)
    assert done.returncode == 0, done.stdout
    assert [w.name for w in wheels(tiny) if w.name.startswith(".")] == []
    assert len(wheels(tiny)) == 1
    assert list((tiny / ".wheelgrid" / "staging").glob("*")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a small full disk needs root to mount")
def test_a_full_disk_is_said_and_leaves_nothing_half_written(
    wheelgrid: Run, tiny: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    small = tmp_path_factory.mktemp("small")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3g", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("this machine does not allow mounts")
    try:
        project = small / "project"
        shutil.copytree(tiny, project)
        with (small / "ballast").open("wb") as handle:
            handle.truncate(0)
            os.posix_fallocate(handle.fileno(), 0, 2 << 30)
        shown = wheelgrid("build", cwd=project)
        assert shown.returncode == 3
        assert "MiB are free" in shown.stderr
        assert wheels(project) == []
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


LIMITED_SETUP = """\
from setuptools import Extension, setup
setup(name="tinyext", version="1.0", python_requires=">=3.8", packages=["tinyext"],
      options={"bdist_wheel": {"py_limited_api": "TAG"}},
      ext_modules=[Extension("tinyext._C", ["tinyext/_C.c"], py_limited_api=True)])
"""


def test_a_claim_that_the_audit_refutes_no_longer_collapses(tiny: Path, wheelgrid: Run) -> None:
    """The wheel says abi3 and calls a function outside the stable ABI; the planner believes it."""
    folder = tiny / "recipes" / "tinyext"
    floor = f'stable: {{python: "{VERSION}"}}\nabi: {{'
    recipe = RECIPE.replace("abi: {", floor)
    (folder / "recipe.yaml").write_text(recipe, encoding="utf-8")
    (folder / "source" / "setup.py").write_text(LIMITED_SETUP.replace("TAG", TAG), encoding="utf-8")
    source = C_SOURCE.replace(
        "return PyLong_FromLong(42)",
        'if (getenv("NEVER_SET")) PyFrame_GetBack(0); return PyLong_FromLong(42)',
    )
    (folder / "source" / "tinyext" / "_C.c").write_text(source, encoding="utf-8")
    wide = f'python: ["{VERSION}", "3.{sys.version_info.minor + 1}"]'
    matrix = MATRIX.replace(f'python: ["{VERSION}"]', wide)
    (tiny / "matrix.yaml").write_text(matrix, encoding="utf-8")

    before = wheelgrid("plan", "--builds", cwd=tiny)
    assert f"tinyext-1.0-{TAG}.abi3-linux_x86_64-any" in before.stdout
    built = wheelgrid("build", UNIT, cwd=tiny)
    assert built.returncode == 1, built.stderr
    kept = list((tiny / ".wheelgrid" / "unproven").glob("*.json"))
    assert "PyFrame_GetBack" in kept[0].read_text(encoding="utf-8")
    after = wheelgrid("plan", "--builds", cwd=tiny).stdout
    assert "abi3" not in after
    assert f"tinyext-1.0-{TAG}-linux_x86_64-any" in after
