"""A server whose messages somebody else carries: a program that drives us, over its own wire.

`joined_by_messages` makes a definition of two functions' worth of contract: `Relay.carry` takes a
JSON-RPC message to the server and returns its answer, and `Relay.take` is given what the server
says unasked. What the wire is, how it is framed and who ends it, is its owner's affair.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from attrs import define, field

from interlock.mcp.definitions import Definition, Scope, Transport
from interlock.mcp.words import reason
from interlock.quiet import Quiet
from phases.world.messages import Json

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

    Incoming = ObjectReceiveStream[SessionMessage | Exception]
    Outgoing = ObjectSendStream[SessionMessage]

_log = Quiet(__name__)
_WAITING = 64  # messages of a server that nobody has read yet; then `take` waits
_INTERNAL_ERROR = -32603  # of JSON-RPC

JsonRpc: TypeAlias = Mapping[str, Json]
Carry: TypeAlias = Callable[[JsonRpc], Awaitable[JsonRpc | None]]


class NotConnected(RuntimeError):
    """The server said something while nobody was connected to it."""


@define(eq=False)
class Relay:
    """One server's two ways. It is connected again, with the same functions, after it was lost.

    `carry` is called for several messages at once, begun in their order. For a request it returns
    the JSON-RPC response, or None where that comes through `take`; what it returns for anything
    else counts for nothing. What it raises for a request is that request's error: the call fails
    with these words, and the server stays.
    """

    carry: Carry
    _into: ObjectSendStream[SessionMessage | Exception] | None = field(default=None, init=False)

    async def take(self, message: JsonRpc) -> None:
        """The server says this unasked: a notification, a request of its own, a late response.

        Raises NotConnected, and ValueError for what is no JSON-RPC message.
        """
        if self._into is None:
            raise NotConnected("nobody is connected to this MCP server now")
        await self._into.send(_received(message))

    async def lose(self) -> None:
        """The server is gone: calls under way fail at once, and it is connected anew if it may."""
        if self._into is not None:
            await self._into.aclose()

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Incoming, Outgoing]]:
        """As the package's client takes one."""
        from mcp.shared.message import SessionMessage

        into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](_WAITING)
        outgoing, out_of = anyio.create_memory_object_stream[SessionMessage](0)
        self._into = into
        async with into, incoming, outgoing, out_of, anyio.create_task_group() as tasks:
            tasks.start_soon(self._carry_all, out_of)
            try:
                yield incoming, outgoing
            finally:
                self._into = None
                tasks.cancel_scope.cancel()

    async def _carry_all(self, out_of: ObjectReceiveStream[SessionMessage]) -> None:
        async with anyio.create_task_group() as tasks:
            async for sent in out_of:
                message = sent.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
                tasks.start_soon(self._carry_one, message)

    async def _carry_one(self, message: JsonRpc) -> None:
        asks = "method" in message and "id" in message
        try:
            answer = await self.carry(message)
        except Exception as error:  # of whoever carries: the other side is told
            _log.debug("mcp message not carried", method=message.get("method"), why=reason(error))
            answer = _failed(message, error)
        if not asks or answer is None or self._into is None:
            return
        try:
            received = _received(answer)
        except ValueError as error:
            received = _received(_failed(message, error))
        try:
            await self._into.send(received)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # it was lost meanwhile: nobody waits any more


def joined_by_messages(
    name: str, relay: Relay, *, scope: Scope = Scope.FLAGS, trusted: bool = False
) -> Definition:
    """The definition of a server that is reached through `relay`.

    It is greeted in the older way, which is the one that servers inside of other programs know.
    """
    return Definition(
        name=name,
        scope=scope,
        transport=Transport.IN_PROCESS,
        program=relay,
        trusted=trusted,
        legacy=True,
    )


def _received(message: JsonRpc) -> SessionMessage:
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    whole = {"jsonrpc": "2.0", **message}  # some leave out what is always the same
    return SessionMessage(jsonrpc_message_adapter.validate_python(whole, by_name=False))


def _failed(message: JsonRpc, error: Exception) -> JsonRpc:
    told = {"code": _INTERNAL_ERROR, "message": reason(error)}
    return {"id": message.get("id"), "error": told}
