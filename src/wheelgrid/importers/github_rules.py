"""Which exclusions of a matrix have an effect, and how the ones that have are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from wheelgrid.importers.document import pattern
from wheelgrid.importers.github_cells import Product
from wheelgrid.importers.report import Json
from wheelgrid.importers.values import text_of

__all__ = ["Use", "exact_patches", "patterns_of", "uses"]

_PATCH = re.compile(r"([0-9]{1,9}\.[0-9]{1,9})\.([0-9]{1,9})\Z")


@dataclass(slots=True, kw_only=True)
class Use:
    """One exclusion: the candidates it takes away, and the rules that already do so.

    `covered_by` holds numbers of other rules; `dead` is a rule that fits no candidate at all.
    """

    number: int
    mask: int
    dead: bool = False
    covered_by: tuple[int, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether dropping the rule would change the cells."""
        return not self.dead and not self.covered_by


def _covering(use: Use, others: Sequence[Use]) -> tuple[int, ...]:
    """Of rules that together do all that this one does: the one that does it alone, or all."""
    alone = next((o.number for o in others if not use.mask & ~o.mask), None)
    if alone is not None:
        return (alone,)
    return tuple(other.number for other in others if other.mask & use.mask)


def uses(product: Product, rules: Sequence[Mapping[str, Json]]) -> list[Use]:
    """What each rule does, in file order: an earlier rule counts before a later one."""
    found = [Use(number=n, mask=product.mask(rule)) for n, rule in enumerate(rules)]
    needed: list[Use] = []
    union = 0
    for use in found:
        use.dead = not use.mask
        if use.mask & ~union:
            needed.append(use)
            union |= use.mask
        elif not use.dead:
            use.covered_by = _covering(use, needed)
    _drop_parts_of_later(needed)
    return found


def _drop_parts_of_later(needed: Sequence[Use]) -> None:
    """An early rule can be part of later, wider ones."""
    later = [0]
    for use in reversed(needed):
        later.append(later[-1] | use.mask)
    kept: list[Use] = []
    union = 0
    for index, use in enumerate(needed):
        rest = len(needed) - index - 1
        if use.mask & ~(union | later[rest]):
            kept.append(use)
            union |= use.mask
        else:
            use.covered_by = _covering(use, [*kept, *needed[index + 1 :]])


def _prefix(product: Product, axis: str, wanted: Json, fitting: Sequence[int]) -> str | None:
    """`2.12.*` for `2.12.1`, where no further value of the axis would fit; else None."""
    match = _PATCH.match(wanted) if isinstance(wanted, str) else None
    if match is None:
        return None
    versions = SpecifierSet(f"=={match[1]}.*")
    for index, value in enumerate(product.axes[axis]):
        try:
            inside = versions.contains(Version(text_of(value)), prereleases=True)
        except InvalidVersion:
            inside = False
        if inside is not (index in fitting):
            return None
    return f"{match[1]}.*"


def _by_attribute(wanted: Json, values: Sequence[Json], fitting: Sequence[int]) -> Json:
    """A nested filter as attributes, where that fits the same values; else None."""
    if not isinstance(wanted, dict) or not wanted:
        return None

    def strictly(value: Json, part: Json) -> bool:
        if isinstance(part, dict):
            return isinstance(value, dict) and all(
                key in value and strictly(value[key], inner) for key, inner in part.items()
            )
        leaf = not isinstance(part, list) and not isinstance(value, (list, dict))
        return leaf and part is not None and value is not None and text_of(value) == text_of(part)

    def written(part: Json) -> Json:
        if isinstance(part, dict):
            return {key: written(inner) for key, inner in part.items()}
        return part if isinstance(part, bool) else pattern(text_of(part))

    same = [i for i, value in enumerate(values) if strictly(value, wanted)] == list(fitting)
    plain = not any("." in key for key in _keys(wanted))
    return written(wanted) if same and plain else None


def _keys(value: Json) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [key for k, inner in value.items() for key in (k, *_keys(inner))]


def patterns_of(
    product: Product, rule: Mapping[str, Json], *, ranges: bool
) -> dict[str, list[Json]]:
    """A rule as a `when`: for each axis the values that fit by GitHub's own comparison."""
    found: dict[str, list[Json]] = {}
    for axis, wanted in rule.items():
        values = product.axes[axis]
        fitting = product.fitting(axis, wanted)
        prefix = _prefix(product, axis, wanted, fitting) if ranges else None
        attributes = _by_attribute(wanted, values, fitting)
        if prefix is not None:
            found[axis] = [prefix]
        elif attributes is not None:
            found[axis] = [attributes]
        else:
            chosen = [values[i] for i in fitting]
            texts = [v if isinstance(v, bool) else pattern(text_of(v)) for v in chosen]
            found[axis] = list(dict.fromkeys(texts))
    return found


def exact_patches(rule: Mapping[str, Json]) -> list[tuple[str, str, str]]:
    """Axis, version and the next patch, for each full patch version that a rule names."""
    found = []
    for axis, wanted in rule.items():
        match = _PATCH.match(wanted) if isinstance(wanted, str) else None
        if match is not None:
            found.append((axis, match[0], f"{match[1]}.{int(match[2]) + 1}"))
    return found
