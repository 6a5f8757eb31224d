"""The loop as a story: answers that are not whole are asked for again, or go on."""

from __future__ import annotations

import pytest
from attrs import evolve

from interlock.testing import Stage, call, cut, play, says, texts, tool
from phases.world.messages import Kind
from phases.world.states import State
from tests.interlock.scenes import limits, results_of, shown_errors


def test_a_truncated_answer_is_asked_for_again_with_a_higher_cap_and_nothing_else_changed() -> (
    None
):
    run = play(says("half an", stop_reason="max_tokens"), says("a whole answer"))

    first, second = run.requests
    assert (first.max_tokens, second.max_tokens) == (8_000, 64_000)
    assert first.messages == second.messages
    assert run.reasons == ("max_output_tokens_escalate",)
    assert texts(run.written) == ["do it", "a whole answer"]


def test_what_is_still_truncated_is_continued_in_pieces() -> None:
    half = says("half", stop_reason="max_tokens")

    run = play(half, half, says("the rest"))

    assert run.reasons == ("max_output_tokens_escalate", "max_output_tokens_recovery")
    assert run.requests[2].messages[-1].kind is Kind.NOTE
    assert run.requests[2].max_tokens == 8_000
    assert [message.text for message in run.written if message.kind is Kind.REPLY] == [
        "half",
        "the rest",
    ]


def test_continuations_end_and_the_cut_answer_is_told_as_such() -> None:
    half = says("half", stop_reason="max_tokens")

    run = play(half, half, half, stage=Stage(output_cap=50, limits=limits(max_recoveries=2)))

    assert [request.max_tokens for request in run.requests] == [50, 50, 50]
    assert run.reasons == ("max_output_tokens_recovery",) * 2
    assert (run.ending, run.error) == (State.COMPLETED, "max_output_tokens")


def test_a_cut_call_alone_is_a_truncated_answer_and_leaves_no_open_call() -> None:
    run = play(
        cut(says("I will"), tool("Write")),
        cut(says("I will"), tool("Write", 2)),
        says("done"),
    )

    assert run.reasons == ("max_output_tokens_escalate", "max_output_tokens_recovery")
    assert not any(message.calls for message in run.finished.messages)


def test_a_paused_turn_is_sent_back_as_it_is() -> None:
    run = play(says("searching", stop_reason="pause_turn"), says("found"))

    assert run.reasons == ("pause_turn_continuation",)
    assert texts(run.requests[1].messages) == ["do it", "searching"]


def test_pauses_end() -> None:
    pause = says("searching", stop_reason="pause_turn")

    run = play(pause, pause, stage=Stage(limits=limits(max_pauses=1)))

    assert (run.ending, run.error) == (State.COMPLETED, "pause_limit")


@pytest.mark.parametrize(
    ("stop_reason", "error"),
    [
        ("refusal", "refusal"),
        ("a_reason_of_tomorrow", "unknown_stop_reason"),
        (None, "unknown_stop_reason"),
    ],
)
def test_an_answer_that_ended_oddly_says_how(stop_reason: str | None, error: str) -> None:
    run = play(says("well", stop_reason=stop_reason))

    assert (run.ending, run.error) == (State.COMPLETED, error)
    assert "recovery.stop_hooks" not in run.visited


def test_a_tool_call_that_was_announced_and_not_made_is_told_as_such() -> None:
    run = play(says("Let me look.", stop_reason="tool_use"))

    assert (run.ending, run.error) == (State.COMPLETED, "unknown_stop_reason")
    assert shown_errors(run) == ["The model announced a tool call and made none."]


def test_a_refusal_runs_no_tool_and_leaves_no_open_call() -> None:
    run = play(evolve(call(tool("Bash")), stop_reason="refusal"))

    assert run.error == "refusal"
    assert "tools" not in run.visited
    assert results_of(run.finished.messages) == {"toolu_Bash_1"}
