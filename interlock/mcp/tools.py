"""Tools of other people's servers as tools of ours, and the two that read their resources.

What a tool says of itself opens no permission: only of a server whose definition says `trusted` is
"read only" believed. That calls may run beside each other is believed of all: a lie costs the
server its own order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from interlock.mcp.names import tool_name
from interlock.mcp.results import Rendering
from interlock.mcp.words import CallTimedOut
from interlock.tools import Arguments, Output, Tool, ToolContext, ToolError

if TYPE_CHECKING:
    from interlock.mcp.remote import RemoteTool
    from interlock.mcp.server import Server


class McpTool(Tool):
    """A tool of a server."""

    time_limit = None  # a person may be asked meanwhile, whose time does not count

    def __init__(self, server: Server, remote: RemoteTool) -> None:
        self.server, self.remote = server, remote
        self.name = tool_name(server.name, remote.name)
        self.description = remote.description
        self.input_schema = remote.schema

    def effects(self, arguments: Arguments) -> bool:
        return not (self.server.definition.trusted and self.remote.read_only)

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return self.remote.read_only

    async def preview(self, arguments: Arguments, context: ToolContext) -> str | None:
        return f"{self.remote.name} of the MCP server {self.server.name}"

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        try:
            result = await self.server.call(self.remote.name, arguments, context.progress)
        except CallTimedOut as problem:
            return Output(str(problem), is_error=True, timed_out=True)
        return await Rendering(self.name, context).result(result)


Servers = Callable[[], Iterable["Server"]]


class ListMcpResources(Tool):
    """What resources there are."""

    name = "ListMcpResourcesTool"
    description = (
        "Lists the resources that MCP servers offer, with their addresses: all, or those of one"
        " server. ReadMcpResourceTool reads one."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {"server": {"type": "string", "description": "Only those of this server."}},
        "additionalProperties": False,
    }

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def effects(self, arguments: Arguments) -> bool:
        return False

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return True

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        wanted = arguments.get("server")
        servers = [named(self._servers(), wanted)] if wanted else list(self._servers())
        lines: list[str] = []
        for server in servers:
            if not server.stock.resources:
                continue
            try:
                found = await server.resources()
            except ToolError as problem:
                lines.append(f"({problem})")
                continue
            lines += [_line(server.name, one) for one in found]
        return Output("\n".join(lines) or "No server offers resources.")


class ReadMcpResource(Tool):
    """One resource."""

    name = "ReadMcpResourceTool"
    description = (
        "Reads a resource of an MCP server by its address (ListMcpResourcesTool has them)."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "server": {"type": "string", "description": "The name of the server."},
            "uri": {"type": "string", "description": "The address of the resource."},
        },
        "required": ["server", "uri"],
        "additionalProperties": False,
    }

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def effects(self, arguments: Arguments) -> bool:
        return False

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return True

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        server = named(self._servers(), arguments["server"])
        return Output(await read_resource(server, arguments["uri"], context))


async def read_resource(server: Server, uri: str, context: ToolContext) -> tuple[Any, ...]:
    """The content of a resource. Raises ToolError."""
    found = await server.read(uri)
    rendering = Rendering(ReadMcpResource.name, context)
    parts = [
        part
        for number, contents in enumerate(found.contents, 1)
        for part in await rendering.resource(contents, number)
    ]
    return tuple(parts)


def named(servers: Iterable[Server], name: str) -> Server:
    """The server of that name. Raises ToolError."""
    known = list(servers)
    found = next((one for one in known if one.name == name), None)
    if found is None:
        there = ", ".join(one.name for one in known) or "none"
        raise ToolError(f"There is no MCP server {name}; there are: {there}.")
    return found


def _line(server: str, one: Any) -> str:
    kind = f" ({one.mime_type})" if one.mime_type else ""
    about = f": {one.description}" if one.description else ""
    return f"{server} {one.uri} {one.name}{kind}{about}"


def offered(server: Server) -> Sequence[McpTool]:
    """The tools of a server, as they are now."""
    return [McpTool(server, remote) for remote in server.stock.tools]


SERVER_TOOLS = (McpTool, ListMcpResources, ReadMcpResource)
