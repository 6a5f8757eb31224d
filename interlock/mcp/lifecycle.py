"""The life of a connection to a server, as a machine.

A server that was there and is lost is started again, a bounded number of times; one that could
not be started the first time is not: it would fail the same way.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import evolve, frozen

from fsm import Machine, at, machine, to, when


class Stage(StrEnum):
    """Where a connection stands."""

    STARTING = "starting"
    CONNECTED = "connected"
    RESTING = "resting"  # lost, and soon started again
    FAILED = "failed"  # until someone asks for it
    SHUT_OUT = "shut_out"  # it wants to know who we are: until someone has logged in
    OFF = "off"  # switched off by a person
    CLOSED = "closed"  # the session is over


@frozen
class Known:
    """What a decision may read: restarts that were used up, of how many."""

    restarts: int
    most: int


@frozen
class Connected:
    """Handshake done, tools listed."""

    @classmethod
    def specimens(cls) -> tuple[Connected, ...]:
        return (cls(),)


@frozen(kw_only=True)
class Lost:
    """It could not be started, or it is gone. `steady`: it had been there for a good while;
    `refused`: it does not let us in, and would not the next time."""

    steady: bool = False
    refused: bool = False

    @classmethod
    def specimens(cls) -> tuple[Lost, ...]:
        return (cls(), cls(steady=True), cls(refused=True), cls(steady=True, refused=True))


@frozen
class Rested:
    """The pause before another start is over."""

    @classmethod
    def specimens(cls) -> tuple[Rested, ...]:
        return (cls(),)


@frozen
class SwitchedOff:
    @classmethod
    def specimens(cls) -> tuple[SwitchedOff, ...]:
        return (cls(),)


@frozen
class SwitchedOn:
    """Someone wants it, or wants it anew."""

    @classmethod
    def specimens(cls) -> tuple[SwitchedOn, ...]:
        return (cls(),)


@frozen
class Over:
    """The session ends."""

    @classmethod
    def specimens(cls) -> tuple[Over, ...]:
        return (cls(),)


Outcome = Connected | Lost | Rested | SwitchedOff | SwitchedOn | Over


def steady(known: Known, outcome: Lost) -> bool:
    return outcome.steady and known.most > 0


def not_let_in(known: Known, outcome: Lost) -> bool:
    return outcome.refused


def been_there(known: Known, outcome: object) -> bool:
    return known.restarts > 0


def restarts_left(known: Known, outcome: object) -> bool:
    return known.restarts < known.most


def unchanged(known: Known, outcome: object) -> Known:
    return known


def counted(known: Known, outcome: object) -> Known:
    return evolve(known, restarts=known.restarts + 1)


def counted_anew(known: Known, outcome: object) -> Known:
    return evolve(known, restarts=1)


def forgiven(known: Known, outcome: object) -> Known:
    return evolve(known, restarts=0)


CONNECTION: Machine[Known] = machine(
    "mcp_connection",
    at(Stage.STARTING, Connected, otherwise=to(Stage.CONNECTED)),
    at(
        Stage.STARTING,
        Lost,
        when(not_let_in, go=Stage.SHUT_OUT),
        when(been_there, restarts_left, go=Stage.RESTING, then=counted),
        otherwise=to(Stage.FAILED),
    ),
    at(
        Stage.CONNECTED,
        Lost,
        when(not_let_in, go=Stage.SHUT_OUT),
        when(steady, go=Stage.RESTING, then=counted_anew),
        when(restarts_left, go=Stage.RESTING, then=counted),
        otherwise=to(Stage.FAILED),
    ),
    at(Stage.RESTING, Rested, otherwise=to(Stage.STARTING)),
    *(
        at(stage, SwitchedOff, otherwise=to(Stage.OFF, then=forgiven))
        for stage in Stage
        if stage is not Stage.CLOSED
    ),
    *(
        at(stage, SwitchedOn, otherwise=to(Stage.STARTING, then=forgiven))
        for stage in Stage
        if stage is not Stage.CLOSED
    ),
    *(at(stage, Over, otherwise=to(Stage.CLOSED)) for stage in Stage if stage is not Stage.CLOSED),
    loop=Known,
    states=Stage,
    initial=Stage.STARTING,
    endings=(Stage.CLOSED,),
    keep=unchanged,
)
