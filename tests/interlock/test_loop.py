"""The loop as a story: each edge of the table taken by a run over scripted ports.

Phases, driver, guards and reducers are the shipped ones; what the world answers is scripted.
"""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from interlock.closing import INTERRUPTED
from interlock.testing import (
    CHAIN,
    Answer,
    CollapseStore,
    FakeClock,
    Hooks,
    Played,
    Queue,
    Stage,
    call,
    cut,
    fails,
    play,
    says,
    texts,
    tool,
)
from phases.world.failures import FailureKind, RefusedBlock
from phases.world.limits import Limits
from phases.world.loop import Features
from phases.world.messages import Kind, Message, Text, ToolResult
from phases.world.outcomes import Raised
from phases.world.ports import Spoken
from phases.world.states import State
from phases.world.updates import (
    AttemptDropped,
    Compaction,
    Ended,
    ModelSwitched,
    Notice,
    Recorded,
    RequestStarted,
    Retrying,
    TextArrived,
)

TOO_LONG = fails(FailureKind.PROMPT_TOO_LONG)
TOO_LARGE = fails(FailureKind.MEDIA_TOO_LARGE)
OVERLOADED = fails(FailureKind.OVERLOADED)
WINDOW = "model_context_window_exceeded"


def limits(**changes: Any) -> Limits:
    return evolve(Limits(), **changes)


def shown_errors(run: Played) -> list[str | None]:
    return [update.text for update in run.updates if isinstance(update, Ended) and update.error]


# --- whole answers and rounds of tools ---------------------------------------------------------


def test_an_answer_in_text_ends_the_run() -> None:
    run = play(says("hello"))

    assert run.visited == (
        "preprocess",
        "blocking_check",
        "api_call",
        "abort_check",
        "recovery.classify",
        "recovery.stop_hooks",
        "recovery.token_budget",
        "completed",
    )
    assert (run.ending, run.error) == (State.COMPLETED, None)
    assert texts(run.finished.messages) == ["do it", "hello"]


def test_a_call_is_run_and_its_result_is_the_next_input() -> None:
    run = play(call(tool("Read")), says("done"))

    assert run.visited[3:8] == (
        "abort_check",
        "tools",
        "attachments",
        "continuation",
        "preprocess",
    )
    assert run.reasons == ("next_turn",)
    assert texts(run.requests[1].messages) == ["do it", "", "Read ran"]
    assert run.finished.loop.state.turn_count == 2


def test_a_reply_with_calls_runs_them_whatever_its_stop_reason_says() -> None:
    run = play(evolve(call(tool("Read")), stop_reason="end_turn"), says("done"))

    assert run.reasons == ("next_turn",)


def test_a_finished_call_runs_and_the_cut_one_beside_it_is_answered() -> None:
    run = play(cut(call(tool("Read")), tool("Write")), says("done"))

    assert texts(run.requests[1].messages)[2:] == ["Read ran", "not run: cut"]
    assert run.reasons == ("next_turn",)


def test_attachments_join_the_results() -> None:
    typed = Message(id=CHAIN, role="user", kind=Kind.NOTE, content=(Text("also this"),))

    run = play(call(tool("Read")), says("done"), stage=Stage(attachments=Queue([(typed,)])))

    assert texts(run.requests[1].messages)[-2:] == ["Read ran", "also this"]


def test_a_caption_is_shown_one_iteration_after_the_tools_it_is_about() -> None:
    run = play(call(tool("Read")), says("done"), stage=Stage(captions=("read a file",)))

    captions = [update for update in run.updates if isinstance(update, Notice)]
    assert captions == [Notice("info", "read a file")]
    assert (
        run.updates.index(captions[0])
        > [index for index, u in enumerate(run.updates) if isinstance(u, RequestStarted)][1]
    )


@pytest.mark.parametrize(("limit", "ending"), [(1, State.MAX_TURNS), (2, State.COMPLETED)])
def test_exactly_max_turns_turns_run(limit: int, ending: State) -> None:
    run = play(call(tool("Read")), says("done"), stage=Stage(max_turns=limit))

    assert run.ending is ending
    assert len(run.requests) == limit


def test_the_budget_in_money_is_looked_at_before_every_request() -> None:
    run = play(call(tool("Read")), says("done"), stage=Stage(budget_usd=0.005))

    assert (run.ending, len(run.requests)) == (State.BUDGET_EXHAUSTED, 1)
    assert run.error == "budget_exhausted"


