"""What a whole run leaves behind about its calls."""

from __future__ import annotations

from interlock.call_records import Calls, again, calls_of
from interlock.scripted import End, ScriptedServer, cut, reply, tool_use
from interlock.tools.lifecycle import CallState
from phases.world.updates import ToolProgress, ToolStarted, Update
from tests.agent.support import Room, Told, events_of, held, tell

LAST_WORDS = "These are my last words."


def calls(agent_trace: Told, room: Room) -> Calls:
    (path,) = room.home.glob(f"projects/*/*/runs/{agent_trace.summary.run_id}.trace.jsonl")
    return calls_of(path)


async def test_a_call_of_a_reply_that_was_cut_stands_under_its_request_and_lives_once(
    room: Room,
) -> None:
    read = tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_1")
    write = tool_use("Write", {"file_path": str(room.work / "c"), "content": "c"}, id="toolu_2")
    all_but_the_end = events_of(reply(read, write, LAST_WORDS)) - 1
    half = cut(read, write, LAST_WORDS, after=all_but_the_end, end=End.CLOSE)
    async with (
        ScriptedServer([half, reply(read), reply("Done.")]) as server,
        held(server, LAST_WORDS.encode()) as line,
        room.open(line.url) as agent,
    ):

        def on(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted):
                line.release()

        told = await tell(agent, "go", on=on)

    first, written, second = calls(told, room).lives
    request = next(one.sequence for one in told.trace if one.outcome == "Streamed")
    assert [one.facts.id for one in (first, written, second)] == ["toolu_1", "toolu_2", "toolu_1"]
    assert first.under == written.under == request
    assert first.state in (CallState.DONE, CallState.ABORTED)  # it may have been quick
    assert written.path == ["queued", "aborted"]
    assert second.state is CallState.DONE
    assert second.under > request


async def test_a_command_that_only_reads_starts_while_the_answer_still_arrives(
    room: Room,
) -> None:
    call = tool_use("Bash", {"command": "cat a.txt"}, id="toolu_1")
    async with (
        ScriptedServer([reply(call, LAST_WORDS), reply("Done.")]) as server,
        held(server, LAST_WORDS.encode()) as line,
        room.open(line.url) as agent,
    ):

        def on(update: Update, number: int) -> None:
            if isinstance(update, ToolProgress):  # it has begun, and printed
                line.release()

        told = await tell(agent, "go", on=on)

    (life,) = calls(told, room).lives
    assert life.records[0].reason == "starts_early"
    assert life.state is CallState.DONE
    assert server.verdict() == ()


async def test_an_interrupt_is_the_end_of_every_open_call(room: Room) -> None:
    both = (
        tool_use("Bash", {"command": "echo begun; sleep 60"}, id="toolu_1"),
        tool_use("Bash", {"command": "echo never > c"}, id="toolu_2"),
    )
    async with ScriptedServer([reply(*both)]) as server, room.open(server) as agent:

        def on(update: Update, number: int) -> None:
            if isinstance(update, ToolProgress):
                agent.interrupt()

        told = await tell(agent, "go", on=on)

    assert told.ending == ("aborted_tools", "aborted_tools")
    lives = calls(told, room).lives
    assert [one.path[-2] for one in lives] == ["running", "queued"]
    assert {one.state for one in lives} == {CallState.INTERRUPTED}
    assert all(again(one).divergence is None for one in lives)
    assert calls(told, room).open == ()
