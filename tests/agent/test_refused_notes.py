"""Notes in front of the conversation that the model's server refuses: left out, and told."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest

from interlock.scripted import Answer, ByFunction, ScriptedServer, SentRequest, reply
from tests.agent.support import Room, sent, tell
from tests.agent.test_refused import MARK, invalid, warnings


def refuses_the_mark(words: str) -> Callable[[SentRequest], Answer]:
    """A server that for ever refuses the block with the mark in it, in these words."""

    def answer(request: SentRequest) -> Answer:
        for at, message in enumerate(request.body["messages"]):
            for number, block in enumerate(message["content"]):
                if MARK in orjson.dumps(block).decode():
                    return invalid(words.format(at=at, number=number))
        return reply("ok")

    return answer


@pytest.mark.parametrize(
    "words", ["messages.{at}.content.{number}.text: bad", "messages.{at}: bad"]
)
async def test_notes_that_are_refused_are_left_out_for_the_rest_of_the_session(
    room: Room, words: str
) -> None:
    notes = room.work / "CLAUDE.md"
    notes.write_text(MARK)
    async with (
        ScriptedServer(ByFunction(refuses_the_mark(words))) as server,
        room.open(server) as agent,
    ):
        told = [await tell(agent, prompt) for prompt in ("one", "two")]

    assert [one.ending for one in told] == [("completed", None)] * 2
    assert [MARK in request.raw.decode() for request in server.requests] == [True, False, False]
    (warning,) = warnings(told[0])
    assert f"the notes of {notes} (for the rest of the session)" in warning
    assert warnings(told[1]) == []
    assert "one" in [block["text"] for block in sent(server.requests[-1])]
    assert server.verdict() == ()


async def test_notes_refused_for_no_named_reason_do_not_end_every_prompt(room: Room) -> None:
    (room.work / "CLAUDE.md").write_text(MARK)
    async with (
        ScriptedServer(ByFunction(refuses_the_mark("no reason is given"))) as server,
        room.open(server) as agent,
    ):
        told = [await tell(agent, prompt) for prompt in ("one", "two", "three")]

    assert [one.summary.error for one in told] == ["api_error", None, None]
    assert server.verdict() == ()


async def test_an_old_prompt_that_may_be_at_fault_goes_before_the_notes(room: Room) -> None:
    (room.work / "CLAUDE.md").write_text("Be brief.")
    refused = refuses_the_mark("messages.{at}: bad")
    source = ByFunction(lambda sent: refused(sent) if sent.index > 1 else reply("ok"))
    async with ScriptedServer(source) as server, room.open(server) as agent:
        told = [await tell(agent, prompt) for prompt in (MARK, "two")]

    assert told[1].ending == ("completed", None)
    assert "Be brief." in server.requests[-1].raw.decode()
    assert MARK not in server.requests[-1].raw.decode()


async def test_a_summary_is_asked_for_again_without_the_notes_that_were_refused(
    room: Room,
) -> None:
    (room.work / "CLAUDE.md").write_text(MARK)
    refused = refuses_the_mark("messages.{at}.content.{number}.text: bad")
    source = ByFunction(lambda sent: refused(sent) if sent.index > 1 else reply("ok"))
    async with ScriptedServer(source) as server, room.open(server) as agent:
        await tell(agent, "x" * 8_000)
        problem = await agent.compact(lambda update: None)

    assert problem is None
    assert [MARK in request.raw.decode() for request in server.requests] == [True, True, False]
