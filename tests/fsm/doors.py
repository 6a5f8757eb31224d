"""Two small machines that the tests of the engine share: a turnstile, and a stubborn door."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

from attrs import evolve, frozen

from fsm import Edge, Machine, Step, at, decide, everywhere, machine, to, when
from fsm.check import Measure


class Gate(StrEnum):
    LOCKED = "locked"
    OPEN = "open"
    CLOSED_DOWN = "closed_down"


@frozen
class Coins:
    held: int


@frozen
class Coin:
    good: bool


@frozen
class Pushed:
    pass


@frozen
class Evening:
    pass


def is_good(loop: Coins, outcome: Coin) -> bool:
    return outcome.good


def paid(loop: Coins, outcome: Coin) -> Coins:
    return Coins(loop.held + 1)


def keep_coins(loop: Coins, outcome: object) -> Coins:
    return loop


TURNSTILE = machine(
    "turnstile",
    at(Gate.LOCKED, Coin, when(is_good, go=Gate.OPEN, then=paid), otherwise=to(Gate.LOCKED)),
    at(Gate.LOCKED, Pushed, otherwise=to(Gate.LOCKED)),
    at(Gate.OPEN, Pushed, otherwise=to(Gate.LOCKED)),
    everywhere(Evening, go=Gate.CLOSED_DOWN),
    loop=Coins,
    states=Gate,
    initial=Gate.LOCKED,
    endings=[Gate.CLOSED_DOWN],
    keep=keep_coins,
)


class At(StrEnum):
    READY = "ready"
    KNOCKING = "knocking"
    PAUSE = "waiting.pause"
    WENT_IN = "went_in"
    GAVE_UP = "gave_up"
    CALLED_AWAY = "called_away"
    FELL = "fell"


@frozen
class Door:
    """Caps first, then what is spent of each. A day resets all but itself, oil resets the keys."""

    days_cap: int
    oils_cap: int
    keys_cap: int
    tries_cap: int
    days: int = 0
    oils: int = 0
    keys: int = 0
    tries: int = 0


@frozen
class Walked:
    called: bool = False


@frozen
class Knocked:
    answer: str  # "come in", "silence" or "locked"
    called: bool = False


@frozen
class Waited:
    called: bool = False


@frozen
class Stumbled:
    called: bool = False


class MayBeCalled(Protocol):
    @property
    def called(self) -> bool: ...


def called(loop: Door, outcome: MayBeCalled) -> bool:
    return outcome.called


def invited(loop: Door, outcome: Knocked) -> bool:
    return outcome.answer == "come in"


def silent(loop: Door, outcome: Knocked) -> bool:
    return outcome.answer == "silence"


def tries_left(loop: Door, outcome: object) -> bool:
    return loop.tries < loop.tries_cap


def keys_left(loop: Door, outcome: object) -> bool:
    """Each key is tried once a day."""
    return loop.keys < loop.keys_cap


def oil_left(loop: Door, outcome: object) -> bool:
    return loop.oils < loop.oils_cap


def days_left(loop: Door, outcome: object) -> bool:
    return loop.days < loop.days_cap


def another_try(loop: Door, outcome: Knocked) -> Door:
    return evolve(loop, tries=loop.tries + 1)


def another_key(loop: Door, outcome: Knocked) -> Door:
    """Take the next key, and knock again as often."""
    return evolve(loop, keys=loop.keys + 1, tries=0)


def oiled(loop: Door, outcome: Knocked) -> Door:
    return evolve(loop, oils=loop.oils + 1, keys=0, tries=0)


def next_day(loop: Door, outcome: Knocked) -> Door:
    return evolve(loop, days=loop.days + 1, oils=0, keys=0, tries=0)


def keep_door(loop: Door, outcome: object) -> Door:
    return loop


DOOR = machine(
    "door",
    at(At.READY, Walked, when(called, go=At.CALLED_AWAY), otherwise=to(At.KNOCKING)),
    at(
        At.KNOCKING,
        Knocked,
        when(called, go=At.CALLED_AWAY),
        when(invited, go=At.WENT_IN),
        when(silent, tries_left, go=At.PAUSE, then=another_try),
        when(keys_left, go=At.READY, then=another_key),
        when(oil_left, go=At.READY, then=oiled),
        when(days_left, go=At.READY, then=next_day),
        otherwise=to(At.GAVE_UP),
    ),
    at(At.PAUSE, Waited, when(called, go=At.CALLED_AWAY), otherwise=to(At.KNOCKING)),
    everywhere(Stumbled, go=At.FELL, after=called),
    loop=Door,
    states=At,
    initial=At.READY,
    endings=[At.WENT_IN, At.GAVE_UP, At.CALLED_AWAY, At.FELL],
    keep=keep_door,
)

CHANCES = Measure[Door](
    "chances", (("oils", lambda d: d.oils_cap - d.oils), ("keys", lambda d: d.keys_cap - d.keys))
)
TRIES = Measure[Door]("tries", (("tries", lambda d: d.tries_cap - d.tries),), At.KNOCKING)


def is_next_day(edge: Edge) -> bool:
    return edge.reason == "next_day"


def door_specimens(outcome: type[Any]) -> tuple[object, ...]:
    if outcome is Knocked:
        return (
            *(Knocked(answer) for answer in ("come in", "silence", "locked")),
            Knocked("", True),
        )
    return outcome(), outcome(called=True)


def same_door(loop: Door) -> Door:
    return loop


def walk(machine: Machine[Any], loop: Any, *outcomes: object) -> tuple[Step[Any], ...]:
    """The steps that `outcomes` lead to, from the machine's start."""
    state, steps = machine.initial, []
    for outcome in outcomes:
        steps.append(decide(machine, state, loop, outcome))
        state, loop = steps[-1].edge.destination, steps[-1].after
    return tuple(steps)
