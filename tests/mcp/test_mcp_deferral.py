"""Many tools are offered by their names; a schema comes when the tool is searched for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock.mcp.search import Entry, found_by
from interlock.options import Resume
from interlock.scripted import (
    Answer,
    ByFunction,
    ScriptedServer,
    SentRequest,
    reply,
    status,
    tool_use,
)
from interlock.scripted.validate import problems
from phases.world.updates import Notice
from tests.agent.support import Room, blocks, results, tell
from tests.mcp.support import calls, fake, tools_of, with_servers

MANY = {
    "MCP_TIMEOUT": "60000",
    "INTERLOCK_MCP_GRACE_S": "60",
    "INTERLOCK_MCP_DEFER_SHARE": "0.01",  # 2,000 tokens: two hundred schemas are far more
}
TOOL = "mcp__fake__tool_7"
SEARCH = ("ToolSearch", {"query": f"select:{TOOL}"})


def specs(request: SentRequest) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in request.body["tools"]}


def in_prompt(request: SentRequest) -> list[str]:
    """The tools whose schemas the model has in front of it."""
    referred = {
        part["tool_name"]
        for block in blocks(request.body["messages"])
        if block["type"] == "tool_result"
        for part in block.get("content", [])
        if part["type"] == "tool_reference"
    }
    return [
        name
        for name, tool in specs(request).items()
        if not tool.get("defer_loading") or name in referred
    ]


@pytest.mark.parametrize("references", ["on", "off"])
async def test_a_tools_schema_is_in_the_prompt_after_it_was_searched_for(
    room: Room, references: str
) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": references}
    async with (
        ScriptedServer(calls(SEARCH, (TOOL, {"field_7": "x", "text": "found"}))) as model,
        room.open(model, options=with_servers(fake("many=200")), environ=environ) as agent,
    ):
        told = await tell(agent, "go")

    first, second, third = model.requests
    assert told.ending == ("completed", None)
    assert not [name for name in in_prompt(first) if name.startswith("mcp__")]
    names = specs(first)["ToolSearch"]["description"].splitlines()
    assert sum(name.startswith("mcp__fake__tool_") for name in names) == 200
    assert [name for name in in_prompt(second) if name.startswith("mcp__")] == [TOOL]
    assert "field_7" in specs(second)[TOOL]["input_schema"]["properties"]
    assert [text for _, text, _ in results(third)] == ["found"]


async def test_with_references_the_tools_of_all_requests_are_the_same(room: Room) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": "on"}
    async with (
        ScriptedServer(calls(SEARCH, (TOOL, {}))) as model,
        room.open(model, options=with_servers(fake("many=200")), environ=environ) as agent,
    ):
        await tell(agent, "go")

    first, second, third = (request.body["tools"] for request in model.requests)
    assert first == second == third  # so nothing of the cached prefix is lost


async def test_without_references_a_loaded_tool_stands_behind_all_others(room: Room) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": "off"}
    async with (
        ScriptedServer(calls(SEARCH)) as model,
        room.open(model, options=with_servers(fake("many=200")), environ=environ) as agent,
    ):
        await tell(agent, "go")

    first, second = model.requests
    assert tools_of(second) == [*tools_of(first), TOOL]


async def test_a_small_set_is_sent_whole(room: Room) -> None:
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=with_servers(fake("many=5")), environ=MANY) as agent,
    ):
        await tell(agent, "go")

    (request,) = model.requests
    assert "ToolSearch" not in tools_of(request)
    assert sum(name.startswith("mcp__") for name in in_prompt(request)) == 5


@pytest.mark.parametrize("references", ["on", "off"])
async def test_what_is_loaded_survives_a_compaction(room: Room, references: str) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": references}
    async with (
        ScriptedServer(calls(SEARCH)) as model,
        room.open(model, options=with_servers(fake("many=200")), environ=environ) as agent,
    ):
        await tell(agent, "go")
        assert await agent.compact(lambda update: None) is None
        await tell(agent, "on")

    last = model.requests[-1]
    assert [name for name in in_prompt(last) if name.startswith("mcp__")] == [TOOL]


@pytest.mark.parametrize("references", ["on", "off"])
async def test_a_resumed_session_knows_what_was_loaded(room: Room, references: str) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": references}
    server = fake("many=200")
    async with ScriptedServer(calls(SEARCH)) as model:
        async with room.open(model, options=with_servers(server), environ=environ) as agent:
            await tell(agent, "go")
            session = agent.session_id
        options = with_servers(server, resume=Resume(session=session))
        async with room.open(model, options=options, environ=environ) as agent:
            told = await tell(agent, "on")

    assert told.ending == ("completed", None)
    last = model.requests[-1]
    assert [name for name in in_prompt(last) if name.startswith("mcp__")] == [TOOL]


async def test_what_the_history_refers_to_may_be_gone(room: Room) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": "on"}
    async with (
        ScriptedServer(calls(SEARCH)) as model,
        room.open(model, options=with_servers(fake("many=200")), environ=environ) as agent,
    ):
        await tell(agent, "go")
        await agent.servers.toggle("fake", enabled=False)
        told = await tell(agent, "on")

    assert told.ending == ("completed", None)  # the scripted server refuses dead references
    assert specs(model.requests[-1])[TOOL]["description"] == "(Not available now.)"


# --- an API that does not know them ------------------------------------------------------------

STRANGE = [
    "tools.3.custom.defer_loading: Extra inputs are not permitted",
    "tools.3: unknown field",
    "This model does not support tool_reference blocks.",
]


Model = Callable[[SentRequest], Answer]


def knowing_nothing_of_it(words: str, script: Model) -> ByFunction:
    """A gateway before the API that refuses what it does not know."""

    def answer(request: SentRequest) -> Answer | None:
        body = str(request.body)
        if "defer_loading" in body or "tool_reference" in body:
            return status(400, "invalid_request_error", words)
        return script(request)

    return ByFunction(answer)


def by_what_came(*made: tuple[str, dict[str, Any]]) -> Model:
    """A model that makes these calls, by how many results it has seen."""

    def answer(request: SentRequest) -> Answer:
        seen = sum(one["type"] == "tool_result" for one in blocks(request.body["messages"]))
        return reply(tool_use(*made[seen])) if seen < len(made) else reply("Done.")

    return answer


@pytest.mark.parametrize("words", STRANGE)
async def test_an_api_that_refuses_references_is_asked_once_and_then_done_without(
    room: Room, words: str
) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": "on"}
    script = by_what_came(SEARCH, (TOOL, {"field_7": "x", "text": "found"}))
    async with (
        ScriptedServer(knowing_nothing_of_it(words, script)) as model,
        room.open(model, options=with_servers(fake("many=200")), environ=environ) as agent,
    ):
        told = await tell(agent, "go")
        again = await tell(agent, "on")

    refused, first, second, *_ = model.requests
    assert (told.ending, again.ending) == (("completed", None), ("completed", None))
    assert "defer_loading" in str(refused.body)
    assert all("defer_loading" not in str(one.body) for one in model.requests[1:])
    assert not [name for name in in_prompt(first) if name.startswith("mcp__")]
    assert [name for name in in_prompt(second) if name.startswith("mcp__")] == [TOOL]
    warnings = [one.text for one in told.updates if isinstance(one, Notice)]
    assert any("the deferring of tools by references (for the rest of" in one for one in warnings)


async def test_references_of_an_earlier_process_become_words(room: Room) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": "on"}
    server = fake("many=200")
    async with (
        ScriptedServer(calls(SEARCH)) as model,
        room.open(model, options=with_servers(server), environ=environ) as agent,
    ):
        await tell(agent, "go")
        session = agent.session_id
    gateway = knowing_nothing_of_it(STRANGE[2], by_what_came())
    async with ScriptedServer(gateway) as model:
        options = with_servers(server, resume=Resume(session=session))
        async with room.open(model, options=options, environ=environ) as agent:
            told = await tell(agent, "on")

    refused, last = model.requests
    assert told.ending == ("completed", None)
    assert "tool_reference" in str(refused.body)
    assert f"Loaded: {TOOL}." in str(last.body["messages"])
    assert [name for name in in_prompt(last) if name.startswith("mcp__")] == [TOOL]


async def test_what_else_is_wrong_with_a_tool_is_no_reason_to_do_without(room: Room) -> None:
    environ = {**MANY, "INTERLOCK_TOOL_REFERENCES": "on"}
    words = "tools.3.custom.input_schema: JSON schema is invalid"
    async with (
        ScriptedServer(knowing_nothing_of_it(words, by_what_came())) as model,
        room.open(model, options=with_servers(fake("many=200")), environ=environ) as agent,
    ):
        told = await tell(agent, "go")

    assert told.ending == ("completed", "api_error")
    assert len(model.requests) == 1


def test_a_search_ranks_names_before_descriptions() -> None:
    entries = [
        Entry("mcp__git__log", "shows commits"),
        Entry("mcp__hub__issue", "makes an issue about a git commit"),
        Entry("mcp__time__now", "the time"),
    ]

    assert found_by("git", entries, 5) == ["mcp__git__log", "mcp__hub__issue"]
    assert found_by("git +issue", entries, 5) == ["mcp__hub__issue"]
    assert found_by("select:mcp__TIME__now, nope", entries, 5) == ["mcp__time__now"]
    assert found_by("nothing", entries, 5) == []


ASK = {"model": "claude-sonnet-4-5", "max_tokens": 10}
SCHEMA = {"type": "object", "properties": {}}


def refusals(tools: list[dict[str, Any]], content: list[dict[str, Any]]) -> tuple[str, ...]:
    """What the strict server says of a request in which a result holds `content`."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": content}
    messages = [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "S", "input": {}}],
        },
        {"role": "user", "content": [result]},
    ]
    return problems({**ASK, "tools": tools, "messages": messages})


def test_the_scripted_server_knows_what_is_legal_with_references() -> None:
    search = {"name": "S", "input_schema": SCHEMA}
    late = {"name": "T", "input_schema": SCHEMA, "defer_loading": True}
    marked = {**late, "cache_control": {"type": "ephemeral"}}
    to_t = {"type": "tool_reference", "tool_name": "T"}
    words = {"type": "text", "text": "x"}

    assert refusals([search, late], [to_t]) == ()
    assert "at least one" in refusals([late], [to_t])[0].lower()
    assert "not found" in refusals([search], [to_t])[0]
    assert "cache_control" in refusals([search, marked], [to_t])[0]
    assert "beside" in refusals([search, late], [to_t, words])[0]
