"""The golden runs: each a short story whose decisions must never change unnoticed.

`make golden` records them anew; the diff of the traces then shows in review which decisions a
change of the table has moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve

from interlock.testing import (
    CollapseStore,
    Hooks,
    Played,
    Stage,
    call,
    cut,
    fails,
    play,
    says,
    tool,
)
from phases.world.failures import FailureKind, RefusedBlock
from phases.world.limits import Limits
from phases.world.ports import Spoken

TOO_LONG = fails(FailureKind.PROMPT_TOO_LONG)
OVERLOADED = fails(FailureKind.OVERLOADED)
HALF = says("half", stop_reason="max_tokens")
RESULT_ID = "00000000-0000-4000-8000-000000000003"  # of the third message


def worked_example() -> Played:
    """Read the test, read the code, run, edit, run again, answer."""
    names = ("Read", "Read", "Bash", "Edit", "Bash")
    turns = [call(tool(name, number)) for number, name in enumerate(names)]
    return play(*turns, says("The test passes now."))


def reactive_compact() -> Played:
    """A prompt too long: drained, still too long, summarised, answered."""
    stage = Stage(collapse=CollapseStore([2, 0, 0]))
    return play(call(tool("Read")), TOO_LONG, TOO_LONG, says("summary"), says("done"), stage=stage)


def overflow_for_good() -> Played:
    """Every way back is tried, then the error is shown."""
    return play(TOO_LONG, says("summary"), TOO_LONG, stage=Stage(collapse=CollapseStore([1, 0])))


def truncated() -> Played:
    """The cap is lifted once, then the answer comes in pieces; a cut call is not run."""
    return play(HALF, cut(says("and"), tool("Write")), HALF, HALF, says("the end"))


def overloaded() -> Played:
    """Waits, then the fallback model, which stays."""
    limits = evolve(Limits(), max_retries=2)
    stage = Stage(models=("model-a", "model-b"), limits=limits)
    return play(OVERLOADED, OVERLOADED, OVERLOADED, call(tool("Read")), says("done"), stage=stage)


def refused_block() -> Played:
    """A block the server refuses is replaced by a note."""
    place = RefusedBlock(message_id=RESULT_ID, block=0, what="a result of Read")
    refused = fails(FailureKind.BLOCK_REFUSED, refused=(place,))
    return play(call(tool("Read")), refused, says("done"))


def stop_hooks() -> Played:
    """Two blocks with a round of tools between them; the third is one too many."""
    hooks = Hooks([Spoken(blocking_errors=("tests fail",))] * 3)
    stage = Stage(stop_hooks=hooks, limits=evolve(Limits(), max_stop_blocks=2))
    return play(says("1"), call(tool("Bash")), says("2"), says("3"), stage=stage)


def token_budget() -> Played:
    """A budget is used until little comes of it."""
    answers = [says(text, tokens=gain) for text, gain in (("a", 900), ("b", 80), ("c", 60))]
    return play(*answers, stage=Stage(token_budget=1_000_000))


def paused() -> Played:
    """A paused turn is sent back as it is."""
    return play(says("searching", stop_reason="pause_turn"), says("found"))


def interrupted_in_tools() -> Played:
    """The user stops while the first of two calls runs."""
    stage = Stage()
    stage.tool_during = lambda use: stage.interrupt.request()
    return play(call(tool("Bash", 1), tool("Bash", 2)), stage=stage)


def interrupted_in_stream() -> Played:
    """The user stops while the model answers."""
    stage = Stage()
    return play(evolve(says("I will"), during=stage.interrupt.request), stage=stage)


def out_of_turns() -> Played:
    """The limit of turns is exact."""
    return play(call(tool("Read", 1)), call(tool("Read", 2)), stage=Stage(max_turns=2))


STORIES: Mapping[str, Callable[[], Played]] = {
    story.__name__: story
    for story in (
        worked_example,
        reactive_compact,
        overflow_for_good,
        truncated,
        overloaded,
        refused_block,
        stop_hooks,
        token_budget,
        paused,
        interrupted_in_tools,
        interrupted_in_stream,
        out_of_turns,
    )
}
