"""The loop as a story: failures for now, other models, mended requests."""

from __future__ import annotations

from attrs import evolve

from interlock.testing import Answer, FakeClock, Hooks, Stage, call, cut, fails, play, says, tool
from phases.world.failures import FailureKind, RefusedBlock
from phases.world.loop import Features
from phases.world.messages import Text, ToolResult
from phases.world.ports import Spoken
from phases.world.states import State
from phases.world.updates import ModelSwitched, Notice, Retrying
from tests.interlock.scenes import OVERLOADED, WINDOW, limits, shown_errors


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
