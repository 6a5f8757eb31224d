"""Messages queued while the whole agent works, against a scripted server."""

from __future__ import annotations

import asyncio

import pytest

from interlock.agent import Agent
from interlock.inbox import Mode
from interlock.scripted import Reply, ScriptedServer, reply, tool_use
from interlock.sessions.reading import read_messages
from phases.world.messages import Kind
from phases.world.updates import Ended, Recorded, RequestStarted, ToolStarted, Update
from tests.agent.support import Room, Watcher, tell
from tests.inbox.looking import last_said, moves


def look(room: Room) -> Reply:
    return reply(tool_use("Read", {"file_path": str(room.work / "a.txt")}))


async def test_words_typed_while_a_tool_runs_are_in_the_next_request_beside_the_results(
    room: Room,
) -> None:
    async with (
        ScriptedServer([look(room), reply("Both.")]) as server,
        room.open(server) as agent,
    ):

        def type_ahead(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted):
                agent.queue("look at b.txt too")

        told = await tell(agent, "look at a.txt", on=type_ahead)

        assert told.ending == ("completed", None)
        (result, words) = last_said(server.requests[1])
        assert result[0] == "tool_result"
        assert words == ("text", "look at b.txt too")
        assert server.verdict() == ()

    typed = [message for message in told.shown if message.kind is Kind.PROMPT]
    assert [message.text for message in typed] == ["look at a.txt", "look at b.txt too"]
    assert [message.text for message in read_messages(agent.transcript_path)] == [
        message.text for message in told.shown
    ]


async def test_its_way_is_told_and_completion_comes_after_the_end(room: Room) -> None:
    async with (
        ScriptedServer([look(room), reply("Done.")]) as server,
        room.open(server) as agent,
    ):

        def type_ahead(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted):
                agent.queue("one")
                agent.queue("two")

        told = await tell(agent, "look", on=type_ahead)

    assert moves(told.updates) == ["queued"] * 2 + ["injected"] * 2 + ["completed"] * 2
    ended = next(n for n, update in enumerate(told.updates) if isinstance(update, Ended))
    assert moves(told.updates[ended:]) == ["completed"] * 2


async def test_what_came_too_late_waits_for_the_next_prompt_and_stands_before_it(
    room: Room,
) -> None:
    async with (
        ScriptedServer([reply("Hello."), reply("Yes.")]) as server,
        room.open(server) as agent,
    ):

        def too_late(update: Update, number: int) -> None:
            if isinstance(update, Recorded) and update.message.role == "assistant":
                agent.queue("and this")
                agent.queue("/compact")

        first = await tell(agent, "hello", on=too_late)
        second = await tell(agent, "that")

        assert moves(first.updates) == ["queued", "queued"]
        assert last_said(server.requests[1]) == [("text", "and this"), ("text", "that")]
        assert moves(second.updates) == ["injected", "completed"]
        assert [waits.text for waits in agent.waiting.messages] == ["/compact"]


async def test_a_queued_message_becomes_a_prompt_of_its_own_when_the_caller_asks(
    room: Room,
) -> None:
    async with ScriptedServer([reply("Hi."), reply("Ho.")]) as server, room.open(server) as agent:
        agent.queue("first")
        agent.queue("second")

        while (waits := agent.next_queued()) is not None:
            await agent.prompt(waits, Watcher())

        assert [last_said(request) for request in server.requests] == [
            [("text", "first")],
            [("text", "second")],
        ]


async def test_news_for_a_child_and_mail_for_later_are_not_read_in_mid_run(room: Room) -> None:
    async with (
        ScriptedServer([look(room), reply("Done.")]) as server,
        room.open(server) as agent,
    ):

        def arrive(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted):
                agent.waiting.add("child's", mode=Mode.TASK_NOTIFICATION, agent_id="child")
                agent.waiting.add("task 3 ended", mode=Mode.TASK_NOTIFICATION)
                agent.queue("when you have time", "later")

        told = await tell(agent, "look", on=arrive)

        assert [words for kind, words in last_said(server.requests[1]) if kind == "text"] == [
            "task 3 ended"
        ]
    notes = [message.text for message in told.shown if message.kind is Kind.NOTE]
    assert notes == ["task 3 ended"]


async def test_a_run_that_is_torn_down_completes_nothing_but_keeps_what_it_read(
    room: Room,
) -> None:
    async with (
        ScriptedServer([look(room), reply("never heard"), reply("Yes.")]) as server,
        room.open(server) as agent,
    ):
        task: asyncio.Task[object]

        def on(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted):
                agent.queue("and b")
            if isinstance(update, RequestStarted) and update.turn == 2:
                task.cancel()

        watcher = Watcher(on)
        task = asyncio.ensure_future(agent.prompt("look", watcher))
        with pytest.raises(asyncio.CancelledError):
            await task

        assert moves(watcher.updates) == ["queued", "injected"]
        assert ("text", "and b") in await _next_prompt(agent, server)


async def _next_prompt(agent: Agent, server: ScriptedServer) -> list[tuple[str, str]]:
    await tell(agent, "go on")
    assert server.verdict() == ()
    return last_said(server.requests[-1])