def test_an_unknown_price_is_no_zero() -> None:
    run = play(evolve(says("hi"), cost=None))

    assert run.finished.loop.spent.cost is None


# --- failures for now, other models, mended requests -------------------------------------------


def test_a_failure_that_may_pass_is_waited_out() -> None:
    clock = FakeClock()

    run = play(fails(FailureKind.SERVER), says("hi"), stage=Stage(clock=clock))

    assert run.visited[2:6] == ("api_call", "recovery.backoff", "api_call", "abort_check")
    assert clock.slept == [0.5]
    assert [u.attempt for u in run.updates if isinstance(u, Retrying)] == [1]
    assert shown_errors(run) == []


def test_waits_double_and_never_undercut_what_the_server_asks_for() -> None:
    clock = FakeClock(share=1.0)
    down = fails(FailureKind.SERVER)
    asked = fails(FailureKind.RATE_LIMITED, retry_after=20.0)

    play(down, down, down, asked, says("hi"), stage=Stage(clock=clock))

    assert clock.slept == [0.5 * 1.25, 1.0 * 1.25, 2.0 * 1.25, 20.0 * 1.25]


def test_a_server_that_asks_for_an_hour_is_told_to_the_user() -> None:
    run = play(fails(FailureKind.RATE_LIMITED, retry_after=3600.0))

    assert (run.ending, run.error) == (State.COMPLETED, "api_error")
    (text,) = shown_errors(run)
    assert text == (
        "scripted: rate_limited. The wait asked for (3,600 s) is longer than"
        " INTERLOCK_RETRY_AFTER_CAP_S allows (120 s)."
    )


def test_retries_end() -> None:
    down = fails(FailureKind.CONNECTION)

    run = play(down, down, down, stage=Stage(limits=limits(max_retries=2)))

    assert (run.ending, run.error, len(run.requests)) == (State.COMPLETED, "api_error", 3)


def test_an_overload_goes_to_the_next_model_once_its_retries_are_used_up() -> None:
    stage = Stage(models=("model-a", "model-b"), limits=limits(max_retries=1))

    run = play(OVERLOADED, OVERLOADED, says("hi"), stage=stage)

    assert [request.model for request in run.requests] == ["model-a", "model-a", "model-b"]
    assert run.trace.took("api_call", "api_call", "model_fallback")
    assert ModelSwitched("model-a", "model-b") in run.updates
    assert run.finished.loop.state.turn_count == 1


def test_the_last_model_has_no_fallback() -> None:
    stage = Stage(models=("model-a", "model-b"), limits=limits(max_retries=0))

    run = play(OVERLOADED, OVERLOADED, stage=stage)

    assert (run.ending, run.error) == (State.COMPLETED, "api_error")


def test_another_failure_than_an_overload_changes_no_model() -> None:
    stage = Stage(models=("model-a", "model-b"), limits=limits(max_retries=0))

    run = play(fails(FailureKind.SERVER), stage=stage)

    assert len(run.requests) == 1


def test_a_refused_block_is_replaced_by_a_note_and_asked_about_once_more() -> None:
    run = play(call(tool("Read")), refuses(3), says("hi"))

    assert run.trace.took("api_call", "api_call", "request_mended")
    mended = run.requests[2].messages[2]
    assert mended.replaces == id_of(3)
    (left,) = mended.content
    assert isinstance(left, ToolResult)
    assert left.text == "[taken out: the model's server refused it: scripted: block_refused]"
    assert mended in run.written
    told = [one.text for one in run.updates if isinstance(one, Notice)]
    assert told == ["Left out of the conversation: a result; scripted: block_refused"]


def test_a_call_goes_with_its_result_and_the_model_is_told() -> None:
    run = play(call(tool("Read")), refuses(2, 3), says("hi"))

    asked = run.requests[2].messages
    assert [block for message in asked for block in message.content] == [
        Text("do it"),
        Text(
            "[taken out: a call of Read and its result; the model's server refused it: scripted:"
            " block_refused. What it did, if it ran, stands]"
        ),
        Text("[taken out: the result of a call that was taken out as well]"),
    ]


def test_without_the_prompt_there_is_nothing_to_answer() -> None:
    run = play(refuses(1), says("hi"))

    assert (run.ending, run.error) == (State.COMPLETED, "api_error")
    assert len(run.requests) == 1
    (left,) = run.finished.messages
    assert left.replaces == id_of(1)
    assert left.text.startswith("[taken out: ")
    assert left in run.written


