"""Real servers, each used by a scripted run: the old handshake and the new protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import frozen

from interlock.mcp import Scope, parsed
from interlock.scripted import ScriptedServer
from tests.agent.support import Room, results, tell
from tests.mcp.real import npm_server, script, sqlite_server
from tests.mcp.support import calls, with_servers

PATIENT = {"MCP_TIMEOUT": "120000", "INTERLOCK_MCP_GRACE_S": "120"}
OLD, NEW = "2025-11-25", "2026-07-28"


@frozen(kw_only=True)
class Case:
    """A server, a call, and what must be in its result. `{work}` is the working folder."""

    name: str
    command: Callable[[Path], list[str]]
    tool: str
    arguments: Mapping[str, Any]
    said: str
    protocol: str = NEW
    fails: bool = False


def _in(work: Path, value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("{work}", str(work))
    return value


CASES = (
    Case(
        name="git",
        command=lambda work: [script("mcp-server-git"), "--repository", str(work)],
        tool="git_status",
        arguments={"repo_path": "{work}"},
        said="a.txt",
    ),
    Case(
        name="time",
        command=lambda work: [script("mcp-server-time"), "--local-timezone", "UTC"],
        tool="convert_time",
        arguments={
            "source_timezone": "UTC",
            "time": "12:00",
            "target_timezone": "Asia/Tokyo",
        },
        said="21:00",
    ),
    Case(
        name="fetch",  # refuses addresses of this machine: an error that needs no network
        command=lambda work: [script("mcp-server-fetch")],
        tool="fetch",
        arguments={"url": "http://127.0.0.1:9/"},
        said="",
        fails=True,
    ),
    Case(
        name="sqlite",
        command=lambda work: [sqlite_server(), "--db-path", str(work / "test.db")],
        tool="write_query",
        arguments={"query": "CREATE TABLE IF NOT EXISTS t (a)"},
        said="affected_rows",
        protocol=OLD,
    ),
    Case(
        name="everything",
        command=lambda work: [*npm_server("everything"), "stdio"],
        tool="echo",
        arguments={"message": "hello"},
        said="hello",
        protocol=OLD,
    ),
    Case(
        name="filesystem",
        command=lambda work: [*npm_server("filesystem"), str(work)],
        tool="read_text_file",
        arguments={"path": "{work}/a.txt"},
        said="alpha",
        protocol=OLD,
    ),
    Case(
        name="memory",
        command=lambda work: npm_server("memory"),
        tool="create_entities",
        arguments={"entities": [{"name": "a", "entityType": "b", "observations": ["c"]}]},
        said="observations",
        protocol=OLD,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_real_server_is_used_by_a_run(room: Room, case: Case) -> None:
    await anyio.run_process(["git", "init", "-q", str(room.work)])
    command, *args = case.command(room.work)
    raw = {
        "command": command,
        "args": args,
        "env": {"MEMORY_FILE_PATH": str(room.home / "memory.jsonl")},
    }
    server = parsed(case.name, raw, scope=Scope.USER, environ={})
    arguments = {name: _in(room.work, value) for name, value in case.arguments.items()}
    async with (
        ScriptedServer(calls((f"mcp__{case.name}__{case.tool}", arguments))) as model,
        room.open(model, options=with_servers(server), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "go")
        (status,) = agent.servers.status()

    assert (status.status, status.protocol) == ("connected", case.protocol)
    ((_, text, failed),) = results(model.requests[1])
    assert case.said in text
    assert failed is case.fails
    assert told.ending == ("completed", None)
