"""What a server may ask of us, and what it tells: answered here, by the package's own types.

Asked for: the folders we work in, and words from a person. A model is lent to nobody: a server
that wants one spends the user's money on words that the user never sees.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import frozen

from interlock.mcp.lifecycle import Stage
from interlock.quiet import Quiet
from interlock.tools import Person

if TYPE_CHECKING:
    import mcp_types
    from mcp.client.session import (
        ElicitationFnT,
        ListRootsFnT,
        LoggingFnT,
        MessageHandlerFnT,
    )

    from interlock.mcp.server import Server

_log = Quiet(__name__)
_LOUD = frozenset({"error", "critical", "alert", "emergency"})
_LONGEST = 500


def _nobody(text: str) -> None:
    """Nobody is told."""


class Told(Protocol):
    def __call__(self, level: str, text: str) -> None: ...


@frozen(kw_only=True)
class Host:
    """The session, as its servers see it."""

    roots: tuple[Path, ...]
    person: Person | None
    tell: Told  # a person, in a line; level is info or warning
    moved: Callable[[Server, Stage], None]  # its stage or its lists are others now
    note: Callable[[str], None] = _nobody  # told the model, at its next request


def callbacks(
    server: Server,
) -> tuple[ElicitationFnT, ListRootsFnT, LoggingFnT, MessageHandlerFnT]:
    """What the package's client calls for this server."""
    host = server.host

    async def elicit(context: Any, params: mcp_types.ElicitRequestParams) -> Any:
        from interlock.mcp.elicitation import answered

        return await answered(server.name, params, host.person, trusted=server.definition.trusted)

    async def roots(context: Any) -> mcp_types.ListRootsResult:
        from mcp_types import ListRootsResult, Root

        found = [
            Root.model_validate({"uri": one.as_uri(), "name": one.name}) for one in host.roots
        ]
        return ListRootsResult(roots=found)

    async def log(params: mcp_types.LoggingMessageNotificationParams) -> None:
        words = params.data if isinstance(params.data, str) else repr(params.data)
        _log.debug("mcp server says", server=server.name, level=params.level, words=words)
        if params.level in _LOUD:
            line = " ".join(words.split())[:_LONGEST]
            host.tell("warning", f"the MCP server {server.name}: {line}")

    async def handle(message: object) -> None:
        server.news.heard(message)

    return elicit, roots, log, handle
