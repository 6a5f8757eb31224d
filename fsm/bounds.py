"""How often, at most, a machine goes round: bounds computed from what its edges were seen to do.

A `Measure` counts the chances left. An edge that makes it smaller *spends* the first component
that changed, and may give later ones back. Let F(i) be how often component i can be spent, and
c(i) the most it can hold. What is spent was there from the start or was given back, at most c(i)
at a time, so F(i) <= c(i) * (1 + sum of F(j) over the components j whose spending gives i back).

Who gives back what is observed in an exploration at small limits; c is read off a loop at the
real ones. So the search stays small and the numbers hold for all limits, provided that reducers
treat all limits alike: what happens at the seventh retry only is not seen with two. A cap of one
is enough to see a counter being given back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

from attrs import Factory, define, frozen

from fsm.declare import Edge
from fsm.explore import Explored
from fsm.ways import Graph

L = TypeVar("L")

# What gives a component back: spending a component of the same measure, of the outer measure,
# the beginning of a turn, or something that happens in every iteration.
Giver = tuple[Literal["same", "outer", "turn", "iteration"], int]


@frozen
class Measure(Generic[L]):
    """Chances left, most important first, none of them ever negative.

    With `returns_to` it is an inner measure: it must fall whenever that state is entered again
    within one iteration. Without, an outer one: it must fall whenever an iteration closes.
    """

    name: str
    components: tuple[tuple[str, Callable[[L], int]], ...]
    returns_to: StrEnum | None = None

    def of(self, loop: L) -> tuple[int, ...]:
        return tuple([count(loop) for _, count in self.components])

    def told(self, value: tuple[int, ...]) -> str:
        """A value of this measure in words."""
        named = zip(self.components, value, strict=True)
        return "(" + ", ".join(f"{name} {count}" for (name, _), count in named) + ")"


@define
class Spending:
    """For one measure: which edges (by `label`) spend which component, and who gives it back."""

    spenders: dict[str, set[int]] = Factory(dict)
    givers: dict[int, set[Giver]] = Factory(dict)

    def saw(self, name: str, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Note one edge, or one way back, that is not the beginning of a turn."""
        spent = first_change(before, after)
        if spent is not None:
            self.spenders.setdefault(name, set()).add(spent)
            self.given(before, after, ("same", spent))

    def given(self, before: tuple[int, ...], after: tuple[int, ...], giver: Giver) -> None:
        """Note that `giver` raised what is larger in `after`."""
        for position, (old, new) in enumerate(zip(before, after, strict=True)):
            if new > old:
                self.givers.setdefault(position, set()).add(giver)


@frozen
class Observed(Generic[L]):
    """What an exploration has shown of both measures, and of the longest ways."""

    outer: Measure[L]
    inner: Measure[L]
    of_outer: Spending
    of_inner: Spending
    way: int  # the most edges in an iteration that goes on, no way back counted
    last_way: int  # and in one that ends
    way_back: int  # the most edges of one way back


@frozen
class Bounds:
    """The most that can happen in `turns` turns.

    `times`: for each reason (else edge) that spends a chance, how often it can be taken.
    `iterations`: how often the machine can stand at its start. `visits`: how often at the state
    that the inner measure watches. `edges`: how many edges can be taken at all.
    """

    turns: int
    times: tuple[tuple[str, int], ...]
    iterations: int
    visits: tuple[str, int] | None
    edges: int


def nothing(name: str) -> Measure[Any]:
    """The measure of a machine that needs none."""
    return Measure(name, ())


def observe(found: Explored[L], outer: Measure[L], inner: Measure[L]) -> Observed[L]:
    """See in every explored step who spends and who gives back."""
    graph = Graph(found.machine.edges, found.closes, inner.returns_to)
    of_outer, of_inner = Spending(), Spending()
    outers = [outer.of(place.loop) for place in found.places]
    inners = [inner.of(place.loop) for place in found.places]
    covered = _covered(found, graph)
    for arrow in found.arrows:
        edge, source, to = arrow.edge, arrow.source, arrow.destination
        if edge.destination in found.machine.endings:
            continue
        if found.turn_over(edge):
            of_outer.given(outers[source], outers[to], ("turn", 0))
            of_inner.given(inners[source], inners[to], ("turn", 0))
            continue
        of_outer.saw(label(edge), outers[source], outers[to])
        if edge.destination == inner.returns_to and edge.source in covered:
            continue  # the end of a way back; those are looked at below, as a whole
        spent = first_change(outers[source], outers[to])
        closing = edge.closes and spent is not None
        of_inner.given(
            inners[source], inners[to], ("outer", spent or 0) if closing else ("iteration", 0)
        )
    for way in returns(found, inner):
        first, last = found.arrows[way[0]], found.arrows[way[-1]]
        of_inner.saw(label(first.edge), inners[first.source], inners[last.destination])
    begins = {found.machine.initial} | {
        edge.destination for edge in found.machine.edges if found.turn_over(edge)
    }
    endings = found.machine.endings
    longest_last = max(graph.longest(each, lambda e: e.destination in endings) for each in begins)
    longest = max(graph.longest(each, lambda e: e.destination not in endings) for each in begins)
    return Observed(outer, inner, of_outer, of_inner, longest, longest_last, graph.longest_back())


