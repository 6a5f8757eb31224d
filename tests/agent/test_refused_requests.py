"""A request that the server refuses, through the whole loop: the session lives."""

from __future__ import annotations

import base64

from interlock.scripted import Answer, ScriptedServer, reply, status, tool_use
from tests.agent.streams import bash
from tests.agent.support import Room, results, sent, tell, unanswered
from tests.model.histories import PIXEL


async def test_a_picture_that_is_refused_is_taken_out_once_and_the_session_lives(
    room: Room,
) -> None:
    (room.work / "pixel.png").write_bytes(base64.b64decode(PIXEL.data))
    read = tool_use("Read", {"file_path": str(room.work / "pixel.png")}, id="toolu_1")
    answers: list[Answer] = [
        reply(read),
        status(
            400, "invalid_request_error", "messages.2.content.0.image: Could not process image"
        ),
        reply("I could not see it."),
        reply("Still alive."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "look")
        after = await tell(agent, "more")

    assert told.trace.took("api_call", "api_call", "request_mended")
    assert told.trace.reasons == ("next_turn",)
    assert "taken out: the model's server refused it" in results(server.requests[2])[0][1]
    assert not any("source" in str(block) for block in sent(server.requests[3]))
    assert unanswered(agent.transcript_path) == []
    assert after.ending == ("completed", None)
    assert len(server.requests) == 4
    assert server.verdict() == ()


async def test_a_prompt_that_is_too_long_is_summarised_once_and_the_work_goes_on(
    room: Room,
) -> None:
    too_long = status(
        400, "invalid_request_error", "prompt is too long: 205030 tokens > 200000 maximum"
    )
    answers: list[Answer] = [
        reply(bash("echo one")),
        too_long,
        reply("Short summary."),
        reply("Carrying on."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "a long task")

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("next_turn", "reactive_compact_retry")
    words = "".join(block.get("text", "") for block in sent(server.requests[3]))
    assert "a long task" in words
    assert "Short summary." in words
    assert server.verdict() == ()


async def test_a_prompt_that_stays_too_long_ends_the_run_but_not_the_session(room: Room) -> None:
    too_long = status(
        400, "invalid_request_error", "prompt is too long: 205030 tokens > 200000 maximum"
    )
    answers: list[Answer] = [too_long, reply("Summary."), too_long, reply("Fine.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "a long task")
        after = await tell(agent, "shorter")

    assert told.ending == ("prompt_too_long", "prompt_too_long")
    assert told.trace.reasons == ("reactive_compact_retry",)
    assert after.ending == ("completed", None)
    assert server.verdict() == ()
