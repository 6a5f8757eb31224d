"""The MCP servers of one child: those that its type defines itself, which live as long as it does.

A type of a project's file comes from whoever wrote it, and so do the servers in it: each is
started only after someone has said yes to it, as one of the project's own.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
from attrs import evolve, frozen

from interlock.agents.errand import Errand
from interlock.inbox import Mail
from interlock.mcp import (
    BadDefinition,
    Definition,
    Host,
    McpSettings,
    Patience,
    Scope,
    Servers,
    parsed,
)
from interlock.mcp.consent import consent
from interlock.mcp.names import PREFIX, server_of, server_part
from interlock.options import Options
from interlock.settings import Settings
from interlock.tools import Person, Tool
from phases.world.updates import Notice, Show

_PROJECT = "project"  # how the origin of a type in a project's file begins


def granted(errand: Errand) -> tuple[str, ...]:
    """What a list of tools would say, had it named the servers of the type too."""
    return tuple(f"{PREFIX}{server_part(name)}" for name in errand.definition.servers)


@frozen(kw_only=True)
class Lending:
    """How servers are started for a child. `tools` is its table, written to."""

    errand: Errand
    options: Options
    settings: Settings
    person: Person | None  # of the session, who may say yes
    mail: Mail  # of the child
    show: Show
    tools: dict[str, Tool]

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Inside, the child has them; those that are not there are told, and it goes on."""
        self._name_the_missing()
        definitions = [one async for one in self._definitions()]
        if not definitions:
            yield
            return
        limits, environ = self.settings.limits, self._given.environ
        servers = Servers(
            definitions=definitions,
            patience=Patience(
                start_s=limits.mcp_timeout_s,
                call_s=limits.mcp_tool_timeout_s,
                restarts=limits.mcp_max_restarts,
            ),
            environ=os.environ if environ is None else environ,
            logins=self._given.tokens,
            tools=self.tools,
            show=self.show,
            notify=self.mail.note,
        )
        host = Host(
            roots=(self.errand.cwd,),
            person=None,  # a child asks nobody
            tell=servers.tell,
            moved=servers.moved,
            note=servers.note,
        )
        async with servers.running(host, _nothing):
            await servers.settled()  # its first request should offer them
            await servers.ready()
            yield

    @property
    def _given(self) -> McpSettings:
        given = self.options.mcp
        return McpSettings() if given is None else given  # one without servers is false

    def _name_the_missing(self) -> None:
        there = {server_of(name) for name in self.tools}
        own = self.errand.definition.own_servers
        for name in self.errand.definition.servers:
            if name not in own and server_part(name) not in there:
                self._tell(f"has no MCP server {name}: none of that name has tools here")

    async def _definitions(self) -> AsyncIterator[Definition]:
        for one in self._parsed():
            if one.scope is not Scope.PROJECT or await self._may_start(one):
                yield evolve(one, cwd=one.cwd or self.errand.cwd)

    def _parsed(self) -> Iterator[Definition]:
        definition, environ = self.errand.definition, self._given.environ
        scope = Scope.PROJECT if definition.origin.startswith(_PROJECT) else Scope.USER
        for name, raw in definition.own_servers.items():
            try:
                yield parsed(
                    name,
                    raw,
                    scope=scope,
                    environ=os.environ if environ is None else environ,
                    where=definition.origin,
                    folder=self.errand.cwd,
                )
            except BadDefinition as error:
                self._tell(f"has no MCP server {name}: it {error}")

    async def _may_start(self, one: Definition) -> bool:
        approvals, project = self._given.approvals, self._given.project
        said = None
        if approvals is not None and project is not None:
            said = approvals.said(project, one)
            if said is None and self.person is not None:
                said = await consent(one, self.person)
                if said is not None:
                    try:
                        approvals.remember(project, one, said)
                    except OSError as error:
                        self._tell(f"keeps no answer about its MCP server {one.name}: {error}")
        if not said:
            self._tell(f"has no MCP server {one.name}: nobody has said yes to it")
        return bool(said)

    def _tell(self, what: str) -> None:
        self.show(Notice("warning", f"the agent {self.errand.agent_type} {what}"))


async def _nothing(servers: Servers) -> None:
    await anyio.lowlevel.checkpoint()
