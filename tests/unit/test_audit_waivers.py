"""Exceptions: what they accept, up to when, and that each rule is documented."""

from __future__ import annotations

from datetime import date

import pytest

from wheelgrid.core.audit_policy import Waiver
from wheelgrid.core.audit_rules import NEVER_WAIVED, RULES
from wheelgrid.inspect.findings import Finding, Level, error, warning
from wheelgrid.inspect.policy import apply_waivers
from wheelgrid.inspect.provided import provider
from wheelgrid.inspect.subject import plain_stem

DAY = date(2026, 12, 1)


def waiver(member: str = "*", until: date = DAY) -> Waiver:
    return Waiver(
        rule="WG403", reason="why", until=until, link="https://example.org", member=member
    )


def test_a_waiver_accepts_its_rule_in_its_members_up_to_its_day() -> None:
    inside = error("WG403", "a", "demo/_C.so")
    elsewhere = error("WG403", "a", "other/_C.so")
    another = error("WG404", "a", "demo/_C.so")
    one = waiver("demo/*")
    standing, waived = apply_waivers([inside, elsewhere, another], (one,), DAY)
    assert standing == (elsewhere, another)
    assert [(w.finding, w.waiver) for w in waived] == [(inside, one)]


def test_a_waiver_for_all_members_covers_findings_on_the_wheel() -> None:
    whole = warning("WG403", "a")
    assert apply_waivers([whole], (waiver(),), DAY)[0] == ()
    standing, _ = apply_waivers([whole], (waiver("demo/*"),), DAY)
    assert [f.rule for f in standing] == ["WG403", "WG601"]


def test_an_ended_waiver_is_an_error_and_accepts_nothing() -> None:
    finding = error("WG403", "a")
    standing, waived = apply_waivers([finding], (waiver(until=date(2026, 11, 30)),), DAY)
    assert waived == ()
    assert standing[0] == finding
    assert (standing[1].rule, standing[1].level) == ("WG601", Level.ERROR)


def test_two_waivers_for_one_finding_are_both_needed_or_neither_is_called_idle() -> None:
    finding = error("WG403", "a", "demo/_C.so")
    standing, _ = apply_waivers([finding], (waiver(), waiver("demo/*")), DAY)
    assert standing == ()


def test_exceptions_need_a_day() -> None:
    with pytest.raises(ValueError, match="a day"):
        apply_waivers([], (waiver(),), None)
    findings: list[Finding] = [error("WG403", "a")]
    assert apply_waivers(findings, (), None) == (tuple(findings), ())


def test_rules_are_documented_and_some_cannot_be_excepted() -> None:
    assert NEVER_WAIVED.issubset(RULES)
    assert list(RULES) == sorted(RULES)
    assert all(why.endswith(".") and fix.endswith(".") for why, fix in RULES.values())


@pytest.mark.parametrize(
    "name", ["libcudnn_" + "_" * 65_000 + "!", ".so" * 20_000 + "!", "lib" + ".so.1" * 12_000]
)
def test_names_without_end_cost_no_time(name: str) -> None:
    """A zip file takes names of 65,535 bytes; searching them must stay linear."""
    assert provider(name) == ""
    assert plain_stem(name) == name
