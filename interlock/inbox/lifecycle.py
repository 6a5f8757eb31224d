"""What becomes of a queued message, as a machine: read with a run, or a prompt of its own.

A message that was read is completed when the run that read it has returned. A run that was
torn down leaves it `injected`: it is in the history, and nobody can say it was dealt with.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from fsm import Machine, at, machine, to, when


class Stage(StrEnum):
    """Where a queued message stands."""

    QUEUED = "queued"
    INJECTED = "injected"  # into a run under way, or in front of the prompt that followed
    COMPLETED = "completed"
    PROMPT = "prompt"  # it became a prompt of its own


@frozen
class Taken:
    """The message left the queue."""

    alone: bool = False  # to be a prompt of its own

    @classmethod
    def specimens(cls) -> tuple[Taken, ...]:
        return (cls(), cls(alone=True))


@frozen
class RunReturned:
    """The run that read the message came to an ending, whichever."""

    @classmethod
    def specimens(cls) -> tuple[RunReturned, ...]:
        return (cls(),)


@frozen
class Known:
    """All that a decision about a message may read: its id; the rest is in the outcome."""

    id: str


def taken_alone(known: Known, outcome: Taken) -> bool:
    return outcome.alone


def unchanged(known: Known, outcome: object) -> Known:
    return known


QUEUED_MESSAGE: Machine[Known] = machine(
    "queued_message",
    at(Stage.QUEUED, Taken, when(taken_alone, go=Stage.PROMPT), otherwise=to(Stage.INJECTED)),
    at(Stage.INJECTED, RunReturned, otherwise=to(Stage.COMPLETED)),
    loop=Known,
    states=Stage,
    initial=Stage.QUEUED,
    endings=(Stage.COMPLETED, Stage.PROMPT),
    keep=unchanged,
)
