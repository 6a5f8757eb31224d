"""A whole run as a story: a paragraph for each decision that was not the plain way.

The plain way is an edge that is always open, taken while no guard held: a stretch of it is one
line. A decision that is made again and again is told once, and counted. What an outcome said is
not known here: who knows it tells it by `facts`. `explain` tells one step in full.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import define, field

from fsm.declare import Machine
from fsm.errors import TraceError
from fsm.explain import Considered, Explanation, asks, change, does, explain, label, listed
from fsm.record import Record, Trace

Facts = Callable[[Record], str]

_WIDTH = 96
_PLAIN = 12  # steps of a plain stretch that are named one by one
_CHANGES = 8  # fields that a paragraph names; `explain` names them all


def narrate(
    machine: Machine[Any],
    trace: Trace,
    facts: Facts | None = None,
    beside: Facts | None = None,
) -> Iterator[str]:
    """The paragraphs of the story, each of one or more lines.

    `facts` says in a few words what the outcome of a record told. `beside` says what else
    happened in that step and must not be left out, a line each; mostly nothing. A step that is
    missing, or that `machine` could not have made, is told as such. Raises TraceError for the
    trace of another machine.
    """
    if trace.header.machine != machine.name:
        raise TraceError("trace", f"is of machine {trace.header.machine}, not {machine.name}")
    teller = _Teller(facts or (lambda record: ""))
    stretch: list[Record] = []
    expected = 0
    for record in trace:
        problem = _missing(expected, record.sequence)
        expected = record.sequence + 1
        try:
            story = explain(machine, record)
        except TraceError as error:
            story, problem = None, f"#{record.sequence}  This step {error.problem}."
        if problem is not None:
            yield from teller.over(stretch)
            stretch = []
            yield _wrapped(problem)
        if story is None:
            continue
        if is_decision(story, trace.header.endings):
            yield from teller.decided(story, stretch)
            stretch = []
        else:
            stretch.append(record)
        if beside is not None and (news := beside(record)):
            yield from teller.over(stretch)
            stretch = []
            yield "\n".join(_wrapped(line) for line in news.splitlines())
    yield from teller.over(stretch)


def _missing(expected: int, sequence: int) -> str | None:
    if expected == sequence:
        return None
    if expected == sequence - 1:
        return f"#{expected}  This step cannot be read."
    return f"#{expected} to #{sequence - 1}  These steps cannot be read."


def is_decision(story: Explanation, endings: Sequence[str] = ()) -> bool:
    """Whether guards had a say in it, or it is one that no phase foresees, or the end."""
    edge = story.taken.edge
    held = any(each.value for each in story.record.tried)
    return bool(edge.guards) or held or edge.general or story.record.destination in endings


@define
class _Teller:
    """Holds the last decision back until it is known how often it was made in a row."""

    facts: Facts
    last: Explanation | None = None
    first: str = ""  # of a row of equal decisions: its paragraph
    times: int = 0
    plain: list[Record] = field(factory=list)  # what lies between the last two of a row
    explained: set[str] = field(factory=set)  # guards

    def decided(self, story: Explanation, stretch: list[Record]) -> Iterator[str]:
        if self.last is not None and _alike(self.last, story):
            self.last, self.times, self.plain = story, self.times + 1, stretch
            return
        yield from self._row()
        if stretch:
            yield self._plainly(stretch)
        self.last, self.times, self.first = story, 1, self._paragraph(story)

    def over(self, stretch: list[Record]) -> Iterator[str]:
        yield from self._row()
        if stretch:
            yield self._plainly(stretch)

    def _row(self) -> Iterator[str]:
        """The decision held back, and how often it was made."""
        if self.last is None:
            return
        yield self.first
        if self.times > 1:
            often = f"{self.times - 1:,} times, last" if self.times > 2 else "once more,"
            way = f", after {self._way(self.plain)}" if self.plain else ""
            yield _wrapped(f"Then the same {often} at #{self.last.record.sequence}{way}.")
        self.last = None

    def _plainly(self, stretch: Sequence[Record]) -> str:
        first, last = stretch[0].sequence, stretch[-1].sequence
        steps = f"#{first}" if first == last else f"#{first} to #{last}"
        return _wrapped(f"{steps}  {self._way(stretch)}")

    def _way(self, stretch: Sequence[Record]) -> str:
        if len(stretch) > _PLAIN:
            return f"{len(stretch):,} plain steps, to {stretch[-1].destination}"
        return ", ".join(self._named(each) for each in stretch)

    def _named(self, record: Record) -> str:
        told = self.facts(record)
        return f"{record.source} ({told})" if told else record.source

    def _paragraph(self, story: Explanation) -> str:
        record, taken = story.record, story.taken
        held = [each.guard for each in taken.looked]
        why = f", because {listed(held)} held" if held else ""
        said = [f"#{record.sequence}  {self._named(record)} went to {label(taken.edge)}{why}."]
        # An edge of which some guard held was nearly the way, and so is part of the story.
        near = [each for each in story.passed_over if any(one.value for one in each.looked)]
        said += map(_not_taken, near)
        lines = [_wrapped(" ".join(said))]
        for considered in (taken, *near):
            lines += self._questions(considered)
        if record.reason not in (None, record.destination):
            done = does(taken.edge)
            lines += [_wrapped(f"{record.reason}: {done}", 4)] if done else []
            lines += _changes(record)
        return "\n".join(lines)

    def _questions(self, considered: Considered) -> Iterator[str]:
        """What each guard asks that has not been told before."""
        for each in considered.looked:
            question = asks(considered.edge, each.guard)
            if question and each.guard not in self.explained:
                self.explained.add(each.guard)
                yield _wrapped(f"{each.guard}: {question}", 4)


def _alike(one: Explanation, other: Explanation) -> bool:
    return one.record.edge == other.record.edge and one.record.tried == other.record.tried


def _not_taken(considered: Considered) -> str:
    held = [each.guard for each in considered.looked if each.value]
    return (
        f"Not to {label(considered.edge)}, although {listed(held)} held: "
        f"{considered.refused_by} was False."
    )


def _changes(record: Record) -> Iterator[str]:
    """What is new; what was only set back is told by `explain`."""
    new = [(name, value) for name, value in record.changed.items() if not _set_back(value)]
    if new:
        said = "; ".join(f"{name}: {change(value)}" for name, value in new[:_CHANGES])
        more = len(new) - _CHANGES
        yield _wrapped(f"changed  {said}{f'; and {more} more' if more > 0 else ''}", 4)


def _set_back(value: object) -> bool:
    match value:
        case {"count": count}:
            return bool(count == 0)
        case [_, new]:
            return not new
    return False


def _wrapped(text: str, indent: int = 0) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )
