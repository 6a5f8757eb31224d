"""What becomes of an agent in the background, as a machine.

One that had just finished when someone asked for its end has finished: its report is the truth.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from fsm import Machine, at, machine, to, when


class Stage(StrEnum):
    """Where a background agent stands."""

    RUNNING = "running"
    STOPPING = "stopping"  # someone asked for its end
    COMPLETED = "completed"  # with a whole answer
    FAILED = "failed"  # without one
    STOPPED = "stopped"


ENDINGS = frozenset({Stage.COMPLETED, Stage.FAILED, Stage.STOPPED})


@frozen
class StopAsked:
    """TaskStop was called, or whoever started it is over."""

    @classmethod
    def specimens(cls) -> tuple[StopAsked, ...]:
        return (cls(),)


@frozen(kw_only=True)
class Reported:
    """It is over, with all it had started; its report is on disk."""

    whole: bool
    interrupted: bool = False

    @classmethod
    def specimens(cls) -> tuple[Reported, ...]:
        return (cls(whole=True), cls(whole=False), cls(whole=False, interrupted=True))


@frozen
class Known:
    """All that a decision about an agent may read: its id; the rest is in the outcome."""

    id: str


def whole(known: Known, outcome: Reported) -> bool:
    return outcome.whole


def interrupted(known: Known, outcome: Reported) -> bool:
    return outcome.interrupted


def unchanged(known: Known, outcome: object) -> Known:
    return known


_HOW_IT_ENDED = (
    when(whole, go=Stage.COMPLETED),
    when(interrupted, go=Stage.STOPPED),
)

BACKGROUND_AGENT: Machine[Known] = machine(
    "background_agent",
    at(Stage.RUNNING, StopAsked, otherwise=to(Stage.STOPPING)),
    at(Stage.RUNNING, Reported, *_HOW_IT_ENDED, otherwise=to(Stage.FAILED)),
    at(Stage.STOPPING, StopAsked, otherwise=to(Stage.STOPPING)),
    at(Stage.STOPPING, Reported, *_HOW_IT_ENDED, otherwise=to(Stage.FAILED)),
    loop=Known,
    states=Stage,
    initial=Stage.RUNNING,
    endings=(Stage.COMPLETED, Stage.FAILED, Stage.STOPPED),
    keep=unchanged,
)
