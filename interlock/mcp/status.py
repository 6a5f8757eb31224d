"""How a server stands, in the words that programs which drive us know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from interlock.mcp.lifecycle import Stage
from interlock.mcp.names import tool_name
from phases.world.messages import Json

if TYPE_CHECKING:
    from interlock.mcp.server import Server

_WORDS = {
    Stage.STARTING: "pending",
    Stage.RESTING: "pending",
    Stage.CONNECTED: "connected",
    Stage.FAILED: "failed",
    Stage.SHUT_OUT: "needs-auth",
    Stage.OFF: "disabled",
    Stage.CLOSED: "disabled",
}


@frozen(kw_only=True)
class Status:
    """One server. `status` is connected, pending, failed, needs-auth or disabled."""

    name: str
    status: str
    scope: str
    error: str | None = None
    protocol: str = ""
    info: str = ""
    tools: tuple[tuple[str, str], ...] = ()  # the name as sent, and the server's own
    annotations: Mapping[str, Mapping[str, Json]] | None = None

    def wire(self) -> dict[str, Json]:
        """As the control protocol of agent SDKs has it."""
        told: dict[str, Json] = {"name": self.name, "status": self.status, "scope": self.scope}
        if self.error:
            told["error"] = self.error
        if self.info:
            name, _, version = self.info.rpartition(" ")
            told["serverInfo"] = {"name": name, "version": version}
        if self.status == "connected":
            hints = self.annotations or {}
            told["tools"] = [
                {"name": own, "annotations": dict(hints.get(own, {}))} for _, own in self.tools
            ]
        return told


def status_of(server: Server) -> Status:
    there = server.stage is Stage.CONNECTED
    return Status(
        name=server.name,
        status=_WORDS[server.stage],
        scope=server.definition.scope.value,
        error=None if there else server.problem,
        protocol=server.version,
        info=server.info,
        tools=tuple((tool_name(server.name, one.name), one.name) for one in server.stock.tools)
        if there
        else (),
        annotations={one.name: one.annotations for one in server.stock.tools},
    )
