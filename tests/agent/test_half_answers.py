"""Answers that are not whole, through the whole loop: asked for again, or continued."""

from __future__ import annotations

import pytest

from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.streams import bash
from tests.agent.support import Room, results, sent, tell, unanswered


async def test_a_truncated_answer_is_asked_for_with_a_higher_cap_and_then_continued(
    room: Room,
) -> None:
    answers = [
        reply("The first half of a", stop_reason="max_tokens"),
        reply("The first half of a long", stop_reason="max_tokens"),
        reply(" answer."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "tell me")

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("max_output_tokens_escalate", "max_output_tokens_recovery")
    assert [request.body["max_tokens"] for request in server.requests] == [8_000, 64_000, 8_000]
    assert server.requests[0].body["messages"] == server.requests[1].body["messages"]
    assert [block["text"] for block in sent(server.requests[2])][:2] == [
        "tell me",
        "The first half of a long",
    ]
    assert server.verdict() == ()


async def test_an_answer_that_is_cut_again_and_again_is_no_success(room: Room) -> None:
    answers = [reply("more", stop_reason="max_tokens")] * 4
    more = {"INTERLOCK_MAX_RECOVERIES": "1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "500"}
    async with ScriptedServer(answers) as server, room.open(server, environ=more) as agent:
        told = await tell(agent, "tell me")

    assert told.ending == ("completed", "max_output_tokens")
    assert told.trace.reasons == ("max_output_tokens_recovery",)
    assert [request.body["max_tokens"] for request in server.requests] == [500, 500]


async def test_a_call_that_the_cap_cut_is_asked_for_again_with_a_higher_cap(room: Room) -> None:
    half = tool_use("Bash", id="toolu_cut", partial_json='{"command": "touch chan')
    answers = [
        reply(half, stop_reason="max_tokens"),
        reply(bash("touch changed")),
        reply("Done."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "work")

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("max_output_tokens_escalate", "next_turn")
    assert [path.name for path in sorted(room.work.iterdir())] == ["a.txt", "b.txt", "changed"]
    assert server.verdict() == ()


async def test_a_whole_call_before_a_cut_one_runs_and_the_cut_one_is_answered(room: Room) -> None:
    half = tool_use("Write", id="toolu_cut", partial_json='{"file_path": "/x')
    answers = [
        reply(bash("echo one", id="toolu_1"), half, stop_reason="max_tokens"),
        reply("Ok."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "work")

    assert told.trace.reasons == ("next_turn",)
    assert results(server.requests[1]) == [
        ("toolu_1", "one", False),
        (
            "toolu_cut",
            "Not run: the answer was cut in the middle of this call. Make the call again.",
            True,
        ),
    ]
    assert server.verdict() == ()


async def test_a_paused_turn_is_sent_back_as_it_is(room: Room) -> None:
    search = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "x"},
    }
    answers = [
        reply(search, stop_reason="pause_turn"),
        reply("Finished after the pause."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "search")

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("pause_turn_continuation",)
    assert sent(server.requests[1]) == [{"type": "text", "text": "search"}, search]
    assert server.verdict() == ()


async def test_pauses_without_end_are_no_success(room: Room) -> None:
    answers = [reply("Wait.", stop_reason="pause_turn")] * 3
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={"INTERLOCK_MAX_PAUSES": "2"}) as agent,
    ):
        told = await tell(agent, "search")

    assert told.ending == ("completed", "pause_limit")
    assert told.trace.reasons == ("pause_turn_continuation", "pause_turn_continuation")
    assert server.verdict() == ()


@pytest.mark.parametrize(
    ("stop_reason", "error"),
    [
        ("refusal", "refusal"),
        ("future_reason", "unknown_stop_reason"),
        ("stop_sequence", None),
    ],
)
async def test_a_stop_reason_tells_whether_the_answer_is_whole(
    room: Room, stop_reason: str, error: str | None
) -> None:
    async with (
        ScriptedServer([reply("This far.", stop_reason=stop_reason)]) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "hello")

    assert told.ending == ("completed", error)
    assert told.summary.text == "This far."
    assert server.verdict() == ()


async def test_an_answer_that_filled_the_window_is_kept_and_continued_behind_a_summary(
    room: Room,
) -> None:
    window = "model_context_window_exceeded"
    answers = [
        reply("cut because the window is fu", stop_reason=window),
        reply("The summary."),
        reply("The rest of it."),
        reply(bash("touch changed", id="toolu_9"), stop_reason=window),
        reply("Summary two."),
        reply("The end."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        first = await tell(agent, "tell me")
        second = await tell(agent, "and now")

    assert (first.ending, second.ending) == (("completed", None), ("completed", None))
    assert first.trace.reasons == second.trace.reasons == ("reactive_compact_retry",)
    said = [block.get("text") for block in sent(server.requests[2])]
    assert "cut because the window is fu" in said
    assert not (room.work / "changed").exists()
    assert unanswered(agent.transcript_path) == []
    assert server.verdict() == ()


async def test_an_answer_in_pieces_is_one_answer(room: Room) -> None:
    half = reply("The first half, ", stop_reason="max_tokens")
    answers = [half, half, reply("and the second.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")

        assert told.summary.text == "The first half, and the second."
        assert told.summary.stop_reason == "end_turn"
