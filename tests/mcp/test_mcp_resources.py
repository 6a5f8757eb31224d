"""Resources of servers: spoken of as `@server:uri`, listed anew, followed once they were read."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from interlock.cli.completing import Completing
from interlock.mcp.mentions import Mentions
from interlock.options import PermissionMode
from interlock.scripted import ScriptedServer, SentRequest
from phases.world.updates import Notice
from tests.agent.support import Room, Told, blocks, tell
from tests.mcp.support import calls, fake, with_servers
from tests.mcp.whole_server import PIXEL
from tests.waiting import until

PATIENT = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "60"}
READ = "ReadMcpResourceTool"


def told_to_the_model(request: SentRequest) -> list[str]:
    """The texts of the last thing that was said to the model."""
    said = blocks(request.body["messages"][-1:])
    return [one["text"] for one in said if one["type"] == "text"]


def warnings(told: Told) -> list[str]:
    """Those about what was spoken of."""
    said = [one for one in told.updates if isinstance(one, Notice) and one.level == "warning"]
    return [one.text for one in said if one.text.startswith("@")]


async def asked(room: Room, words: str, **more: Any) -> tuple[SentRequest, Told]:
    """A prompt to an agent that has a server with notes; its one request."""
    server = fake("notes", name="docs", env={"PIXEL": base64.b64encode(PIXEL).decode()})
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=with_servers(server, **more), environ=PATIENT) as agent,
    ):
        told = await tell(agent, words)
    (request,) = model.requests
    return request, told


async def test_a_resource_that_is_spoken_of_comes_with_the_prompt(room: Room) -> None:
    words = "what does @docs:note://one, say? (not me@docs:note://long, not `@docs:note://long`)"
    request, told = await asked(room, words)

    notes = [one for one in told_to_the_model(request) if "speaks of" in one]
    assert len(notes) == 1
    assert "The user speaks of @docs:note://one:\n\nnote://one:\none\n" in notes[0]
    assert warnings(told) == []


async def test_a_long_resource_is_cut_as_every_result_is(room: Room) -> None:
    request, _ = await asked(room, "read @docs:note://long please")

    (note,) = (one for one in told_to_the_model(request) if "speaks of" in one)
    assert len(note) < 60_000  # of 100,000
    assert "characters" in note


async def test_a_picture_is_shown(room: Room) -> None:
    request, _ = await asked(room, "what is in @docs:pic://dot?")

    assert [one["type"] for one in blocks(request.body["messages"])].count("image") == 1


async def test_one_that_is_missing_is_told_in_one_line_to_both(room: Room) -> None:
    request, told = await asked(room, "read @docs:note://two and @docs:note://one")

    (line,) = warnings(told)
    assert line.startswith("@docs:note://two was not read: The MCP server docs refused")
    assert line.endswith("there is no note://two (code -32002).")
    noted = " ".join(told_to_the_model(request))
    assert "@docs:note://two, which was not read: The MCP server docs refused" in noted
    assert "note://one:\none" in noted


async def test_a_server_that_cannot_be_asked_is_told_too(room: Room) -> None:
    options = with_servers(fake("crash", name="broken"), fake(name="plain"))
    words = "read @broken:note://one, @plain:note://one, @nobody:note://one and @plain:x"
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=options, environ=PATIENT) as agent,
    ):
        told = await tell(agent, words)

    first, second = warnings(told)
    assert "@broken:note://one was not read: the MCP server broken is not there: it" in first
    assert second == "@plain:note://one was not read: the MCP server plain offers no resources"


async def test_what_rules_deny_is_not_read(room: Room) -> None:
    request, _ = await asked(
        room,
        "read @docs:note://one",
        disallowed_tools=(READ,),
        permission_mode=PermissionMode.DEFAULT,
    )

    (note,) = (one for one in told_to_the_model(request) if "speaks of" in one)
    assert "which was not read" in note
    assert "one\n" not in note


async def test_resources_are_completed(room: Room) -> None:
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=with_servers(fake("notes")), environ=PATIENT) as agent,
    ):
        await agent.servers.settled()
        mentions = Mentions(agent.servers.by_name.values)
        completing = Completing(dict, Path(), lambda: dict(mentions.offered()))
        await until(lambda: bool(list(mentions.offered())))  # nobody waits for the list
        line = Document("look at @fake:note://o")
        found = [one.text for one in completing.get_completions(line, CompleteEvent())]

    assert found == ["fake:note://one"]


# --- what changes -----------------------------------------------------------------------------


async def test_a_new_resource_is_told_as_new_tools_are(room: Room) -> None:
    write = ("mcp__fake__write", {"uri": "note://new", "text": "new"})
    async with (
        ScriptedServer(calls(write)) as model,
        room.open(model, options=with_servers(fake("notes")), environ=PATIENT) as agent,
    ):
        first = await tell(agent, "write")
        news = agent.servers.by_name["fake"].news
        await until(lambda: len(news.resources) == 3)
        second = await tell(agent, "go on")

    shown = [*first.updates, *second.updates]
    told = [one.text for one in shown if isinstance(one, Notice)]
    assert "the MCP server fake: 1 resources joined" in told
    assert "The MCP server fake has new resources now: note://new." in str(
        model.requests[-1].body["messages"]
    )


async def test_a_resource_that_changed_since_it_was_read_is_told_once(room: Room) -> None:
    script = calls(
        (READ, {"server": "fake", "uri": "note://one"}),
        *[("mcp__fake__write", {"uri": "note://one", "text": f"{n}"}) for n in range(20)],
        ("Bash", {"command": "true"}),
    )
    async with (
        ScriptedServer(script) as model,
        room.open(model, options=with_servers(fake("notes")), environ=PATIENT) as agent,
    ):
        await tell(agent, "go")
        await tell(agent, "go on")

    said = str(model.requests[-1].body["messages"])
    assert said.count("The resource note://one of the MCP server fake has changed") == 1
