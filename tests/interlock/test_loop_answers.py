"""The loop as a story: whole answers and rounds of tools, and what consumers see of them."""

from __future__ import annotations

import pytest
from attrs import evolve

from interlock.testing import CHAIN, Queue, Stage, call, cut, play, says, texts, tool
from phases.world.messages import Kind, Message, Text
from phases.world.states import State
from phases.world.updates import Ended, Notice, Recorded, RequestStarted, TextArrived
from tests.interlock.scenes import TOO_LONG


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
