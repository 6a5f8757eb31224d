"""All servers of a session: started beside it, joined as they come, named when they fail.

Nothing waits for a server but a prompt that needs it. What they offer is put behind the tools that
are there, so that what was sent before stays the beginning of what is sent next.
"""

from __future__ import annotations

import atexit
import secrets
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from attrs import define, field

from interlock.counted import counted
from interlock.mcp.definitions import Definition
from interlock.mcp.host import Host
from interlock.mcp.lifecycle import Stage, SwitchedOff, SwitchedOn
from interlock.mcp.names import server_of, server_part
from interlock.mcp.settings import Patience, Unstarted
from interlock.mcp.status import Status, status_of
from interlock.mcp.tokens import Tokens
from interlock.mcp.tools import ListMcpResources, ReadMcpResource, offered
from interlock.tools import Tool
from interlock.tools.watchdog import Watchdog
from phases.world.updates import Notice, Show

if TYPE_CHECKING:
    from interlock.mcp.server import Server

_INSTRUCTIONS = 2_000  # characters of what a server says of itself


Beside = Callable[["Servers"], Coroutine[Any, Any, None]]


class UnknownServer(ValueError):
    """A name that no server has."""


@define(kw_only=True, eq=False)
class Servers:
    """`tools` is the session's own table, written to; `notify` reaches the model."""

    definitions: Sequence[Definition]
    patience: Patience
    environ: Mapping[str, str]
    host: Host | None = None
    unstarted: tuple[Unstarted, ...] = ()
    logins: Tokens | None = None
    grace_s: float = 3.0
    switch_s: float = 10.0  # that who switches one on waits to see it there
    tools: MutableMapping[str, Tool] = field(factory=dict)
    show: Show | None = None
    notify: Callable[[str], None] | None = None
    by_name: dict[str, Server] = field(factory=dict)
    _mark: str = field(factory=lambda: secrets.token_hex(8))
    _started: int = 0
    _begun: bool = False  # a first request has been prepared for
    _untold: list[Notice] = field(factory=list)
    _dropped: set[str] = field(factory=set)
    _tasks: anyio.abc.TaskGroup | None = None
    _watchdog: Watchdog = field(init=False)

    # --- their lives -------------------------------------------------------------------------

    @asynccontextmanager
    async def running(self, host: Host, beside: Beside) -> AsyncIterator[Servers]:
        """Start them all; leaving the block ends them and all that they started.

        `beside` runs meanwhile, and may add some.
        """
        self.host = host
        watchdog = self._watchdog = Watchdog(f"{self._mark}.")
        async with anyio.create_task_group() as self._tasks:
            atexit.register(watchdog.stop)
            self._tasks.start_soon(beside, self)
            for definition in self.definitions:
                self._start(definition)
            raised: Exception | None = None
            try:
                yield self
            except Exception as error:  # it is the session's own, and no task of ours raised it
                raised = error
            finally:
                self._tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(watchdog.stop)
        atexit.unregister(watchdog.stop)
        if raised is not None:
            raise raised

    def _start(self, definition: Definition) -> None:
        from interlock.mcp.server import Server

        assert self.host is not None
        assert self._tasks is not None
        self._watchdog.start()  # with the first: most sessions have none
        server = Server(
            definition=definition,
            patience=self.patience,
            host=self.host,
            environ=self.environ,
            logins=self.logins,
            mark=f"{self._mark}.{self._started}",
        )
        self._started += 1
        self.by_name[server.name] = server
        self._tasks.start_soon(server.run)

    async def ready(self, needed: frozenset[str] = frozenset()) -> list[str]:
        """Before a prompt: a moment for all, the start limit for those that are
        required or `needed` (by the server's part of a tool's name).

        Returns what is wrong with those that must be there. Cancelled on an interrupt.
        """
        required = [
            one
            for one in self.by_name.values()
            if one.definition.required or server_part(one.name) in needed
        ]
        if not self._begun:
            with anyio.move_on_after(self.grace_s):
                await _all_settled(self.by_name.values())
        await _all_settled(required)
        self._begun = True
        must = [one for one in required if one.definition.required]
        missing = [
            f"the MCP server {one.name} is needed and not there: {one.problem}"
            for one in must
            if one.stage is not Stage.CONNECTED and one.stage is not Stage.OFF
        ]
        self._tell_all()
        return missing

    async def settled(self) -> None:
        """Wait until each is there, or will not be."""
        await _all_settled(self.by_name.values())

    # --- what is told ------------------------------------------------------------------------

    def tell(self, level: str, text: str) -> None:
        """A person, now or with the next prompt."""
        notice = Notice(level, text)
        if self.show is not None:
            self.show(notice)
        else:
            self._untold.append(notice)

    def _tell_all(self) -> None:
        told, self._untold = self._untold, []
        for notice in told:
            self.tell(notice.level, notice.text)

    def never_there(self) -> list[str]:
        """Those that were still being started when all was over, each in a line."""
        return [
            f"the MCP server {one.name} was never there: it was still being started at the end "
            "(`required` in its definition makes a prompt wait for it)"
            for one in self.by_name.values()
            if one.stage is Stage.STARTING and one.problem is None and not one.info
        ]

    def why_not(self, name: str) -> str | None:
        """Why there is no prompt of this name; None where it is no name of a server's."""
        part = server_of(name)
        for one in self.by_name.values():
            if server_part(one.name) == part:
                return f"the MCP server {one.name} {one.absence or 'has no such prompt'}"
        for left in self.unstarted:
            if server_part(left.name) == part:
                return f"the MCP server {left.name} is not started: {left.problem}"
        return None

    def note(self, text: str) -> None:
        """The model, once a first request has been prepared for."""
        if self._begun and self.notify is not None:
            self.notify(text)

    def moved(self, server: Server, before: Stage) -> None:
        """A server's stage or lists are others: put its tools in place, and say so."""
        match server.stage:
            case Stage.CONNECTED:
                self._join(server, anew=before is Stage.CONNECTED)
            case Stage.OFF:
                self._leave(server)
            case Stage.RESTING if before is Stage.CONNECTED:
                self.tell("warning", f"the MCP server {server.name} is lost: {server.problem}")
            case Stage.FAILED:
                self._failed(server, f"is not there: {server.problem}")
            case Stage.SHUT_OUT:
                self._failed(server, str(server.problem))

    def _failed(self, server: Server, what: str) -> None:
        self.tell("warning", f"the MCP server {server.name} {what}")
        if server.stock.tools:
            self.note(f"The MCP server {server.name} is gone; its tools answer with an error.")

    # --- what they offer ---------------------------------------------------------------------

    def _join(self, server: Server, *, anew: bool) -> None:
        for problem in server.stock.dropped:
            line = f"the MCP server {server.name}: the tool {problem}"
            if line not in self._dropped:
                self._dropped.add(line)
                self.tell("warning", line)
        found = {tool.name: tool for tool in offered(server)}
        mine = self._of(server)
        gone = [name for name in mine if name not in found]
        new = [name for name in found if name not in self.tools]
        for name in gone:
            del self.tools[name]
        self.tools.update(found)
        if server.stock.resources and ListMcpResources.name not in self.tools:
            for tool in (ListMcpResources(self._alive), ReadMcpResource(self._alive)):
                self.tools[tool.name] = tool
        if server.instructions and not anew and self.notify is not None:
            said = server.instructions.strip()[:_INSTRUCTIONS]
            self.notify(f"The MCP server {server.name} says of itself:\n{said}")
        if self._begun and (new or gone):
            self._tell_of_tools(server, new, gone)

    def _leave(self, server: Server) -> None:
        gone = self._of(server)
        for name in gone:
            del self.tools[name]
        if self._begun and gone:
            self._tell_of_tools(server, [], gone)

    def _tell_of_tools(self, server: Server, new: list[str], gone: list[str]) -> None:
        words = []
        if new:
            words.append(f"has new tools now: {', '.join(new)}")
        if gone:
            words.append(f"has these tools no more: {', '.join(gone)}")
        text = f"The MCP server {server.name} {'; '.join(words)}."
        self.note(text)
        count = counted(len(new or gone), "tool") + (" joined" if new else " left")
        self.tell("info", f"the MCP server {server.name}: {count}")

    def _of(self, server: Server) -> list[str]:
        prefix = f"mcp__{server_part(server.name)}__"
        return [name for name in self.tools if name.startswith(prefix)]

    def _alive(self) -> list[Server]:
        return [one for one in self.by_name.values() if one.stage is not Stage.OFF]

    # --- asked for by a person or a program --------------------------------------------------

    def status(self) -> list[Status]:
        """Every server, also those that were not started."""
        known = [status_of(one) for one in self.by_name.values()]
        others = [
            Status(
                name=one.name,
                status="failed" if one.definition is None else "pending",
                scope=one.scope.value,
                error=one.problem,
            )
            for one in self.unstarted
            if one.name not in self.by_name
        ]
        return known + others

    async def toggle(self, name: str, *, enabled: bool) -> None:
        """Switch a server on or off. Raises UnknownServer."""
        server = self._named(name)
        if enabled and server.stage is Stage.CONNECTED:
            return
        server.wish(SwitchedOn() if enabled else SwitchedOff())
        await self._done(server)

    async def reconnect(self, name: str) -> None:
        """End a server's connection and make it anew. Raises UnknownServer."""
        server = self._named(name)
        server.wish(SwitchedOn())
        await self._done(server)

    async def _done(self, server: Server) -> None:
        await anyio.lowlevel.checkpoint()
        await server.obeyed()
        with anyio.move_on_after(self.switch_s):  # what comes of it later is told as it comes
            await server.settle()

    async def remove(self, name: str) -> None:
        """One server less. Raises UnknownServer."""
        await self.toggle(name, enabled=False)
        del self.by_name[name]

    def add(self, definition: Definition) -> None:
        """One more server, in mid-session; `running` must have begun."""
        self.unstarted = tuple(one for one in self.unstarted if one.name != definition.name)
        if definition.name not in self.by_name:
            self._start(definition)

    def _named(self, name: str) -> Server:
        server = self.by_name.get(name)
        if server is None:
            known = ", ".join(self.by_name) or "none"
            raise UnknownServer(f"no MCP server {name}; there are: {known}")
        return server


async def _all_settled(servers: Iterable[Server]) -> None:
    for one in list(servers):
        await one.settle()
