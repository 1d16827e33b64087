"""The cell: one point of a stack matrix, and its canonical id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import InvalidVersion, Version

from wheelgrid.core.accelerator import Accelerator
from wheelgrid.core.platforms import Platform
from wheelgrid.core.python import PythonVersion

__all__ = ["AXES", "Cell", "Row", "decode_part", "encode_part"]

AXES = ("torch", "python", "accelerator", "platform")

_ID = re.compile(
    r"torch(?P<torch>[^-,]+)-(?P<python>cp[0-9]+t?)-(?P<platform>[^-,]+)-(?P<acc>[^-,]+)"
    r"(?P<free>(?:,[^,=]+=[^,]*)*)\Z"
)
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+:-")


def encode_part(text: str) -> str:
    """Text as one part of an id: what could end the part or the file name is percent-encoded."""
    return "".join(
        char if char in _PLAIN else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in text
    )


def decode_part(text: str) -> str:
    """Undo `encode_part`; ValueError for text that it does not write."""
    data = bytearray()
    index = 0
    while index < len(text):
        if text[index] == "%":
            data.append(int(text[index + 1 : index + 3], 16))
            index += 3
        else:
            data += text[index].encode()
            index += 1
    decoded = data.decode()
    if encode_part(decoded) != text:
        msg = f"{text!r} is not written as ids write it: {encode_part(decoded)!r}"
        raise ValueError(msg)
    return decoded


def _parts(pairs: tuple[tuple[str, str], ...]) -> str:
    return ",".join(f"{encode_part(name)}={encode_part(value)}" for name, value in pairs)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in text.split(","):
        name, equal, value = part.partition("=")
        if not equal:
            msg = f"{part!r} is not axis=value"
            raise ValueError(msg)
        found.append((decode_part(name), decode_part(value)))
    return tuple(found)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Cell:
    """One (torch, python, accelerator, platform), and its values on free axes.

    `attributes` holds what the matrix says of the values (`platform.runner`); it is no part of
    the identity.
    """

    torch: Version
    python: PythonVersion
    accelerator: Accelerator
    platform: Platform
    free: tuple[tuple[str, str], ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def id(self) -> str:
        """`torch2.14.1-cp313-linux_x86_64-cuda13.0`: printed from fields, dots kept."""
        base = f"torch{self.torch}-{self.python.tag}-{self.platform}-{self.accelerator}"
        return f"{base},{_parts(self.free)}" if self.free else base

    @classmethod
    def parse(cls, text: str) -> Cell:
        """Read a cell id; ValueError names the part that is wrong."""
        match = _ID.match(text)
        if match is None:
            msg = (
                f"{text!r} is not a cell id such as 'torch2.14.1-cp313-linux_x86_64-cuda13.0' "
                "(torch, CPython tag, platform, accelerator)"
            )
            raise ValueError(msg)
        try:
            torch = Version(match["torch"])
        except InvalidVersion as error:
            msg = f"{text!r}: torch {match['torch']!r} is not a version"
            raise ValueError(msg) from error
        return cls(
            torch=torch,
            python=PythonVersion.from_tag(match["python"]),
            accelerator=Accelerator.parse(match["acc"]),
            platform=Platform(match["platform"]),
            free=_pairs(match["free"][1:]) if match["free"] else (),
        )

    @property
    def torch_minor(self) -> str:
        """The torch release line, `2.14`: the unit of libtorch's C++ ABI."""
        return f"{self.torch.major}.{self.torch.minor}"

    @property
    def values(self) -> dict[str, object]:
        """Every axis and its value, as JSON shows it."""
        return {**{axis: str(getattr(self, axis)) for axis in AXES}, **dict(self.free)}

    def axis(self, name: str) -> str:
        """The value on one axis as matrix files spell it; KeyError for another name."""
        if name in AXES:
            return str(getattr(self, name))
        if name in self.attributes:
            return self.attributes[name]
        return dict(self.free)[name]

    def __str__(self) -> str:
        """Print the id."""
        return self.id


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Row:
    """One point of a matrix with axes of its own: `os=ubuntu-22.04,python-version=3.12`."""

    pairs: tuple[tuple[str, str], ...]
    attributes: Mapping[str, str] = field(default_factory=dict, compare=False)
    shown: Mapping[str, object] = field(default_factory=dict, compare=False)

    @property
    def id(self) -> str:
        """Axis=value in the order of the axes, percent-encoded where a character would end it."""
        return _parts(self.pairs)

    @classmethod
    def parse(cls, text: str) -> Row:
        """Read a row id; ValueError names the part that is wrong."""
        return cls(pairs=_pairs(text))

    @property
    def values(self) -> dict[str, object]:
        """Every axis and its value, as JSON shows it."""
        return {name: self.shown.get(name, value) for name, value in self.pairs}

    def axis(self, name: str) -> str:
        """The value on one axis, or an attribute of it; KeyError where it has none."""
        if name in self.attributes:
            return self.attributes[name]
        return dict(self.pairs)[name]

    def __str__(self) -> str:
        """Print the id."""
        return self.id
