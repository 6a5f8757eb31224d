"""A stop at moments that a person chooses: nothing of the run lives on."""

from __future__ import annotations

import asyncio

import pytest

from fsm import read_trace
from interlock.options import Options
from interlock.scripted import Answer, ScriptedServer, cut, reply, status, tool_use
from interlock.tools.calls import NOT_STARTED, WHILE_RUNNING
from phases.world.updates import Ended, Retrying, TextArrived, ToolProgress, ToolStarted
from tests.agent.stops import INTERRUPTED, SlowToAllow, Stop, stopped
from tests.agent.support import MODEL, Room, Watcher, living, results, sent, tell, unanswered


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
@pytest.mark.parametrize("again", [None, 4])
async def test_a_stop_ends_a_command_with_all_it_started_and_every_call_is_told_the_truth(
    room: Room, how: str, again: int | None
) -> None:
    stubborn = "trap '' TERM; echo begun; sleep 60 & sleep 60"
    unwritten = room.work / "c.txt"
    calls = (
        tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_done"),
        tool_use("Bash", {"command": stubborn}, id="toolu_runs"),
        tool_use(
            "Write", {"file_path": str(room.work / "c.txt"), "content": "c"}, id="toolu_write"
        ),
    )
    async with (
        ScriptedServer([reply(*calls), reply("Going on.")]) as server,
        room.open(server) as agent,
    ):
        stop = Stop(at=(ToolProgress, 1), turns=0, again=again, how=how)
        watcher, _ = await stopped(agent, server, stop)
        left = living(room.work)

        await tell(agent, "go on")

    assert left == []
    assert watcher.updates[-1] == Ended(
        "aborted_tools", "aborted_tools", "Interrupted while tools ran."
    )
    done, runs, waits = results(server.requests[-1])
    assert done == ("toolu_done", "1\talpha\n", False)
    assert (runs[0], runs[2]) == ("toolu_runs", True)
    assert runs[1].startswith(f"{WHILE_RUNNING} Output until then:\nbegun")
    assert waits == ("toolu_write", NOT_STARTED, True)
    assert unanswered(agent.transcript_path) == []
    assert not unwritten.exists()
    assert server.verdict() == ()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_a_stop_breaks_the_wait_before_another_attempt(room: Room, how: str) -> None:
    answers: list[Answer] = [status(529, "overloaded_error", "Overloaded"), reply("Going on.")]
    hour = {"INTERLOCK_BACKOFF_FIRST_S": "3600", "INTERLOCK_BACKOFF_CAP_S": "3600"}
    async with ScriptedServer(answers) as server, room.open(server, environ=hour) as agent:
        stop = Stop(at=(Retrying, 1), turns=3, again=None, how=how)
        watcher, _ = await stopped(agent, server, stop)

        told = await tell(agent, "go on")

    assert isinstance(watcher.updates[-1], Ended)
    assert watcher.updates[-1].reason == "aborted_streaming"
    assert watcher.updates[-1].text == "Interrupted while waiting to ask the model again."
    assert told.ending == ("completed", None)
    assert [block["text"] for block in sent(server.requests[-1])] == [
        "Work on it.",
        INTERRUPTED,
        "go on",
    ]
    assert server.verdict() == ()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_a_stop_withdraws_a_question_that_nobody_answered(room: Room, how: str) -> None:
    path = room.work / "c.txt"
    write = tool_use("Write", {"file_path": str(path), "content": "c"}, id="toolu_w")
    asker = SlowToAllow(turns=None)
    async with (
        ScriptedServer([reply(write), reply("Going on.")]) as server,
        room.open(server, options=Options(model=MODEL), asker=asker) as agent,
    ):
        task = asyncio.create_task(agent.prompt("Write it.", Watcher()))
        await asyncio.wait_for(asker.asked.wait(), 10)
        stopped_by = task.cancel if how == "cancel" else agent.interrupt
        stopped_by()
        await asyncio.wait([task])

        await tell(agent, "go on")

    assert results(server.requests[-1]) == [("toolu_w", NOT_STARTED, True)]
    assert how == "cancel" or task.result().denials == ()
    assert not path.exists()
    assert server.verdict() == ()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_what_a_cut_off_answer_had_said_is_no_part_of_the_history(
    room: Room, how: str
) -> None:
    look = tool_use("Glob", {"pattern": "*.txt"})
    half = cut(look, "And then I would have", after=8, end="stall")
    async with (
        ScriptedServer([half, reply("Going on.")]) as server,
        room.open(server) as agent,
    ):
        stop = Stop(at=(TextArrived, 1), turns=2, again=None, how=how)
        watcher, _ = await stopped(agent, server, stop)
        await asyncio.wait_for(server.wait_for_disconnect(1), 10)

        await tell(agent, "go on")

    assert any(isinstance(update, ToolStarted) for update in watcher.updates)
    assert [block["text"] for block in sent(server.requests[-1])] == [
        "Work on it.",
        INTERRUPTED,
        "go on",
    ]
    assert server.verdict() == ()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_a_cut_off_answer_costs_the_prompt_that_the_server_had_counted(
    room: Room, how: str
) -> None:
    usage = {"input_tokens": 50_000, "output_tokens": 1}
    half = cut("I would have", after=4, end="stall", usage=usage)
    none = {"input_tokens": 0, "output_tokens": 0}
    async with (
        ScriptedServer([half, reply("Going on.", usage=none)]) as server,
        room.open(server) as agent,
    ):
        stop = Stop(at=(TextArrived, 1), turns=2, again=None, how=how)
        await stopped(agent, server, stop)
        (path,) = agent.paths.transcript.parent.rglob("*.trace.jsonl")
        streamed = next(one for one in read_trace(path) if one.source == "api_call")

        told = await tell(agent, "go on")

    assert told.summary.cost == pytest.approx(0.15, rel=1e-3)  # at $3 a million, and once
    if how == "interrupt":  # what is cancelled from outside reports nothing to the loop
        assert streamed.payload["aborted"]
        assert streamed.payload["cost"] == told.summary.cost
        assert streamed.payload["tokens"] == told.summary.models[MODEL].usage.output_tokens
    assert server.verdict() == ()


async def test_an_interrupt_between_two_prompts_does_nothing(room: Room) -> None:
    async with (
        ScriptedServer([reply("One."), reply("Two.")]) as server,
        room.open(server) as agent,
    ):
        agent.interrupt()
        first = await tell(agent, "one")
        agent.interrupt()
        second = await tell(agent, "two")

    assert (first.ending, second.ending) == (("completed", None), ("completed", None))
    assert server.verdict() == ()


async def test_closing_the_session_ends_what_a_command_left_running(room: Room) -> None:
    call = tool_use("Bash", {"command": "sleep 60 & echo done"})
    async with (
        ScriptedServer([reply(call), reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "start it")
        during = living(room.work)
    after = living(room.work)

    assert during != []
    assert after == []
