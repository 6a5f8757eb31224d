"""Calls in a reply: parsed once and strictly, and what became of them is told apart."""

from __future__ import annotations

from typing import Any

import pytest

from phases.world.messages import ToolUse
from phases.world.ports import CallFinished, TextDelta
from tests.model.streams import assembled, begun, call, closed, ended, fed, opened, text

TRUE = '{"command": "true"}'


def content(*events: Any, **more: Any) -> tuple[Any, ...]:
    return assembled(begun(), *events, **more).reply().message.content


def test_a_call_without_input_has_an_empty_one() -> None:
    reply = assembled(begun(), call(0, ""), ended("tool_use")).reply()

    assert reply.message.calls == (ToolUse("toolu_0", "Bash", {}),)
    assert reply.calls == ("toolu_0",)


def test_input_that_stands_in_the_first_event_counts() -> None:
    start = opened(0, "tool_use", id="t", name="Bash", input={"command": "ls"})

    assert content([start, closed(0)], ended()) == (ToolUse("t", "Bash", {"command": "ls"}),)


@pytest.mark.parametrize(
    "broken",
    [
        '{"command": "tr',
        '{"command": "true"} and more',
        '{"timeout": NaN}',
        '{"timeout": 1e999}',
        '["true"]',
        '"true"',
        "{'command': 'true'}",
        '{"a":' * 5000,
        '{"a":' + "[" * 300 + "]" * 300 + "}",
    ],
    ids=["cut", "trailing", "nan", "huge", "array", "string", "quotes", "open", "deep"],
)
def test_broken_json_is_a_finished_call_with_a_problem(broken: str) -> None:
    assembler, told = fed(begun(), call(0, broken), text(1, "x"), ended("tool_use"))

    reply = assembler.reply()
    assert told == [TextDelta("x")]  # not offered: it cannot run
    (finished,) = reply.message.calls
    assert finished.input == {}
    assert finished.problem is not None
    assert "no valid JSON object" in finished.problem
    assert len(finished.problem) < 400
    assert (reply.calls, reply.cut_calls) == (("toolu_0",), ())


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("partial", ["", '{"command": "rm -rf build", "timeo'])
def test_a_call_that_a_limit_cut_is_not_offered_and_not_finished(
    reason: str, partial: str
) -> None:
    assembler, told = fed(begun(), call(0, TRUE), call(1, partial), ended(reason))

    reply = assembler.reply()
    whole = ToolUse("toolu_0", "Bash", {"command": "true"})
    assert told == [CallFinished(whole)]
    assert reply.message.content == (whole, ToolUse("toolu_1", "Bash", {}))
    assert (reply.calls, reply.cut_calls) == (("toolu_0",), ("toolu_1",))


def test_a_call_that_was_whole_before_the_cap_cut_is_finished() -> None:
    reply = assembled(begun(), call(0, TRUE), ended("max_tokens")).reply()

    assert (reply.calls, reply.cut_calls) == (("toolu_0",), ())


def test_a_last_call_that_filled_the_window_is_cut_even_if_whole() -> None:
    reply = assembled(begun(), call(0, TRUE), ended("model_context_window_exceeded")).reply()

    assert (reply.calls, reply.cut_calls) == ((), ("toolu_0",))


def test_a_call_whose_block_never_ended_is_cut() -> None:
    reply = assembled(begun(), call(0, TRUE)[:-1], ended("tool_use")).reply()

    assert (reply.calls, reply.cut_calls) == ((), ("toolu_0",))


@pytest.mark.parametrize("told", ["toolu_1", "used before", "", None, "x" * 200])
def test_an_id_that_is_taken_or_malformed_is_replaced(told: str | None) -> None:
    events = [
        *call(0, TRUE, id="toolu_1"),
        opened(1, "tool_use", id=told, name="Bash", input={}),
        closed(1),
    ]

    reply = assembled(begun(), events, ended("tool_use"), taken={"toolu_2"}).reply()

    assert reply.calls == ("toolu_1", "toolu_000000000000400080000000")


def test_an_id_of_the_conversation_is_not_used_again() -> None:
    reply = assembled(begun(), call(0, TRUE, id="old"), ended(), taken={"old"}).reply()

    assert reply.calls == ("toolu_000000000000400080000000",)


def test_a_name_that_the_api_would_refuse_is_made_harmless() -> None:
    start = opened(0, "tool_use", id="t", name="functions.Bash!", input={})

    assert content([start, closed(0)], ended()) == (ToolUse("t", "functions_Bash_", {}),)
