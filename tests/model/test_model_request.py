"""The gate: whatever the loop's history looks like, what leaves is what the API takes."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import orjson
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.request import Gate
from interlock.model.turns import HistoryError
from interlock.scripted import SignatureBook
from interlock.scripted.validate import problems
from phases.world.messages import (
    Message,
    Opaque,
    Origin,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
)
from phases.world.usage import Usage
from tests.model.histories import (
    PIXEL,
    TOOL,
    asking,
    assistant,
    body,
    call,
    histories,
    marked,
    result,
    unmarked,
    user,
)

HM, SEALED = Thinking("hm  \n", "c2ln"), RedactedThinking("b3BhcXVl")


def blocks_of(sent: Any) -> list[list[str]]:
    return [[block["type"] for block in message["content"]] for message in sent["messages"]]


# --- what leaves -----------------------------------------------------------------------------


def test_a_request_holds_the_whole_of_what_is_asked() -> None:
    gate = Gate(system=("You are terse.", " "), tools=(TOOL,))

    assert body(user("hello"), gate=gate) == {
        "model": "m",
        "max_tokens": 8000,
        "stream": True,
        "system": [{"type": "text", "text": "You are terse."}],
        "tools": [TOOL],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
    }


def test_results_stand_first_and_in_the_order_of_their_calls() -> None:
    sent = body(
        user("go"),
        assistant(call("a"), call("b"), call("c")),
        user("a note"),
        result("c"),
        user(ToolResult("a", (Text("one"),)), "more"),
        result("b"),
    )

    assert len(sent["messages"]) == 3
    ids = [block.get("tool_use_id") for block in sent["messages"][2]["content"]]
    assert ids == ["a", "b", "c", None, None]
    assert [block["text"] for block in sent["messages"][2]["content"][3:]] == ["a note", "more"]


def test_what_says_nothing_never_leaves() -> None:
    sent = body(
        user("", "hello"), user(" \n"), assistant(" "), assistant(HM), user("again"), assistant()
    )

    assert sent["messages"] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "hello"}, {"type": "text", "text": "again"}],
        }
    ]


def test_a_reply_to_go_on_from_does_not_end_in_white_space() -> None:
    opaque = Opaque({"type": "hologram", "data": "x"})

    paused = by_server(assistant(opaque, "so far \n"), "pause_turn")

    sent = body(user("hello"), paused)

    assert sent["messages"][1]["content"] == [
        {"type": "hologram", "data": "x"},
        {"type": "text", "text": "so far"},
    ]


@pytest.mark.parametrize("reason", ["end_turn", None])
def test_no_request_ends_in_a_reply_that_was_not_paused(reason: str | None) -> None:
    with pytest.raises(HistoryError, match="nobody has spoken since the last reply"):
        body(user("hello"), by_server(assistant("hi"), reason))
    with pytest.raises(HistoryError, match="nobody has spoken"):
        body(user("hello"), by_server(assistant("hi"), reason), user(" \n"))


def test_no_request_asks_for_more_than_the_model_can_write() -> None:
    for budget in (None, 2000):
        sent = Gate(thinking_budget=budget).build(
            asking(user("go"), max_tokens=100_000), most_output=64_000
        )
        assert b'"max_tokens":64000,' in sent.body


def by_server(message: Message, reason: str | None) -> Message:
    origin = Origin(api_id="msg_1", model="m", stop_reason=reason, usage=Usage())
    return evolve(message, origin=origin)


def test_half_a_character_leaves_as_a_replacement() -> None:
    sent = Gate().build(asking(user("a \ud83d b")))

    assert "a \ufffd b".encode() in sent.body


# --- thinking --------------------------------------------------------------------------------

THOUGHT = (user("go"), assistant(HM, SEALED, "so", call("a")), result("a"))
THOUGHTLESS = (user("go"), assistant("so", call("a")), result("a"))


def test_thinking_goes_back_as_it_came_while_it_is_on() -> None:
    sent = body(*THOUGHT, gate=Gate(thinking_budget=4000))

    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 4000}
    assert sent["messages"][1]["content"][:2] == [HM.wire(), SEALED.wire()]


def test_thinking_that_is_off_is_left_out_in_whole_blocks() -> None:
    sent = body(*THOUGHT)

    assert "thinking" not in sent
    assert blocks_of(sent)[1] == ["text", "tool_use"]


def test_a_trajectory_without_thinking_goes_on_without() -> None:
    gate = Gate(thinking_budget=4000)

    assert "thinking" not in body(*THOUGHTLESS, gate=gate)
    assert "thinking" in body(*THOUGHTLESS, assistant("ok"), user("next"), gate=gate)


def test_thinking_at_the_start_of_a_trajectory_serves_all_of_it() -> None:
    later = (assistant(call("b")), result("b"))

    assert "thinking" in body(*THOUGHT, *later, gate=Gate(thinking_budget=4000))


def test_thinking_never_stands_last() -> None:
    sent = body(user("go"), assistant("so", HM), user("on"), gate=Gate(thinking_budget=4000))

    assert blocks_of(sent)[1] == ["text"]


@pytest.mark.parametrize(
    ("budget", "cap", "most", "sent_budget", "sent_cap"),
    [
        (4000, 8000, None, 4000, 8000),
        (8000, 8000, None, 8000, 16000),
        (10_000, 8000, None, 10_000, 18_000),
        (60_000, 64_000, 64_000, 60_000, 64_000),
        (60_000, 8000, 64_000, 60_000, 64_000),
        (60_000, 8000, 32_000, 31_999, 32_000),
        (1, 8000, None, 1024, 8000),
    ],
)
def test_the_answer_always_has_room_beside_the_thinking(
    budget: int, cap: int, most: int | None, sent_budget: int, sent_cap: int
) -> None:
    request = asking(user("go"), max_tokens=cap)

    sent = orjson.loads(Gate(thinking_budget=budget).build(request, most_output=most).body)

    assert (sent["thinking"]["budget_tokens"], sent["max_tokens"]) == (sent_budget, sent_cap)


# --- what may not leave ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ((), "nothing to say"),
        ((user(" "),), "nothing to say"),
        ((assistant("hi"), user("yes")), "first message is not the user's"),
        ((user("go"), assistant(call("a"))), "no results for a"),
        ((user("go"), assistant(call("a"), call("b")), result("a")), "no results for b"),
        ((user("go"), assistant(call("a")), user("x"), assistant("y")), "no results for a"),
        ((user("go"), assistant(call("a")), result("a"), result("a")), "second result for a"),
        ((user("go"), result("a")), "which nothing just asked for"),
        ((user("go"), assistant("x"), result("a")), "which nothing just asked for"),
        ((user("go"), assistant(call("a"), call("a")), result("a")), "second call with the id a"),
        (
            (user("go"), *(assistant(call("a")), result("a")) * 2),
            "second call with the id a",
        ),
        ((user("go", call("a")),), "the user calls the tool Bash"),
        ((user("go"), assistant(PIXEL)), "Media said by the assistant"),
    ],
    ids=[
        "empty", "blank", "assistant first", "open call", "half answered", "unanswered",
        "answered twice", "orphan first", "orphan", "one id in a reply", "one id in two",
        "user calls", "assistant shows",
    ],
)  # fmt: skip
def test_a_history_that_breaks_a_law_is_a_bug(messages: tuple[Message, ...], words: str) -> None:
    with pytest.raises(HistoryError, match=words):
        Gate().build(asking(*messages))


def test_the_bug_is_told_with_its_place_and_does_not_stick() -> None:
    gate, open_call = Gate(), assistant(call("a"))

    with pytest.raises(HistoryError) as caught:
        gate.build(asking(user("go"), open_call))

    assert caught.value.message_id == open_call.id
    assert body(user("go"), open_call, result("a"), gate=gate)["messages"][2]


# --- the cache -------------------------------------------------------------------------------


def marks(sent: Any) -> list[tuple[int, int]]:
    return [
        (at, place)
        for at, message in enumerate(sent["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def test_the_ends_of_the_fixed_part_and_of_the_two_last_user_turns_are_marked() -> None:
    gate = Gate(system=("one", "two"), tools=(TOOL,))
    turns = [
        message
        for at in "abc"
        for message in (assistant("so", call(at)), result(at), user("note"))
    ]

    sent = marked(user("go"), *turns, gate=gate)

    assert [("cache_control" in block) for block in sent["system"]] == [False, True]
    assert "cache_control" not in sent["tools"][0]
    assert marks(sent) == [(4, 1), (6, 1)]


def test_without_a_system_prompt_the_last_tool_is_marked() -> None:
    sent = marked(user("go"), gate=Gate(tools=(TOOL, {**TOOL, "name": "Read"})))

    assert [("cache_control" in tool) for tool in sent["tools"]] == [False, True]


# --- any history -----------------------------------------------------------------------------


@given(history=histories(), budget=st.sampled_from([None, 2000]))
def test_the_real_rules_find_no_fault_in_any_history(
    history: tuple[Message, ...], budget: int | None
) -> None:
    book = SignatureBook()
    for message in history:
        if message.role == "assistant":
            book.issue("m", [block.wire() for block in message.content])

    sent = marked(*history, gate=Gate(system=("s",), tools=(TOOL,), thinking_budget=budget))

    assert problems(sent, signatures=book) == ()


@given(history=histories(), cuts=st.lists(st.integers(1, 30), max_size=4), other=histories())
def test_what_was_built_before_changes_nothing(
    history: tuple[Message, ...], cuts: list[int], other: tuple[Message, ...]
) -> None:
    gate = Gate(thinking_budget=2000)
    for cut in cuts:
        for before in (history[:cut], (*history[:cut], *other[1:])):
            # It may be cut between call and result, or have an id twice.
            with suppress(HistoryError):
                gate.build(asking(*before))

    again = gate.build(asking(*history))

    once = Gate(thinking_budget=2000).build(asking(*history))
    assert again == once


def test_the_cost_of_a_request_does_not_grow_with_the_history() -> None:
    history = [user("go")]
    for at in range(400):
        history += [assistant("so", call(f"toolu_{at}")), result(f"toolu_{at}", words="x" * 1000)]
    gate = Gate()
    gate.build(asking(*history[:-2]))

    def once() -> float:
        began = time.perf_counter()
        gate.build(asking(*history))
        took = time.perf_counter() - began
        gate.build(asking(*history[:-2]))
        return took

    # A hundredth of what building it from nothing takes; the best of some, for a busy machine.
    assert min(once() for _ in range(20)) < 0.001


def test_two_purposes_do_not_disturb_each_other() -> None:
    gate, history = Gate(), (user("go"), assistant("so"), user("on"))
    gate.build(asking(*history))

    compact = body(user("sum up"), gate=gate, purpose="compact")

    assert len(compact["messages"]) == 1
    assert unmarked(body(*history, gate=gate)) == body(*history)
