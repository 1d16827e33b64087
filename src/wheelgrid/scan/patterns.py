"""How versions are written in scripts, images and names: `python3.10`, `cp310`, `cu126`.

The patterns are strict: a number alone is none, and neither is `>=3.10`. Every repetition is
bounded, so that no line can make them slow.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["accelerator_in", "bare", "python_in", "python_tag"]

_END = r"(?![0-9A-Za-z])(?!\.[0-9A-Za-z])"
_PATCH = r"(?:\.(?:[0-9]{1,3}|\*|x))?(?:-dev)?"


@lru_cache(maxsize=64)
def bare(version: str) -> re.Pattern[str]:
    """The version itself, with any patch level: `3.10`, `3.10.14`, `3.10.*`, `v3.10`."""
    return re.compile(rf"(?<![0-9A-Za-z_.+-])v?{re.escape(version)}{_PATCH}{_END}")


@lru_cache(maxsize=64)
def python_tag(version: str) -> re.Pattern[str]:
    """`cp310`, `py310`, `pp310`, also within `cp310-manylinux_x86_64` and `py310-torch`."""
    compact = version.replace(".", "")
    return re.compile(rf"(?i)(?<![A-Za-z0-9])(?:cp|pp|py)[-_]?{compact}(?![0-9A-Za-z])(?!\.[0-9])")


@lru_cache(maxsize=64)
def _python(version: str) -> tuple[re.Pattern[str], ...]:
    major, minor = version.split(".")
    number = rf"{major}\.{minor}{_PATCH}{_END}"
    many = r"(?:[\"']?[0-9]{1,2}(?:\.[0-9]{1,3}){1,2}t?[\"']?[\s,;]{1,3}){0,12}[\"']?"
    name = r"(?<![A-Za-z0-9])(?:c?python|pypy)"
    texts = (
        # python3.10, python:3.10-slim, python=3.10, PYTHON_VERSION="3.10", PYTHONS="3.9 3.10"
        rf"{name}(?:[-_. ]?(?:versions?|ver|min))?[\"']?[-_ :=@]{{0,3}}{many}{number}",
        rf"{name}{major}{minor}{_END}",
        rf"(?<![A-Za-z0-9])py(?:_?ver(?:sion)?s?)?[-_ :=]{{0,2}}{many}{number}",
        # uv python install 3.9 3.10; pyenv install 3.10.14
        rf"(?:python|pyenv) (?:install|pin|find|global|local|shell) (?:-[-a-z]+ ){{0,3}}{many}"
        rf"{number}",
        rf"(?<![A-Za-z0-9])(?:--python(?:-version)?|--min-python|-p)[ =]['\"]?{number}",
        # for PY in 3.9 3.10; do
        rf"\bfor \w{{0,20}}py\w{{0,20}} in {many}{number}",
    )
    return tuple(re.compile(text, re.IGNORECASE) for text in texts)


def python_in(version: str, text: str) -> str:
    """What in a line names the Python; empty where nothing does."""
    for pattern in (*_python(version), python_tag(version)):
        match = pattern.search(text)
        if match:
            return match[0]
    return ""


@lru_cache(maxsize=64)
def _accelerator(family: str, version: str) -> re.Pattern[str]:
    major, minor = version.split(".")[:2]
    short = rf"cu{major}{minor}" if family == "cuda" else rf"rocm{major}{minor}"
    dotted = rf"{major}[.-]{minor}(?:\.[0-9]{{1,3}})?"
    kind = r"(?:[-_]?(?:toolkit|version|ver)|(?:-[a-z]{2,12}){1,3}|/[A-Za-z0-9._-]{1,60})?"
    return re.compile(
        rf"(?i)(?<![A-Za-z0-9])(?:{family}{kind}[\"']?[-_ :=/@]{{0,3}}[\"']?{dotted}|{short}){_END}"
    )


def accelerator_in(family: str, version: str, text: str) -> str:
    """`cu126`, `cuda12.6`, `cuda:12.6.3`, `cuda-nvcc-12-6`; `rocm7.2`, `rocm/dev:7.2.1`."""
    match = _accelerator(family, version).search(text)
    return match[0] if match else ""
