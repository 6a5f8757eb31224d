"""Names and schemas that a request can carry, whatever a server calls its tools."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.mcp.names import server_of, server_part, tool_name
from interlock.mcp.schemas import BadSchema, sendable
from interlock.scripted import ScriptedServer
from phases.world.updates import Notice
from tests.agent.support import Room, results, tell
from tests.mcp.support import calls, fake, tools_of, with_servers

PATIENT = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "60"}
API_PATTERN = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@given(server=st.text(min_size=1, max_size=80), tool=st.text(max_size=120))
def test_every_name_fits_the_pattern_and_leads_to_its_server(server: str, tool: str) -> None:
    name = tool_name(server, tool)

    assert API_PATTERN.fullmatch(name)
    assert server_of(name) == server_part(server)
    assert tool_name(server, tool) == name


@given(st.lists(st.tuples(st.text(max_size=70), st.text(max_size=120)), min_size=2, unique=True))
def test_two_tools_never_have_one_name(named: list[tuple[str, str]]) -> None:
    assert len({tool_name(*one) for one in named}) == len(named)


def test_a_plain_name_is_kept() -> None:
    assert tool_name("github", "create_issue") == "mcp__github__create_issue"


def test_a_server_of_a_plugin_is_called_as_users_write_it_in_rules() -> None:
    assert tool_name("plugin:demo:db", "query") == "mcp__plugin_demo_db__query"
    long = tool_name("plugin:playwright:playwright", "browser_navigate_back")
    assert long == "mcp__plugin_playwright_playwright__browser_navigate_back"


@given(plugin=st.text(max_size=70), server=st.text(max_size=40), tool=st.text(max_size=120))
def test_whatever_a_plugin_calls_them_fits_too(plugin: str, server: str, tool: str) -> None:
    name = tool_name(f"plugin:{plugin}:{server}", tool)

    assert API_PATTERN.fullmatch(name)
    assert server_of(name) == server_part(f"plugin:{plugin}:{server}")


async def test_odd_names_are_sent_mended_and_called_by_their_own(room: Room) -> None:
    dotted = tool_name("fake", "a.b")
    async with (
        ScriptedServer(calls((dotted, {}), ("Read", {"file_path": "a.txt"}))) as model,
        room.open(model, options=with_servers(fake("names")), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "go")

    offered = tools_of(model.requests[0])  # the scripted server refuses names the API would
    mine = [name for name in offered if name.startswith("mcp__fake__")]
    assert len(mine) == len(set(mine)) == 9
    assert offered.count("Read") == 1
    assert [text for _, text, _ in results(model.requests[1])] == ["ok"]
    assert "alpha" in results(model.requests[2])[0][1]  # Read is still ours
    notices = [one.text for one in told.updates if isinstance(one, Notice)]
    assert any("'echo' is there twice" in one for one in notices)


async def test_a_bad_schema_drops_its_tool_with_a_warning_and_nothing_else(room: Room) -> None:
    async with (
        ScriptedServer(calls(("mcp__fake__good", {}))) as model,
        room.open(model, options=with_servers(fake("schema")), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "go")

    mine = [name for name in tools_of(model.requests[0]) if name.startswith("mcp__")]
    assert mine == ["mcp__fake__no_type", "mcp__fake__is_null", "mcp__fake__good"]
    assert [text for _, text, _ in results(model.requests[1])] == ["ok"]
    dropped = [one.text for one in told.updates if isinstance(one, Notice)]
    for name in ("is_array", "top_one_of", "bad_ref"):
        assert any(f"'{name}' is left out" in one for one in dropped)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array"}, "type 'array'"),
        ({"type": "object", "anyOf": []}, "anyOf"),
        ({"properties": []}, "properties"),
        ({"required": "a"}, "required"),
        ({"properties": {"a": {"$ref": "https://example.com/s"}}}, "refers to"),
        ([], "no object"),
    ],
)
def test_what_the_api_refuses_is_no_schema(schema: object, why: str) -> None:
    with pytest.raises(BadSchema, match=why):
        sendable(schema)


def test_a_reference_inside_the_schema_is_fine() -> None:
    schema = {"$defs": {"a/b": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a~1b"}}}

    assert sendable(schema)["type"] == "object"
