"""What is published is judged by file names; holes of any shape are planned exactly."""

from __future__ import annotations

import pytest

from wheelgrid.core.build import Build
from wheelgrid.core.recipe import Abi
from wheelgrid.planning.plan import Plan
from wheelgrid.planning.published import Published


def file_name(build: Build) -> str:
    """A name that an index could have for a build."""
    name, version = build.package.replace("-", "_"), build.wheel_version
    if build.abi is Abi.PURE:
        return f"{name}-{version}-py3-none-any.whl"
    platform = str(build.platform)
    platform = {"macosx_arm64": "macosx_14_0_arm64"}.get(
        platform, platform.replace("linux_", "manylinux_2_28_")
    )
    return f"{name}-{version}-{build.python.interpreter_tag}-{build.abi_tag}-{platform}.whl"


def test_every_build_is_found_under_its_own_name_and_no_other(plan: Plan) -> None:
    for build in plan.builds:
        assert Published.of([file_name(build)]).file_of(build) == file_name(build)
    other = {b.id: Published.of([file_name(b)]) for b in plan.builds[:40]}
    for build in plan.builds[:40]:
        found = [name for name, there in other.items() if there.file_of(build)]
        assert found == [build.id]


@pytest.mark.parametrize(
    "name",
    [
        "regex-2026.9.3-cp314-cp314t-manylinux_2_28_x86_64.whl",
        "regex-2026.9.2-cp312-cp312-manylinux_2_28_x86_64.whl",
        "regex-2026.9.3-cp312-cp312-win_amd64.whl",
        "regex-2026.9.3-cp312-cp312-musllinux_1_2_x86_64.whl",
        "not a wheel",
    ],
)
def test_a_near_name_does_not_count(plan: Plan, name: str) -> None:
    build = next(b for b in plan.builds if b.id == "regex-2026.9.3-cp312-linux_x86_64-any")
    assert Published.of([name]).file_of(build) == ""
