"""When calls start: those that only read while the model still speaks, all others after it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from attrs import field, frozen

from interlock.options import Options
from interlock.permissions.ask import Answer as Said
from interlock.permissions.decision import Decision, Question
from interlock.scripted import End, ScriptedServer, cut, reply, tool_use
from phases.world.messages import Kind
from phases.world.updates import AttemptDropped, Recorded, TextArrived, ToolStarted, Update
from tests.agent.support import MODEL, Room, blocks, entries, events_of, held, results, tell

LAST_WORDS = "These are my last words."


def story(updates: tuple[Update, ...]) -> list[str]:
    """What happened in which order, in one word each."""
    told = []
    for update in updates:
        match update:
            case TextArrived(text):
                told.append(text)
            case ToolStarted(call):
                told.append(call.id)
            case Recorded(message) if message.kind is not Kind.PROMPT:
                told.append(message.kind.value)
            case AttemptDropped():
                told.append("dropped")
    return told


async def test_a_call_that_only_reads_runs_while_the_answer_still_arrives(room: Room) -> None:
    read = tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_read")
    glob = tool_use("Glob", {"pattern": "*.txt"}, id="toolu_glob")
    async with (
        ScriptedServer([reply(read, glob, LAST_WORDS), reply("Done.")]) as server,
        held(server, LAST_WORDS.encode()) as line,
        room.open(line.url) as agent,
    ):

        def on(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted) and update.call.id == "toolu_glob":
                line.release()

        told = await tell(agent, "look", on=on)

    assert story(told.updates) == [
        "toolu_read",
        "toolu_glob",
        LAST_WORDS,
        "reply",
        "result",
        "result",
        "Done.",
        "reply",
    ]
    assert told.trace.reasons == ("next_turn",)
    assert server.verdict() == ()


async def test_a_call_with_effects_waits_for_the_end_of_the_answer(room: Room) -> None:
    path = room.work / "c.txt"
    there: list[bool] = []
    calls = (
        tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_read"),
        tool_use("Write", {"file_path": str(path), "content": "gamma\n"}, id="toolu_write"),
        tool_use("Read", {"file_path": str(path)}, id="toolu_again"),
    )
    async with (
        ScriptedServer([reply(*calls, LAST_WORDS), reply("Done.")]) as server,
        held(server, LAST_WORDS.encode()) as line,
        room.open(line.url) as agent,
    ):

        def on(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted) and update.call.id == "toolu_read":
                line.release()
            if isinstance(update, TextArrived | Recorded):
                there.append(path.exists())

        told = await tell(agent, "write", on=on)

    assert story(told.updates) == [
        "toolu_read",
        LAST_WORDS,
        "reply",
        "result",
        "toolu_write",
        "result",
        "toolu_again",
        "result",
        "Done.",
        "reply",
    ]
    assert there == [False, False, False, False, True, True, True, True]
    assert results(server.requests[-1])[-1] == ("toolu_again", "1\tgamma\n", False)
    assert server.verdict() == ()


@pytest.mark.parametrize("end", [End.CLOSE, End.RESET])
async def test_an_answer_that_is_cut_behind_a_finished_write_has_changed_nothing(
    room: Room, end: End
) -> None:
    path = room.work / "c"
    calls = (
        tool_use("Glob", {"pattern": "*.txt"}, id="toolu_glob"),
        tool_use("Write", {"file_path": str(path), "content": "c"}, id="toolu_write"),
    )
    all_but_the_end = events_of(reply(*calls, LAST_WORDS)) - 1
    half = cut(*calls, LAST_WORDS, after=all_but_the_end, end=end)
    async with (
        ScriptedServer([half, reply("No.")]) as server,
        held(server, LAST_WORDS.encode()) as line,
        room.open(line.url) as agent,
    ):

        def on(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted):
                line.release()

        told = await tell(agent, "write", on=on)

    assert story(told.updates) == ["toolu_glob", LAST_WORDS, "dropped", "No.", "reply"]
    assert told.trace.took("api_call", "recovery.backoff")
    assert not path.exists()
    assert blocks(entries(agent.transcript_path)) == [{"type": "text", "text": "No."}]
    assert server.requests[0].body == server.requests[1].body
    assert server.verdict() == ()


@frozen
class Patient:
    """A person who allows, but not before `event`."""

    event: asyncio.Event = field(factory=asyncio.Event)
    asked: list[str] = field(factory=list)

    async def ask(self, question: Question, decision: Decision) -> Said:
        self.asked.append(question.tool_use_id)
        await self.event.wait()
        return Said(allowed=True, reason="the user allowed it")


async def test_calls_side_by_side_may_finish_in_any_order_and_answer_in_that_of_the_calls(
    room: Room, tmp_path: Path
) -> None:
    (tmp_path / "outside.txt").write_text("far\n")
    calls = (
        tool_use("Read", {"file_path": str(tmp_path / "outside.txt")}, id="toolu_asks"),
        tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_read"),
        tool_use("NoSuchTool", {"x": 1}, id="toolu_unknown"),
        tool_use("Read", {"file_path": str(room.work / "missing.txt")}, id="toolu_fails"),
    )
    person = Patient()
    async with (
        ScriptedServer([reply(*calls), reply("Done.")]) as server,
        room.open(server, options=Options(model=MODEL), asker=person) as agent,
    ):

        def on(update: Update, number: int) -> None:
            if isinstance(update, Recorded) and update.message.kind is Kind.RESULT:
                others.add(update.message.id)
            if len(others) == 3:
                person.event.set()

        others: set[str] = set()
        told = await tell(agent, "read", on=on)

    answers = results(server.requests[-1])
    assert [(id_, failed) for id_, _, failed in answers] == [
        ("toolu_asks", False),
        ("toolu_read", False),
        ("toolu_unknown", True),
        ("toolu_fails", True),
    ]
    assert "There is no tool NoSuchTool" in answers[2][1]
    written = [
        block["tool_use_id"]
        for block in blocks(entries(agent.transcript_path))
        if block["type"] == "tool_result"
    ]
    assert written[-1] == "toolu_asks"
    assert person.asked == ["toolu_asks"]
    assert told.ending == ("completed", None)
    assert server.verdict() == ()


async def test_a_call_that_a_person_is_asked_about_waits_for_the_end_of_the_answer(
    room: Room, tmp_path: Path
) -> None:
    (tmp_path / "outside.txt").write_text("far\n")
    person = Patient()
    call = tool_use("Read", {"file_path": str(tmp_path / "outside.txt")}, id="toolu_asks")
    async with (
        ScriptedServer([reply(call, LAST_WORDS), reply("Done.")]) as server,
        room.open(server, options=Options(model=MODEL), asker=person) as agent,
    ):
        asked_by_then: list[bool] = []

        def on(update: Update, number: int) -> None:
            if isinstance(update, TextArrived):
                asked_by_then.append(bool(person.asked))
            person.event.set()

        told = await tell(agent, "read", on=on)

    assert asked_by_then == [False, True]
    assert story(told.updates)[:3] == [LAST_WORDS, "reply", "toolu_asks"]
    assert server.verdict() == ()
