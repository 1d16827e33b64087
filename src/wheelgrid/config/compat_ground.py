"""Decodes what holds for all: lifecycle.yaml, pythons.yaml, manylinux.yaml, run-rules.yaml."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from packaging.version import Version

from wheelgrid.config import fields
from wheelgrid.config.statements import Statement, Statements
from wheelgrid.config.yaml import Item
from wheelgrid.core.evidence import Source
from wheelgrid.core.ground_rules import IsaRelease, ManylinuxTag, PythonLife, RunRule
from wheelgrid.core.lifecycle import Stage, StageName, Sunset

__all__ = ["read_manylinux", "read_pythons", "read_run_rules", "read_sunsets"]

_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})\Z")
_FREE_THREADED = ["none", "experimental", "supported"]
_MATCHES = ["exact", "same-major", "family", "any-newer", "any", "never"]
_SUNSET_AXES = ["python", "torch", "accelerator", "platform", "gpu_arch", "package"]
_RUN_RULE_OPTIONAL = ("note", "from", "members", "doubtful", "releases")


def _stage(item: Item, sunset: str) -> Stage | None:
    given = item.fields(("stage", "date", "precision", "kind", "source", "said"), ("note", "id"))
    if not {"stage", "date", "precision", "kind", "source", "said"} <= given.keys():
        return None
    name = given["stage"].choice([str(s) for s in StageName])
    return Stage(
        name=StageName(name),
        on=fields.day(given["date"]),
        precision=given["precision"].choice(["day", "week"]),
        source=fields.source(given, default_id=f"{sunset}.{name}", dated="said"),
    )


def _sunset(item: Item) -> Sunset | None:
    required = ("id", "axis", "value", "applies_to", "last_release", "reason", "action", "stages")
    given = item.fields(required, ("serve", "build_until", "serve_until"))
    if not set(required) <= given.keys():
        return None
    name = fields.identifier(given["id"])
    stages = [_stage(stage, name) for stage in given["stages"].items()]
    return Sunset(
        id=name,
        axis=given["axis"].choice(_SUNSET_AXES),
        value=given["value"].text(),
        gone=fields.condition(given["applies_to"]),
        last_release=given["last_release"].text(),
        serve=given["serve"].choice(["keep", "drop"]) == "keep" if "serve" in given else True,
        build_until=fields.day(given["build_until"]) if "build_until" in given else None,
        serve_until=fields.day(given["serve_until"]) if "serve_until" in given else None,
        reason=given["reason"].text(),
        action=given["action"].text(),
        stages=tuple(sorted((s for s in stages if s is not None), key=lambda s: s.on)),
    )


def read_sunsets(item: Item) -> tuple[Sunset, ...]:
    """compat/lifecycle.yaml."""
    given = item.fields(("sunsets",))
    found = map(_sunset, given["sunsets"].items()) if given else iter(())
    return tuple(s for s in found if s is not None)


def _rows(
    item: Item, name: str, says: Mapping[str, tuple[str, ...]], kept: list[Statement] | None
) -> Iterator[tuple[dict[str, Item], Source]]:
    """The statements of a file that has nothing else."""
    given = item.fields(("statements",))
    optional = _RUN_RULE_OPTIONAL if name == "run rules" else ("note", "from")
    if "statements" in given:
        reader = Statements(name, says, optional=optional, kept=kept)
        for _, fact, source in reader.read(given["statements"]):
            yield fact, source


def _end(item: Item) -> tuple[date, str]:
    """A day, or a month, which ends on its last day."""
    month = _MONTH.match(item.text())
    if month and 1 <= int(month[2]) <= 12:  # noqa: PLR2004 - months
        year, number = int(month[1]), int(month[2])
        return date(year, number, calendar.monthrange(year, number)[1]), "month"
    return fields.day(item), "day"


def read_pythons(item: Item, kept: list[Statement] | None = None) -> Iterable[PythonLife]:
    """compat/pythons.yaml: the life of each CPython."""
    says = {"python": ("python", "released", "end_of_life", "free_threaded")}
    for fact, source in _rows(item, "pythons", says, kept):
        python = fields.python(fact["python"])
        end, precision = _end(fact["end_of_life"])
        if python is not None:
            yield PythonLife(
                python=python,
                released=fields.day(fact["released"]),
                end_of_life=end,
                precision=precision,
                free_threaded=fact["free_threaded"].choice(_FREE_THREADED),
                source=source,
            )


def read_manylinux(item: Item, kept: list[Statement] | None = None) -> Iterable[ManylinuxTag]:
    """compat/manylinux.yaml: tags, legacy names and what they promise."""
    says = {"manylinux": ("tag", "glibc", "alias")}
    for fact, source in _rows(item, "manylinux", says, kept):
        yield ManylinuxTag(
            tag=fact["tag"].text(),
            glibc=fact["glibc"].text(),
            alias=fact["alias"].optional_text(),
            source=source,
        )


def _release(isa: str, item: Item) -> IsaRelease | None:
    given = item.fields(("toolkit", "driver"))
    if not {"toolkit", "driver"} <= given.keys():
        return None
    number = item.build(lambda: Version(isa))
    toolkit, driver = fields.version(given["toolkit"]), fields.version(given["driver"])
    if number is None or toolkit is None or driver is None:
        return None
    return IsaRelease(isa=number, toolkit=toolkit, driver=driver)


def _releases(item: Item) -> tuple[IsaRelease, ...]:
    """Versions of an intermediate language, oldest first."""
    found = (_release(isa, child) for isa, child in item.entries().items())
    return tuple(sorted(release for release in found if release is not None))


def read_run_rules(item: Item, kept: list[Statement] | None = None) -> Iterable[RunRule]:
    """compat/run-rules.yaml: which devices run which kind of image."""
    says = {"run_rule": ("family", "image", "match", "text")}
    for fact, source in _rows(item, "run rules", says, kept):
        members = fact["members"].entries().items() if "members" in fact else ()
        yield RunRule(
            id=source.id,
            family=str(fields.family(fact["family"])),
            image=fact["image"].text(),
            match=fact["match"].choice(_MATCHES),
            text=fact["text"].text(),
            members=tuple((name, child.texts()) for name, child in members),
            source=source,
            doubtful=fact["doubtful"].texts() if "doubtful" in fact else (),
            releases=_releases(fact["releases"]) if "releases" in fact else (),
        )
