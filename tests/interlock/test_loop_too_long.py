"""The loop as a story: what is too long or too large is drained, compacted, or given up."""

from __future__ import annotations

from interlock.testing import CollapseStore, Stage, fails, play, says, texts
from phases.world.failures import FailureKind
from phases.world.loop import Features
from phases.world.messages import Kind, Message, Text
from phases.world.states import State
from phases.world.updates import Compaction
from tests.interlock.scenes import TOO_LARGE, TOO_LONG, WINDOW, limits, shown_errors


def test_a_prompt_too_long_is_compacted_once_and_then_given_up() -> None:
    run = play(TOO_LONG, says("a summary"), TOO_LONG)

    assert run.visited[-3:] == ("abort_check", "recovery.classify", "prompt_too_long")
    assert run.reasons == ("reactive_compact_retry",)
    assert len(shown_errors(run)) == 1


def test_a_compaction_keeps_the_users_words_and_is_shown() -> None:
    run = play(TOO_LONG, says("a summary"), says("done"))

    assert run.ending is State.COMPLETED
    (summary,) = run.requests[2].messages
    assert summary.kind is Kind.SUMMARY
    assert "do it" in summary.text
    assert "a summary" in summary.text
    assert [type(update) for update in run.updates if isinstance(update, Compaction)] == [
        Compaction
    ]
    assert shown_errors(run) == []


def test_a_summary_that_cannot_be_had_leaves_the_withheld_error() -> None:
    run = play(TOO_LONG, fails(FailureKind.AUTHENTICATION))

    assert run.ending is State.PROMPT_TOO_LONG
    assert shown_errors(run) == [
        "The conversation is too long for the model's context window. scripted: prompt_too_long"
    ]


def test_a_summary_that_is_cut_is_no_summary_and_the_history_is_cut_without_one() -> None:
    half = says("half a", stop_reason="max_tokens")

    run = play(TOO_LONG, half, half, half, says("done"))

    assert run.reasons == ("reactive_compact_retry",)
    assert [request.purpose for request in run.requests].count("compact") == 3
    (summary,) = run.requests[-1].messages
    assert "do it" in summary.text
    assert "No summary could be written" in summary.text
    assert run.ending is State.COMPLETED


def test_without_reactive_compact_the_error_is_the_end() -> None:
    run = play(TOO_LONG, stage=Stage(features=Features(reactive_compact=False)))

    assert (run.ending, len(run.requests)) == (State.PROMPT_TOO_LONG, 1)


def test_staged_collapses_are_drained_before_anything_is_summarised() -> None:
    run = play(TOO_LONG, says("done"), stage=Stage(collapse=CollapseStore([2, 0])))

    assert run.reasons == ("collapse_drain_retry",)
    assert run.trace.took("recovery.collapse_drain", "preprocess", "collapse_drain_retry")
    transition = run.finished.loop.state.transition
    assert transition is not None
    assert transition.committed == 2


def test_a_drain_that_did_not_help_is_not_tried_again() -> None:
    stage = Stage(collapse=CollapseStore([1, 1]))

    run = play(TOO_LONG, TOO_LONG, says("a summary"), says("done"), stage=stage)

    assert run.reasons == ("collapse_drain_retry", "reactive_compact_retry")


def test_a_drain_that_commits_nothing_goes_on_to_the_summary() -> None:
    stage = Stage(collapse=CollapseStore([1, 0], committed=[0]))

    run = play(TOO_LONG, says("a summary"), says("done"), stage=stage)

    assert run.trace.took("recovery.collapse_drain", "recovery.reactive_compact")


def test_a_drain_that_commits_nothing_ends_the_run_where_no_summary_is_left() -> None:
    stage = Stage(
        collapse=CollapseStore([1], committed=[0]), features=Features(reactive_compact=False)
    )

    run = play(TOO_LONG, stage=stage)

    assert run.visited[-2:] == ("recovery.collapse_drain", "prompt_too_long")


def test_media_too_large_is_compacted_and_then_given_up() -> None:
    run = play(TOO_LARGE, says("a summary"), TOO_LARGE)

    assert run.ending is State.IMAGE_ERROR
    assert run.reasons == ("reactive_compact_retry",)


def test_media_too_large_without_a_summary_ends_in_its_own_ending() -> None:
    run = play(TOO_LARGE, fails(FailureKind.AUTHENTICATION))

    assert run.visited[-2:] == ("recovery.reactive_compact", "image_error")


def test_a_view_over_the_hard_limit_is_not_sent_but_compacted() -> None:
    stage = Stage(limits=limits(context_window=4_000), earlier=rounds(20))

    run = play(says("a summary"), says("done"), stage=stage)

    assert run.visited[:3] == ("preprocess", "blocking_check", "recovery.reactive_compact")
    assert [request.purpose for request in run.requests] == ["compact", "main"]


def test_a_view_that_cannot_be_made_smaller_ends_in_blocking_limit_and_asks_nothing() -> None:
    stage = Stage(limits=limits(context_window=3_050), features=Features(reactive_compact=False))

    run = play(stage=stage)

    assert (run.ending, len(run.requests)) == (State.BLOCKING_LIMIT, 0)


def test_a_compaction_that_fails_on_the_way_in_ends_in_blocking_limit() -> None:
    stage = Stage(limits=limits(context_window=3_050))

    run = play(fails(FailureKind.SERVER), stage=stage)

    assert run.visited[-2:] == ("recovery.reactive_compact", "blocking_limit")


def test_a_window_that_fills_within_the_reply_is_compacted_and_the_reply_goes_on() -> None:
    run = play(says("half", stop_reason=WINDOW), says("a summary"), says("the rest"))

    assert run.reasons == ("reactive_compact_retry",)
    assert texts(run.requests[2].messages)[1] == "half"
    assert run.finished.messages[-1].text == "the rest"


def test_a_window_that_fills_again_ends_the_run_and_the_cut_reply_stays() -> None:
    run = play(
        says("half", stop_reason=WINDOW), says("a summary"), says("more", stop_reason=WINDOW)
    )

    assert run.ending is State.PROMPT_TOO_LONG
    assert run.finished.messages[-1].text == "more"


def rounds(number: int) -> tuple[Message, ...]:
    """Earlier questions and answers, enough to fill a small window."""
    return tuple(
        Message(
            id=f"00000000-0000-4000-9000-{at:012x}",
            role="assistant" if at % 2 else "user",
            kind=Kind.REPLY if at % 2 else Kind.NOTE,
            content=(Text("word " * 20),),
        )
        for at in range(2 * number)
    )
