"""What becomes of a command in the background, as a machine.

The decision is about words as much as about states: a command that was just ending when someone
asked for that has finished, and its exit code is the truth.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from fsm import Machine, at, machine, to, when


class Stage(StrEnum):
    """Where a background command stands."""

    RUNNING = "running"
    ENDING = "ending"  # someone asked for its end
    FINISHED = "finished"  # by itself, whatever its exit code
    TIMED_OUT = "timed_out"
    KILLED = "killed"


ENDINGS = frozenset({Stage.FINISHED, Stage.TIMED_OUT, Stage.KILLED})


@frozen
class EndAsked:
    """TaskStop was called, or the session is over."""

    @classmethod
    def specimens(cls) -> tuple[EndAsked, ...]:
        return (cls(),)


@frozen(kw_only=True)
class Ended:
    """The shell and, unless it ended by itself, all it had started are gone."""

    by_itself: bool
    timed_out: bool = False

    @classmethod
    def specimens(cls) -> tuple[Ended, ...]:
        return (
            cls(by_itself=True),
            cls(by_itself=False),
            cls(by_itself=False, timed_out=True),
        )


@frozen
class Known:
    """All that a decision about a command may read: its id; the rest is in the outcome."""

    id: str


def ended_by_itself(known: Known, outcome: Ended) -> bool:
    return outcome.by_itself


def timed_out(known: Known, outcome: Ended) -> bool:
    return outcome.timed_out


def unchanged(known: Known, outcome: object) -> Known:
    return known


BACKGROUND_COMMAND: Machine[Known] = machine(
    "background_command",
    at(Stage.RUNNING, EndAsked, otherwise=to(Stage.ENDING)),
    at(
        Stage.RUNNING,
        Ended,
        when(ended_by_itself, go=Stage.FINISHED),
        when(timed_out, go=Stage.TIMED_OUT),
        otherwise=to(Stage.KILLED),
    ),
    at(Stage.ENDING, EndAsked, otherwise=to(Stage.ENDING)),
    at(
        Stage.ENDING,
        Ended,
        when(ended_by_itself, go=Stage.FINISHED),
        when(timed_out, go=Stage.TIMED_OUT),
        otherwise=to(Stage.KILLED),
    ),
    loop=Known,
    states=Stage,
    initial=Stage.RUNNING,
    endings=(Stage.FINISHED, Stage.TIMED_OUT, Stage.KILLED),
    keep=unchanged,
)
