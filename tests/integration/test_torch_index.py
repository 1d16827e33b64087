"""Cells of accelerators with indexes of their own, against a local index that this test builds."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
CELL = f"torch2.14.1-{TAG}-linux_x86_64-cuda13.0"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="the local engine is tested on Linux"),
]

RECIPE = """\
name: needs-torch
version: "1.0"
summary: A pure package that needs torch
source: {kind: directory, path: source}
abi: {"*": pure}
build: {requires: {"*": ["setuptools==84.2.1"]}}
test: {import: needs_torch, scripts: [smoke.py]}
"""
SETUP = """\
from setuptools import setup
setup(name="needs-torch", version="1.0", python_requires=">=3.8", packages=["needs_torch"],
      install_requires=["torch"])
"""
SMOKE = """\
import json
print(json.dumps({"checks": [
    {"name": "cpu", "outcome": "passed"},
    {"name": "gpu", "outcome": "skipped", "detail": "no device: none", "device": "cuda"},
]}))
"""
MATRIX = f"""\
schema: "1"
name: small
axes:
  torch: ["2.14.1"]
  python: ["{VERSION}"]
  accelerator: [cuda13.0]
  platform: [linux_x86_64]
packages: [needs-torch]
"""


def torch_wheel(folder: Path, cuda: str | None) -> None:
    """A stand-in for a torch wheel: right name and label, and what it says of its CUDA."""
    folder.mkdir(parents=True)
    version = "2.14.1+cu130"
    info = f"torch-{version}.dist-info"
    with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("torch/__init__.py", f"from . import version\n__version__ = {version!r}\n")
        wheel.writestr("torch/version.py", f"cuda = {cuda!r}\nhip = None\nxpu = None\n")
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str | None], str]]:
    """Serve a simple index (PEP 503) with one torch wheel on the loopback; returns its URL."""
    servers: list[http.server.ThreadingHTTPServer] = []

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    def start(cuda: str | None) -> str:
        root = tmp_path / "index"
        torch_wheel(root / "whl" / "cu130" / "torch", cuda)
        handler = functools.partial(Quiet, directory=str(root))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/whl/cu130"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def needs_torch(tmp_path: Path, repository: Path) -> Callable[[str], Path]:
    """A project whose compat names the given index for CUDA 13.0."""

    def make(url: str) -> Path:
        root = tmp_path / "project"
        shutil.copytree(repository / "compat", root / "compat")
        accelerators = root / "compat" / "accelerators" / "cuda.yaml"
        text = accelerators.read_text(encoding="utf-8")
        assert "https://download.pytorch.org/whl/cu130" in text
        text = text.replace("https://download.pytorch.org/whl/cu130", url)
        accelerators.write_text(text, encoding="utf-8")
        for torch in (root / "compat" / "torch").glob("*.yaml"):
            # Without a default accelerator, the labelled build of this index is the only way.
            lines = torch.read_text(encoding="utf-8")
            torch.write_text(lines.replace("accelerator: cuda13.0\n", "accelerator: cuda12.6\n"))
        folder = root / "recipes" / "needs-torch"
        (folder / "source" / "needs_torch").mkdir(parents=True)
        (folder / "source" / "needs_torch" / "__init__.py").write_text("import torch\n")
        (folder / "source" / "setup.py").write_text(SETUP, encoding="utf-8")
        (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
        (folder / "smoke.py").write_text(SMOKE, encoding="utf-8")
        (root / "matrix.yaml").write_text(MATRIX, encoding="utf-8")
        return root

    return make


def outcomes(shown: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, str]]:
    (unit,) = json.loads(shown.stdout)["units"]
    return {r["rung"]: (r["outcome"], r["why"]) for r in unit["rungs"]}


def run(wheelgrid: Run, project: Path) -> subprocess.CompletedProcess[str]:
    env = {"UV_CACHE_DIR": str(project / "cache")} if os.environ.get("UV_OFFLINE") else {}
    shown = wheelgrid("test", f"needs-torch@{CELL}", "--json", cwd=project, env=env)
    if "No solution found" in shown.stdout and "setuptools" in shown.stdout:
        pytest.skip("no package index can be reached")
    return shown


def test_the_labelled_torch_of_the_accelerators_index_is_installed(
    wheelgrid: Run,
    serve: Callable[[str | None], str],
    needs_torch: Callable[[str], Path],
    repository: Path,
) -> None:
    project = needs_torch(serve("13.0"))
    shown = run(wheelgrid, project)
    found = outcomes(shown)
    assert found["installed"][0] == "passed", shown.stdout
    assert found["imported"][0] == "passed"
    assert found["executed"][0] == "skipped"
    assert found["executed"][1].startswith("no device")
    assert shown.returncode == 3, "a run in which all was skipped is not green"
    record = (project / ".wheelgrid" / "records" / "needs-torch" / f"{CELL}.json").read_text()
    assert "torch==2.14.1+cu130" in record
    del repository


def test_a_torch_built_for_another_cuda_than_its_label_is_refused(
    wheelgrid: Run, serve: Callable[[str | None], str], needs_torch: Callable[[str], Path]
) -> None:
    """Public case R10: the label says cu130, the build does not."""
    shown = run(wheelgrid, needs_torch(serve("12.6")))
    assert outcomes(shown)["resolved"] == ("failed", "asked for cuda13.0, got CUDA 12.6")
    assert shown.returncode == 1


def test_a_cpu_build_under_a_cuda_label_is_refused(
    wheelgrid: Run, serve: Callable[[str | None], str], needs_torch: Callable[[str], Path]
) -> None:
    shown = run(wheelgrid, needs_torch(serve(None)))
    outcome, why = outcomes(shown)["resolved"]
    assert outcome == "failed"
    assert "without cuda" in why


def test_an_index_that_does_not_answer_is_could_not_check(
    wheelgrid: Run, needs_torch: Callable[[str], Path]
) -> None:
    shown = run(wheelgrid, needs_torch("http://127.0.0.1:9/whl/cu130"))
    outcome, why = outcomes(shown)["resolved"]
    assert outcome == "unknown"
    assert "could not check" in why
    assert "cannot be reached" in why
    assert outcomes(shown)["executed"][0] == "skipped"
    assert shown.returncode == 3
