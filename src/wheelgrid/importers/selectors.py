"""Selectors of conda files, `# [linux64 and not aarch64]`: a small safe grammar, no eval().

Names are those that conda-build defines for a platform. The environment is never read: what
`os.environ.get("NAME", "default")` gives is taken from the given settings, else the default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["PLATFORMS", "Selectors", "selector_of"]

PLATFORMS = (
    "linux-64", "linux-aarch64", "linux-ppc64le", "osx-64", "osx-arm64", "win-64", "win-arm64",
)  # fmt: skip
_SYSTEMS = ("linux", "osx", "win", "emscripten", "wasi", "freebsd", "zos", "noarch")
_MACHINES = (
    "aarch64", "arm64", "armv6l", "armv7l", "ppc64", "ppc64le", "s390x", "riscv32", "riscv64",
    "wasm32",
)  # fmt: skip
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[0-9]{1,9})(?![0-9A-Za-z_.])|(?P<text>"[^"]{0,200}"|'[^']{0,200}')"""
    r"""|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<mark>==|!=|<=|>=|<|>|\(|\)|,|\.))"""
)
_ENDING = re.compile(r"\[([^\[\]]+)\][^()\[\]]*\Z")
_MAX_DEPTH = 50
_DEEP = "is nested too deeply"
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

Value = str | int | bool | tuple["Value", ...] | None


def selector_of(line: str) -> str:
    """The selector in the comment of a line; empty where it has none."""
    if line.lstrip().startswith("#"):
        return ""
    at = line.find(" #")
    if at < 0:
        return ""
    match = _ENDING.search(line[at:])
    return match[1].strip() if match is not None else ""


def _names(platform: str) -> dict[str, Value]:
    """The names of conda-build's `ns_cfg` for a platform."""
    system, _, machine = platform.partition("-")
    found: dict[str, Value] = {name: name == system for name in _SYSTEMS}
    found.update({name: name == machine for name in _MACHINES})
    for name in ("linux", "osx", "win"):
        found[f"{name}32"] = platform == f"{name}-32"
        found[f"{name}64"] = platform == f"{name}-64"
    found.update(
        unix=system in {"linux", "osx", "emscripten"},
        x86=machine in {"32", "64"},
        x86_64=machine == "64",
        arm=platform.startswith("linux-arm"),
        nomkl=False,
        target_platform=platform,
        build_platform=platform,
        true=True,
        false=False,
    )
    return found


@dataclass(slots=True)
class Selectors:
    """Evaluates selectors for one platform. `assumed` gathers the defaults that were taken."""

    platform: str
    settings: Mapping[str, str] = field(default_factory=dict)
    assumed: dict[str, str] = field(default_factory=dict)

    def holds(self, selector: str) -> bool:
        """Whether a selector holds; ValueError says what in it is not understood."""
        return bool(_Parser(selector, self).expression())

    def name(self, name: str) -> Value:
        """The value of a name; ValueError for one that nobody has set."""
        if name in {"True", "False"}:
            return name == "True"
        if name in self.settings:
            text = self.settings[name]
            return int(text) if text.isdigit() and len(text) < 10 else text  # noqa: PLR2004
        known = _names(self.platform)
        if name in known:
            return known[name]
        msg = f"{name!r} is not a name of a platform; give it with --set {name}=VALUE"
        raise ValueError(msg)

    def environment(self, name: str, default: Value) -> Value:
        """A variable of the environment as given by the user, else the default written there."""
        if name in self.settings:
            return self.settings[name]
        self.assumed[name] = "unset" if default is None else repr(default)
        return default


class _Parser:
    """or < and < not < comparison < term; the depth is bounded."""

    def __init__(self, text: str, selectors: Selectors) -> None:
        self.text, self.selectors, self.depth = text, selectors, 0
        self.tokens = list(self._tokens())
        self.at = 0

    def _tokens(self) -> Iterator[tuple[str, str]]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            match = _TOKEN.match(self.text, at)
            if match is None:
                msg = f"{self.text[at:].strip()[:20]!r} is not understood"
                raise ValueError(msg)
            kind = match.lastgroup or ""
            yield kind, match[kind]
            at = match.end()
        yield "end", ""

    def take(self, *texts: str, kind: str = "") -> str | None:
        """The next token where it is one of these, else None."""
        now_kind, now = self.tokens[self.at]
        if (kind and now_kind == kind) or (now_kind in {"mark", "name"} and now in texts):
            self.at += 1
            return now
        return None

    def need(self, *texts: str, kind: str = "") -> str:
        found = self.take(*texts, kind=kind)
        if found is None:
            wanted = " or ".join(map(repr, texts)) or kind
            msg = f"expected {wanted}, found {self.tokens[self.at][1] or 'the end'!r}"
            raise ValueError(msg)
        return found

    def expression(self) -> Value:
        found = self._or()
        self.need(kind="end")
        return found

    def _or(self) -> Value:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError(_DEEP)
        found = self._and()
        while self.take("or"):
            other = self._and()
            found = found or other
        self.depth -= 1
        return found

    def _and(self) -> Value:
        found = self._not()
        while self.take("and"):
            other = self._not()
            found = found and other
        return found

    def _not(self) -> Value:
        if not self.take("not"):
            return self._comparison()
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError(_DEEP)
        found = not self._not()
        self.depth -= 1
        return found

    def _comparison(self) -> Value:
        left = self._term()
        sign = self.take("==", "!=", "<", "<=", ">", ">=", "in", "not")
        if sign is None:
            return left
        if sign == "not":
            self.need("in")
        right = self._term()
        if sign in {"in", "not"}:
            if isinstance(right, str) and isinstance(left, str):
                inside = left in right
            else:
                inside = isinstance(right, tuple) and left in right
            return inside is (sign == "in")
        if sign in {"==", "!="}:
            return (left == right) is (sign == "==")
        if not isinstance(left, int) or not isinstance(right, int):
            msg = f"{sign} compares numbers, found {left!r} and {right!r}"
            raise ValueError(msg)  # noqa: TRY004 - one kind of error for one kind of input
        return _COMPARE[sign](left, right)

    def _term(self) -> Value:
        if self.take("("):
            found = self._or()
            if self.take(","):
                items = [found]
                while not self.take(")"):
                    items.append(self._or())
                    if not self.take(","):
                        self.need(")")
                        break
                return tuple(items)
            self.need(")")
            return found
        number = self.take(kind="number")
        if number is not None:
            return int(number)
        text = self.take(kind="text")
        found = text[1:-1] if text is not None else self._named()
        while self.take("."):
            found = self._method(found)
        return found

    def _named(self) -> Value:
        name = self.need(kind="name")
        if name == "os":
            self.need(".")
            name = self.need("environ")
        if name != "environ":
            return self.selectors.name(name)
        self.need(".")
        self.need("get")
        self.need("(")
        variable = self.need(kind="text")[1:-1]
        default = self._term() if self.take(",") else None
        self.need(")")
        return self.selectors.environment(variable, default)

    def _method(self, value: Value) -> Value:
        method = self.need("startswith", "endswith", "lower", "upper")
        self.need("(")
        argument = "" if method in {"lower", "upper"} else self.need(kind="text")[1:-1]
        self.need(")")
        if not isinstance(value, str):
            msg = f"{method} asks text, found {value!r}"
            raise ValueError(msg)  # noqa: TRY004 - one kind of error for one kind of input
        if method in {"lower", "upper"}:
            return value.lower() if method == "lower" else value.upper()
        return value.startswith(argument) if method == "startswith" else value.endswith(argument)
