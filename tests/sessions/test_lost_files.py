"""Files of a session that are taken away, or cannot be made, while it runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from interlock.errors import TranscriptError
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, tool_use
from interlock.summary import RunSummary
from interlock.tools import tool
from phases.world.messages import Kind
from tests.agent.support import Room, tell, unanswered
from tests.sessions.disks import files_of_at_most
from tests.sessions.full_disks import FREE, kinds


async def meddled(room: Room, how: Callable[[Path], object]) -> tuple[RunSummary, Path]:
    """A run with whose transcript something happens while its one call runs."""

    @tool
    def meddle() -> str:
        """Meddles."""
        how(next(room.home.glob("projects/*/*.jsonl")))
        return "done"

    answers = [reply("I do.", tool_use("meddle", {})), reply("Never asked.")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=FREE, tools=[meddle]) as agent,
    ):
        summary = await agent.prompt("meddle", lambda update: None)
        assert len(server.requests) == 1
        return summary, agent.transcript_path


@pytest.mark.parametrize(
    "how",
    [Path.unlink, lambda path: shutil.rmtree(path.parents[2])],
    ids=["alone", "with its home"],
)
async def test_a_transcript_that_is_removed_ends_the_run_and_is_written_anew(
    tmp_path: Path, how: Callable[[Path], object]
) -> None:
    summary, path = await meddled(Room.made(tmp_path), how)

    assert summary.reason == "model_error"
    assert summary.error_text == f"transcript {path}: was removed while it was being written."
    assert kinds(path) == [Kind.PROMPT, Kind.REPLY, Kind.RESULT]
    assert unanswered(path) == []


async def test_a_file_that_took_its_place_is_left_alone(tmp_path: Path) -> None:
    def replaced(path: Path) -> None:
        path.with_suffix(".new").write_text("somebody else's\n")
        path.with_suffix(".new").rename(path)

    summary, path = await meddled(Room.made(tmp_path), replaced)

    assert summary.reason == "model_error"
    assert "another file has taken its place; move that one away" in (summary.error_text or "")
    assert path.read_text() == "somebody else's\n"


async def test_a_folder_that_cannot_be_made_is_named_as_one(tmp_path: Path) -> None:
    room = attrs.evolve(Room.made(tmp_path / "room"), home=tmp_path / "file" / "home")
    (tmp_path / "file").write_text("no folder")

    async with ScriptedServer([]) as server:
        with pytest.raises(TranscriptError) as caught:
            async with room.open(server, options=FREE) as agent:
                await tell(agent, "hi")

    assert str(caught.value) == (
        f"folder {tmp_path}/file: cannot be written: File exists; "
        "move away the file that stands in its place, or set INTERLOCK_HOME to another"
    )


async def test_a_trace_that_cannot_be_begun_is_named_as_one_and_the_prompt_is_not_kept(
    tmp_path: Path,
) -> None:
    room = Room.made(tmp_path)
    async with (
        ScriptedServer([reply("One."), reply("Three.")]) as server,
        room.open(server, options=FREE) as agent,
    ):
        await tell(agent, "one")
        with files_of_at_most(100), pytest.raises(TranscriptError) as caught:
            await tell(agent, "two")
        told = await tell(agent, "three")

    assert str(caught.value).startswith("trace ")
    assert ".trace.jsonl: cannot be written: File too large; raise the limit" in str(caught.value)
    assert told.ending == ("completed", None)
    assert "two" not in str(server.requests[-1].body["messages"])


async def test_a_record_of_calls_that_cannot_be_made_keeps_the_call_from_beginning(
    tmp_path: Path,
) -> None:
    room = Room.made(tmp_path)

    def answer(request: SentRequest) -> Answer:
        (runs,) = room.home.glob("projects/*/*/runs")
        shutil.rmtree(runs)
        return reply(tool_use("Bash", {"command": "touch it-ran"}))

    async with ScriptedServer(answer) as server, room.open(server, options=FREE) as agent:
        summary = await agent.prompt("go", lambda update: None)

    assert summary.reason == "model_error"
    assert (summary.error_text or "").startswith("record of calls ")
    assert "No such file or directory; put its folder back" in (summary.error_text or "")
    assert not (room.work / "it-ran").exists()
