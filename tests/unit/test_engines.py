"""The engines' own logic, with no process started."""

from __future__ import annotations

import hashlib
import json
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from wheelgrid.core.accelerator import Accelerator, Family
from wheelgrid.core.errors import BadInputError, CouldNotCheckError
from wheelgrid.core.evidence import Observation, Provenance, is_weaker
from wheelgrid.core.python import PythonVersion
from wheelgrid.core.recipe import SdistSource
from wheelgrid.core.rung import Check, Outcome, Rung, RungResult
from wheelgrid.engines import sources
from wheelgrid.engines.atomic import write_atomically
from wheelgrid.engines.faults import infrastructure_fault
from wheelgrid.engines.indexes import pip_settings, unreachable, uv_arguments
from wheelgrid.engines.interpreters import Interpreter
from wheelgrid.engines.process import Processes, Result, child_environment
from wheelgrid.engines.records import decode_observation, read_records, write_record
from wheelgrid.engines.scheduler import Task, run_tasks
from wheelgrid.engines.sources import tree_digest
from wheelgrid.engines.tester import executed_rung, machine_fault
from wheelgrid.engines.text import MAX_TEXT, Cleaner
from wheelgrid.engines.torch_source import facts_disagree
from wheelgrid.planning.plan import Plan

PASSED, FAILED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED


def check(outcome: Outcome, device: str = "cpu", detail: str = "") -> Check:
    return Check(name="c", outcome=outcome, device=device, detail=detail)


@pytest.mark.parametrize(
    ("family", "checks", "outcome"),
    [
        (Family.CPU, [check(PASSED)], PASSED),
        (Family.CPU, [check(PASSED), check(FAILED, detail="x")], FAILED),
        (Family.CPU, [], Outcome.UNKNOWN),
        (Family.CPU, [check(SKIPPED, detail="no such thing")], SKIPPED),
        (Family.CUDA, [check(PASSED), check(SKIPPED, "cuda", "no device: none")], SKIPPED),
        (Family.CUDA, [check(PASSED), check(PASSED, "cuda")], PASSED),
        (Family.ROCM, [check(PASSED, "cuda")], SKIPPED),
        (Family.CPU, [check(Outcome.UNKNOWN, detail="full disk"), check(PASSED)], Outcome.UNKNOWN),
    ],
)
def test_a_gpu_cell_without_a_gpu_check_is_skipped_never_passed(
    family: Family, checks: list[Check], outcome: Outcome
) -> None:
    """Public case G13."""
    result = executed_rung(tuple(checks), family)
    assert result.outcome is outcome
    if outcome is SKIPPED and family is Family.CUDA:
        assert result.why == "no device: none (1 checks passed elsewhere)"


@pytest.mark.parametrize(
    ("facts", "accelerator", "words"),
    [
        ({"version": "2.14.1+cu130", "cuda": "13.0"}, "cuda13.0", ""),
        ({"version": "2.14.1+cpu"}, "cpu", ""),
        ({"version": "2.14.1"}, "mps", ""),
        ({"version": "2.14.1+cu130", "cuda": "13.0"}, "cpu", "got a build for cuda"),
        ({"version": "2.14.1+cpu"}, "rocm7.14", "without rocm"),
        ({"version": "2.14.1+cu126", "cuda": "12.6"}, "cuda13.0", "got CUDA 12.6"),
        ({"version": "2.11.0"}, "cpu", "asked for torch 2.14.1, got 2.11.0"),
    ],
)
def test_the_torch_that_was_installed_is_the_torch_that_was_asked_for(
    facts: dict[str, str | None], accelerator: str, words: str
) -> None:
    """Public case R10, and the silent downgrade."""
    found = facts_disagree(facts, Version("2.14.1"), Accelerator.parse(accelerator))
    assert (words in found) if words else found == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("Error: more space needed on the / filesystem", "the disk is full"),
        ("nvcc fatal: No space left on device", "the disk is full"),
        ("g++: fatal error: Killed signal terminated program cc1plus", "out of memory"),
        ("fatal: Could not resolve host: example.org", "the network failed"),
        ("error: Request failed after 3 retries in 9.2s", "the network failed"),
        ("error: 'x' was not declared in this scope", ""),
    ],
)
def test_failures_of_the_machine_are_not_failures_of_the_package(text: str, fault: str) -> None:
    """Public cases B04, B16 and B23."""
    assert infrastructure_fault(text) == fault


