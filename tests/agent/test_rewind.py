"""Sessions that go back to an earlier prompt: live, after a resume, past a compaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.agent import Agent
from interlock.errors import UsageError
from interlock.options import Options, PermissionMode, Resume
from interlock.rewinding import Rewound, What, plan, point_named, points
from interlock.scripted import Reply, ScriptedServer, SentRequest, reply, tool_use
from interlock.sessions import read
from phases.world.updates import Notice, ToolStarted, Update
from tests.agent.support import MODEL, Room, entries, held, results, sent, tell

FREELY = Options(permission_mode=PermissionMode.BYPASS_PERMISSIONS, model=MODEL)


def resumed(session: str) -> Options:
    return Options(
        permission_mode=PermissionMode.BYPASS_PERMISSIONS, resume=Resume(session=session)
    )


def reads(path: str, call: str) -> Reply:
    return reply(tool_use("Read", {"file_path": path}, id=call))


def writes(path: str, text: str, call: str) -> Reply:
    return reply(tool_use("Write", {"file_path": path, "content": text}, id=call))


def said(request: SentRequest) -> list[str]:
    return [block["text"] for block in sent(request) if "text" in block]


def nobody(update: Update) -> None:
    """Nobody watches."""


async def go_back(agent: Agent, to: str, what: What = What.BOTH) -> Rewound:
    found = points(agent.paths)
    planned = plan(agent.paths, found, point_named(found.points, to), what)
    return await agent.rewind(planned, nobody)


def names(agent: Agent) -> list[str]:
    return [point.line for point in points(agent.paths).points]


PAINTING: Sequence[Reply] = (
    reads("a.txt", "toolu_1"),
    writes("a.txt", "red\n", "toolu_2"),
    reply("Red."),
    writes("a.txt", "blue\n", "toolu_3"),
    writes("new.txt", "new\n", "toolu_4"),
    reply("Blue."),
)


async def painted(agent: Agent) -> None:
    await tell(agent, "make it red")
    await tell(agent, "now blue")


async def test_a_session_goes_on_from_where_it_was_rewound_to(room: Room) -> None:
    async with ScriptedServer([*PAINTING, reply("Green.")]) as server, room.open(server) as agent:
        await painted(agent)
        done = await go_back(agent, "2")
        await tell(agent, "now green")

    assert (room.work / "a.txt").read_text() == "red\n"
    assert not (room.work / "new.txt").exists()
    assert [each.path.name for each in done.back] == ["a.txt", "new.txt"]
    assert said(server.requests[-1]) == ["make it red", "Red.", "now green"]
    assert server.verdict() == ()


async def test_what_was_read_before_a_rewind_must_be_read_again(room: Room) -> None:
    answers = [*PAINTING, writes("a.txt", "green\n", "toolu_9"), reply("Oh.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await painted(agent)
        await go_back(agent, "2", What.CONVERSATION)
        await tell(agent, "now green")

    ((_, text, is_error),) = results(server.requests[-1])
    assert is_error
    assert "has not been read in this session" in text
    assert (room.work / "a.txt").read_text() == "blue\n"


async def test_a_rewind_survives_a_resume_and_can_be_undone_after_it(room: Room) -> None:
    async with ScriptedServer(PAINTING) as server, room.open(server) as agent:
        await painted(agent)
    id_ = agent.session_id

    async with room.open(server, options=resumed(id_)) as agent:
        done = await go_back(agent, "now blue")
    async with room.open(server, options=resumed(id_)) as agent:
        assert names(agent) == ["make it red", "Rewound to before: now blue"]
        assert (room.work / "a.txt").read_text() == "red\n"
        await go_back(agent, done.id)

    yes = ScriptedServer([reply("Yes.")])
    async with yes as server, room.open(server, options=resumed(id_)) as agent:
        told = await tell(agent, "still blue?")
    assert (room.work / "a.txt").read_text() == "blue\n"
    assert (room.work / "new.txt").read_text() == "new\n"
    assert said(server.requests[0]) == [
        *("make it red", "Red.", "now blue", "Blue.", "still blue?")
    ]
    # What a person has left by a rewind is no branch to be warned of.
    assert not any("branch" in one.text for one in told.updates if isinstance(one, Notice))


async def test_the_transcript_is_only_added_to(room: Room) -> None:
    async with ScriptedServer(PAINTING) as server, room.open(server) as agent:
        await painted(agent)
        before = agent.transcript_path.read_bytes()
        await go_back(agent, "1")
        after = agent.transcript_path.read_bytes()

    assert after.startswith(before)
    (marker,) = [each for each in entries(agent.transcript_path) if "rewind" in each]
    assert (marker["type"], marker["parentUuid"]) == ("system", None)


async def test_one_goes_back_to_a_prompt_from_before_a_compaction(room: Room) -> None:
    answers = [*PAINTING, reply("It was painted."), reply("As you say."), reply("Green.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await painted(agent)
        assert await agent.compact(nobody) is None
        await tell(agent, "well done")
        assert names(agent) == ["make it red", "now blue", "well done"]

        await go_back(agent, "now blue")
        await tell(agent, "now green")
        reading = read(agent.transcript_path)

    assert (room.work / "a.txt").read_text() == "red\n"
    assert said(server.requests[-1]) == ["make it red", "Red.", "now green"]
    assert [message.text for message in reading.messages if message.text] == [
        *("make it red", "Red.", "now green", "Green.")
    ]
    assert server.verdict() == ()


async def test_words_that_were_queued_while_it_worked_are_a_point_too(room: Room) -> None:
    answers = [
        reads("a.txt", "toolu_1"),
        writes("a.txt", "red\n", "toolu_2"),
        reply("Red."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:

        def on(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted) and not agent.waiting.messages:
                agent.queue("in red, please")

        await tell(agent, "paint it", on=on)
        assert names(agent)[:2] == ["paint it", "in red, please"]
        await go_back(agent, "2")

    assert (room.work / "a.txt").read_text() == "alpha\n"


async def test_what_was_planned_before_the_session_went_on_is_not_done(room: Room) -> None:
    server = ScriptedServer([reply("One."), reply("Two.")])
    async with server, room.open(server) as agent:
        await tell(agent, "one")
        found = points(agent.paths)
        planned = plan(agent.paths, found, found.points[0])
        await tell(agent, "two")

        with pytest.raises(UsageError, match="gone on since"):
            await agent.rewind(planned, nobody)

        assert names(agent) == ["one", "two"]


async def test_all_tools_that_change_files_keep_checkpoints(room: Room) -> None:
    notebook = room.work / "n.ipynb"
    cell = '{"cell_type": "code", "id": "c", "metadata": {}, "outputs": [], "source": ["1"]}'
    source = f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}'
    notebook.write_text(source)
    edit = {"old_string": "alpha", "new_string": "omega"}
    edits = [{"old_string": "beta", "new_string": "zeta"}]
    answers = [
        reads("a.txt", "toolu_1"),
        reads("b.txt", "toolu_2"),
        reads("n.ipynb", "toolu_3"),
        reply(tool_use("Edit", {"file_path": "a.txt", **edit}, id="toolu_4")),
        reply(tool_use("MultiEdit", {"file_path": "b.txt", "edits": edits}, id="toolu_5")),
        reply(
            tool_use(
                "NotebookEdit",
                {"notebook_path": "n.ipynb", "cell_id": "c", "new_source": "2"},
                id="toolu_6",
            )
        ),
        writes("c.txt", "new\n", "toolu_7"),
        reply("All done."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "change all")
        assert (room.work / "b.txt").read_text() == "zeta\n"
        done = await go_back(agent, "1")

    assert [each.path.name for each in done.back] == ["a.txt", "b.txt", "c.txt", "n.ipynb"]
    assert done.left == ()
    assert notebook.read_text() == source
    assert (room.work / "a.txt").read_text() == "alpha\n"
    assert not (room.work / "c.txt").exists()


async def test_a_switch_keeps_no_checkpoints(room: Room) -> None:
    off = {"CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING": "1"}
    async with ScriptedServer(PAINTING) as server, room.open(server, environ=off) as agent:
        await painted(agent)
        found = points(agent.paths)
        with pytest.raises(UsageError, match="no checkpoints were kept"):
            plan(agent.paths, found, found.points[0], What.FILES)

    assert not Path(agent.paths.folder / "checkpoints").exists()


async def test_nothing_goes_back_while_a_prompt_is_under_way(room: Room) -> None:
    async with (
        ScriptedServer([*PAINTING[:3], reply("Blue."), reply("Green.")]) as server,
        held(server, b"Blue.") as line,
        room.open(line.url) as agent,
    ):
        await tell(agent, "make it red")
        found = points(agent.paths)
        planned = plan(agent.paths, found, found.points[0])
        begun = asyncio.Event()
        running = asyncio.create_task(tell(agent, "now blue", on=lambda *_: begun.set()))
        await begun.wait()
        with pytest.raises(UsageError, match="a prompt is under way"):
            await agent.rewind(planned, nobody)
        assert (room.work / "a.txt").read_text() == "red\n"
        line.release()
        await running
        await tell(agent, "now green")

    assert said(server.requests[-1]) == [
        *("make it red", "Red.", "now blue", "Blue.", "now green")
    ]
