"""What a session writes down, when, and that it is what was shown and what is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from interlock.model.request import Gate
from interlock.options import Options
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, tool_use
from interlock.sessions.reading import read_messages
from phases.world.messages import Message
from phases.world.ports import Request
from phases.world.updates import Ended, Notice, Recorded, ToolStarted, Update
from tests.agent.support import MODEL, Room, blocks, entries, sent, tell, unanswered


def transcript_in(home: Path) -> list[dict[str, Any]]:
    """All that is on disk at this moment."""
    return [entry for path in sorted(home.glob("projects/*/*.jsonl")) for entry in entries(path)]


async def test_a_prompt_is_on_disk_before_the_model_is_asked(room: Room) -> None:
    found: list[object] = []

    def answer(request: SentRequest) -> Answer:
        found.extend(entry["message"] for entry in transcript_in(room.home))
        return reply("Hello.")

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        await tell(agent, "hello there")

    assert found == [{"role": "user", "content": "hello there"}]
    assert server.verdict() == ()


async def test_a_call_is_on_disk_before_it_starts_and_its_result_before_the_next_request(
    room: Room,
) -> None:
    call = tool_use("Bash", {"command": "echo one"}, id="toolu_1")
    at_start: list[list[str]] = []
    at_request: list[list[str]] = []

    def types() -> list[str]:
        return [block["type"] for block in blocks(transcript_in(room.home))]

    def answer(request: SentRequest) -> Answer:
        at_request.append(types())
        return reply("Look:", call) if request.index == 1 else reply("Done.")

    def on(update: Update, number: int) -> None:
        if isinstance(update, ToolStarted):
            at_start.append(types())

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        await tell(agent, "count", on=on)

    assert at_start == [["text", "tool_use"]]
    assert at_request == [[], ["text", "tool_use", "tool_result"]]
    assert server.verdict() == ()


async def test_what_was_shown_is_what_is_written_and_what_is_sent(room: Room) -> None:
    answers = [
        reply(
            "Both:",
            tool_use("Read", {"file_path": str(room.work / "a.txt")}),
            tool_use("Read", {"file_path": str(room.work / "missing.txt")}),
            tool_use("Bash", {"command": "echo 'grüße 👋'"}),
        ),
        reply("Done."),
        reply("Again."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        first = await tell(agent, "one")
        second = await tell(agent, "two")

    shown = (*first.shown, *second.shown)
    written = read_messages(agent.transcript_path)
    assert {message.id: message for message in shown} == {each.id: each for each in written}
    assert len(shown) == len(written)
    assert sent_by(written[:-1]) == sent(server.requests[-1])
    assert unanswered(agent.transcript_path) == []
    assert server.verdict() == ()


def sent_by(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """The blocks that a session with this history would send."""
    request = Request(model="model", messages=messages, max_tokens=1)
    body = Gate().build(request).body
    asked = SentRequest(
        index=1,
        path="/v1/messages",
        headers={},
        body=orjson.loads(body),
        raw=body,
        problems=(),
        cache_read_share=0.0,
        received_at=0.0,
    )
    return sent(asked)


async def test_a_message_is_in_the_file_at_the_moment_it_is_shown(room: Room) -> None:
    missing: list[str] = []

    def on(update: Update, number: int) -> None:
        if isinstance(update, Recorded):
            there = {entry["uuid"] for entry in transcript_in(room.home)}
            missing.extend({update.message.id} - there)

    answers = [reply(tool_use("Bash", {"command": "echo one"})), reply("Done.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "count", on=on)

    assert missing == []
    assert [message.role for message in told.shown] == ["user", "assistant", "user", "assistant"]
    assert isinstance(told.updates[-1], Ended)


async def test_two_prompts_of_a_session_share_their_history_and_the_folder_they_are_in(
    room: Room,
) -> None:
    (room.work / "sub").mkdir()
    answers = [
        reply(tool_use("Bash", {"command": "cd sub && pwd"})),
        reply("Moved."),
        reply(tool_use("Bash", {"command": "pwd"})),
        reply("Still there."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "move")
        await tell(agent, "where are you")

    first, *others = server.requests
    assert [block.get("text") for block in sent(first)] == ["move"]
    before = sent(first)
    for request in others:
        assert sent(request)[: len(before)] == before
        before = sent(request)
    folder = {"type": "text", "text": str(room.work / "sub")}
    assert [block["content"] for block in before if block["type"] == "tool_result"] == [
        [folder],
        [folder],
    ]
    assert len(list(room.home.glob("projects/*/*.jsonl"))) == 1
    assert server.verdict() == ()


async def test_each_request_of_a_session_begins_with_the_bytes_of_the_one_before(
    room: Room,
) -> None:
    answers = [
        reply(tool_use("Bash", {"command": "echo one"})),
        reply(tool_use("Bash", {"command": "echo two"})),
        reply("Done."),
        reply("Again."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "count")
        await tell(agent, "again")

    shares = [request.cache_read_share for request in server.requests]
    assert shares[0] == 0.0
    assert all(share > 0.9 for share in shares[1:])


async def test_a_folder_that_is_deleted_under_the_session_is_not_its_end(room: Room) -> None:
    lines = ["mkdir -p gone && cd gone && pwd", "rm -rf ../gone", "echo still-here", "pwd"]
    answers = [
        *(reply(tool_use("Bash", {"command": line})) for line in lines),
        reply("Done."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "delete it")

    told = [
        block["content"][0]["text"]
        for block in sent(server.requests[-1])
        if block["type"] == "tool_result"
    ]
    assert told[0] == str(room.work / "gone")
    assert "no longer exists" in told[1]
    assert told[2:] == ["still-here", str(room.work)]
    assert server.verdict() == ()


async def test_a_session_in_which_nothing_was_said_leaves_no_transcript(room: Room) -> None:
    async with ScriptedServer([]) as server, room.open(server) as agent:
        path = agent.transcript_path

    assert not path.exists()


async def test_rules_that_name_no_tool_are_warned_of_once_in_a_session(room: Room) -> None:
    options = Options(model=MODEL, allowed_tools=("Read", "then run Bash please", "mcp__a__b"))
    async with (
        ScriptedServer([reply("One."), reply("Two.")]) as server,
        room.open(server, options=options) as agent,
    ):
        first, second = await tell(agent, "one"), await tell(agent, "two")

    (notice,) = [update for update in first.updates if isinstance(update, Notice)]
    assert notice.level == "warning"
    assert notice.text.startswith("no tool is called then, run, please: ")
    assert not any(isinstance(update, Notice) for update in second.updates)