def test_an_answer_that_was_cut_is_told_by_what_and_which_call_did_not_run() -> None:
    by_cap = play(
        cut(says("and"), tool("Write")),
        says("the end"),
        stage=Stage(features=Features(output_cap=False)),
    )
    full = evolve(cut(says("and"), tool("Write")), stop_reason=WINDOW)
    by_window = play(full, says("summary"), says("the end"))

    for run, cause in (
        (by_cap, "by the output limit"),
        (by_window, "the context window was full"),
    ):
        words = run.requests[-1].messages[-1].text
        assert cause in words
        assert "in the middle of a call of Write: that did not run" in words


def test_a_hook_that_blocks_without_a_word_does_not_leave_the_request_to_end_in_a_reply() -> None:
    hooks = Hooks([Spoken(blocking_errors=(" ",)), Spoken()])

    run = play(says("1"), says("2"), stage=Stage(stop_hooks=hooks))

    assert run.requests[1].messages[-1].role == "user"
    assert "did not say why" in run.requests[1].messages[-1].text


def id_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def refuses(*numbers: int) -> Answer:
    """A 400 that is about the first blocks of these messages."""
    blocks = (RefusedBlock(message_id=id_of(one), block=0, what="a result") for one in numbers)
    return fails(FailureKind.BLOCK_REFUSED, refused=tuple(blocks))


def test_mends_end() -> None:
    place = RefusedBlock(message_id="?", block=0)
    refused = fails(FailureKind.BLOCK_REFUSED, refused=(place,))

    run = play(refused, refused, stage=Stage(limits=limits(max_mends=1)))

    assert (run.ending, run.error) == (State.COMPLETED, "api_error")


def test_a_foreseen_failure_is_an_answer_with_an_error_and_no_hook_judges_it() -> None:
    hooks = Hooks([Spoken(prevented="no")])

    run = play(fails(FailureKind.AUTHENTICATION), stage=Stage(stop_hooks=hooks))

    assert (run.ending, run.error) == (State.COMPLETED, "api_error")
    assert hooks.seen_active == []
    assert hooks.failures == ["scripted: authentication"]


# --- too long, too large -----------------------------------------------------------------------


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


# --- answers that are not whole ----------------------------------------------------------------


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


# --- hooks and budgets -------------------------------------------------------------------------


def test_a_stop_hook_sends_the_model_back_to_work() -> None:
    hooks = Hooks([Spoken(blocking_errors=("tests fail",))])

    run = play(says("done"), says("now it is"), stage=Stage(stop_hooks=hooks))

    assert run.reasons == ("stop_hook_blocking",)
    assert run.requests[1].messages[-1].text == "tests fail"
    assert hooks.seen_active == [False, True]
    assert run.error is None


def test_a_hook_that_always_blocks_is_bounded_over_the_whole_prompt() -> None:
    hooks = Hooks([Spoken(blocking_errors=("no",))] * 5)
    stage = Stage(stop_hooks=hooks, limits=limits(max_stop_blocks=2))

    run = play(says("1"), call(tool("Read")), says("2"), says("3"), stage=stage)

    assert run.reasons == ("stop_hook_blocking", "next_turn", "stop_hook_blocking")
    assert run.ending is State.STOP_HOOK_PREVENTED
    words = run.finished.terminal.text or ""
    assert words.startswith("Stop hooks sent the model back to work 2 times")
    assert words.endswith(": no")


def test_a_hook_can_forbid_going_on() -> None:
    stage = Stage(stop_hooks=Hooks([Spoken(prevented="enough")]))

    run = play(says("done"), stage=stage)

    assert run.ending is State.STOP_HOOK_PREVENTED
    assert run.finished.terminal.text == "A stop hook ended the run: enough"


def test_a_blocked_stop_gives_no_second_compaction() -> None:
    hooks = Hooks([Spoken(blocking_errors=("no",))])

    run = play(TOO_LONG, says("a summary"), says("done"), TOO_LONG, stage=Stage(stop_hooks=hooks))

    assert run.ending is State.PROMPT_TOO_LONG
    assert run.reasons == ("reactive_compact_retry", "stop_hook_blocking")


def test_a_hook_in_tool_work_ends_the_run_without_an_error() -> None:
    run = play(call(tool("Bash")), stage=Stage(hook_stopped="that is enough"))

    assert (run.ending, run.error) == (State.HOOK_STOPPED, None)


