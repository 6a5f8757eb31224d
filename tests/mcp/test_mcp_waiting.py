"""Servers that come late, in `interlock -p`: those that a prompt asks for are waited for, those
that never came are named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest

from interlock.errors import UsageError
from interlock.scripted import ScriptedServer, ServerThread, reply
from tests.agent.support import Room, sent, tell
from tests.cli.shell import REAL, Shell
from tests.mcp.support import FAKE, WHOLE, calls, fake, with_servers

HASTY = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "0"}
REVIEW = "/mcp__whole__review notes.txt"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def config(**servers: list[str]) -> str:
    named = {
        name: {"command": sys.executable, "args": list(arguments)}
        for name, arguments in servers.items()
    }
    return json.dumps({"mcpServers": named})


def test_a_server_that_was_never_there_is_listed_as_pending_and_named_at_the_end(
    shell: Shell,
) -> None:
    given = config(late=["-S", str(FAKE), "never"])
    with ServerThread([reply("Done.")]) as model:
        env = {**HASTY, "ANTHROPIC_BASE_URL": model.base_url}
        flags = ("--output-format", "stream-json", "--verbose")
        ran = shell.run("-p", "hi", "--mcp-config", given, *flags, program=REAL, env=env)

    assert ran.code == 0
    init, *rest = ran.lines
    assert init["mcp_servers"] == [{"name": "late", "status": "pending"}]
    words = "the MCP server late was never there: it was still being started at the end"
    assert words in json.dumps(rest)


def test_in_text_the_server_is_named_on_standard_error(shell: Shell) -> None:
    given = config(late=["-S", str(FAKE), "never"])
    with ServerThread([reply("Done.")]) as model:
        env = {**HASTY, "ANTHROPIC_BASE_URL": model.base_url}
        ran = shell.run("-p", "hi", "--mcp-config", given, program=REAL, env=env)

    assert (ran.code, ran.out) == (0, "Done.\n")
    assert ran.err.startswith("! the MCP server late was never there")
    assert ran.err.count("\n") == 1


def test_the_server_of_a_prompt_is_waited_for(shell: Shell) -> None:
    given = config(whole=[str(WHOLE), "stdio"])  # which takes a second to import what it needs
    with ServerThread([reply("Done.")]) as model:
        env = {**HASTY, "ANTHROPIC_BASE_URL": model.base_url}
        ran = shell.run("-p", REVIEW, "--mcp-config", given, program=REAL, env=env)
        (request,) = model.requests

    assert ran.code == 0, ran.err
    assert "Review notes.txt in a kind way." in str(request.body["messages"])


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/mcp__gone__greet", "the MCP server gone is not there: it ended with exit code 7"),
        ("/mcp__fake__greet", "the MCP server fake has no such prompt"),
    ],
)
async def test_a_prompt_that_is_not_there_says_what_became_of_its_server(
    room: Room, command: str, why: str
) -> None:
    options = with_servers(fake("crash", name="gone"), fake())
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=options, environ=HASTY) as agent,
    ):
        with pytest.raises(UsageError, match=f"no command {command}: {why}"):
            await tell(agent, command)


async def test_who_switches_on_a_server_that_does_not_come_is_not_kept(room: Room) -> None:
    options = with_servers(fake("never"))
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=options, environ=HASTY) as agent,
    ):
        agent.servers.switch_s = 0.1
        with anyio.fail_after(30):  # half of what it has to start
            await agent.servers.reconnect("fake")
        (status,) = agent.servers.status()

    assert status.status == "pending"


async def test_the_server_of_a_resource_is_waited_for(room: Room) -> None:
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=with_servers(fake("notes")), environ=HASTY) as agent,
    ):
        await tell(agent, "read @fake:note://one")

    assert "The user speaks of @fake:note://one:" in str(sent(model.requests[0]))
