"""Another model takes over, through the whole loop, and the thinking of the first stays behind."""

from __future__ import annotations

from interlock.options import Options, PermissionMode
from interlock.scripted import Answer, ScriptedServer, reply, thinking, tool_use
from interlock.testing import FakeClock
from phases.world.updates import ModelSwitched
from tests.agent.streams import OVERLOADED, THINKS, bash
from tests.agent.support import FALLBACK, MODEL, Room, sent, tell


async def test_the_fallback_model_takes_over_without_the_thinking_of_the_first(
    room: Room,
) -> None:
    answers: list[Answer] = [
        reply(thinking("A file.", "c2lnLUE="), bash("echo one")),
        OVERLOADED,
        OVERLOADED,
        reply(bash("echo two")),
        reply("Done."),
        reply(thinking("Again.", "c2lnLUI="), "Me again."),
    ]
    options = Options(
        model=MODEL,
        fallback_models=(FALLBACK,),
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    more = {**THINKS, "INTERLOCK_MAX_RETRIES": "1"}
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=options, clock=FakeClock(), environ=more) as agent,
    ):
        told = await tell(agent, "work")
        again = await tell(agent, "more")

    models = [request.body["model"] for request in server.requests]
    assert models[:5] == [MODEL, MODEL, MODEL, FALLBACK, FALLBACK]
    assert told.trace.took("api_call", "api_call", "model_fallback")
    assert told.trace.reasons == ("next_turn", "next_turn")
    assert [one for one in told.updates if isinstance(one, ModelSwitched)] == [
        ModelSwitched(MODEL, FALLBACK)
    ]
    assert [block["type"] for block in sent(server.requests[3])] == [
        "text",
        "tool_use",
        "tool_result",
    ]
    assert (told.ending, again.ending) == (("completed", None), ("completed", None))
    assert server.verdict() == ()


async def test_the_first_model_comes_back_when_it_has_cooled_down_without_foreign_thinking(
    room: Room,
) -> None:
    answers: list[Answer] = [
        OVERLOADED,
        reply(thinking("Mine.", "c2lnLUY="), bash("echo one")),
        reply("Done."),
        reply("Me again."),
    ]
    options = Options(
        model=MODEL,
        fallback_models=(FALLBACK,),
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    clock = FakeClock()
    more = {**THINKS, "INTERLOCK_MAX_RETRIES": "0"}
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=options, clock=clock, environ=more) as agent,
    ):
        await tell(agent, "work")
        clock.now += 86_400
        await tell(agent, "more")

    models = [request.body["model"] for request in server.requests]
    assert models == [MODEL, FALLBACK, FALLBACK, MODEL]
    assert "thinking" in [block["type"] for block in sent(server.requests[2])]
    assert "thinking" not in [block["type"] for block in sent(server.requests[3])]
    assert server.verdict() == ()


async def test_thinking_goes_back_byte_for_byte_as_long_as_tools_are_called(room: Room) -> None:
    read = tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_1")
    first = (
        thinking("step  one \n", "c2lnLUE="),
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "Reading."},
        thinking("", "c2lnLUI="),
        read,
    )
    second = (
        thinking("now look again", "c2lnLUM="),
        tool_use("Read", {"file_path": str(room.work / "b.txt")}, id="toolu_2"),
    )
    answers = [reply(*first), reply(*second), reply("Finished."), reply("And more.")]
    async with ScriptedServer(answers) as server, room.open(server, environ=THINKS) as agent:
        told = await tell(agent, "look")
        await tell(agent, "more")

    assistants = [
        [
            {key: value for key, value in block.items() if key != "cache_control"}
            for block in message["content"]
        ]
        for message in server.requests[2].body["messages"]
        if message["role"] == "assistant"
    ]
    assert assistants == [[*first], [*second]]
    assert told.trace.reasons == ("next_turn", "next_turn")
    assert server.verdict() == ()
