"""What is still to be made: any set of holes, exactly, without making again what is there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from wheelgrid.core.errors import BadInputError, Fault

__all__ = ["missing"]

T = TypeVar("T")


def missing(
    wanted: Iterable[T], published: Collection[str], *, name: Callable[[T], str] = str
) -> tuple[T, ...]:
    """The wanted items whose name is not published, in their order.

    Holes need not form a product of axes: nothing is added to fill one up, and nothing published
    is planned, so no file can be replaced. BadInputError where two items have one name, for the
    second would replace the first.
    """
    there = frozenset(published)
    first: dict[str, T] = {}
    faults: list[Fault] = []
    for item in wanted:
        key = name(item)
        if key in first:
            message = f"{first[key]} and {item} would both be published as {key}"
            faults.append(Fault(file="matrix.yaml", message=message))
        first.setdefault(key, item)
    if faults:
        raise BadInputError(faults)
    return tuple(item for key, item in first.items() if key not in there)
