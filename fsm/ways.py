"""Questions to a table as a plain graph of states: cycles, ways back, longest ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache

from attrs import frozen

from fsm.declare import Edge

Closes = Callable[[Edge], bool]


@frozen
class Graph:
    """A table's edges, some of which close an iteration and so lead nowhere here.

    `again` is a state that may be entered repeatedly within one iteration, or None.
    """

    edges: tuple[Edge, ...]
    closes: Closes
    again: StrEnum | None = None

    def leaving(self, state: StrEnum) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.source == state)

    @property
    def on_the_way_back(self) -> frozenset[StrEnum]:
        """The states on a way from `again` to `again` that closes nothing; `again` too, if any."""
        open_edges = [edge for edge in self.edges if not self.closes(edge)]
        forward = _reached(self.again, [(e.source, e.destination) for e in open_edges])
        backward = _reached(self.again, [(e.destination, e.source) for e in open_edges])
        return forward & backward

    @property
    def cycle(self) -> tuple[Edge, ...]:
        """Edges in a circle that neither close anything nor lead to `again`; empty if none."""
        inner = [e for e in self.edges if not self.closes(e) and e.destination != self.again]
        clear: set[StrEnum] = set()
        for state in dict.fromkeys(edge.source for edge in inner):
            circle = _circle(state, inner, (), clear)
            if circle:
                return circle
        return ()

    def longest(self, first: StrEnum, goal: Closes) -> int:
        """The most edges from `first` up to one that closes and is a `goal`; 0 if there is none.

        No way back is taken. Only if there is no `cycle`.
        """
        back = self.on_the_way_back

        @cache
        def from_(state: StrEnum) -> int:
            return max((length(edge) for edge in self.leaving(state)), default=0)

        def length(edge: Edge) -> int:
            if self.closes(edge):
                return 1 if goal(edge) else 0
            ends_a_way_back = edge.destination == self.again and edge.source in back
            rest = 0 if ends_a_way_back else from_(edge.destination)
            return 1 + rest if rest else 0

        return from_(first)

    def longest_back(self) -> int:
        """The most edges of one way from `again` to `again`; 0 if there is none."""
        back = self.on_the_way_back

        @cache
        def from_(state: StrEnum) -> int:
            open_edges = [edge for edge in self.leaving(state) if not self.closes(edge)]
            return max((length(e) for e in open_edges if e.destination in back), default=0)

        def length(edge: Edge) -> int:
            return 1 if edge.destination == self.again else 1 + from_(edge.destination)

        return from_(self.again) if self.again else 0


def _reached(first: StrEnum | None, arrows: list[tuple[StrEnum, StrEnum]]) -> frozenset[StrEnum]:
    """What can be reached from `first` by at least one arrow."""
    found: set[StrEnum] = set()
    waiting = [target for source, target in arrows if source == first]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting += [target for source, target in arrows if source == state]
    return frozenset(found)


def _circle(
    state: StrEnum, edges: Iterable[Edge], way: tuple[Edge, ...], clear: set[StrEnum]
) -> tuple[Edge, ...]:
    sources = [edge.source for edge in way]
    if state in sources:
        return way[sources.index(state) :]
    if state in clear:
        return ()
    for edge in edges:
        if edge.source == state:
            circle = _circle(edge.destination, edges, (*way, edge), clear)
            if circle:
                return circle
    clear.add(state)
    return ()