def test_a_token_budget_is_used_until_its_mark() -> None:
    run = play(says("some", tokens=600), says("more", tokens=600), stage=Stage(token_budget=1_000))

    assert run.reasons == ("token_budget_continuation",)
    assert run.requests[1].messages[-1].kind is Kind.NOTE
    assert (run.ending, run.error) == (State.COMPLETED, None)


def test_nudging_stops_when_it_brings_little() -> None:
    run = play(
        says("a", tokens=600),
        says("b", tokens=10),
        says("c", tokens=10),
        stage=Stage(token_budget=100_000),
    )

    assert run.reasons == ("token_budget_continuation",) * 2


def test_nudges_end() -> None:
    run = play(
        says("a", tokens=600),
        says("b", tokens=600),
        stage=Stage(token_budget=100_000, limits=limits(max_nudges=1)),
    )

    assert run.reasons == ("token_budget_continuation",)


def test_a_sub_agent_is_never_nudged() -> None:
    run = play(says("a"), stage=Stage(token_budget=100_000, agent_id="child"))

    assert run.reasons == ()


# --- interrupts --------------------------------------------------------------------------------


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


# --- phases that break -------------------------------------------------------------------------


class Broken(Exception):
    pass


def break_in(state: State, monkeypatch: pytest.MonkeyPatch, stage: Stage | None = None) -> None:
    """Let the phase of `state` raise; with a `stage`, an interrupt comes in the same moment."""
    from interlock import drive

    async def broken(loop: object, ports: object) -> object:
        if stage is not None:
            stage.interrupt.request()
        raise Broken("what no one foresaw")

    monkeypatch.setattr(drive, "ACTS", {**drive.ACTS, state: broken})


WAY_TO = {
    State.PREPROCESS: (),
    State.BLOCKING_CHECK: (),
    State.API_CALL: (),
    State.ABORT_CHECK: (says("hi"),),
    State.RECOVERY_BACKOFF: (fails(FailureKind.SERVER),),
    State.RECOVERY_CLASSIFY: (says("hi"),),
    State.RECOVERY_COLLAPSE_DRAIN: (TOO_LONG,),
    State.RECOVERY_REACTIVE_COMPACT: (TOO_LARGE,),
    State.RECOVERY_STOP_HOOKS: (says("hi"),),
    State.RECOVERY_TOKEN_BUDGET: (says("hi"),),
    State.TOOLS: (call(tool("Bash")),),
    State.ATTACHMENTS: (call(tool("Bash")),),
    State.CONTINUATION: (call(tool("Bash")),),
}


@pytest.mark.parametrize("state", WAY_TO, ids=str)
def test_a_phase_that_breaks_ends_in_model_error_with_every_call_answered(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_in(state, monkeypatch)

    run = play(*WAY_TO[state], stage=Stage(collapse=CollapseStore([1])))

    assert run.visited[-2:] == (state.value, "model_error")
    assert "what no one foresaw" in (run.finished.terminal.text or "")
    calls = {call.id for message in run.finished.messages for call in message.calls}
    assert calls == results_of(run.finished.messages)


@pytest.mark.parametrize("state", WAY_TO, ids=str)
def test_a_phase_that_breaks_on_an_interrupt_ends_as_an_interrupt_where_it_can(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(collapse=CollapseStore([1]))
    break_in(state, monkeypatch, stage)

    run = play(*WAY_TO[state], stage=stage)

    assert isinstance(run.steps[-1].outcome, Raised) or state is State.API_CALL
    assert run.ending in (State.MODEL_ERROR, State.ABORTED_STREAMING, State.ABORTED_TOOLS)
    if state in (State.TOOLS, State.ATTACHMENTS):
        assert run.ending is State.ABORTED_TOOLS


# --- what consumers see ------------------------------------------------------------------------


def test_what_is_shown_is_what_is_written() -> None:
    half = says("half", stop_reason="max_tokens")

    run = play(half, half, call(tool("Read")), TOO_LONG, says("a summary"), says("done"))

    shown = [update.message for update in run.updates if isinstance(update, Recorded)]
    assert shown == list(run.written)


def test_the_request_is_announced_before_it_leaves_and_the_end_comes_last() -> None:
    run = play(says("hi"))

    kinds = [type(update) for update in run.updates]
    assert kinds.index(RequestStarted) < kinds.index(TextArrived)
    assert kinds[-1] is Ended


def results_of(messages: tuple[Message, ...]) -> set[str]:
    return {
        block.tool_use_id
        for message in messages
        for block in message.content
        if isinstance(block, ToolResult)
    }


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
