"""The computed bounds are those that brute force finds, for any limits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from fsm import Edge
from fsm.bounds import Bounds, Observed, bounds, label
from fsm.check import check
from fsm.explore import Explored, explore
from tests.fsm.doors import (
    CHANCES,
    DOOR,
    TRIES,
    At,
    Door,
    Knocked,
    door_specimens,
    is_next_day,
    same_door,
)


def observed() -> Observed[Door]:
    """Learnt once, with limits of one."""
    verdict = check(
        DOOR,
        starts=[Door(1, 1, 1, 1)],
        specimens=door_specimens,
        normal=same_door,
        outer=CHANCES,
        inner=TRIES,
        turn_over=is_next_day,
    )
    assert verdict.observed is not None
    return verdict.observed


LEARNT = observed()


def most(found: Explored[Door], counts: Callable[[Edge], bool], one_turn: bool) -> int:
    """The most edges that count, on any walk from the start (of one turn, or of a whole run)."""
    longest: dict[int, int] = {}
    waiting = [(0, False)]
    while waiting:
        place, seen = waiting.pop()
        arrows = [
            found.arrows[n]
            for n in found.leaving(place)
            if not (one_turn and is_next_day(found.arrows[n].edge))
        ]
        if seen:
            longest[place] = max(
                (counts(arrow.edge) + longest[arrow.destination] for arrow in arrows), default=0
            )
        elif place not in longest:
            waiting.append((place, True))
            waiting += [(arrow.destination, False) for arrow in arrows]
    return longest[0]


caps = st.integers(0, 2)
full_doors = st.builds(Door, st.integers(0, 2), caps, caps, caps)


def brute_force(full: Door, one_turn: bool) -> Bounds:
    found = explore(DOOR, [full], door_specimens, same_door, 1_000_000)
    names = ("another_key", "another_try", "oiled")
    return Bounds(
        turns=1 if one_turn else full.days_cap + 1,
        times=tuple((n, most(found, lambda e, n=n: label(e) == n, one_turn)) for n in names),  # type: ignore[misc]
        iterations=1 + most(found, lambda edge: edge.destination == At.READY, one_turn),
        visits=("knocking", most(found, lambda edge: edge.destination == At.KNOCKING, one_turn)),
        edges=most(found, lambda edge: True, one_turn),
    )


@settings(max_examples=20, deadline=None)
@given(full_doors, st.booleans())
def test_the_bounds_are_exactly_what_brute_force_finds(full: Door, one_turn: bool) -> None:
    found = brute_force(full, one_turn)

    computed = bounds(LEARNT, full, found.turns)

    assert evolve(computed, edges=found.edges) == found
    # One walk cannot both use up every try and leave from the pause, so edges may be one less.
    assert found.edges <= computed.edges <= found.edges + 1


def test_what_was_learnt_with_limits_of_one_holds_for_a_hundred() -> None:
    full = Door(days_cap=0, oils_cap=100, keys_cap=100, tries_cap=100)

    computed = bounds(LEARNT, full)

    assert computed.iterations == 1 + 100 + 100 * 101
    assert computed.visits == ("knocking", computed.iterations * 101)


@pytest.mark.parametrize("turns", [1, 2, 10])
def test_a_chance_that_a_new_turn_gives_back_counts_once_per_turn(turns: int) -> None:
    computed = bounds(LEARNT, Door(turns, 1, 0, 0), turns)

    assert dict(computed.times)["oiled"] == turns
    assert computed.iterations == 2 * turns


def test_a_chance_that_nothing_gives_back_counts_once_for_all() -> None:
    def oiled_once(loop: Door, outcome: Knocked) -> Door:
        return evolve(loop, days=loop.days + 1, keys=0, tries=0)

    table = DOOR.with_edges(
        evolve(edge, reducer=oiled_once) if edge.reason == "next_day" else edge
        for edge in DOOR.edges
    )
    verdict = check(
        table,
        starts=[Door(1, 1, 1, 1)],
        specimens=door_specimens,
        normal=same_door,
        outer=CHANCES,
        inner=TRIES,
        turn_over=is_next_day,
        full=Door(9, 2, 0, 0),
        turns=10,
    )

    assert verdict.bounds is not None
    assert dict(verdict.bounds.times)["oiled"] == 2
