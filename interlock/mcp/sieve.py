"""Lists of tools looked at item by item, before the package looks at them as a whole.

It refuses a whole list for one tool that is out of shape, and with the list the server. So what a
tool may not be is taken out here, on the way in, and remembered for whoever lists.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from attrs import define, field

from interlock.mcp.schemas import BadSchema, sendable
from phases.world.messages import Json

_SHAPES = {"description": str, "title": str, "annotations": dict, "icons": list, "_meta": dict}


@define
class Sieve:
    """`dropped` are the tools that were taken out since it was last emptied, and why."""

    dropped: list[str] = field(factory=list)
    ended: bool = False  # no message will come any more: what fails now was not said by the server

    def taken(self) -> tuple[str, ...]:
        dropped, self.dropped = tuple(self.dropped), []
        return dropped

    @asynccontextmanager
    async def through(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        """The same transport, whose messages pass here."""
        async with transport as (incoming, outgoing):
            yield _Sifted(incoming, self), outgoing

    def sift(self, item: Any) -> Any:
        """A message as it may go on; changed in place."""
        result = getattr(getattr(item, "message", None), "result", None)
        if isinstance(result, dict) and isinstance(result.get("tools"), list):
            result["tools"] = [one for one in result["tools"] if self._fits(one)]
        return item

    def _fits(self, tool: Json) -> bool:
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str):
            self.dropped.append(f"{str(tool)[:60]!r} is left out: it has no name")
            return False
        try:
            tool["inputSchema"] = sendable(tool.get("inputSchema"))
        except BadSchema as problem:
            self.dropped.append(f"{name!r} is left out: its input schema {problem}")
            return False
        for key, kind in _SHAPES.items():
            if key in tool and not isinstance(tool[key], kind):
                del tool[key]  # nothing that a call needs
        output = tool.get("outputSchema")
        if output is not None and not (
            isinstance(output, dict) and output.get("type") == "object"
        ):
            del tool["outputSchema"]
        return True


class _Sifted:
    """A stream of messages, each through a sieve."""

    def __init__(self, inner: Any, sieve: Sieve) -> None:
        self._inner, self._sieve = inner, sieve

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def receive(self) -> Any:
        return await self._next(self._inner.receive)

    def __aiter__(self) -> _Sifted:
        return self

    async def __anext__(self) -> Any:
        return await self._next(self._inner.__anext__)

    async def _next(self, receive: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return self._sieve.sift(await receive())
        except BaseException:  # also when it is cancelled there comes no more
            self._sieve.ended = True
            raise

    async def __aenter__(self) -> _Sifted:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._inner.__aexit__(*raised)