def bounds(observed: Observed[L], full: L, turns: int = 1) -> Bounds:
    """The bounds for a run of `turns` turns that starts from `full`, nothing of it spent.

    F(i) is computed for the outer measure, then for the inner one. A new turn that gives i back
    counts as `turns - 1` givings, an iteration that does as one fewer than there are iterations.
    So visits of the inner state are those iterations, and each F(i) of the inner measure once.
    """
    given = {("turn", 0): turns - 1}
    outer = _spent(observed.outer.of(full), observed.of_outer, given)
    iterations = turns + sum(outer)
    given |= {("outer", i): count for i, count in enumerate(outer)}
    given |= {("iteration", 0): iterations - 1}
    inner = _spent(observed.inner.of(full), observed.of_inner, given)
    times: dict[str, int] = {}
    for spending, counts in ((observed.of_outer, outer), (observed.of_inner, inner)):
        for name, components in spending.spenders.items():
            times[name] = times.get(name, 0) + sum(counts[each] for each in components)
    state = observed.inner.returns_to
    return Bounds(
        turns=turns,
        times=tuple(sorted(times.items())),
        iterations=iterations,
        visits=(state.value, iterations + sum(inner)) if state else None,
        edges=(iterations - 1) * observed.way
        + max(observed.way, observed.last_way)
        + sum(inner) * observed.way_back,
    )


def _spent(
    capacity: tuple[int, ...], spending: Spending, given: dict[tuple[str, int], int]
) -> list[int]:
    """F(i) for each component i; `given` holds how often the givers outside can give."""
    counts: list[int] = []
    for position, most in enumerate(capacity):
        times = 1
        for kind, which in spending.givers.get(position, ()):
            times += counts[which] if kind == "same" else given[kind, which]
        counts.append(most * times)
    return counts


def first_change(before: tuple[int, ...], after: tuple[int, ...]) -> int | None:
    """The first component that differs; None if none does."""
    pairs = enumerate(zip(before, after, strict=True))
    return next((position for position, (old, new) in pairs if old != new), None)


def label(edge: Edge) -> str:
    """What an edge is called in a bound: its reason, else where it leads from and to."""
    return edge.reason or f"{edge.source} -> {edge.destination}"


def returns(found: Explored[L], inner: Measure[L]) -> Iterator[tuple[int, ...]]:
    """Every way, as arrows, from a visit of the inner state to its next in the same iteration."""
    graph = Graph(found.machine.edges, found.closes, inner.returns_to)
    back = graph.on_the_way_back
    for number, place in enumerate(found.places):
        if place.state != inner.returns_to:
            continue
        waiting: list[tuple[int, ...]] = [(arrow,) for arrow in found.leaving(number)]
        passed: set[tuple[int, int]] = set()
        while waiting:
            way = waiting.pop()
            last = found.arrows[way[-1]]
            if found.closes(last.edge) or last.edge.destination not in back:
                continue
            if last.edge.destination == inner.returns_to:
                yield way
            elif (way[0], last.destination) not in passed:
                passed.add((way[0], last.destination))
                waiting += [(*way, arrow) for arrow in found.leaving(last.destination)]


def _covered(found: Explored[Any], graph: Graph) -> frozenset[StrEnum]:
    """The states from which entering the inner state is always the end of a way back.

    The inner state itself is; the others on a way back only if no other way leads to them.
    """
    back = graph.on_the_way_back
    inside = back - {graph.again} if graph.again else back
    fresh = {found.machine.initial, *(e.destination for e in graph.edges if found.turn_over(e))}
    doors = any(
        edge.destination in inside and edge.source not in back
        for edge in graph.edges
        if not found.closes(edge)
    )
    sealed = not doors and not fresh & inside
    return back if sealed else back & {graph.again} if graph.again else frozenset()
