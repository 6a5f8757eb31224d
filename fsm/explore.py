"""Walk through everything a machine can do, breadth first, over specimen outcomes.

The shipped guards and reducers themselves are run, by `decide`; there is no second model of them.
What has been found is kept small, as arrows between numbered places; the steps of a path are
decided once more when someone wants to read them. Read `check` next: it asks the questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Generic, TypeVar

from attrs import Factory, define, frozen

from fsm.declare import Edge, Machine, name_of
from fsm.errors import UndeclaredOutcome
from fsm.run import Step, decide

L = TypeVar("L")

Specimens = Callable[[type[Any]], Sequence[object]]


def never(edge: Edge) -> bool:
    """The turn_over of a machine that begins nothing anew."""
    return False


@frozen
class Place(Generic[L]):
    """A state with a loop that it can be reached with."""

    state: StrEnum
    loop: L
    start: int  # which of the starts it was first reached from
    came: int | None  # the arrow that first reached it, None for a start


@frozen
class Arrow:
    """One step that was explored, between two places."""

    source: int
    edge: Edge
    destination: int
    outcome: Any


@frozen
class Break:
    """A decision that did not come about: no edge, or a guard or reducer that raised."""

    place: int
    outcome: Any
    edge: Edge | None
    problem: str


@define
class Explored(Generic[L]):
    """What a search has found. `cut` tells that the limit ended it, so that nothing is proven."""

    machine: Machine[L]
    turn_over: Callable[[Edge], bool]
    places: list[Place[L]] = Factory(list)
    arrows: list[Arrow] = Factory(list)
    begins: list[int] = Factory(list)  # by place: its first arrow; they stand together
    taken: dict[int, int] = Factory(dict)  # by edge: the first arrow over it
    valued: dict[tuple[int, str, bool], int] = Factory(dict)  # edge, guard, value: first arrow
    breaks: list[Break] = Factory(list)
    cut: bool = False
    _numbers: dict[tuple[StrEnum, L | None], int] = Factory(dict)

    def number_of(self, state: StrEnum, loop: L, start: int, came: int | None) -> int:
        """The number of a place, which is new where nothing led there before."""
        # Nothing follows an ending, so all loops that end there are one place.
        key = (state, None if state in self.machine.endings else loop)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.places)
            self.places.append(Place(state, loop, start, came))
        return known

    def walked(self, source: int, step: Step[L], loop: L, outcome: object) -> int:
        """The number of the arrow for a step from `source`, which ends with this `loop`."""
        arrow = len(self.arrows)
        to = self.number_of(step.edge.destination, loop, self.places[source].start, arrow)
        self.arrows.append(Arrow(source, step.edge, to, outcome))
        self.taken.setdefault(step.edge.index, arrow)
        for each in step.tried:
            self.valued.setdefault((each.edge, each.guard, each.value), arrow)
        return arrow

    def leaving(self, place: int) -> range:
        """The arrows out of a place."""
        first = self.begins[place : place + 2]
        return range(0) if not first else range(first[0], (*first, len(self.arrows))[1])

    def closes(self, edge: Edge) -> bool:
        """Whether `edge` ends an iteration, or the turn."""
        return edge.closes or self.turn_over(edge)

    def way_to(self, place: int) -> tuple[int, ...]:
        """The arrows of the shortest way from a start to `place`."""
        way: list[int] = []
        came = self.places[place].came
        while came is not None:
            way.append(came)
            came = self.places[self.arrows[came].source].came
        return tuple(reversed(way))

    def path(self, *arrows: int) -> tuple[Step[L], ...]:
        """The shortest way to the first of `arrows`, then those, as steps decided once more."""
        way = (*self.way_to(self.arrows[arrows[0]].source), *arrows) if arrows else ()
        return tuple(map(self.step, way))

    def path_to(self, place: int) -> tuple[Step[L], ...]:
        """The shortest way to `place`, as steps."""
        return tuple(map(self.step, self.way_to(place)))

    def step(self, arrow: int) -> Step[L]:
        """The step that an arrow stands for."""
        place = self.places[self.arrows[arrow].source]
        return decide(self.machine, place.state, place.loop, self.arrows[arrow].outcome)

    def starts(self) -> Iterator[Place[L]]:
        return (place for place in self.places if place.came is None)


def explore(
    machine: Machine[L],
    starts: Iterable[L],
    specimens: Specimens,
    normal: Callable[[L], L],
    limit: int,
    *,
    turn_over: Callable[[Edge], bool] = never,
    watch: Callable[[int, Step[L]], None] = lambda arrow, step: None,
    lost: Callable[[L], bool] = lambda loop: False,
) -> Explored[L]:
    """Every place that `starts` lead to, up to `limit` places.

    `specimens` gives, for an outcome type, values that bring out every answer its guards can
    give; `normal` blanks what must not tell two loops apart, and may blank nothing that a guard,
    a measure or a law reads. `watch` is shown every step with the number of its arrow. A loop
    that is `lost` has broken a law already; it is not followed, for it may lead on for ever.
    """
    found = Explored(machine, turn_over)
    told = {
        state: [value for kind in machine.outcomes_of(state) for value in _of(kind, specimens)]
        for state in machine.states
    }

    for position, start in enumerate(starts):
        found.number_of(machine.initial, normal(start), position, None)
    current = 0
    while current < len(found.places):
        if len(found.places) > limit:
            found.cut = True
            break
        place = found.places[current]
        found.begins.append(len(found.arrows))
        for outcome in () if lost(place.loop) else told[place.state]:
            step = _decided(found, current, place, outcome)
            if step is not None:
                watch(found.walked(current, step, normal(step.after), outcome), step)
        current += 1
    return found


def _of(kind: type[Any], specimens: Specimens) -> Sequence[object]:
    values = specimens(kind)
    for value in values:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is no specimen of {kind.__name__}")
    return values


def _decided(found: Explored[L], number: int, place: Place[L], outcome: object) -> Step[L] | None:
    try:
        return decide(found.machine, place.state, place.loop, outcome)
    except UndeclaredOutcome:
        edge = found.machine.rows[place.state, type(outcome)][-1]
        found.breaks.append(Break(number, outcome, edge, "no edge holds: a gap"))
    except Exception as error:  # whatever a guard or reducer of the caller's may raise
        edge, name = _culprit(found.machine, place, outcome)
        problem = f"{name} raised {type(error).__name__}: {error}"
        found.breaks.append(Break(number, outcome, edge, problem))
    return None


def _culprit(machine: Machine[L], place: Place[L], outcome: object) -> tuple[Edge, str]:
    """The edge, and the guard or reducer of it, at which deciding fails."""
    for edge in machine.rows[place.state, type(outcome)]:
        for guard in edge.guards:
            try:
                if not guard(place.loop, outcome):
                    break
            except Exception:  # of the caller's, as above
                return edge, f"guard {name_of(guard)}"
        else:
            return edge, f"reducer {name_of(edge.reducer)}"
    return machine.rows[place.state, type(outcome)][-1], "a guard or reducer that is not pure"
