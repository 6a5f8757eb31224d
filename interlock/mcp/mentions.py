"""`@server:uri` in a person's words: a resource that is meant to be brought along.

Knows which servers there are; that it is read by a call, as the model would, is for others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from interlock.mcp.lifecycle import Stage

if TYPE_CHECKING:
    from interlock.mcp.server import Server

_URI = re.compile(r"[a-z][a-z0-9+.-]*:.+", re.IGNORECASE)


@frozen
class Mention:
    """A resource that words speak of. `absence` says why it cannot even be asked for, or ""."""

    server: str
    uri: str
    absence: str = ""


@frozen
class Mentions:
    """`servers` are those of the session, as they are by then."""

    servers: Callable[[], Iterable[Server]]

    def of(self, word: str) -> Mention | None:
        """What `word`, without its @, speaks of; None where it names no server: it may be
        anything."""
        name, colon, uri = word.partition(":")
        server = next((one for one in self.servers() if one.name == name), None)
        if not colon or server is None or not _URI.fullmatch(uri):
            return None
        absence = server.absence
        if not absence and not server.stock.resources:
            absence = "offers no resources"
        return Mention(name, uri, absence and f"the MCP server {name} {absence}")

    def offered(self) -> Iterator[tuple[str, str]]:
        """Every resource that servers have listed, as it is spoken of, and its name."""
        for server in self.servers():
            if server.stage is Stage.CONNECTED:
                for one in server.news.resources:
                    yield f"{server.name}:{one.uri}", one.name
