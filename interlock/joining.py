"""A session's MCP servers, joined to the rest of it: its tools, its folders, its person."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from attrs import evolve, frozen

from interlock.errors import UsageError
from interlock.inbox import Mail, Waiting
from interlock.instructing import SlashCommand
from interlock.mcp import Host, McpSettings, Patience, Servers, Status
from interlock.mcp.consent import consent
from interlock.mcp.mentions import Mentions
from interlock.mcp.names import server_of, server_part
from interlock.mcp.prompts import PromptCommand, commands
from interlock.memory.imports import imports
from interlock.options import Options
from interlock.settings import Settings
from interlock.tools import FileReads, Person, Tool, ToolContext, ToolError
from interlock.world import RandomIds
from phases.world.limits import Limits
from phases.world.messages import Media, Text
from phases.world.ports import Interrupt
from phases.world.updates import Show

_COMMAND = re.compile(r"\s*/(?P<name>mcp__\S+)")


async def made_ready(
    servers: Servers, show: Show, interrupt: Interrupt, options: Options, said: str
) -> None:
    """Before a prompt: give servers a moment, and wait for those without which it cannot run.

    Needed are those whose definition says `required`; waited for are those, too, whose tools a
    flag names, or whose prompt or resource is asked for in what a person `said`. Raises UsageError
    where one that is required is not there.
    """
    servers.show = show
    named = {server_of(rule) for rule in (*options.allowed_tools, *(options.tools or ()))}
    named |= set(_asked_for(said, servers))
    missing: list[str] = []
    with interrupt.scope():
        missing = await servers.ready(frozenset(name for name in named if name))
    if missing:
        raise UsageError("; ".join(missing))


def _asked_for(said: str, servers: Servers) -> Iterator[str | None]:
    command = _COMMAND.match(said)
    if command is not None:
        yield server_of(command["name"])
    mentions = Mentions(servers.by_name.values)
    for one in imports(said):
        mention = mentions.of(one.written)
        if mention is not None:
            yield server_part(mention.server)


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
        logins=given.tokens,
        grace_s=limits.mcp_grace_s,
        tools=tools,
        notify=mail.note,
    )
    if options.mcp is None:
        yield servers
        return
    host = Host(
        roots=(cwd, *options.directories),
        person=person,
        tell=servers.tell,
        moved=servers.moved,
        note=servers.note,
    )
    async with servers.running(host, partial(_asked, given, person)):
        yield servers


async def _asked(given: McpSettings, person: Person | None, servers: Servers) -> None:
    """Ask, beside the session, about servers that a project brings; start those that get a yes."""
    for one in given.unstarted:
        definition = one.definition
        yes = None
        if definition is not None and person is not None and given.project is not None:
            yes = await consent(definition, person)
        if yes is not None and definition is not None and given.approvals is not None:
            assert given.project is not None
            try:
                given.approvals.remember(given.project, definition, yes)
            except OSError as error:
                servers.tell("warning", f"the answer is not remembered: {error}")
        if yes and definition is not None:
            servers.add(evolve(definition, cwd=definition.cwd or given.project))
        elif yes is None:
            servers.tell("warning", f"the MCP server {one.name} is not started: {one.problem}")


@frozen(kw_only=True)
class ServerPrompts:
    """The prompts of servers, as slash commands. A source of `Instructing`."""

    servers: Servers
    root: Path
    limits: Limits
    spill: Path  # for what is too long to be said

    def commands(self) -> Sequence[SlashCommand]:
        return [
            SlashCommand(
                name=one.name,
                description=one.description,
                argument_hint=one.hint,
                origin=one.server.name,
                expand=partial(self._said, one),
            )
            for one in commands(self.servers.by_name.values())
        ]

    async def _said(
        self, one: PromptCommand, arguments: str, cwd: Path
    ) -> tuple[Text | Media, ...]:
        context = ToolContext(
            cwd=cwd, root=self.root, limits=self.limits, reads=FileReads(), spill=self.spill
        )
        try:
            return await one.text(arguments, context)
        except ToolError as error:
            raise UsageError(str(error)) from error


async def told_of(options: Options, settings: Settings) -> list[Status]:
    """Start the servers of these options for a look, and end them again."""
    cwd, waiting = options.cwd.resolve(), Mail(Waiting(RandomIds()))
    async with joined(options, settings, cwd, {}, None, waiting) as servers:
        await servers.settled()
        return servers.status()
