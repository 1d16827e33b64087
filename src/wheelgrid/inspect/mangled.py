"""Takes C++ symbols apart: which function, and which parameters (Itanium C++ ABI, chapter 5.1).

Only what tells two versions of one function from each other. A name with parts that are not known
here gives None: then nothing is said of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wheelgrid.core.shim import StringAbi

__all__ = ["Mangled", "is_torch_symbol", "read_mangled"]

_MOST_DEPTH = 40
_MOST_LENGTH = 16 * 1024
_TORCH = re.compile(r"_Z(?:T[A-Za-z]|GV|GR)?(?:N[rVK]*[RO]?)?(?:3c10|2at|5torch|6caffe2)|_Z\d+THP")
_STANDARD = {"t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string",
             "i": "std::istream", "o": "std::ostream", "d": "std::iostream"}  # fmt: skip
_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char",
    "h": "unsigned char", "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int",
    "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
    "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
    "g": "__float128", "z": "...",
}  # fmt: skip
_TWO_LETTERS = {
    "Dn": "std::nullptr_t", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto",
    "Dc": "decltype(auto)", "Dh": "_Float16", "Df": "decimal32", "Dd": "decimal64",
    "De": "decimal128",
}  # fmt: skip
_AROUND = {"P": "*", "R": "&", "O": "&&", "K": " const", "V": " volatile", "r": " restrict"}
_OPERATORS = {
    "nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "ps": "+", "ng": "-",
    "ad": "&", "de": "*", "co": "~", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%",
    "an": "&", "or": "|", "eo": "^", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=",
    "rM": "%=", "aN": "&=", "oR": "|=", "eO": "^=", "ls": "<<", "rs": ">>", "lS": "<<=",
    "rS": ">>=", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "ss": "<=>", "nt": "!", "aa": "&&", "oo": "||", "pp": "++", "mm": "--", "cm": ",",
    "pm": "->*", "pt": "->", "cl": "()", "ix": "[]", "aw": " co_await",
}  # fmt: skip
_LONG_STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"


def is_torch_symbol(name: str) -> bool:
    """Whether a name is C++ of torch: in its namespaces, or of its Python binding (THP...)."""
    return _TORCH.match(name) is not None


@dataclass(frozen=True, slots=True)
class Mangled:
    """One symbol. `key` is equal for all overloads of a function; `name` is for people.

    `parameters` is for people too, and None where it holds references to earlier parts, which are
    not resolved here. `string` is the std::string in the parameters; `const` a member function's.
    """

    key: str
    name: str
    parameters: str | None
    string: StringAbi | None


class _UnknownError(Exception):
    """A part of the grammar that is not read here."""


class _Reader:
    """Recursive descent over one name; every step moves on, depth is bounded."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.string: StringAbi | None = None
        self.resolved = True

    def peek(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def take(self, prefix: str) -> bool:
        found = self.text.startswith(prefix, self.at)
        self.at += len(prefix) if found else 0
        return found

    def number(self) -> int:
        begin = self.at
        while self.peek().isdecimal() and self.at - begin < 6:  # noqa: PLR2004 - digits enough
            self.at += 1
        if begin == self.at:
            raise _UnknownError
        return int(self.text[begin : self.at])

    def source_name(self) -> str:
        size = self.number()
        name = self.text[self.at : self.at + size]
        if len(name) < size or not size:
            raise _UnknownError
        self.at += size
        if name == "__cxx11":
            self.string = StringAbi.NEW
        return name

    def substitution(self) -> str:
        """After S: a standard part, or a reference to an earlier part."""
        letter = self.peek()
        if letter in _STANDARD and letter:
            self.at += 1
            if letter in "sb":
                self.string = self.string or StringAbi.OLD
            return _STANDARD[letter]
        while self.peek().isdecimal() or self.peek().isupper():
            self.at += 1
        if not self.take("_"):
            raise _UnknownError
        self.resolved = False
        return "?"

    def template_parameter(self) -> str:
        """After T."""
        while self.peek().isdecimal():
            self.at += 1
        if not self.take("_"):
            raise _UnknownError
        self.resolved = False
        return "?"

    def nested(self) -> str:
        """After N and qualifiers, up to and with E."""
        parts: list[str] = []
        while not self.take("E"):
            self.step(parts)
        return "::".join(parts)

    def step(self, parts: list[str]) -> None:
        """One part of a nested name."""
        letter = self.peek()
        if letter.isdecimal():
            parts.append(self.source_name())
        elif self.take("S"):
            parts.append(self.substitution())
        elif self.take("T"):
            parts.append(self.template_parameter())
        elif letter == "I" and parts:
            parts[-1] += self.arguments()
        elif letter in {"C", "D"} and self.peek(2)[1:].isdecimal() and parts:
            self.at += 2
            parts.append(("~" if letter == "D" else "") + parts[-1].partition("<")[0])
        elif self.take("B") and parts:
            if self.source_name() == "cxx11":
                self.string = StringAbi.NEW
        elif not self.take("L"):
            parts.append(self.operator())

    def operator(self) -> str:
        if self.take("cv"):
            return f"operator {self.type()}"
        letters = self.peek(2)
        if letters not in _OPERATORS:
            raise _UnknownError
        self.at += 2
        return f"operator{_OPERATORS[letters]}"

    def arguments(self) -> str:
        """Template arguments, from I or J to E."""
        self.at += 1
        found = []
        self.deeper()
        while not self.take("E"):
            found.append(self.argument())
        self.depth -= 1
        return f"<{', '.join(found)}>"

    def argument(self) -> str:
        if self.peek() == "J":
            return self.arguments()[1:-1]
        if not self.take("L"):
            return self.type()
        kind = self.type()
        end = self.text.find("E", self.at)
        if end < 0 or not re.fullmatch(r"n?[0-9a-f]*", self.text[self.at : end]):
            raise _UnknownError
        value, self.at = self.text[self.at : end], end + 1
        return f"({kind}){value.replace('n', '-')}"

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise _UnknownError

    def type(self) -> str:
        self.deeper()
        text = self._type()
        self.depth -= 1
        return text

    def _type(self) -> str:  # noqa: PLR0911 - one case for each kind of type
        letter, two = self.peek(), self.peek(2)
        if letter and letter in _AROUND:
            self.at += 1
            return self.type() + _AROUND[letter]
        if two in _TWO_LETTERS:
            self.at += 2
            return _TWO_LETTERS[two]
        if self.take("Dp"):
            return self.type() + "..."
        if letter in _BUILTIN:
            self.at += 1
            return _BUILTIN[letter]
        if self.take("N"):
            return self.nested()
        if self.take("F"):
            return self.function()
        if self.take("M"):
            return f"{self.type()}::*{self.type()}"
        if self.take("A"):
            size = self.number()
            return f"{self.type()}[{size}]" if self.take("_") else self.unknown()
        return self.class_name()

    def unknown(self) -> str:
        raise _UnknownError

    def class_name(self) -> str:
        if self.take("S"):
            name = self.substitution()
            if name == "std" and self.peek().isdecimal():
                name += f"::{self.source_name()}"
        elif self.take("T"):
            name = self.template_parameter()
        else:
            name = self.source_name()
        return name + (self.arguments() if self.peek() == "I" else "")

    def function(self) -> str:
        """After F: a result and parameters, up to and with E."""
        found = [self.type()]
        while not (self.take("E") or self.take("RE") or self.take("OE")):
            found.append(self.type())
        return f"{found[0]}({_parameters(found[1:])})"


def _parameters(types: list[str]) -> str:
    return "" if types == ["void"] else ", ".join(types)


def read_mangled(symbol: str) -> Mangled | None:
    """Take one symbol apart; None for one that is no C++ function, or that is not understood."""
    if not symbol.startswith("_Z") or len(symbol) > _MOST_LENGTH:
        return None
    reader = _Reader(symbol)
    reader.at = 2
    const = ""
    try:
        if reader.take("N"):
            while reader.peek() and reader.peek() in "rVKRO":
                const += _AROUND[reader.peek()]
                reader.at += 1
            begin = reader.at
            name = reader.nested()
        else:
            begin = reader.at
            name = reader.class_name()
        key = symbol[begin : reader.at]
        types = []
        while reader.at < len(symbol) and not symbol.startswith((".", "@"), reader.at):
            types.append(reader.type())
    except _UnknownError:
        return None
    # The symbol of a template names its result first.
    if key.removesuffix("E").endswith("E"):
        types = types[1:]
    shown = f"({_parameters(types)}){const}".replace(_LONG_STRING, "std::__cxx11::string")
    return Mangled(
        key.replace("B5cxx11", ""), name, shown if reader.resolved else None, reader.string
    )
