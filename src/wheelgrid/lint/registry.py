"""All rules, found by name in `lint/rules/`: one module, one `RULE`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from wheelgrid.lint import rules
from wheelgrid.lint.rule import Rule

__all__ = ["all_rules", "rule_by_id"]


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by id. ValueError when two modules use one id."""
    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(rules.__path__):
        if module.name.startswith("_"):
            continue
        rule = importlib.import_module(f"{rules.__name__}.{module.name}").RULE
        if rule.id in found:
            msg = f"two lint rules have the id {rule.id}"
            raise ValueError(msg)
        found[rule.id] = rule
    return tuple(found[name] for name in sorted(found))


def rule_by_id(name: str) -> Rule | None:
    """The rule with this id, or None."""
    return next((rule for rule in all_rules() if rule.id == name), None)
