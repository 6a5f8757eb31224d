"""What of the session's tools the next request offers, in an order that only grows."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from interlock.tools import Tool
from phases.world.messages import Json, encoded
from phases.world.size import BYTES_PER_TOKEN


@define(eq=False)
class Offer:
    """`tools` is the live table; `specs` is asked before each request."""

    _tools: Mapping[str, Tool]
    _specs: tuple[Mapping[str, Json], ...] = field(default=(), init=False)
    _made_of: tuple[Tool, ...] = field(default=(), init=False)

    def specs(self) -> tuple[Mapping[str, Json], ...]:
        """As the Messages API wants them; the very same tuple while nothing has changed."""
        tools = tuple(self._tools.values())
        if tools != self._made_of:
            self._made_of, self._specs = tools, tuple(tool.wire() for tool in tools)
        return self._specs

    @property
    def size(self) -> int:
        """Of what is offered, in tokens, estimated."""
        return round(len(encoded(self.specs())) / BYTES_PER_TOKEN)
