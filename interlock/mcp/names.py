"""What the tools of other people's servers are called in requests: `mcp__server__tool`.

The API takes letters, digits, `_` and `-`, and 64 of them are taken everywhere. A name that fits
is kept as it is; any other is mended and gets a hash of what it was, so that two that differ stay
two and a name is the same in every session. The way back is a table, never the name. A plugin's
server `plugin:demo:db` is `plugin_demo_db`, as rules have it; who joins it sees that it is alone.
"""

from __future__ import annotations

import hashlib
import re

PREFIX = "mcp__"
PLUGIN = "plugin:"  # before the names of a plugin and of a server it brings
_PLUGIN_ROOM = 40  # letters of `plugin_<plugin>_<server>`, by which users write their rules
LONGEST = 64  # the API allows 128, gateways before other providers 64
_ODD = re.compile(r"[^a-zA-Z0-9_-]")
_HASH = 8  # letters of a hash: by chance two in four thousand million are the same


def server_part(server: str) -> str:
    """A server's name as rules and tools write it: `mcp__<this>`."""
    room, plain = LONGEST // 2 - len(PREFIX), server
    if server.startswith(PLUGIN):
        room, plain = _PLUGIN_ROOM, server.replace(":", "_")
    return _mended(plain, room, f"server {server}", _fits_as_server(plain, room))


def tool_name(server: str, tool: str) -> str:
    """The name that `tool` of `server` is sent by: the same for the same two words, always."""
    before = f"{PREFIX}{server_part(server)}__"
    fits = bool(tool) and _ODD.search(tool) is None and len(before) + len(tool) <= LONGEST
    return before + _mended(tool, LONGEST - len(before), f"{server}\0{tool}", fits)


def slash_command(server: str, prompt: str) -> str:
    """The word that a prompt of a server is given by, without its slash."""
    return tool_name(server, prompt)


def server_of(name: str) -> str | None:
    """The server's part of a tool's name or of a rule, or None for what is not one."""
    if not name.startswith(PREFIX):
        return None
    return name.removeprefix(PREFIX).partition("__")[0] or None


def _fits_as_server(name: str, room: int) -> bool:
    # Two underscores end the server's part: inside it they would make another server's tools.
    clean = _ODD.search(name) is None and "__" not in name and not name.endswith("_")
    return clean and 0 < len(name) <= room


def _mended(name: str, room: int, whole: str, fits: bool) -> str:
    if fits:
        return name
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    begin = re.sub("_{2,}", "_", _ODD.sub("_", name))[: room - _HASH - 1].strip("_")
    return f"{begin}_{digest}" if begin else digest
