"""A session's MCP servers, joined to the rest of it: its tools, its folders, its person."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from attrs import evolve

from interlock.errors import UsageError
from interlock.inbox import Mail
from interlock.mcp import Host, McpSettings, Patience, Servers
from interlock.mcp.names import server_of
from interlock.options import Options
from interlock.settings import Settings
from interlock.tools import Person, Tool
from phases.world.ports import Interrupt
from phases.world.updates import Show


async def made_ready(servers: Servers, show: Show, interrupt: Interrupt, options: Options) -> None:
    """Before a prompt: give servers a moment, and wait for those without which it cannot run.

    Needed are those whose definition says `required`; waited for are those that a flag names, too.
    Raises UsageError where one that is required is not there.
    """
    servers.show = show
    named = {server_of(rule) for rule in (*options.allowed_tools, *(options.tools or ()))}
    missing: list[str] = []
    with interrupt.scope():
        missing = await servers.ready(frozenset(name for name in named if name))
    if missing:
        raise UsageError("; ".join(missing))


@asynccontextmanager
async def joined(
    options: Options,
    settings: Settings,
    cwd: Path,
    tools: dict[str, Tool],
    person: Person | None,
    mail: Mail,
) -> AsyncIterator[Servers]:
    """The servers, being started; what they offer is put into `tools` as it comes."""
    limits, given = settings.limits, options.mcp or McpSettings()
    servers = Servers(
        definitions=tuple(evolve(one, cwd=one.cwd or cwd) for one in given.definitions),
        unstarted=given.unstarted,
        patience=Patience(
            start_s=limits.mcp_timeout_s,
            call_s=limits.mcp_tool_timeout_s,
            restarts=limits.mcp_max_restarts,
        ),
        environ=os.environ if given.environ is None else given.environ,
        grace_s=limits.mcp_grace_s,
        tools=tools,
        notify=mail.notify,
    )
    if not given:
        yield servers
        return
    host = Host(
        roots=(cwd, *options.directories), person=person, tell=servers.tell, moved=servers.moved
    )
    async with servers.running(host):
        yield servers
