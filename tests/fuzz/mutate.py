"""Mutations of inputs, the same for the same seed: used where atheris is not installed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

__all__ = ["mutated"]

_LARGEST = 256 * 1024
_NUMBERS: tuple[int, ...] = (
    0,
    1,
    2,
    7,
    8,
    0x10,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
)
_NUMBERS += (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)

Change = Callable[[random.Random, bytearray], None]


def _place(chance: random.Random, data: bytearray) -> int:
    """A place in the input; half of them near its start, where headers are."""
    most = len(data) if chance.random() < 0.5 else min(len(data), 1024)
    return chance.randrange(most) if most else 0


def _flip(chance: random.Random, data: bytearray) -> None:
    if data:
        data[_place(chance, data)] ^= 1 << chance.randrange(8)


def _byte(chance: random.Random, data: bytearray) -> None:
    if data:
        data[_place(chance, data)] = chance.randrange(256)


def _number(chance: random.Random, data: bytearray) -> None:
    """A field gets a number at an edge of its range, or one near its size or its old value."""
    size = chance.choice((1, 2, 4, 4, 8, 8))
    at = _place(chance, data) // size * size
    order = chance.choice(("little", "little", "big"))
    old = int.from_bytes(data[at : at + size], "big" if order == "big" else "little")
    near = (old + chance.randrange(-8, 9), old * 2, len(data) - old, len(data))
    value = chance.choice((*_NUMBERS, *near)) & ((1 << 8 * size) - 1)
    if at + size <= len(data):
        data[at : at + size] = value.to_bytes(size, "big" if order == "big" else "little")


def _copy(chance: random.Random, data: bytearray) -> None:
    """A piece is written over another place, such as one field of a table over the next."""
    size = min(chance.choice((2, 4, 8, 16, 64, 512)), len(data))
    source, target = _place(chance, data), _place(chance, data)
    piece = data[source : source + size]
    data[target : target + len(piece)] = piece


def _cut(chance: random.Random, data: bytearray) -> None:
    at = _place(chance, data)
    del data[at : at + chance.choice((1, 4, 8, 64, 512))]


def _end(chance: random.Random, data: bytearray) -> None:
    del data[_place(chance, data) :]


def _insert(chance: random.Random, data: bytearray) -> None:
    at, size = _place(chance, data), chance.choice((1, 4, 8, 64, 512))
    piece = data[at : at + size] if chance.random() < 0.5 else chance.randbytes(size)
    data[at:at] = bytes(piece) * chance.choice((1, 1, 1, 16))


_CHANGES: tuple[Change, ...] = (_flip, _flip, _byte, _number, _number, _number, _copy, _cut)
_CHANGES += (_end, _insert)


def mutated(chance: random.Random, pool: Sequence[bytes]) -> bytes:
    """One new input: a few changes to one of the pool, sometimes joined with another."""
    data = bytearray(chance.choice(pool))
    if chance.random() < 0.05:
        other = chance.choice(pool)
        data[_place(chance, data) :] = other[chance.randrange(len(other) + 1) :]
    for _ in range(chance.choice((1, 1, 2, 3, 5, 12))):
        chance.choice(_CHANGES)(chance, data)
    return bytes(data[:_LARGEST])
