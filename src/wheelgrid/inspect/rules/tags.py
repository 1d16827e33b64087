"""Rules on what the tags promise of cells and machines: WG201, WG204."""

from __future__ import annotations

from collections.abc import Iterator

from wheelgrid.core.recipe import Abi
from wheelgrid.inspect.findings import Finding, error
from wheelgrid.inspect.formats.elf import MACHINES
from wheelgrid.inspect.machines import tag_machines
from wheelgrid.inspect.subject import Subject

__all__ = ["expected_tags", "machine"]


def expected_tags(subject: Subject) -> Iterator[Finding]:
    """WG201: every tag is one that the build's cells can install."""
    expected = subject.expected
    if expected is None or not subject.tags:
        return
    if expected.abi is Abi.PURE:
        bad = [t for t in subject.tags if t.abi != "none" or t.platform != "any"]
        if bad or not any(t.interpreter == "py3" for t in subject.tags):
            tags = ", ".join(map(str, subject.tags))
            yield error("WG201", f"tags {tags} where py3-none-any was asked for")
        return
    for tag in subject.tags:
        if (tag.interpreter, tag.abi) != (expected.python_tag, expected.abi_tag):
            want = f"{expected.python_tag}-{expected.abi_tag}"
            yield error("WG201", f"tag {tag} where {want} was asked for")
        elif expected.platform and not expected.platform.matches_wheel_platform(tag.platform):
            yield error("WG201", f"tag {tag} does not install on {expected.platform}")


def _tag_machines(platform: str) -> set[str]:
    """The CPUs that a platform tag promises; empty where it names none."""
    if platform.startswith(("linux_", "manylinux", "musllinux")):
        return {m for m in MACHINES.values() if platform.endswith(f"_{m}")}
    return tag_machines(platform)


def machine(subject: Subject) -> Iterator[Finding]:
    """WG204: each native file is for every CPU of a tag; device code is for none of them."""
    platforms = sorted({t.platform for t in subject.tags})
    for library in subject.libraries:
        for platform in platforms:
            lacking = _tag_machines(platform) - set(library.machines)
            if lacking:
                has = " and ".join(library.machines) or "no known CPU"
                text = f"is for {has}; {platform} needs {' and '.join(sorted(lacking))}"
                yield error("WG204", text, library.path)
                break
