"""The matrix: which cases there are, made from the tables and from what the plays write.

Nothing is listed here that the product knows: an edge that is added to a table gets its rows by
itself, and where no play takes it, the matrix says so and is red.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from fsm import Edge, Machine
from interlock.table import LOOP
from interlock.tools.lifecycle import TOOL_CALL
from tests.crash.case import Case, Rehearsed
from tests.crash.moments import BEFORE_AND_AFTER, moments, moments_of
from tests.crash.plays import Play, derived, is_derived, named
from tests.crash.seam import Point

Rehearsals = Mapping[Play, Rehearsed]
_EVERY_WRITE = ("work", "a prompt too large", "collapsed", "compacted")
# How often these are written, the clock decides: when it is due, and as a command's output comes.
_BY_THE_CLOCK = ("state", "spilled result")
_MACHINES: tuple[tuple[Machine[Any], str], ...] = ((LOOP, "trace"), (TOOL_CALL, "calls"))


@frozen(kw_only=True)
class Matrix:
    """All cases, and the rows for which there is none."""

    edges: tuple[Case, ...]
    writes: tuple[Case, ...]
    moments: tuple[Case, ...]
    missing: tuple[str, ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.edges, *self.writes, *self.moments)


def matrix(rehearsals: Rehearsals) -> Matrix:
    edges, missing = list[Case](), list[str]()
    for machine, what in _MACHINES:
        for edge in machine.edges:
            play = _play_for(edge, what, rehearsals)
            if play is None:
                missing.append(f"{machine.name}: no play takes {edge}")
                continue
            edges += (
                Case(
                    row=f"{machine.name} {edge.index:2} {edge}",
                    column=moment,
                    play=play,
                    point=Point(what=what, edge=edge.index, moment=moment),
                )
                for moment in BEFORE_AND_AFTER
            )
    return Matrix(
        edges=tuple(edges),
        writes=tuple(_writes(rehearsals)),
        moments=tuple(moments()),
        missing=tuple(missing),
    )


def short(whole: Matrix) -> Matrix:
    """A few of each kind, the same ones each time."""
    return Matrix(
        edges=whole.edges[::19],
        writes=whole.writes[::79],
        moments=whole.moments[::3],
        missing=whole.missing,
    )


def _play_for(edge: Edge, what: str, rehearsals: Rehearsals) -> Play | None:
    """The shortest play that takes it."""
    derives = what == "trace" and is_derived(edge)
    fits = [
        play
        for play, one in rehearsals.items()
        if any(
            (event.what == what and event.edge == edge.index)
            if not derives
            else (event.into == edge.source and play.stop is None)
            for event in one.events
        )
    ]
    shortest = min(fits, key=lambda play: len(rehearsals[play].events), default=None)
    return derived(edge, shortest) if derives and shortest is not None else shortest


def _writes(rehearsals: Rehearsals) -> Iterator[Case]:
    """Every write of some plays; of each other kind of write the first."""
    known: set[str] = set()
    for play in (*map(named, _EVERY_WRITE), *rehearsals):
        counts = Counter(event.what for event in rehearsals[play].events if event.is_write)
        for what, count in counts.items():
            # The decisions are in the rows of the edges; here one play has all of them.
            every = play.name == "work" or (
                play.name in _EVERY_WRITE and what not in ("trace", "calls")
            )
            if not every and what in known:
                continue
            known.add(what)
            yield from (
                Case(
                    row=what,
                    column=moment,
                    play=play,
                    point=Point(what=what, nth=nth, moment=moment),
                    must=nth == 1 or not what.startswith(_BY_THE_CLOCK),
                )
                for nth in range(1, count + 1 if every else 2)
                for moment in moments_of(what)
            )
