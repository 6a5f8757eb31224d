"""Servers as real processes, and sessions that have them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlock.mcp import Definition, McpSettings, Scope, parsed
from interlock.options import Options, PermissionMode
from interlock.scripted import ByFunction, Reply, SentRequest, reply, tool_use
from tests.agent.support import MODEL

FAKE = Path(__file__).with_name("fake_server.py")


def fake(
    *modes: str,
    name: str = "fake",
    env: Mapping[str, str] | None = None,
    scope: Scope = Scope.USER,
    **more: Any,
) -> Definition:
    """The fake server in these modes."""
    raw = {
        "command": sys.executable,
        "args": ["-S", str(FAKE), *modes],
        "env": dict(env or {}),
        **more,
    }
    return parsed(name, raw, scope=scope, environ={})


def with_servers(*definitions: Definition, **more: Any) -> Options:
    """Options of a session that may do everything and has these servers."""
    more.setdefault("permission_mode", PermissionMode.BYPASS_PERMISSIONS)
    return Options(model=MODEL, mcp=McpSettings(definitions=definitions), **more)


def calls(*made: tuple[str, Mapping[str, Any]], end: str = "Done.") -> ByFunction:
    """A model that makes these calls, one in each reply, and then says `end`."""

    def answer(request: SentRequest) -> Reply:
        if request.index <= len(made):
            name, arguments = made[request.index - 1]
            return reply(tool_use(name, dict(arguments)))
        return reply(end)

    return ByFunction(answer)


def tools_of(request: SentRequest) -> list[str]:
    """The names of the tools that a request offers."""
    return [tool["name"] for tool in request.body["tools"]]
