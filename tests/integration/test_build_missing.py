"""`wheelgrid build --missing`: holes of any shape are planned exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from wheelgrid.cli.main import run
from wheelgrid.core.build import Build
from wheelgrid.planning.plan import Plan

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.integration


def file_name(build: Build) -> str:
    """A name that a release page could have for a build."""
    platform = str(build.platform).replace("linux_", "manylinux_2_28_")
    platform = platform.replace("macosx_", "macosx_14_0_")
    tags = f"{build.python.interpreter_tag}-{build.abi_tag}-{platform}"
    return f"{build.package.replace('-', '_')}-{build.wheel_version}-{tags}.whl"


def test_missing_plans_exactly_the_holes(
    plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """mjun0812/flash-attention-prebuild-wheels: eight holes cost twelve jobs as a product."""
    builds = [b for b in plan.builds if b.package == "torch-scatter"]
    holes = builds[3::17][:8]
    names = [file_name(b) for b in builds if b not in holes]
    published = tmp_path / "published.txt"
    published.write_text("# release page\n" + "\n".join(names) + "\n", encoding="utf-8")
    arguments = ["build", "torch-scatter", "--missing", "--dry-run", "--published", str(published)]
    assert run(["--root", str(ROOT), *arguments]) == 0
    listed = capsys.readouterr().out.split()
    assert sorted(listed) == sorted(b.id for b in holes)
