"""A disk that is full, read-only or failing, under a whole session."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import attrs
import pytest

from interlock.durability import Disk, Fsync
from interlock.errors import TranscriptError
from interlock.open_calls import FINISHED
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, tool_use
from interlock.sessions import read_messages
from interlock.tools import tool
from phases.world.messages import Kind
from tests.agent.support import Room, living, results, tell
from tests.sessions.disks import files_of_at_most, fill, read_only, small_disk
from tests.sessions.full_disks import FREE, GO_ON, kinds, refusal, stopped_by, warnings


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """A home on a small disk of its own."""
    with small_disk(tmp_path / "disk") as disk:
        yield attrs.evolve(Room.made(tmp_path / "room"), home=disk / "home")


async def test_a_disk_that_fills_ends_the_run_with_what_where_and_how_to_mend(room: Room) -> None:
    told = await stopped_by(room, fill)

    (path,) = room.home.glob("projects/*/*.jsonl")
    assert told.ending == ("model_error", "model_error")
    assert told.summary.error_text is not None
    assert told.summary.error_text.split(": ", 1)[1] == (
        "cannot be written: No space left on device; make room on that disk. "
        "Not in the transcript: 1 result."
    )
    assert not [one for one in warnings(told) if one.startswith("transcript")]  # told once
    assert kinds(path) == [Kind.PROMPT, Kind.REPLY]


async def test_when_there_is_room_again_the_session_goes_on_and_tells_the_truth(
    room: Room,
) -> None:
    await stopped_by(room, fill)
    before = next(room.home.glob("projects/*/*.jsonl")).read_bytes()
    (room.home.parent / "filler").unlink()

    answers = [reply("I look.")]
    async with ScriptedServer(answers) as server, room.open(server, options=GO_ON) as agent:
        told = await tell(agent, "go on")
        path = agent.transcript_path

    assert told.ending == ("completed", None)
    ((_, said, is_error),) = results(server.requests[0])[:1]
    assert is_error
    assert said.startswith(FINISHED.partition("{")[0]) or "is not known" in said
    assert path.read_bytes().startswith(before)
    assert kinds(path) == [Kind.PROMPT, Kind.REPLY, Kind.RESULT, Kind.PROMPT, Kind.REPLY]
    assert server.verdict() == ()


async def test_the_same_session_goes_on_too_and_writes_what_it_could_not(room: Room) -> None:
    full: list[Path] = []

    def answer(request: SentRequest) -> Answer:
        if request.index == 1:
            full.append(fill(room.home.parent))
            return reply("First. " + "x" * 9_000)
        return reply("Second.")

    async with ScriptedServer(answer) as server, room.open(server, options=FREE) as agent:
        lost = await tell(agent, "one")
        full[0].unlink()
        told = await tell(agent, "two")
        path = agent.transcript_path

    assert lost.ending == ("completed", "not_recorded")
    assert lost.summary.text.startswith("First. ")
    assert "Not in the transcript: 1 answer." in (lost.summary.error_text or "")
    assert told.ending == ("completed", None)
    assert kinds(path) == [Kind.PROMPT, Kind.REPLY, Kind.PROMPT, Kind.REPLY]


async def test_a_prompt_that_was_refused_does_not_go_out_with_the_next_one(room: Room) -> None:
    answers = [reply("First."), reply("Third.")]
    async with ScriptedServer(answers) as server, room.open(server, options=FREE) as agent:
        await tell(agent, "one")
        filler = fill(room.home.parent)
        traces = {"trace", "folder", "transcript"}
        refused = await refusal(agent, "delete it all " * 400)
        filler.unlink()
        told = await tell(agent, "three")
        path = agent.transcript_path

    assert refused.split()[0] in traces
    assert told.ending == ("completed", None)
    assert [str(one["content"]) for one in server.requests[-1].body["messages"]][-1].count("three")
    assert "delete it all" not in str(server.requests[-1].body["messages"])
    assert kinds(path) == [Kind.PROMPT, Kind.REPLY, Kind.PROMPT, Kind.REPLY]


async def test_a_prompt_that_no_transcript_takes_is_dropped_and_that_is_told(
    tmp_path: Path,
) -> None:
    room = Room.made(tmp_path)
    async with (
        ScriptedServer([reply("First."), reply("Third.")]) as server,
        room.open(server, options=FREE) as agent,
    ):
        await tell(agent, "one")
        with files_of_at_most(20_000):  # the trace has room, the prompt has none
            lost = await tell(agent, "delete it all " * 4_000)
        told = await tell(agent, "three")
        path = agent.transcript_path

    assert lost.ending == ("model_error", "model_error")
    assert lost.summary.error_text == (
        f"transcript {path}: cannot be written: File too large; raise the limit on file sizes "
        "(ulimit -f). Not in the transcript: 1 prompt. The prompt is not kept: give it again."
    )
    assert not [one for one in warnings(lost) if one.startswith("transcript")]
    assert told.ending == ("completed", None)
    assert "delete it all" not in str(server.requests[-1].body["messages"])
    assert kinds(path) == [Kind.PROMPT, Kind.REPLY, Kind.PROMPT, Kind.REPLY]


async def test_of_two_that_begin_one_session_the_slower_is_told_once(tmp_path: Path) -> None:
    room = Room.made(tmp_path)
    chosen = attrs.evolve(FREE, session_id="22222222-2222-4222-8222-222222222222")
    async with ScriptedServer([]) as server, room.open(server, options=chosen) as agent:
        agent.transcript_path.parent.mkdir(parents=True)
        agent.transcript_path.write_text('{"the": "faster one\'s"}\n')
        told = await tell(agent, "hi")

    assert told.ending == ("model_error", "model_error")
    assert told.summary.error_text == (
        f"transcript {agent.transcript_path}: another process has just begun this session: leave "
        "--session-id out, or go on in a branch (--resume with --fork-session). "
        "Not in the transcript: 1 prompt. The prompt is not kept: give it again."
    )
    assert warnings(told) == []
    assert agent.transcript_path.read_text() == '{"the": "faster one\'s"}\n'


async def test_a_disk_that_turned_read_only_ends_the_run_likewise(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        room = attrs.evolve(Room.made(tmp_path / "room"), home=disk / "home")
        answers = [reply("Done.")]
        async with ScriptedServer(answers) as server, room.open(server, options=FREE) as agent:
            await tell(agent, "one")
            path = agent.transcript_path
        read_only(disk)  # refused while anything is open for writing

        async with ScriptedServer([]) as server:
            with pytest.raises(TranscriptError, match="Read-only file system; make it writable"):
                async with room.open(server, options=GO_ON) as agent:
                    await tell(agent, "two")
        assert not server.requests
        assert kinds(path) == [Kind.PROMPT, Kind.REPLY]


async def test_a_limit_on_file_sizes_ends_the_run_and_the_cut_line_costs_itself_alone(
    tmp_path: Path,
) -> None:
    room = Room.made(tmp_path)

    def answer(request: SentRequest) -> Answer:
        return reply("First. " + "x" * 60_000) if request.index == 1 else reply("Second.")

    async with ScriptedServer(answer) as server, room.open(server, options=FREE) as agent:
        with files_of_at_most(40_000):
            lost = await tell(agent, "one")
        told = await tell(agent, "two")
        path = agent.transcript_path

    assert lost.ending == ("completed", "not_recorded")
    problem = "File too large; raise the limit on file sizes (ulimit -f)"
    assert problem in (lost.summary.error_text or "")
    assert problem not in str([one for one in warnings(lost) if one.startswith("transcript")])
    assert told.ending == ("completed", None)
    assert kinds(path) == [Kind.PROMPT, Kind.REPLY, Kind.PROMPT, Kind.REPLY]


async def test_a_trace_and_a_recording_that_cannot_go_on_are_warnings_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    room = Room.made(tmp_path)

    @tool(effects=False)
    def look() -> str:
        """Looks."""
        (trace,) = room.home.glob("projects/*/*/runs/*.trace.jsonl")
        limits.enter_context(files_of_at_most(trace.stat().st_size + 100))
        return "seen"

    answers = [reply(tool_use("look", {})), reply("Done.")]
    with ExitStack() as limits:
        async with (
            ScriptedServer(answers) as server,
            room.open(server, options=attrs.evolve(FREE, record=True), tools=[look]) as agent,
        ):
            told = await tell(agent, "look")
            path = agent.transcript_path

    assert told.ending == ("completed", None)
    assert kinds(path) == [Kind.PROMPT, Kind.REPLY, Kind.RESULT, Kind.REPLY]
    trace, recording = sorted(warnings(told))
    assert trace.startswith("explain and replay will see this run up to here: its trace cannot be")
    assert trace.endswith("File too large; raise the limit on file sizes (ulimit -f)")
    assert recording.startswith("this run is not recorded: ")
    assert told.trace.damage == ()


async def test_a_disk_that_fails_to_keep_what_it_took_lets_no_request_leave(
    tmp_path: Path,
) -> None:
    def fails(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    room = Room.made(tmp_path)
    async with (
        ScriptedServer([]) as server,
        room.open(server, options=FREE, disk=Disk(Fsync.REQUEST, fails)) as agent,
    ):
        told = await tell(agent, "hi")
        path = agent.transcript_path

    assert told.ending == ("model_error", "model_error")
    assert "Input/output error; the disk itself failed" in (told.summary.error_text or "")
    assert not server.requests
    assert [message.id for message in told.shown] == [one.id for one in read_messages(path)]


async def test_a_file_system_without_such_a_thing_is_no_trouble(tmp_path: Path) -> None:
    def unknown(file: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    room = Room.made(tmp_path)
    async with (
        ScriptedServer([reply("Hello.")]) as server,
        room.open(server, options=FREE, disk=Disk(Fsync.ALWAYS, unknown)) as agent,
    ):
        assert (await tell(agent, "hi")).ending == ("completed", None)


async def test_what_runs_is_ended_when_the_disk_is_full(room: Room) -> None:
    @tool
    def change() -> str:
        """Changes something."""
        fill(room.home.parent)
        return "changed " * 2_000

    sleeps = {"command": "sleep 600", "run_in_background": True}
    answers = [reply(tool_use("Bash", sleeps), tool_use("change", {}))]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=FREE, tools=[change]) as agent,
    ):
        told = await tell(agent, "go")

    assert told.ending == ("model_error", "model_error")
    assert living(room.work) == []
