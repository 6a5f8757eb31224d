"""What a server offers, as our own data: read from the package's types once, at the door."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio
from attrs import field, frozen

from interlock.mcp.schemas import BadSchema, sendable
from phases.world.messages import Json

if TYPE_CHECKING:
    import mcp_types
    from mcp import Client

_PAGES = 100  # of one list: a server whose pages never end must not hang us
_DESCRIPTION = 4_000  # characters; a tool may not fill the window by what it says of itself


@frozen(kw_only=True)
class RemoteTool:
    name: str  # as the server calls it
    description: str
    schema: Mapping[str, Json]
    read_only: bool  # says the server
    annotations: Mapping[str, Json] = field(factory=dict)


@frozen(kw_only=True)
class RemotePrompt:
    name: str
    description: str
    arguments: tuple[str, ...]
    required: frozenset[str]


@frozen(kw_only=True)
class RemoteResource:
    uri: str
    name: str


@frozen(kw_only=True)
class Stock:
    """All that was listed when the connection was made, or changed."""

    tools: tuple[RemoteTool, ...] = ()
    prompts: tuple[RemotePrompt, ...] = ()
    resources: bool = False  # whether there may be any
    dropped: tuple[str, ...] = ()  # tools that cannot be offered, and why


async def stock_of(client: Client, server: str) -> Stock:
    """List what the server has. Raises what the package raises."""
    has = client.server_capabilities
    tools, prompts = list[RemoteTool](), list[RemotePrompt]()
    dropped: list[str] = []
    if has.tools is not None:
        seen: set[str] = set()
        for tool in await _all(client.list_tools, lambda page: page.tools):
            if tool.name in seen:
                dropped.append(f"{tool.name!r} is there twice; the first counts")
                continue
            seen.add(tool.name)
            try:
                tools.append(_tool(tool, server))
            except BadSchema as problem:
                dropped.append(f"{tool.name!r} is left out: its input schema {problem}")
    if has.prompts is not None:
        prompts = [_prompt(one) for one in await _all(client.list_prompts, lambda p: p.prompts)]
    return Stock(
        tools=tuple(tools),
        prompts=tuple(prompts),
        resources=has.resources is not None,
        dropped=tuple(dropped),
    )


async def resources_of(client: Client) -> tuple[RemoteResource, ...]:
    """The resources that the server lists. Raises what the package raises."""
    found = await _all(client.list_resources, lambda page: page.resources)
    return tuple(RemoteResource(uri=str(one.uri), name=one.title or one.name) for one in found)


async def _all(ask: Callable[..., Awaitable[Any]], items: Callable[[Any], list[Any]]) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        # Past the package's cache: who asks anew was told of a change.
        page = await ask(cursor=cursor, cache_mode="refresh")
        found += items(page)
        cursor = page.next_cursor
        if not cursor:
            break
        await anyio.lowlevel.checkpoint()
    return found


def _tool(tool: mcp_types.Tool, server: str) -> RemoteTool:
    hints = tool.annotations
    said = (tool.description or tool.title or (hints.title if hints else None) or "").strip()
    if len(said) > _DESCRIPTION:
        said = f"{said[:_DESCRIPTION]}…"
    return RemoteTool(
        name=tool.name,
        description=said or f"The tool {tool.name!r} of the MCP server {server}.",
        schema=sendable(tool.input_schema),
        read_only=bool(hints and hints.read_only_hint and not hints.destructive_hint),
        annotations=hints.model_dump(by_alias=True, exclude_none=True) if hints else {},
    )


def _prompt(prompt: mcp_types.Prompt) -> RemotePrompt:
    arguments = prompt.arguments or []
    return RemotePrompt(
        name=prompt.name,
        description=(prompt.description or prompt.title or "").strip()[:_DESCRIPTION],
        arguments=tuple(one.name for one in arguments),
        required=frozenset(one.name for one in arguments if one.required),
    )
