"""Our client as the conformance suite drives it: `conformance_client.py URL`.

Connects, lists, calls each tool once with values of the types it asks for, and leaves. Its server
counts as trusted, so that questions are answered by their defaults.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio

from interlock.mcp import Host, Patience, Scope, Servers, parsed
from interlock.tools import FileReads, ToolContext
from phases.world.limits import Limits

_VALUES: dict[str, Any] = {"integer": 5, "number": 5, "string": "x", "boolean": True}


async def main(url: str) -> None:
    raw = {"type": "http", "url": url, "trusted": True}
    servers = Servers(
        definitions=[parsed("suite", raw, scope=Scope.FLAGS, environ={})],
        patience=Patience(start_s=30, call_s=30, restarts=0),
        environ=dict(os.environ),
    )
    host = Host(roots=(Path.cwd(),), person=None, tell=servers.tell, moved=servers.moved)
    folder = Path.cwd()
    context = ToolContext(
        cwd=folder, root=folder, limits=Limits(), reads=FileReads(), spill=folder
    )

    async def nothing(servers: Servers) -> None:
        """Nobody is asked."""

    async with servers.running(host, nothing):
        await servers.settled()
        for status in servers.status():
            print(status.status, status.error or "", status.protocol)
        for tool in list(servers.tools.values()):
            wanted = tool.input_schema.get("properties", {})
            given = {name: _VALUES.get(one.get("type"), "x") for name, one in wanted.items()}
            print(tool.name, await tool.run(given, context))


if __name__ == "__main__":
    anyio.run(main, sys.argv[-1])