def test_build_environments_see_little_of_the_callers() -> None:
    env = {
        "PATH": "/bin",
        "FORCE_CUDA": "1",
        "CFLAGS": "-O0",
        "TORCH_CUDA_ARCH_LIST": "native",
        "UV_INDEX": "https://example.org/simple",
        "PYTHONPATH": "/somewhere",
    }
    found = child_environment(env)
    assert found["PATH"] == "/bin"
    assert found["UV_INDEX"] == "https://example.org/simple"
    assert not {"FORCE_CUDA", "CFLAGS", "TORCH_CUDA_ARCH_LIST", "PYTHONPATH"} & found.keys()


def test_pips_configuration_reaches_uv(tmp_path: Path) -> None:
    conf = tmp_path / "pip.conf"
    conf.write_text(
        "[global]\nindex-url = https://a.example/simple\nextra-index-url = file:///x file:///y\n",
        encoding="utf-8",
    )
    env = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(conf), "PIP_FIND_LINKS": "/wheels"}
    assert uv_arguments(env)[-8:] == [
        "--index",
        "file:///x",
        "--index",
        "file:///y",
        "--index-strategy",
        "unsafe-best-match",
        "--find-links",
        "/wheels",
    ]
    assert pip_settings(env)["index-url"] == "https://a.example/simple"


def test_uvs_own_settings_win(tmp_path: Path) -> None:
    env = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_DIRS": str(tmp_path),
        "PIP_INDEX_URL": "https://a.example/simple",
        "PIP_FIND_LINKS": "/wheels",
        "UV_DEFAULT_INDEX": "https://b.example/simple",
        "UV_FIND_LINKS": "/others",
    }
    assert "https://a.example/simple" not in uv_arguments(env)
    assert "/wheels" not in uv_arguments(env)


def test_the_interpreters_own_rpath_stays_out_of_wheels() -> None:
    found = Interpreter(
        version=PythonVersion(3, 13),
        patch=0,
        path=Path("python"),
        has_headers=True,
        linkers=(
            ("LDCXXSHARED", "g++ -pthread -shared"),
            ("LDSHARED", "gcc -shared -L/p/lib -Wl,-rpath,/p/lib -Wl,-O1"),
        ),
    )
    assert found.linker_environment == {"LDSHARED": "gcc -shared -L/p/lib -Wl,-O1"}


def test_cleaned_text_has_no_machine_in_it() -> None:
    cleaner = Cleaner.of(Path("/home/me/project"), "/home/me", ["https://torch.example/whl/cpu"])
    text = (
        "\x1b[31mred\x1b[0m /home/me/project/.wheelgrid/staging/x -I/home/me/.pyenv/include \x00"
        "https://secret.example/simple/x https://torch.example/whl/cpu/torch (file:///opt/x)"
    )
    assert cleaner.clean(text) == (
        "red .wheelgrid/staging/x -I~/.pyenv/include "
        "<index> https://torch.example/whl/cpu/torch (<index>)"
    )
    assert len(cleaner.clean("y" * 9000)) == MAX_TEXT


@pytest.mark.parametrize(
    "place", ["https://torch.example.evil/x", "https://torch.example/whl/cpux"]
)
def test_only_published_addresses_stay(place: str) -> None:
    cleaner = Cleaner.of(Path("/p"), "/h", ["https://torch.example/whl/cpu"])
    assert cleaner.clean(place) == "<index>"


def test_tasks_share_cores_and_memory_and_the_longest_starts_first() -> None:
    lock = threading.Lock()
    order: list[tuple[str, int]] = []
    running = {"jobs": 0, "most": 0}

    def do(name: str, jobs: int) -> str:
        with lock:
            order.append((name, jobs))
            running["jobs"] += jobs
            running["most"] = max(running["most"], running["jobs"])
        with lock:
            running["jobs"] -= jobs
        return name

    tasks = [
        Task(item="short", minutes=1),
        Task(item="long", minutes=9, max_jobs=8, memory_mib=1000),
        Task(item="middle", minutes=5),
    ]
    results = run_tasks(tasks, do, cores=4, memory_mib=4000)
    assert order[0] == ("long", 3)
    assert sorted(name for name, _ in results) == ["long", "middle", "short"]
    assert running["most"] <= 4


