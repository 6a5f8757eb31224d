"""Answers that are odd, through the whole loop; and how many there may be."""

from __future__ import annotations

import attrs
import pytest

from interlock.options import Options, PermissionMode
from interlock.scripted import Answer, RawSse, ScriptedServer, cut, reply, status, tool_use
from phases.world.usage import Usage
from tests.agent.streams import bash, raw
from tests.agent.support import MODEL, Room, entries, results, sent, tell, unanswered
from tests.model.streams import begun, closed, delta, ended, event, opened, said, text, typed


async def test_what_this_version_does_not_know_does_not_end_the_turn(room: Room) -> None:
    answer = raw(
        event("ping"),
        begun(),
        event("future_event", value=1),
        ("future_event", b"this is no JSON"),
        opened(0, "hologram", data="opaque"),
        delta(0, "hologram_delta", bits="01"),
        closed(0),
        opened(1, "text", text=""),
        delta(1, "future_delta", v=2),
        said(1, "ok"),
        closed(1),
        opened(2, "tool_use", id="toolu_1", name="Bash", input={}),
        typed(2, ""),
        typed(2, '{"command": "echo hi"}'),
        closed(2),
        ended("tool_use", output_tokens=20),
    )
    async with ScriptedServer([answer, reply("Done.")]) as server, room.open(server) as agent:
        told = await tell(agent, "hello")

    assert told.ending == ("completed", None)
    assert sent(server.requests[1]) == [
        {"type": "text", "text": "hello"},
        {"type": "text", "text": "ok"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo hi"}},
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [{"type": "text", "text": "hi"}],
        },
    ]
    assert server.verdict() == ()


async def test_usage_is_a_running_total_and_is_paid_once_for_a_message(room: Room) -> None:
    start = begun(
        input_tokens=27,
        output_tokens=1,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=1000,
    )
    first = raw(
        start,
        text(0, "a"),
        opened(1, "tool_use", id="toolu_1", name="Bash", input={}),
        typed(1, '{"command":"true"}'),
        closed(1),
        event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 30}),
        ended("tool_use", output_tokens=47, input_tokens=27, cache_read_input_tokens=1000),
    )
    last = reply("end", usage={"input_tokens": 40, "output_tokens": 3}, model=MODEL)
    async with (
        ScriptedServer([_named(first, MODEL), last]) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "count")

    paid = Usage(input_tokens=67, output_tokens=50, cache_read_input_tokens=1000)
    assert told.summary.usage == paid
    assert told.summary.models[MODEL].usage == paid
    assert told.summary.cost == pytest.approx((67 * 3.0 + 50 * 15.0 + 1000 * 0.3) / 1e6)
    lines = [
        line["message"]["usage"]
        for line in entries(agent.transcript_path)
        if line["type"] == "assistant" and line["message"]["id"] == "msg_1"
    ]
    assert (
        lines
        == [
            {
                "input_tokens": 27,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 1000,
                "output_tokens": 47,
            }
        ]
        * 2
    )


def _named(answer: RawSse, model: str) -> RawSse:
    lines = tuple(line.replace("model-x", model) for line in answer.lines)
    return attrs.evolve(answer, lines=lines)


async def test_what_a_failed_attempt_used_up_is_paid_too(room: Room) -> None:
    half = cut("Half an", after=4, usage={"input_tokens": 100})
    async with (
        ScriptedServer([half, reply("Whole.", usage={"input_tokens": 100})]) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "hello")

    assert told.summary.usage == Usage(input_tokens=200, output_tokens=6)


async def test_two_calls_with_one_id_are_two_calls(room: Room) -> None:
    answers = [
        reply(bash("echo one", id="toolu_same"), bash("echo two", id="toolu_same")),
        reply(bash("echo three", id="toolu_same")),
        reply("Done."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "count")

    assert told.ending == ("completed", None)
    assert [words for _, words, _ in results(server.requests[1])] == ["one", "two"]
    assert [words for _, words, _ in results(server.requests[2])] == ["three"]
    ids = [block["id"] for block in sent(server.requests[2]) if block["type"] == "tool_use"]
    assert len(set(ids)) == 3
    assert unanswered(agent.transcript_path) == []
    assert server.verdict() == ()


async def test_an_id_that_was_summarised_away_is_not_given_a_second_time(room: Room) -> None:
    answers: list[Answer] = [
        reply(bash("echo one", id="toolu_same")),
        status(400, "invalid_request_error", "prompt is too long: 2050 tokens > 2000 maximum"),
        reply("Short summary."),
        reply(bash("echo two", id="toolu_same")),
        reply("Done."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "count")

    ids = [call.id for message in told.shown for call in message.calls]
    assert told.ending == ("completed", None)
    assert len(ids) == len(set(ids)) == 2
    assert unanswered(agent.transcript_path) == []
    assert server.verdict() == ()


async def test_blank_texts_never_leave(room: Room) -> None:
    answers = [
        reply("", bash("true")),
        reply("\n \n", bash("printf '   '")),
        reply(""),
        reply("Hello again."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        empty = await tell(agent, "say nothing")
        after = await tell(agent, "say something")

    assert empty.ending == ("completed", None)
    assert after.summary.text == "Hello again."
    texts = [block["text"] for block in sent(server.requests[-1]) if block["type"] == "text"]
    assert texts == ["say nothing", "say something"]
    assert server.verdict() == ()


async def test_a_call_whose_json_is_broken_is_answered_and_not_run(room: Room) -> None:
    broken = tool_use("Bash", id="toolu_1", partial_json='{"command": "touch changed",}')
    async with (
        ScriptedServer([reply(broken), reply("Sorry.")]) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "work")

    ((id_, words, failed),) = results(server.requests[1])
    assert (id_, failed) == ("toolu_1", True)
    assert words.startswith("The input of this call could not be read: ")
    assert told.trace.reasons == ("next_turn",)
    assert not (room.work / "changed").exists()
    assert server.verdict() == ()


async def test_no_more_turns_run_than_were_allowed_and_the_last_calls_are_answered(
    room: Room,
) -> None:
    answers = [reply(bash("echo one")), reply(bash("echo two")), reply("Going on.")]
    options = Options(model=MODEL, max_turns=2, permission_mode=PermissionMode.BYPASS_PERMISSIONS)
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        told = await tell(agent, "count")
        await tell(agent, "go on")

    assert told.ending == ("max_turns", "max_turns")
    assert told.summary.turns == 2
    assert results(server.requests[2]) == [("toolu_000002_0", "two", False)]
    assert server.verdict() == ()


async def test_a_budget_is_looked_at_before_each_request(room: Room) -> None:
    answers = [
        reply(bash("echo one"), usage={"input_tokens": 100_000}),
        reply("Never."),
    ]
    options = Options(
        model=MODEL, max_budget_usd=0.01, permission_mode=PermissionMode.BYPASS_PERMISSIONS
    )
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        told = await tell(agent, "spend")

    assert told.ending == ("budget_exhausted", "budget_exhausted")
    assert len(server.requests) == 1


async def test_an_empty_answer_is_not_the_one_before_it(room: Room) -> None:
    (room.work / "a.txt").write_text("one\n")
    answers = [
        reply("I will look.", tool_use("Read", {"file_path": str(room.work / "a.txt")})),
        reply(""),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")

        assert (told.summary.text, told.summary.stop_reason) == ("", "end_turn")
