"""MCP servers that live in the host, beside others: found, called, looked at, switched."""

from __future__ import annotations

import sys
from typing import Any

from claude_agent_sdk import (
    ClaudeSDKClient,
    SystemMessage,
    ToolAnnotations,
    create_sdk_mcp_server,
    tool,
)

from interlock.scripted import reply, tool_use
from tests.sdk.conftest import Open
from tests.sdk.house import of, result_of, said


@tool("add", "adds", {"a": int, "b": int}, annotations=ToolAnnotations(readOnlyHint=True))
async def add(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"sum {arguments['a'] + arguments['b']}"}]}


@tool("fail", "fails", {})
async def fail(arguments: dict[str, Any]) -> dict[str, Any]:
    raise ValueError("it broke")


async def test_tools_of_the_host_are_offered_called_and_their_errors_told(house: Open) -> None:
    server = create_sdk_mcp_server("calc", tools=[add, fail])
    here = house(
        [
            reply(tool_use("mcp__calc__add", {"a": 2, "b": 3}), tool_use("mcp__calc__fail", {})),
            reply("five"),
            reply("once more"),
        ]
    )
    options = here.options(
        mcp_servers={
            "calc": server,
            "gone": {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]},
        },
        allowed_tools=["mcp__calc"],
    )

    async with ClaudeSDKClient(options) as client:
        first = await said(client, "2 + 3?")
        status = await client.get_mcp_status()
        await client.toggle_mcp_server("calc", enabled=False)
        without = await client.get_mcp_status()
        await client.toggle_mcp_server("calc", enabled=True)
        await client.reconnect_mcp_server("calc")
        second = await said(client, "and again")

    begun = of(SystemMessage, first)[0]
    assert {"name": "calc", "status": "connected"} in begun.data["mcp_servers"]
    assert "mcp__calc__add" in begun.data["tools"]
    results = here.server.requests[1].body["messages"][-1]["content"]
    assert "sum 5" in str(results[0])
    assert "it broke" in str(results[1])
    assert result_of(first).result == "five"
    by_name = {one["name"]: one for one in status["mcpServers"]}
    assert by_name["calc"]["status"] == "connected"
    assert [one["name"] for one in by_name["calc"].get("tools", ())] == ["add", "fail"]
    assert by_name["gone"]["status"] == "failed"
    assert next(o for o in without["mcpServers"] if o["name"] == "calc")["status"] == "disabled"
    begun = of(SystemMessage, second)[0]
    assert {"name": "calc", "status": "connected"} in begun.data["mcp_servers"]


async def test_a_tool_of_a_server_may_be_the_one_that_is_asked_for_permission(house: Open) -> None:
    asked: list[dict[str, Any]] = []

    @tool("may", "may it run", {"tool_name": str, "input": dict, "tool_use_id": str})
    async def may(arguments: dict[str, Any]) -> dict[str, Any]:
        asked.append(arguments)
        text = '{"behavior": "allow", "updatedInput": {"file_path": "a", "content": "ours"}}'
        return {"content": [{"type": "text", "text": text}]}

    here = house([reply(tool_use("Write", {"file_path": "a", "content": "x"})), reply("done")])
    here.file("placeholder")

    await here.query(
        "write",
        mcp_servers={"gate": create_sdk_mcp_server("gate", tools=[may])},
        permission_prompt_tool_name="mcp__gate__may",
    )

    assert [one["tool_name"] for one in asked] == ["Write"]
    assert (here.work / "a").read_text() == "ours"
