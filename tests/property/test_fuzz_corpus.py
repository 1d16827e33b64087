"""No input of the fuzzing corpus, nor a few hundred changes of it, does harm to a parser."""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).parent.parent / "fuzz"
_MOST_SECONDS = 5.0
"""More than in fuzzing: other work may take the machine."""
_MOST_GROWTH = 48 << 20
"""Bytes, so that the whole process stays below 64 MiB."""
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def load(name: str) -> ModuleType:
    """A module of the folder of fuzzing, which is no package."""
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", FUZZ / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TARGETS, MUTATE = load("targets"), load("mutate")
FILES = sorted(f for f in TARGETS.CORPUS.rglob("*") if f.is_file())


def peak() -> int:
    """Most bytes of memory since the last look; 0 where the system does not tell."""
    if not _STATUS.is_file():
        return 0
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    _RESET.write_text("5", encoding="ascii")
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def run(name: str, data: bytes) -> None:
    """Only the errors that the target allows may leave it, and soon."""
    target = TARGETS.TARGETS[name]
    start = time.process_time()
    try:
        target.run(data)
    except Exception as error:
        if type(error).__name__ not in target.allowed:
            raise
    assert time.process_time() - start < _MOST_SECONDS


@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_an_input_of_the_corpus_does_no_harm(file: Path) -> None:
    """Seeds and what fuzzing once found: no error, no hang, no heap of memory."""
    data = file.read_bytes()
    peak()
    before = peak()
    run(file.parent.name, data)
    assert peak() - before < _MOST_GROWTH


@pytest.mark.parametrize("name", sorted(TARGETS.TARGETS))
def test_changed_inputs_do_no_harm(name: str) -> None:
    """The same few hundred changes each time; `tests/fuzz/run.py` tries more."""
    chance = random.Random(name)
    pool = [data for data in TARGETS.seeds(TARGETS.TARGETS[name]) if len(data) < 100_000]
    end = time.process_time() + 2
    for _ in range(300):
        run(name, MUTATE.mutated(chance, pool))
        if time.process_time() > end:
            break


def test_each_folder_of_the_corpus_belongs_to_a_target() -> None:
    """Else its files would not be run."""
    assert {f.name for f in TARGETS.CORPUS.iterdir()} <= set(TARGETS.TARGETS)
