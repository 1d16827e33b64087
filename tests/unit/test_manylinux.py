"""The table of manylinux promises agrees with auditwheel's policy and with compat/."""

from __future__ import annotations

import importlib.util
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from wheelgrid.config.compat import load_knowledge
from wheelgrid.config.files import Project
from wheelgrid.config.yaml import Faults
from wheelgrid.core.manylinux import POLICIES, lowest_policy, policy_of

FAMILIES = ("GLIBCXX", "CXXABI", "GCC")


def test_the_glibc_of_each_tag_is_the_one_in_compat(repository: Path) -> None:
    knowledge = load_knowledge(Project(repository), Faults())
    stated = {tag.tag: tag.glibc for tag in knowledge.manylinux}
    table = {policy.tag: ".".join(map(str, policy.glibc)) for policy in POLICIES}
    assert stated
    assert {tag: table[tag] for tag in stated} == stated


def test_the_maxima_are_those_of_auditwheel() -> None:
    """For every CPU; other spellings (LDBL_, ARM_, TM_) are not compared."""
    spec = importlib.util.find_spec("auditwheel")
    if spec is None or spec.origin is None:
        pytest.skip("auditwheel is not installed")
    text = (Path(spec.origin).parent / "policy" / "manylinux-policy.json").read_text("utf-8")
    theirs = {p["name"]: p["symbol_versions"] for p in json.loads(text) if p["name"] != "linux"}
    assert set(theirs) == {policy.tag for policy in POLICIES}
    for policy in POLICIES:
        machines = theirs[policy.tag]
        assert set(machines) == policy.machines
        for family in FAMILIES:
            plain = [v for v in machines["x86_64"][family] if re.fullmatch(r"[0-9.]+", v)]
            newest = max(tuple(map(int, version.split("."))) for version in plain)
            assert newest == policy.maxima[family], (policy.tag, family)


def test_promises_grow_with_the_tag() -> None:
    for older, newer in pairwise(POLICIES):
        assert older.glibc < newer.glibc
        assert all(older.maxima[f] <= newer.maxima[f] for f in older.maxima)
        assert older.machines - {"ppc64"} <= newer.machines


def test_a_tag_without_a_policy_has_the_promises_of_the_next_older_one() -> None:
    assert policy_of((2, 30)).tag == "manylinux_2_28"
    assert policy_of((2, 4)).tag == "manylinux_2_5"
    assert policy_of((2, 99)).tag == POLICIES[-1].tag


def test_the_lowest_tag_that_is_true() -> None:
    needs = [("GLIBC", (2, 3)), ("GLIBCXX", (3, 4, 21))]
    lowest = lowest_policy(needs, "x86_64")
    assert lowest is not None
    assert lowest.tag == "manylinux_2_24"
    riscv = lowest_policy([], "riscv64")
    assert riscv is not None
    assert riscv.tag == "manylinux_2_31"
    assert lowest_policy([("GLIBC", (2, 99))], "x86_64") is None
    assert lowest_policy([], "pdp11") is None
