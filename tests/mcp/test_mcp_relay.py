"""Servers whose messages a program that drives us carries, over a wire that is its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from attrs import define, field

from interlock.mcp.relay import NotConnected, Relay, joined_by_messages
from interlock.mcp.words import ServerGone
from interlock.tools import ToolError
from phases.world.messages import Json
from phases.world.updates import Notice, Update
from tests.mcp.test_mcp_whole import called, running, text

SCHEMA = {"type": "object", "properties": {}}


@define
class Elsewhere:
    """A server by hand, as programs have them inside: it answers in the words of JSON-RPC."""

    tools: list[str] = field(factory=lambda: ["greet", "break", "hang"])
    heard: list[str] = field(factory=list)
    hangs: anyio.Event = field(factory=anyio.Event)

    async def carry(self, message: Mapping[str, Json]) -> Mapping[str, Json] | None:
        method = message.get("method", "")
        self.heard.append(method)
        if "id" not in message:
            return {"result": {}}  # an acknowledgement of the wire, which is no answer
        if method == "initialize":
            return self._answer(
                message,
                protocolVersion=message["params"]["protocolVersion"],
                capabilities={"tools": {"listChanged": True}},
                serverInfo={"name": "elsewhere", "version": "1"},
            )
        if method == "tools/list":
            listed = [{"name": name, "inputSchema": SCHEMA} for name in self.tools]
            return self._answer(message, tools=[*listed, {"name": "odd", "inputSchema": []}])
        if method != "tools/call":
            raise ValueError(f"nobody knows {method}")
        if message["params"]["name"] == "break":
            raise RuntimeError("the program has crashed")
        if message["params"]["name"] == "hang":
            self.hangs.set()
            await anyio.sleep_forever()
        return self._answer(message, content=[{"type": "text", "text": "hello"}])

    def _answer(self, message: Mapping[str, Json], **result: Json) -> Mapping[str, Json]:
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}


async def test_a_server_behind_somebody_elses_wire_is_one_like_others(tmp_path: Path) -> None:
    elsewhere = Elsewhere()
    async with running(joined_by_messages("whole", Relay(elsewhere.carry))) as servers:
        (status,) = servers.status()
        said = await called(servers, "greet", tmp_path)

    assert status.info == "elsewhere 1"
    assert text(said) == "hello"
    assert elsewhere.heard[:3] == ["initialize", "notifications/initialized", "tools/list"]


async def test_its_tools_are_looked_at_as_those_of_any_other() -> None:
    async with running(joined_by_messages("whole", Relay(Elsewhere().carry))) as servers:
        assert [own for _, own in servers.status()[0].tools] == ["greet", "break", "hang"]


async def test_what_carrying_raises_is_the_error_of_that_call_alone(tmp_path: Path) -> None:
    async with running(joined_by_messages("whole", Relay(Elsewhere().carry))) as servers:
        with pytest.raises(ToolError, match="refused the tool break: the program has crashed"):
            await called(servers, "break", tmp_path)

        assert text(await called(servers, "greet", tmp_path)) == "hello"


async def test_what_it_says_unasked_is_heard() -> None:
    elsewhere, joined = Elsewhere(), anyio.Event()
    relay = Relay(elsewhere.carry)

    def told(update: Update) -> None:
        if isinstance(update, Notice) and " joined" in update.text:
            joined.set()

    async with running(joined_by_messages("whole", relay)) as servers:
        await servers.ready()
        servers.show = told
        elsewhere.tools.append("late")
        await relay.take({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        with anyio.fail_after(60):
            await joined.wait()

        assert "mcp__whole__late" in servers.tools
        with pytest.raises(ValueError, match="JSONRPC"):
            await relay.take({"neither": "asked nor answered"})

    with pytest.raises(NotConnected):
        await relay.take({"method": "notifications/tools/list_changed"})


async def test_calls_under_way_fail_at_once_when_it_is_gone_and_it_is_joined_anew(
    tmp_path: Path,
) -> None:
    elsewhere = Elsewhere()
    relay = Relay(elsewhere.carry)

    async def lose() -> None:
        await elsewhere.hangs.wait()
        await relay.lose()

    async with running(joined_by_messages("whole", relay)) as servers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lose)
            with anyio.fail_after(30), pytest.raises(ServerGone, match="was lost during"):
                await called(servers, "hang", tmp_path)

        await servers.settled()
        assert text(await called(servers, "greet", tmp_path)) == "hello"
