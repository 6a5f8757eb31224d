"""Random machines, unchecked on purpose: gaps, dead edges and guards that raise are among them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from attrs import frozen
from hypothesis import strategies as st

from fsm import Edge, Machine


class Place(StrEnum):
    A = "a"
    B = "b.inner"
    C = "c"
    Z = "z"


@frozen
class Ping:
    n: int


@frozen
class Pong:
    n: int


def is_even(loop: int, outcome: Any) -> bool:
    return loop % 2 == 0


def is_large(loop: int, outcome: Any) -> bool:
    return bool(outcome.n > 3)


def is_equal(loop: int, outcome: Any) -> Any:
    return outcome.n and outcome.n == loop


def is_two_or_nothing(loop: int, outcome: Any) -> Any:
    return 2 * (loop % 2)  # truthy, and not equal to True


def divides(loop: int, outcome: Any) -> bool:
    return 10 % int(outcome.n) == 0  # raises at 0


def keep(loop: int, outcome: Any) -> int:
    return loop


def plus(loop: int, outcome: Any) -> int:
    return (loop + int(outcome.n)) % 7


def divided(loop: int, outcome: Any) -> int:
    return 10 // loop  # raises at 0


GUARDS = (is_even, is_large, is_equal, is_two_or_nothing, divides)


def edges() -> st.SearchStrategy[Edge]:
    return st.builds(
        Edge,
        index=st.just(0),
        source=st.sampled_from([Place.A, Place.B, Place.C]),
        outcome=st.sampled_from([Ping, Pong]),
        guards=st.lists(st.sampled_from(GUARDS), max_size=3, unique=True).map(tuple),
        destination=st.sampled_from(Place),
        reducer=st.sampled_from([keep, plus, divided]),
        reason=st.none() | st.just("reason"),
        closes=st.booleans(),
    )


def machines() -> st.SearchStrategy[Machine[int]]:
    empty = Machine("m", int, Place.A, frozenset([Place.Z]), tuple(Place), (), keep)
    return st.lists(edges(), max_size=12).map(empty.with_edges)
