"""The loop as a story: an interrupt at each moment at which one can come."""

from __future__ import annotations

from attrs import evolve

from interlock.closing import INTERRUPTED
from interlock.testing import Hooks, Queue, Stage, call, fails, play, says, texts, tool
from phases.world.failures import FailureKind
from phases.world.states import State
from phases.world.updates import AttemptDropped
from tests.interlock.scenes import TOO_LONG


def test_an_interrupt_before_anything_was_sent() -> None:
    stage = Stage()
    stage.interrupt.request()

    run = play(stage=stage)

    assert run.visited == ("preprocess", "aborted_streaming")
    assert run.requests == ()


def test_an_interrupt_in_mid_stream_takes_the_reply_back() -> None:
    stage = Stage()
    answer = evolve(call(tool("Bash"), text="I will"), during=stage.interrupt.request)

    run = play(answer, stage=stage)

    assert run.visited[-3:] == ("api_call", "abort_check", "aborted_streaming")
    assert texts(run.finished.messages) == ["do it", INTERRUPTED]
    assert AttemptDropped() in run.updates


def test_an_interrupt_breaks_the_wait_before_another_attempt() -> None:
    stage = Stage()
    stage.clock.on_sleep = stage.interrupt.request

    run = play(fails(FailureKind.SERVER), stage=stage)

    assert run.visited[-2:] == ("recovery.backoff", "aborted_streaming")
    assert stage.clock.slept == []


def test_an_interrupt_while_tools_run_answers_every_call() -> None:
    stage = Stage()
    stage.tool_during = lambda call: stage.interrupt.request()

    run = play(call(tool("Bash", 1), tool("Bash", 2)), stage=stage)

    assert run.ending is State.ABORTED_TOOLS
    assert texts(run.finished.messages)[2:] == ["Bash ran", "not run: interrupted", INTERRUPTED]


def test_an_interrupt_while_attachments_are_gathered() -> None:
    stage = Stage()
    stage.attachments = Queue([], during=stage.interrupt.request)

    run = play(call(tool("Read")), stage=stage)

    assert run.visited[-2:] == ("attachments", "aborted_tools")


def test_an_interrupt_while_the_history_is_summarised() -> None:
    stage = Stage()
    summary = evolve(says("a summary"), during=stage.interrupt.request)

    run = play(TOO_LONG, summary, stage=stage)

    assert run.visited[-2:] == ("recovery.reactive_compact", "aborted_streaming")


def test_an_interrupt_while_stop_hooks_run() -> None:
    stage = Stage()
    stage.stop_hooks = Hooks([], during=stage.interrupt.request)

    run = play(says("done"), stage=stage)

    assert run.visited[-2:] == ("recovery.stop_hooks", "aborted_streaming")


def test_an_interrupt_while_a_caption_is_awaited() -> None:
    stage = Stage(captions=("never shown",))
    stage.caption_during = stage.interrupt.request

    run = play(call(tool("Read")), stage=stage)

    assert run.visited[-2:] == ("preprocess", "aborted_streaming")
    assert run.requests[1:] == ()
