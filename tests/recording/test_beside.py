"""A recording beside its run repeats nothing that stands elsewhere, and outlives a kill."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from attrs import evolve

from interlock.options import Options, PermissionMode, Resume
from interlock.recording import Recording, RecordingError, beside, read_recording
from interlock.recording.form import written
from interlock.recording.rerun import render, rerun
from interlock.scripted import Answer, ScriptedServer, reply, tool_use
from tests.agent.support import Room, tell
from tests.agent.test_kept_by_a_crash import killed
from tests.recording.stories import recordings


def fresh(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def again(recording: Recording, folder: Path) -> str:
    """How it parts from what was recorded, if it does."""
    return render(await rerun(recording, fresh(folder)))


async def test_each_prompt_of_a_session_is_recorded_unasked_and_runs_again(
    room: Room, tmp_path: Path
) -> None:
    answers = [reply(f"Answer {number}.") for number in range(3)]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        runs = [await tell(agent, f"question {number}") for number in range(3)]
        traces = [agent.paths.trace(run.summary.run_id) for run in runs]

    found = [read_recording(beside(trace)) for trace in traces]

    assert [await again(each, tmp_path / each.name) for each in found] == ["", "", ""]


async def test_a_recording_does_not_repeat_what_earlier_ones_hold(room: Room) -> None:
    words = "a very long question, " * 2_000
    async with (
        ScriptedServer([reply("One."), reply("Two.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, words)
        second = await tell(agent, "and?")
        path = beside(agent.paths.trace(second.summary.run_id))

    assert path.stat().st_size < 4_000
    assert words in str(read_recording(path).lines)
    assert words in written(read_recording(path)).decode()


async def test_where_an_earlier_one_is_gone_that_is_said(room: Room) -> None:
    async with (
        ScriptedServer([reply("One."), reply("Two.")]) as server,
        room.open(server) as agent,
    ):
        first, second = await tell(agent, "first"), await tell(agent, "second")
        path = beside(agent.paths.trace(second.summary.run_id))
        beside(agent.paths.trace(first.summary.run_id)).unlink()

    with pytest.raises(RecordingError, match=f"of run {first.summary.run_id}, which is gone"):
        read_recording(path)


async def test_where_its_transcript_is_gone_that_is_said(room: Room) -> None:
    async with ScriptedServer([reply("One.")]) as server, room.open(server) as agent:
        told = await tell(agent, "first")
        path = beside(agent.paths.trace(told.summary.run_id))
    agent.transcript_path.unlink()

    with pytest.raises(RecordingError, match=r"belongs to .*, which is gone"):
        read_recording(path)


@pytest.mark.parametrize("spoilt", ["cut off", "damaged"])
async def test_a_packed_one_that_cannot_be_unpacked_runs_again_up_to_there(
    room: Room, tmp_path: Path, spoilt: str
) -> None:
    calls = [reply("I look.", tool_use("Read", {"file_path": "a.txt"})) for _ in range(40)]
    async with ScriptedServer([*calls, reply("One.")]) as server, room.open(server) as agent:
        told = await tell(agent, "first")
        path = beside(agent.paths.trace(told.summary.run_id))
    lines = gzip.decompress(path.read_bytes())
    packed = gzip.compress(lines, compresslevel=0)  # so that the damage is where it is put
    half = len(packed) // 2
    spoil = (
        packed[:half] if spoilt == "cut off" else packed[:half] + b"\xff" * (len(packed) - half)
    )
    path.write_bytes(spoil)

    recording = read_recording(path)
    made = await rerun(recording, fresh(tmp_path / "again"))

    assert recording.damage is not None
    assert recording.damage.startswith(f"{path}:")
    assert (render(made), made.went_away) == ("", True)
    assert 0 < made.steps < told.trace.steps


async def test_a_damaged_line_of_the_trace_is_passed_over_and_named(
    room: Room, tmp_path: Path
) -> None:
    async with ScriptedServer([reply("One.")]) as server, room.open(server) as agent:
        told = await tell(agent, "first")
        trace = agent.paths.trace(told.summary.run_id)
    lines = trace.read_bytes().splitlines(keepends=True)

    for at in range(len(lines)):
        trace.write_bytes(b"".join([*lines[:at], b"\x00" * 30 + b"\n", *lines[at + 1 :]]))
        made = await rerun(read_recording(beside(trace)), fresh(tmp_path / str(at)))
        assert (render(made), made.unread) == ("", (at + 1,))


async def test_where_a_recording_that_another_rests_on_is_damaged_that_is_said(
    room: Room,
) -> None:
    async with (
        ScriptedServer([reply("One."), reply("Two.")]) as server,
        room.open(server) as agent,
    ):
        first, second = await tell(agent, "first"), await tell(agent, "second")
    earlier, path = (beside(agent.paths.trace(each.summary.run_id)) for each in (first, second))
    lines = (
        gzip.decompress(earlier.read_bytes()) if earlier.suffix == ".gz" else earlier.read_bytes()
    )
    earlier.write_bytes(lines.replace(b'{"on"', b"{on", 1))

    with pytest.raises(RecordingError, match="the history it begins with cannot be read"):
        read_recording(path)


# --- a kill ----------------------------------------------------------------------------------

KILLED: list[Answer] = [
    reply("I look.", tool_use("Read", {"file_path": "a.txt"})),
    reply("I wait.", tool_use("Bash", {"command": "echo begun > mark; sleep 60"})),
]


async def test_a_run_that_was_killed_runs_again_up_to_there(room: Room, tmp_path: Path) -> None:
    killed(room, KILLED, at="mark")
    (path,) = recordings(room.home)

    made = await rerun(read_recording(path), fresh(tmp_path / "first"))
    async with ScriptedServer([reply("Well.")]) as server:
        options = Options(resume=Resume(), permission_mode=PermissionMode.BYPASS_PERMISSIONS)
        async with room.open(server, options=options) as agent:
            await tell(agent, "go on")
    later = await rerun(read_recording(path), fresh(tmp_path / "later"))

    assert (render(made), render(later)) == ("", "")
    assert made.went_away
    assert made.steps == made.recording.trace.count("\n") - 1 > 5


async def test_of_a_killed_run_what_came_before_still_has_to_be_the_same(
    room: Room, tmp_path: Path
) -> None:
    killed(room, KILLED, at="mark")
    (path,) = recordings(room.home)
    recording = read_recording(path)
    altered = evolve(recording, transcript=recording.transcript.replace("I look", "I gaze"))

    made = await rerun(altered, fresh(tmp_path / "again"))

    assert "I gaze" in render(made)


async def test_one_that_was_killed_can_be_kept_for_itself(room: Room, tmp_path: Path) -> None:
    killed(room, KILLED, at="mark")
    (path,) = recordings(room.home)
    kept = tmp_path / "kept.recording.jsonl"
    kept.write_bytes(written(read_recording(path)))

    made = await rerun(read_recording(kept), fresh(tmp_path / "again"))

    assert (render(made), made.went_away) == ("", True)
