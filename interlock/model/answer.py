"""One request under way: the live answer, read piece by piece until it is a reply or a failure.

Keeps the time limits, which know what counts as an event, and says what became of the request.
Knows neither credentials nor connections: `anthropic` opens the line.
"""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import anyio

from interlock.model import failures
from interlock.model.prices import price
from interlock.model.reply import ReplyAssembler, ReplyError
from interlock.model.request import Outgoing
from interlock.model.sse import SseError, SseParser
from phases.world.failures import Failure, FailureKind
from phases.world.limits import Limits
from phases.world.ports import Begun, Failed, ModelEvent, Replied, Request

if TYPE_CHECKING:
    import httpx2

_DRAIN_S = 0.25  # for the end of the body after message_stop: only then can the line be kept
_CLOSE_S = 2.0  # for saying goodbye, which nobody may cancel; then the line is just dropped
# After these it is open which part of the history is at fault.
_DOUBTFUL = (FailureKind.INVALID_REQUEST, FailureKind.BLOCK_REFUSED)
_SHOWN_BYTES = 200  # of an answer that is no event stream


class Line(Protocol):
    """The way to the server, as an answer needs it."""

    limits: Limits
    raw_events: bool
    time: Callable[[], float]
    new_id: Callable[[], str]

    @property
    def address(self) -> str: ...
    async def post(self, body: bytes) -> httpx2.Response: ...


class Answer:
    """One request under way: read in steps, so that no yield stands inside a cancel scope."""

    def __init__(self, line: Line, request: Request, outgoing: Outgoing) -> None:
        self.over = False
        self._line, self._request, self._outgoing = line, request, outgoing
        self._parser = SseParser()
        self._assembler = ReplyAssembler(
            model=request.model,
            new_id=line.new_id,
            taken=outgoing.tool_ids,
            raw_events=line.raw_events,
        )
        self._response: httpx2.Response | None = None
        self._chunks: AsyncGenerator[bytes, None] | None = None
        self._failure: Failure | None = None
        self._begins = b""  # the first bytes of the body
        self._any_event = False
        # Only time spent waiting for the server counts: a consumer may take its own.
        self._waited = self._waited_idle = 0.0

    async def more(self) -> list[ModelEvent]:
        """Wait for the next piece of the answer; what it tells."""
        try:
            return await self._step()
        except SseError as error:
            self._fail(failures.no_stream(str(error), self._begins, self._content_type))
        except ReplyError as error:
            begins = b"" if self._assembler.started else self._begins
            self._fail(failures.no_stream(str(error), begins, self._content_type))
        except foreseen() as error:
            failure = failures.raised(error, self._asked(), streaming=self._response is not None)
            if failure is None:
                raise
            self._fail(failure)
        return []

    async def _step(self) -> list[ModelEvent]:
        limits, began = self._line.limits, time.monotonic()
        idle = limits.stream_idle_s if self._any_event else limits.first_event_s
        left = min(idle - self._waited_idle, limits.request_timeout_s - self._waited)
        chunk: bytes | None = b""
        with anyio.move_on_after(max(0.0, left)) as patience:
            if self._chunks is None:
                await self._open()
            else:
                chunk = await anext(self._chunks, None)
        waited = time.monotonic() - began
        self._waited += waited
        self._waited_idle += waited
        if patience.cancelled_caught:
            self._fail(self._expired())
        elif chunk is None:
            self._fail(self._ended())
        elif chunk:
            return await self._take(chunk)
        return []

    async def _open(self) -> None:
        self._response = await self._line.post(self._outgoing.body)
        # Unpacked by httpx2 only where it is packed: that costs CPU with each chunk.
        packed = self._response.headers.get("content-encoding", "identity") != "identity"
        self._chunks = self._response.aiter_bytes() if packed else self._response.aiter_raw()

    async def _take(self, chunk: bytes) -> list[ModelEvent]:
        if len(self._begins) < _SHOWN_BYTES:
            self._begins = (self._begins + chunk)[:_SHOWN_BYTES]
        events = self._parser.feed(chunk)
        progress, started = self._assembler.progress, self._assembler.started
        told = self._assembler.feed(events)
        if self._assembler.progress != progress or (events and not self._any_event):
            self._waited_idle = 0.0
        self._any_event = self._any_event or bool(events)
        if self._assembler.started and not started:
            told.insert(0, Begun(usage=self._assembler.usage, cost=self._cost()))
        if self._assembler.error is not None:
            error = self._assembler.error
            self._fail(
                failures.refused(
                    self._asked(),
                    status=200,
                    error_type=error.type,
                    detail=error.message,
                    headers=self._headers,
                )
            )
        elif self._assembler.stopped:
            await self._drain()
            self.over = True
        return told

    async def _drain(self) -> None:
        """Read to the end of the body, so that the connection can serve the next request."""
        assert self._chunks is not None
        with anyio.move_on_after(_DRAIN_S):
            try:
                async for _ in self._chunks:
                    pass
            except foreseen():
                pass  # the reply is whole; what became of the line is the next request's affair

    async def close(self) -> None:
        """Let the connection go; safe to call under cancellation, and twice."""
        with anyio.move_on_after(_CLOSE_S, shield=True):
            if self._chunks is not None:
                await self._chunks.aclose()
            if self._response is not None:
                await self._response.aclose()

    def end(self) -> Replied | Failed:
        """What became of the request."""
        assembler, cost = self._assembler, self._cost()
        if self._failure is not None:
            nothing = not assembler.started
            return Failed(
                failure=self._failure, usage=assembler.usage, cost=0.0 if nothing else cost
            )
        reply = assembler.reply(self._headers.get("request-id"))
        self._outgoing.tool_ids.update(call.id for call in reply.message.calls)
        if self._request.purpose == "main":
            self._outgoing.doubts.clear()
        return Replied(reply=reply, usage=assembler.usage, cost=cost)

    def _cost(self) -> float | None:
        """What was counted so far costs, by the name the server gave or the one we asked for."""
        cost = price(self._assembler.model, self._assembler.usage)
        return cost if cost is not None else price(self._request.model, self._assembler.usage)

    def _fail(self, failure: Failure) -> None:
        self._failure, self.over = failure, True
        if self._request.purpose == "main" and failure.kind in _DOUBTFUL and failure.status != 200:
            self._outgoing.doubts.update(message.id for message in self._outgoing.messages)

    def _expired(self) -> Failure:
        limits = self._line.limits
        if self._waited >= limits.request_timeout_s:
            return failures.too_slow(limits.request_timeout_s)
        if self._any_event:
            return failures.no_content(limits.stream_idle_s)
        return failures.no_first_event(limits.first_event_s)

    def _ended(self) -> Failure:
        if self._any_event:
            return failures.cut("it ended without message_stop")
        if not self._begins:
            return failures.no_stream("its body is empty")
        return failures.no_stream("it holds no event", self._begins, self._content_type)

    @property
    def _headers(self) -> Mapping[str, str]:
        return self._response.headers if self._response is not None else {}

    @property
    def _content_type(self) -> str | None:
        return self._headers.get("content-type")

    def _asked(self) -> failures.Asked:
        return failures.Asked(
            model=self._request.model,
            address=self._line.address,
            now=self._line.time(),
            outgoing=self._outgoing,
        )


@functools.cache
def foreseen() -> tuple[type[Exception], ...]:
    """What the SDK and its transport raise; failures.raised says which of it was foreseen."""
    import anthropic
    import httpx2

    return (
        anthropic.AnthropicError,
        httpx2.HTTPError,
        httpx2.InvalidURL,
        OSError,
        TypeError,
    )
