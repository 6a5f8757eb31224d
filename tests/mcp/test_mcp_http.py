"""Servers over HTTP that forget, break off, refuse or end: what the model reads, what goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from interlock.mcp import Scope, parsed
from interlock.scripted import ScriptedServer
from tests.agent.support import Room, results, tell
from tests.mcp.support import calls, listening, with_servers

ODD = Path(__file__).with_name("odd_http_server.py")
PATIENT = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "60"}


@asynccontextmanager
async def said_to(room: Room, mode: str, *tools: str) -> AsyncIterator[tuple[list[str], str]]:
    """The last result of each of these calls, and how the server stands then."""
    script = calls(*[(f"mcp__odd__{tool}", {}) for tool in tools])
    with listening(ODD, mode) as base:
        odd = parsed("odd", {"url": f"{base}/mcp"}, scope=Scope.USER, environ={})
        async with (
            ScriptedServer(script) as model,
            room.open(model, options=with_servers(odd), environ=PATIENT) as agent,
        ):
            await tell(agent, "go")
            (status,) = agent.servers.status()
            yield [results(one)[-1][1] for one in model.requests[1:]], status.status


async def test_a_server_that_has_forgotten_our_session_is_connected_to_anew(room: Room) -> None:
    async with said_to(room, "fine", "fine", "forget", "fine", "fine") as (said, status):
        first, _, third, fourth = said

    assert third == (
        "The MCP server odd did not take the tool fine: it knows our session no more. It is being"
        " connected to anew: call again."
    )
    assert (first, fourth, status) == ("did fine", "did fine", "connected")


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("refuses", "refused the tool odd: database is locked (code -32000)."),
        ("busy", "refused the tool odd: Server returned an error response, with the HTTP status"),
        ("garbles", "refused the tool odd: its answer cannot be read: unexpected end of hex"),
    ],
)
async def test_a_call_that_is_refused_leaves_the_server_where_it_is(
    room: Room, mode: str, words: str
) -> None:
    async with said_to(room, mode, "odd", "odd", "odd", "odd", "odd", "fine") as (said, status):
        assert status == "connected"

    assert all(words in one for one in said[:-1])
    assert said[-1] == "did fine"


async def test_an_answer_that_breaks_off_leaves_open_what_the_call_has_done(room: Room) -> None:
    async with said_to(room, "breaks_off", "odd", "fine") as (said, _):
        broken, fine = said

    assert broken == (
        "The MCP server odd was lost during the tool odd: SSE stream ended without a response."
        " Whether the call has taken effect is not known."
    )
    assert fine == "did fine"


async def test_a_server_that_ends_in_a_call_says_so_in_its_own_words(room: Room) -> None:
    async with said_to(room, "dies", "odd") as (said, _):
        (lost,) = said

    assert lost.startswith("The MCP server odd was lost during the tool odd: Server disconnected")
    assert lost.endswith("Whether the call has taken effect is not known.")


async def test_a_call_that_wants_to_know_who_we_are_shuts_us_out_until_a_login(
    room: Room,
) -> None:
    async with said_to(room, "shut", "odd", "fine") as (said, status):
        assert status == "needs-auth"

    assert all("answers 401: interlock mcp login odd logs you in" in one for one in said)
