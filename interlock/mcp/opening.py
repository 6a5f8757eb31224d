"""A client of the package for one definition, over the transport that it names.

The package takes a second to import, so it is imported here and below, when a server is started.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from interlock import __version__
from interlock.mcp.definitions import BadDefinition, Definition, Transport
from interlock.mcp.door import Door
from interlock.mcp.relay import Relay
from interlock.mcp.sieve import Sieve
from interlock.mcp.stdio import Heard, Process, connected

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.client.session import (
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
    )

_MISSING = "needs the package mcp, which is not installed: pip install 'interlock[mcp]' brings it"


async def load() -> None:
    """Import the package, beside everything else. Raises BadDefinition where it is missing."""
    if "mcp" in sys.modules:
        return
    try:
        await anyio.to_thread.run_sync(importlib.import_module, "mcp")
    except ImportError as error:
        raise BadDefinition(_MISSING) from error


@asynccontextmanager
async def opened(
    definition: Definition,
    process: Process,
    sieve: Sieve,
    door: Door,
    *,
    environ: Mapping[str, str],
    mark: str,
    heard: Heard,
    elicit: ElicitationFnT,
    roots: ListRootsFnT,
    log: LoggingFnT,
    handle: MessageHandlerFnT,
) -> AsyncIterator[Client]:
    """Connect and shake hands; leaving the block ends the connection, and the process if any.

    Raises OSError, MCPError and whatever else a transport meets.
    """
    await load()
    from mcp import Client
    from mcp_types import Implementation

    async with AsyncExitStack() as stack:
        server = await _server(definition, process, door, stack, environ, mark, heard)
        if hasattr(server, "__aenter__"):  # a transport; a program of this process has none
            server = sieve.through(server)
        client = Client(
            server,
            mode="legacy" if definition.legacy else "auto",
            client_info=Implementation(name="interlock", version=__version__),
            elicitation_callback=elicit,
            list_roots_callback=roots,
            logging_callback=log,
            log_level="info",
            message_handler=handle,
        )
        yield await stack.enter_async_context(client)


async def _server(
    definition: Definition,
    process: Process,
    door: Door,
    stack: AsyncExitStack,
    environ: Mapping[str, str],
    mark: str,
    heard: Heard,
) -> Any:
    match definition.transport:
        case Transport.STDIO:
            return connected(definition, process, environ=environ, mark=mark, heard=heard)
        case Transport.IN_PROCESS:
            program = definition.program
            return program.transport() if isinstance(program, Relay) else program
        case Transport.HTTP | Transport.SSE:
            return await over_http(definition, door, stack, await door.auth())


async def over_http(
    definition: Definition, door: Door, stack: AsyncExitStack, auth: httpx2.Auth | None
) -> Any:
    """A transport to the server's address."""
    headers = await door.headers()
    if definition.transport is Transport.SSE:
        from mcp.client.sse import sse_client

        return sse_client(
            definition.url, headers=headers, auth=auth, httpx_client_factory=door.client
        )
    from mcp.client.streamable_http import streamable_http_client

    http = await stack.enter_async_context(door.client(headers=headers, auth=auth))
    return streamable_http_client(definition.url, http_client=http)
