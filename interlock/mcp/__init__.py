"""The MCP client: other people's servers, their tools, resources and prompts.

`definitions` says what a server is, `server` keeps one connected, `servers` all of a session.
The package `mcp` is imported when the first server is started, and only then; so is `server`.
"""

from interlock.mcp.definitions import BadDefinition, Definition, Scope, Transport, parsed
from interlock.mcp.host import Host
from interlock.mcp.servers import Servers, UnknownServer
from interlock.mcp.settings import McpSettings, Patience, Unstarted, in_process
from interlock.mcp.status import Status
from interlock.mcp.tools import SERVER_TOOLS

__all__ = [
    "SERVER_TOOLS",
    "BadDefinition",
    "Definition",
    "Host",
    "McpSettings",
    "Patience",
    "Scope",
    "Servers",
    "Status",
    "Transport",
    "UnknownServer",
    "Unstarted",
    "in_process",
    "parsed",
]
