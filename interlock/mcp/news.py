"""What a server tells unasked of its own matters: other tools, other prompts, other resources.

Older servers tell everybody, newer ones those who ask to hear. A resource that was read is
listened to from then on, where the server offers it: who has read it should know that it changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
from attrs import define, field

from interlock.mcp.lifecycle import Stage
from interlock.mcp.remote import RemoteResource, resources_of
from interlock.mcp.words import reason
from interlock.quiet import Quiet

if TYPE_CHECKING:
    from mcp import Client

    from interlock.mcp.server import Server

_log = Quiet(__name__)
_NAMED = 20  # resources that are named in one note
_MOST_FOLLOWED = 50  # resources whose changes are listened to


@define(eq=False)
class News:
    """One server's, over all its connections."""

    server: Server
    resources: tuple[RemoteResource, ...] = ()  # as they were listed last
    _stale: anyio.Event = field(factory=anyio.Event, init=False)  # tools and prompts
    _moved: anyio.Event = field(factory=anyio.Event, init=False)  # the list of resources
    _wanted: anyio.Event = field(factory=anyio.Event, init=False)  # another one was read
    _read: list[str] = field(factory=list, init=False)  # resources, in the order they were read
    _old: set[str] = field(factory=set, init=False)  # of them, those whose change was told

    def heard(self, message: object) -> None:
        """A notification came: of a session, or of a stream that only tells changes."""
        import mcp_types as types
        from mcp.shared import subscriptions as events

        match message:
            case (
                types.ToolListChangedNotification()
                | types.PromptListChangedNotification()
                | events.ToolsListChanged()
                | events.PromptsListChanged()
            ):
                self._stale.set()
            case types.ResourceListChangedNotification() | events.ResourcesListChanged():
                self._moved.set()
            case types.ResourceUpdatedNotification():
                self._changed(str(message.params.uri))
            case events.ResourceUpdated():
                self._changed(str(message.uri))

    def has_read(self, uri: str) -> None:
        """Somebody knows what this resource says, and should hear if it says something else."""
        self._old.discard(uri)
        if uri not in self._read and len(self._read) < _MOST_FOLLOWED:
            self._read.append(uri)
            self._wanted.set()

    def _changed(self, uri: str) -> None:
        # The one that was read, or a part of it: servers may name either.
        read = next((one for one in self._read if uri == one or uri.startswith(one)), None)
        if read is None or read in self._old:
            return  # told already, and not read since
        self._old.add(read)
        self.server.host.note(
            f"The resource {read} of the MCP server {self.server.name} has changed since it was"
            " read; read it again where that matters."
        )

    # --- for as long as a connection lasts ---------------------------------------------------

    async def follow(self, client: Client) -> None:
        """Keep up with the server, until cancelled."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._list_anew, client)
            if self.server.stock.resources:
                tasks.start_soon(self._list_resources, client)
            tasks.start_soon(self._listen if modern else self._subscribe, client)

    async def _list_anew(self, client: Client) -> None:
        while True:
            await self._stale.wait()
            self._stale = anyio.Event()

            async def take() -> None:
                self.server.stock = await self.server.listed(client)
                self.server.host.moved(self.server, Stage.CONNECTED)

            await self._trying(take)

    async def _list_resources(self, client: Client) -> None:
        """List them beside all else: nobody waits for the list, and it may be long."""
        first = True
        while True:
            self._moved = anyio.Event()

            async def take(first: bool = first) -> None:
                before, self.resources = self.resources, await resources_of(client)
                if not first:
                    self._tell_of_resources(before)

            await self._trying(take, aloud=not first)
            first = False
            await self._moved.wait()

    async def _trying(self, take: Callable[[], Awaitable[None]], *, aloud: bool = True) -> None:
        try:
            await take()
        except Exception as error:  # whatever a server does: what is known of it stays
            if not self.server.lost:
                text = f"the MCP server {self.server.name} could not list anew: {reason(error)}"
                if aloud:
                    self.server.host.tell("warning", text)
                _log.debug("mcp server does not list", server=self.server.name, why=reason(error))

    def _tell_of_resources(self, before: tuple[RemoteResource, ...]) -> None:
        were, are = ({one.uri for one in some} for some in (before, self.resources))
        new = [one.uri for one in self.resources if one.uri not in were]
        gone = [one.uri for one in before if one.uri not in are]
        if not new and not gone:
            return
        words = []
        if new:
            words.append(f"has new resources now: {_listed(new)}")
        if gone:
            words.append(f"has these resources no more: {_listed(gone)}")
        self.server.host.note(f"The MCP server {self.server.name} {'; '.join(words)}.")
        count = f"{len(new)} resources joined" if new else f"{len(gone)} resources left"
        self.server.host.tell("info", f"the MCP server {self.server.name}: {count}")

    async def _subscribe(self, client: Client) -> None:
        """Older servers are asked for each resource."""
        has = client.server_capabilities.resources
        if has is None or not has.subscribe:
            return
        asked = 0  # anew on each connection
        while True:
            self._wanted = anyio.Event()
            for uri in self._read[asked:]:
                asked += 1
                try:
                    await _subscribed(client, uri)
                except Exception as error:  # it was read all the same
                    _log.debug("mcp resource not followed", uri=uri, why=reason(error))
            if asked == len(self._read):
                await self._wanted.wait()

    async def _listen(self, client: Client) -> None:
        """Newer servers tell of changes only to those who ask, all at once."""
        while True:
            self._wanted = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen_once, client)
                await self._wanted.wait()  # one more to hear of: ask anew
                tasks.cancel_scope.cancel()

    async def _listen_once(self, client: Client) -> None:
        has = client.server_capabilities
        tools = bool(has.tools and has.tools.list_changed)
        prompts = bool(has.prompts and has.prompts.list_changed)
        lists = bool(has.resources and has.resources.list_changed)
        follows = tuple(self._read) if has.resources and has.resources.subscribe else ()
        if not (tools or prompts or lists or follows):
            return
        try:
            listening = client.listen(
                tools_list_changed=tools,
                prompts_list_changed=prompts,
                resources_list_changed=lists,
                resource_subscriptions=follows,
            )
            async with listening as events:
                # What changed between the listing and now was told to nobody.
                if tools or prompts:
                    self._stale.set()
                if lists:
                    self._moved.set()
                async for event in events:
                    self.heard(event)
        except Exception as error:  # a stream for news only: calls go on without it
            _log.debug("mcp server tells no changes", server=self.server.name, why=reason(error))


async def _subscribed(client: Client, uri: str) -> None:
    """The package's own method for it warns each of its callers that newer servers have none."""
    from mcp_types import EmptyResult, SubscribeRequest, SubscribeRequestParams

    request = SubscribeRequest(params=SubscribeRequestParams(uri=uri))
    await client.session.send_request(request, EmptyResult)


def _listed(uris: list[str]) -> str:
    more = f" and {len(uris) - _NAMED} more" if len(uris) > _NAMED else ""
    return f"{', '.join(uris[:_NAMED])}{more}"