def test_a_task_larger_than_the_machine_still_runs_alone() -> None:
    tasks = [Task(item="huge", memory_mib=10**6)]
    assert run_tasks(tasks, lambda name, jobs: (name, jobs), cores=2, memory_mib=100) == [
        ("huge", ("huge", 1))
    ]


def test_the_first_failure_of_a_task_is_raised_and_stops_admission() -> None:
    done: list[str] = []

    def do(name: str, _: int) -> None:
        done.append(name)
        if name == "bad":
            raise CouldNotCheckError("no network")

    tasks = [Task(item="bad", minutes=9), Task(item="later", minutes=1)]
    with pytest.raises(CouldNotCheckError, match="no network"):
        run_tasks(tasks, do, cores=1, memory_mib=4000)
    assert done == ["bad"]


def test_files_are_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sub" / "file.json"
    write_atomically(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in path.parent.iterdir()] == ["file.json"]


def test_tree_digests_see_contents_and_names_but_not_build_leftovers(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1", encoding="utf-8")
    first = tree_digest(tmp_path)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "x.o").write_text("junk", encoding="utf-8")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("junk", encoding="utf-8")
    assert tree_digest(tmp_path) == first
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert tree_digest(tmp_path) != first


@pytest.fixture
def observation() -> Observation:
    return Observation(
        package="demo",
        package_version="1.0",
        cell="torch2.14.1-cp313-linux_x86_64-cpu",
        build="demo-1.0",
        key="0" * 64,
        wheel="demo.whl",
        wheel_sha256="1" * 64,
        rungs=(
            RungResult(rung=Rung.BUILT, outcome=PASSED, evidence=("demo.whl",)),
            RungResult(
                rung=Rung.EXECUTED, outcome=SKIPPED, why="no device", checks=(check(PASSED),)
            ),
        ),
        provenance=Provenance(
            time="2026-12-01T00:00:00+00:00",
            tool="wheelgrid 0",
            platform="linux_x86_64",
            python="3.13.0",
            host={"libc": "glibc 2.36"},
            inputs={},
        ),
    )


def test_records_read_back_as_they_were_written(tmp_path: Path, observation: Observation) -> None:
    path = write_record(tmp_path, observation)
    assert decode_observation(path.read_bytes()) == observation


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("cell"),
        lambda d: d.update(schema_version=99),
        lambda d: d.update(rungs=[{"rung": "flown", "outcome": "passed"}]),
        lambda d: d.update(rungs=[{"rung": "built", "outcome": "skipped"}]),
        lambda d: d.update(provenance=[]),
        lambda d: d.update(package="../../escaped"),
        lambda d: d.update(package=["demo"]),
        lambda d: d.update(cell="../../escaped"),
        lambda d: d["provenance"].update(time=12),
        lambda d: d["provenance"].update(time="noon"),
        lambda d: d["provenance"].update(host={"libc": 2}),
    ],
)
def test_a_damaged_record_is_reported_never_dropped(
    tmp_path: Path, observation: Observation, spoil: Callable[[dict[str, object]], object]
) -> None:
    path = write_record(tmp_path, observation)
    document = json.loads(path.read_bytes())
    spoil(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "demo" / "junk.json").write_text("{", encoding="utf-8")
    found = list(read_records(tmp_path))
    assert len(found) == 2
    assert all(isinstance(error, ValueError) for _, error in found)


def test_a_run_that_could_not_look_says_nothing_against_one_that_did(
    observation: Observation,
) -> None:
    later = replace(observation.provenance, time="2026-12-02T00:00:00+00:00")
    unknown = RungResult(rung=Rung.RESOLVED, outcome=Outcome.UNKNOWN, why="no network")
    blind = replace(observation, provenance=later, rungs=(unknown,))
    assert is_weaker(blind, observation)
    assert not is_weaker(observation, blind)
    newer = replace(observation, provenance=later)
    assert is_weaker(observation, newer)
    assert not is_weaker(newer, observation)
    assert not is_weaker(observation, observation)


