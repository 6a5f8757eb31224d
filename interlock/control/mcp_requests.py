"""What a host may want done about MCP servers, its own and others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define, field

from interlock.control.exchange import Handler, Json
from interlock.control.hooks import Ask
from interlock.control.servers import Hosted, definitions_of
from interlock.errors import UsageError
from interlock.mcp import Servers, UnknownServer


@define(eq=False, kw_only=True)
class McpRequests:
    """Those of one session."""

    servers: Servers
    hosted: Hosted
    ask: Ask
    _own: set[str] = field(factory=set)  # servers that `mcp_set_servers` has brought

    def handlers(self) -> dict[str, Handler]:
        return {
            "mcp_status": self._status,
            "mcp_reconnect": self._reconnect,
            "mcp_toggle": self._toggle,
            "mcp_set_servers": self._set_servers,
            "mcp_message": self._message,
        }

    async def _status(self, asked: Mapping[str, Any]) -> Json:
        return {"mcpServers": [one.wire() for one in self.servers.status()]}

    async def _reconnect(self, asked: Mapping[str, Any]) -> Json:
        name = _name(asked)
        await self.servers.reconnect(name)
        problem = self.servers.by_name[name].problem
        if problem is not None:
            raise UsageError(f"the MCP server {name} is not there: {problem}")
        return {}

    async def _toggle(self, asked: Mapping[str, Any]) -> Json:
        await self.servers.toggle(_name(asked), enabled=asked.get("enabled") is True)
        return {}

    async def _set_servers(self, asked: Mapping[str, Any]) -> Json:
        """These and no others, of those that came by this request."""
        raw = asked.get("servers")
        if not isinstance(raw, Mapping):
            raise UsageError("servers is no object of servers")
        found, errors = definitions_of(raw, self.ask, self.servers.environ)
        removed = [name for name in self._own if name not in raw]
        for name in removed:
            await self.servers.remove(name)
        added = [name for name in found if name not in self.servers.by_name]
        for name in added:
            self.servers.add(found[name])
        for name in added:
            await self.servers.by_name[name].settle()
        self._own = (self._own - set(removed)) | set(added)
        return {"added": added, "removed": removed, "errors": errors}

    async def _message(self, asked: Mapping[str, Any]) -> Json:
        """A server of the host's says something unasked."""
        relay = self.hosted.relays.get(str(asked.get("server_name")))
        message = asked.get("message")
        if relay is None or not isinstance(message, Mapping):
            raise UnknownServer(f"no MCP server of yours is called {asked.get('server_name')!r}")
        await relay.take(message)
        return {}


def _name(asked: Mapping[str, Any]) -> str:
    return str(asked.get("serverName") or "")
