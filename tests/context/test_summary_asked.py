"""A summary of the history: what is asked, and what comes of failures."""

from __future__ import annotations

import pytest
from attrs import evolve

from interlock.context.summary import INSTRUCTION
from interlock.testing import call as calls
from interlock.testing import fails
from interlock.testing import says as writes
from phases.world.failures import FailureKind
from phases.world.messages import Thinking, ToolResult
from tests.context.sessions import call, loop_of, results, round_, rounds, says, user
from tests.context.summaries import PICTURE, TOO_LONG, summarised, words


def test_the_request_is_the_sessions_own_with_one_instruction_at_its_end() -> None:
    view = (*rounds(3), says("that is it"), user("and now?"))

    made = summarised(view, writes("the summary"))

    (request,) = made.model.requests
    assert request.messages[:-1] == view
    assert request.messages[-1].text == INSTRUCTION
    assert (request.model, request.purpose) == ("model-a", "compact")
    assert made.outcome.problem is None


def test_a_focus_is_told_beside_the_instruction() -> None:
    made = summarised(rounds(1), writes("s"), trigger="manual", focus="the port number")

    assert made.model.requests[0].messages[-1].text.startswith(INSTRUCTION)
    assert "the port number" in made.model.requests[0].messages[-1].text


def test_calls_in_the_answer_are_ignored() -> None:
    made = summarised(rounds(1), calls(call(), text="the summary"))

    assert "the summary" in made.view[0].text
    assert not any(message.calls for message in made.view)


def test_what_it_cost_is_added_up_failed_tries_included() -> None:
    made = summarised(rounds(8), evolve(TOO_LONG, cost=0.25), writes("s", tokens=7))

    assert (made.outcome.cost, made.outcome.tokens) == (0.25 + 0.01, 7)


def test_what_may_pass_is_tried_again_after_a_short_wait() -> None:
    made = summarised(rounds(2), fails(FailureKind.OVERLOADED), writes("s"))

    assert made.clock.slept == [0.5]
    first, second = made.model.requests
    assert first == second
    assert made.outcome.problem is None


def test_where_the_model_stays_overloaded_a_fallback_model_writes_the_summary() -> None:
    view = (*rounds(2), *round_(call(), "text", thinks=True), says("so"))
    loop = loop_of(view)
    loop = evolve(loop, run=evolve(loop.run, models=("model-a", "model-b")))

    made = summarised(view, *[fails(FailureKind.OVERLOADED)] * 3, writes("s"), loop=loop)

    assert [request.model for request in made.model.requests] == ["model-a"] * 3 + ["model-b"]
    assert not any(
        isinstance(block, Thinking)
        for message in made.model.requests[-1].messages
        for block in message.content
    )
    assert made.outcome.problem is None


def test_what_does_not_pass_in_time_leads_to_the_cut_where_the_run_would_end_else() -> None:
    down = [fails(FailureKind.SERVER)] * 3

    assert summarised(rounds(9), *down).outcome.view is not None
    assert summarised(rounds(9), *down, trigger="manual").outcome.view is None
    assert summarised(rounds(9), *down, trigger="auto").outcome.view is None


def test_a_long_pause_that_the_server_asks_for_is_not_waited_for() -> None:
    made = summarised(rounds(9), fails(FailureKind.RATE_LIMITED, retry_after=600.0))

    assert made.clock.slept == []
    assert made.outcome.view is not None


@pytest.mark.parametrize("kind", [FailureKind.AUTHENTICATION, FailureKind.BILLING])
def test_a_history_is_not_cut_for_what_the_next_request_would_meet_too(kind: FailureKind) -> None:
    made = summarised(rounds(9), fails(kind))

    assert (made.outcome.view, len(made.model.requests)) == (None, 1)


@pytest.mark.parametrize("kind", [FailureKind.BLOCK_REFUSED, FailureKind.MEDIA_TOO_LARGE])
def test_a_refused_picture_in_the_history_is_left_out_of_the_next_try(kind: FailureKind) -> None:
    asked = call()
    view = (user("see"), says(asked), results(ToolResult(asked.id, (PICTURE,))), says("ah"))

    made = summarised(view, fails(kind), writes("s"))

    assert "[image left out]" in words(made.model.requests[1].messages)
    assert made.outcome.problem is None
