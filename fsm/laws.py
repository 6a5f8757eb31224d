"""The three laws that every machine is held to, over what an exploration has found.

Each yields its findings, one for an edge and a kind of trouble, with the shortest path there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from attrs import frozen

from fsm.bounds import Measure, returns
from fsm.declare import Edge
from fsm.explore import Explored
from fsm.run import Step
from fsm.ways import Graph

L = TypeVar("L")


@frozen
class Law(Generic[L]):
    """A law of the caller's, asked of every step explored; `text` says it in a sentence.

    The step's `before` is normalised, its `after` is what the reducer made of that.
    """

    name: str
    text: str
    holds: Callable[[Step[L]], bool]


@frozen
class Finding:
    """A law that is broken at `edge` (None: by the machine as a whole), and how to get there."""

    law: str
    edge: Edge | None
    text: str
    path: tuple[Step[Any], ...] = ()


def law_1(found: Explored[L], outer: Measure[L], inner: Measure[L]) -> Iterator[Finding]:
    """It ends: no circle without a measure, and each measure falls where it must.

    The outer one at every edge back to the start, and nothing else raises it; the inner one from
    each visit of its state to the next. A new turn is free to do as it likes, but no loop ever
    holds more chances than its start did, nor fewer than none.
    """
    yield from _circle(found, inner)
    yield from _levels(found, outer)
    yield from _levels(found, inner)
    yield from _falls(found, outer)
    yield from _falls_on_return(found, inner)


def law_2(found: Explored[Any]) -> Iterator[Finding]:
    """Every outcome has an edge, and neither guard nor reducer raises."""
    told: set[tuple[Edge | None, str]] = set()
    for each in found.breaks:
        if (each.edge, each.problem) not in told:
            told.add((each.edge, each.problem))
            text = f"{each.problem}, told {type(each.outcome).__name__}"
            yield Finding("law 2", each.edge, text, found.path_to(each.place))


def law_3(found: Explored[Any]) -> Iterator[Finding]:
    """Every edge is taken, every guard True and False where it stands, every state left."""
    for edge in found.machine.edges:
        if edge.index not in found.taken:
            looked = _first_look(found, edge)
            seen = "refused each time" if looked else "and never looked at"
            path = found.path(looked[0]) if looked else ()
            yield Finding("law 3", edge, f"is never taken, {seen}", path)
        for guard in edge.guard_names:
            for value in (True, False):
                other = found.valued.get((edge.index, guard, not value))
                if other is not None and (edge.index, guard, value) not in found.valued:
                    text = f"guard {guard} is never {value} here"
                    yield Finding("law 3", edge, text, found.path(other))
    left = {found.arrows[arrow].edge.source for arrow in found.taken.values()}
    for state in found.machine.states:
        if state not in found.machine.endings and state not in left:
            yield Finding("law 3", None, f"state {state} is never left")


def _first_look(found: Explored[Any], edge: Edge) -> tuple[int, ...]:
    arrows = [arrow for (index, _, _), arrow in found.valued.items() if index == edge.index]
    return tuple(sorted(arrows))[:1]


def _circle(found: Explored[L], inner: Measure[L]) -> Iterator[Finding]:
    circle = Graph(found.machine.edges, found.closes, inner.returns_to).cycle
    if circle:
        way = " -> ".join([circle[0].source, *(edge.destination for edge in circle)])
        path = found.path(*_round(found, circle))
        yield Finding("law 1", circle[-1], f"goes round without a measure: {way}", path)


def _round(found: Explored[Any], circle: tuple[Edge, ...]) -> tuple[int, ...]:
    """Explored arrows once round `circle`, or the longest part of it that can be walked."""
    indices = [edge.index for edge in circle]
    waiting: list[tuple[int, ...]] = [
        (number,) for number, arrow in enumerate(found.arrows) if arrow.edge.index == indices[0]
    ]
    best: tuple[int, ...] = ()
    passed: set[tuple[int, int]] = set()
    while waiting and len(best) < len(circle):
        way = waiting.pop()
        best = max(best, way, key=len)
        at = found.arrows[way[-1]].destination
        if len(way) < len(circle) and (len(way), at) not in passed:
            passed.add((len(way), at))
            wanted = indices[len(way)]
            ahead = (n for n in found.leaving(at) if found.arrows[n].edge.index == wanted)
            waiting += [(*way, arrow) for arrow in ahead]
    return best


def _levels(found: Explored[L], measure: Measure[L]) -> Iterator[Finding]:
    most = {place.start: measure.of(place.loop) for place in found.starts()}
    told: set[tuple[Edge | None, str]] = set()
    for place in found.places:
        if place.state in found.machine.endings:
            continue
        for (name, _), count, limit in zip(
            measure.components, measure.of(place.loop), most[place.start], strict=True
        ):
            if 0 <= count <= limit:
                continue
            edge = None if place.came is None else found.arrows[place.came].edge
            if (edge, name) not in told:
                told.add((edge, name))
                path = () if place.came is None else found.path(place.came)
                text = f"{name} is {count}, and the start had {limit}"
                yield Finding("law 1", edge, text, path)


def _falls(found: Explored[L], outer: Measure[L]) -> Iterator[Finding]:
    values = [outer.of(place.loop) for place in found.places]
    told: set[int] = set()
    for number, arrow in enumerate(found.arrows):
        edge, before, after = arrow.edge, values[arrow.source], values[arrow.destination]
        if (
            edge.index in told
            or edge.destination in found.machine.endings
            or found.turn_over(edge)
            or after < before
            or (after == before and not edge.closes)
        ):
            continue
        told.add(edge.index)
        change = f"{outer.told(before)} -> {outer.told(after)}"
        text = (
            f"goes back to the start and does not shrink {outer.name}: {change}"
            if edge.closes
            else f"raises {outer.name} within an iteration: {change}"
        )
        if not outer.components:
            text = "goes back to the start without a measure"
        yield Finding("law 1", edge, text, found.path(number))


def _falls_on_return(found: Explored[L], inner: Measure[L]) -> Iterator[Finding]:
    told: set[tuple[int, ...]] = set()
    for way in returns(found, inner):
        first, last = found.arrows[way[0]], found.arrows[way[-1]]
        before = inner.of(found.places[first.source].loop)
        after = inner.of(found.places[last.destination].loop)
        edges = tuple(found.arrows[arrow].edge.index for arrow in way)
        if after >= before and edges not in told:
            told.add(edges)
            text = (
                f"comes back to {inner.returns_to} and does not shrink {inner.name}: "
                f"{inner.told(before)} -> {inner.told(after)}"
            )
            yield Finding("law 1", last.edge, text, found.path(*way))