@pytest.mark.parametrize(
    "text", ["index-url = x\n", "[global]\nindex-url = a\nindex-url = b\n", "[global]\n\xff"]
)
def test_a_broken_pip_configuration_is_one_clear_error(tmp_path: Path, text: str) -> None:
    conf = tmp_path / "pip.conf"
    conf.write_bytes(text.encode("latin-1"))
    env = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path), "PIP_CONFIG_FILE": str(conf)}
    with pytest.raises(BadInputError, match="pip's configuration cannot be read"):
        pip_settings(env)


def test_pips_wish_for_no_index_is_respected(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path), "PIP_NO_INDEX": "true"}
    assert "--no-index" in uv_arguments(env)
    assert "--no-index" not in uv_arguments({**env, "PIP_NO_INDEX": "0"})
    assert "--default-index" not in uv_arguments({**env, "PIP_INDEX_URL": " "})


@pytest.mark.parametrize(
    "url", ["foo", "", "http://a b/", "ftp://x.example/", "http://127.0.0.1:9"]
)
def test_an_address_that_cannot_be_asked_is_a_reason_not_a_crash(url: str) -> None:
    assert unreachable(url)


def test_an_interrupt_waits_for_what_runs_and_nothing_is_reported_after_it() -> None:
    started, release = threading.Event(), threading.Event()
    finished: list[str] = []

    def do(name: str, _: int) -> None:
        started.set()
        release.wait(10)
        finished.append(name)

    def interrupt() -> None:
        started.wait(10)
        signal.raise_signal(signal.SIGINT)

    stopped: list[bool] = []

    def stop() -> None:
        stopped.append(True)
        release.set()

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run_tasks([Task(item="slow")], do, cores=1, memory_mib=4000, stop=stop)
    assert stopped == [True]
    assert finished == ["slow"]


def test_a_stopped_run_starts_and_reports_nothing_more(tmp_path: Path) -> None:
    processes = Processes({})
    processes.stop()
    with pytest.raises(CouldNotCheckError, match="the run was stopped"):
        processes.run(["true"], log=tmp_path / "log")


@pytest.mark.parametrize(
    ("status", "output", "words"),
    [
        (-9, "", "killed from outside"),
        (-6, "terminate called after throwing an instance of 'std::bad_alloc'", ""),
        (1, "OSError: [Errno 28] No space left on device", "the disk is full"),
        (1, "Could not resolve host", ""),
    ],
)
def test_what_a_test_prints_does_not_excuse_its_crash(status: int, output: str, words: str) -> None:
    found = machine_fault(Result(status, output))
    assert found.startswith(words) if words else found == ""


def test_builds_that_want_the_same_sdist_fetch_it_once(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four Pythons build one package at a time; each needs the same file."""
    recipe = plan.recipes["regex"]
    assert isinstance(recipe.source, SdistSource)
    content = b"an sdist"
    source = replace(recipe.source, sha256=hashlib.sha256(content).hexdigest())
    downloads: list[str] = []

    class Index:
        def locate_sdist(self, *_: object, **__: object) -> dict[str, str]:
            return {"url": "https://index.example/x"}

    def download(url: str, target: Path) -> None:
        downloads.append(url)
        target.write_bytes(content[:3])
        time.sleep(0.05)
        target.write_bytes(content)

    monkeypatch.setattr(sources, "_download", download)
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(
                lambda _: sources.fetch_sdist(
                    recipe,
                    source,
                    tmp_path,
                    uv=Index(),  # type: ignore[arg-type]
                    log=tmp_path / "log",
                ),
                range(4),
            )
        )
    assert len(downloads) == 1
    assert {path.read_bytes() for path in found} == {content}
    assert [p.name for p in found[0].parent.iterdir()] == [source.filename]


def test_a_network_that_fails_is_tried_three_times_and_then_could_not_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public case B16."""
    tries: list[str] = []

    def download(url: str, _: Path) -> None:
        tries.append(url)
        if len(tries) < succeeds:
            raise OSError("Could not resolve host")

    monkeypatch.setattr(sources, "_download", download)
    succeeds = 3
    sources._download_with_retries("u", tmp_path / "x", "x.tar.gz")
    assert len(tries) == 3
    succeeds = 9
    with pytest.raises(CouldNotCheckError, match=r"x\.tar\.gz could not be fetched"):
        sources._download_with_retries("u", tmp_path / "x", "x.tar.gz")
    assert len(tries) == 6
