"""Gives every candidate exactly one decision, from policy, knowledge and sunsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from wheelgrid.core.axis import AxisValue
from wheelgrid.core.cell import Cell, Row
from wheelgrid.core.decision import Decision, Note, Reason, Ruling
from wheelgrid.core.errors import Fault
from wheelgrid.core.grid import Derived, Entry
from wheelgrid.core.knowledge import Knowledge
from wheelgrid.core.matrix import Matrix
from wheelgrid.planning.facts import about
from wheelgrid.planning.laws import Law, laws_of, unfit_fault
from wheelgrid.planning.space import Candidate, Space, bits, to_point, whole_row

__all__ = ["Decided", "decide"]


@dataclass(frozen=True, slots=True)
class _Decoration:
    """An include row that is merged into these candidates."""

    mask: int
    values: Mapping[str, AxisValue]


def _notes(cell: Cell | Row, knowledge: Knowledge, as_of: date) -> Iterable[Note]:
    """What a reader of an included cell must know."""
    if not isinstance(cell, Cell):
        return
    for sunset in knowledge.sunsets:
        stage = sunset.stage(as_of) if sunset.concerns(cell) else None
        if stage is not None:
            ahead = sunset.next_stage(as_of)
            then = f"; next: {ahead.name.phrase} {ahead.when}" if ahead else ""
            yield Note(
                rule=f"lifecycle.{sunset.id}",
                message=f"{sunset.axis} {sunset.value} is in sunset: {stage.name.phrase} since "
                f"{stage.when}{then}; torch {sunset.last_release} is the last line with it. "
                + sunset.action,
                sources=sunset.sources,
            )
    release = knowledge.torch.get(cell.torch)
    if release is None:
        yield Note(
            rule="compat.torch",
            message=f"nothing is known of torch {cell.torch}: whether its wheels exist is unknown",
        )
        return
    pro, against = about(cell.accelerator, cell.platform, release)
    if against:
        yield Note(
            rule="compat.disagreement",
            message=f"sources disagree whether torch {cell.torch} is published for "
            f"{cell.accelerator} on {cell.platform}; it is taken to be",
            sources=tuple(p.source for p in (*pro, *against)),
        )
    elif not pro:
        yield Note(
            rule="compat.torch",
            message=f"no statement says whether torch {cell.torch} is published for "
            f"{cell.accelerator} on {cell.platform}: unknown, not unsupported",
        )


class Decided:
    """A matrix with all its candidates decided, as sets; single decisions are made on demand."""

    def __init__(self, matrix: Matrix, knowledge: Knowledge, *, as_of: date) -> None:
        """Evaluate every law once; no candidate is expanded."""
        self.matrix, self.knowledge, self.as_of = matrix, knowledge, as_of
        self.space = Space(matrix)
        self.own, self.facts = laws_of(matrix, knowledge)

    @property
    def laws(self) -> tuple[Law, ...]:
        """All laws; the reasons of Reason's order give the headline."""
        return self.own + self.facts

    @cached_property
    def excluded_by(self) -> dict[tuple[Reason, str], int]:
        """Reason and rule -> the candidates whose headline it is; the sets are disjoint."""
        order = list(Reason)
        left = self.space.everything
        found: dict[tuple[Reason, str], int] = {}
        for law in sorted(self.laws, key=lambda law: order.index(law.reason)):
            for rule, mask in law.masks(self.space).items():
                taken = mask & left
                if taken:
                    found[law.reason, rule] = found.get((law.reason, rule), 0) | taken
                    left &= ~taken
        return found

    @cached_property
    def kept(self) -> int:
        """The candidates that no law excludes."""
        excluded = 0
        for mask in self.excluded_by.values():
            excluded |= mask
        return self.space.everything & ~excluded

    @cached_property
    def _included(self) -> tuple[tuple[_Decoration, ...], tuple[Entry, ...]]:
        """What each include row does: decorate the kept cells that it agrees with, or append.

        As GitHub documents it: a row is merged into every original combination whose values it
        would not overwrite, and becomes a combination of its own if there is none.
        """
        decorations: list[_Decoration] = []
        appended: list[Entry] = []
        for entry in self.matrix.include:
            mask = self._agrees(entry) & self.kept
            if mask:
                decorations.append(_Decoration(mask, entry.values))
            else:
                appended.append(entry)
        return tuple(decorations), tuple(appended)

    def _agrees(self, entry: Entry) -> int:
        """The candidates that a row does not contradict, on their axes and on keys of their own."""
        axes = [name for name in entry.values if name in self.space.where]

        def agrees(candidate: Candidate) -> bool | None:
            named = {*axes, *(name for name in entry.values if name in candidate.values)}
            same = all(
                name in candidate.values and candidate.values[name].json == entry.values[name].json
                for name in named
            )
            return True if same else None

        mask = product = (1 << self.space.product_size) - 1
        if axes:
            mask = self.space.group(axes, agrees).get(True, 0) & product
        for index, row in enumerate(self.space.rows):
            if agrees(row):
                mask |= 1 << (self.space.product_size + index)
        return mask

    @property
    def appended_rows(self) -> tuple[Entry, ...]:
        """The `include` rows that became candidates of their own."""
        return self._included[1]

    @cached_property
    def appended(self) -> tuple[Candidate, ...]:
        """Candidates that only `include` rows bring."""
        return tuple(whole_row(self.matrix, entry) for entry in self.appended_rows)

    def faults(self) -> list[Fault]:
        """Candidates that a table, a rule list or a derived attribute must cover but does not."""
        found = [unfit_fault(law, self.space) for law in self.own]
        found += [self._underived(one) for one in self.matrix.derived if one.must_fit]
        return [fault for fault in found if fault is not None]

    def _underived(self, derived: Derived) -> Fault | None:
        """The fault of an attribute that no row gives to some kept cells, or None."""
        left = self.kept
        for when, _ in derived.rows:
            left &= ~self.space.mask(when)
        missed = [
            row for row in self.appended if not any(when.matches(row) for when, _ in derived.rows)
        ]
        if not left and not missed:
            return None
        first = self.space.candidate((left & -left).bit_length() - 1) if left else missed[0]
        count, at = left.bit_count() + len(missed), derived.place
        return Fault(
            file=at.file,
            path=at.path,
            line=at.line,
            column=at.column,
            message=f"no row fits {count} cells, for example {to_point(first.values).id}",
            hint="add a row, or say `otherwise:` a value or `omit`",
        )

    @property
    def size(self) -> int:
        """How many candidates there are, those of `include` rows counted."""
        return self.space.size + len(self.appended)

    @property
    def included_count(self) -> int:
        """How many candidates are included."""
        return self.kept.bit_count() + sum(
            not self._fact_rulings(candidate) for candidate in self.appended
        )

    def _fact_rulings(self, candidate: Candidate) -> tuple[Ruling, ...]:
        return tuple(ruling for law in self.facts for ruling in law.judge(candidate))

    def candidate(self, number: int) -> Candidate:
        """One candidate by its number; those of `include` rows come last."""
        if number < self.space.size:
            return self.space.candidate(number)
        return self.appended[number - self.space.size]

    def _extra(self, number: int, candidate: Candidate) -> dict[str, object]:
        """What include rows and derived attributes add to an included cell."""
        extra: dict[str, object] = {}
        for decoration in self._included[0]:
            if decoration.mask >> number & 1:
                extra.update(
                    (name, value.json)
                    for name, value in decoration.values.items()
                    if name not in candidate.values
                )
        for derived in self.matrix.derived:
            fits = (value for when, value in derived.rows if when.matches(candidate))
            value = next(fits, derived.otherwise)
            if value is not None:
                extra[derived.name] = value
        return extra

    def point(self, number: int) -> tuple[Cell | Row, Mapping[str, object]]:
        """An included candidate as a cell or row, and what is added to it; nothing is judged."""
        candidate = self.candidate(number)
        extra = self._extra(number, candidate)
        texts = {name: value for name, value in extra.items() if isinstance(value, str)}
        return to_point(candidate.values, texts), extra

    def decision(self, number: int) -> Decision:
        """The decision of one candidate, with every ruling that applies, not only the first."""
        candidate = self.candidate(number)
        own = self.own if number < self.space.size else ()
        rulings = tuple(r for law in own for r in law.judge(candidate))
        rulings += self._fact_rulings(candidate)
        extra = {} if rulings else self._extra(number, candidate)
        texts = {name: value for name, value in extra.items() if isinstance(value, str)}
        cell = to_point(candidate.values, texts)
        notes = () if rulings else tuple(_notes(cell, self.knowledge, self.as_of))
        return Decision(cell=cell, rulings=rulings, notes=notes, extra=extra)

    def numbers(self) -> Iterator[int]:
        """The numbers of the included candidates, ascending."""
        yield from bits(self.kept)
        for index, candidate in enumerate(self.appended):
            if not self._fact_rulings(candidate):
                yield self.space.size + index

    def find(self, values: Mapping[str, str]) -> int | None:
        """The number of the candidate with these values by axis, or None."""
        found = self.space.number(values)
        if found is not None:
            return found
        for index, candidate in enumerate(self.appended):
            if {name: value.text for name, value in candidate.values.items()} == dict(values):
                return self.space.size + index
        return None


def decide(matrix: Matrix, knowledge: Knowledge, *, as_of: date) -> Decided:
    """Decide every candidate of a matrix."""
    return Decided(matrix, knowledge, as_of=as_of)
