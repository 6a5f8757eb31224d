"""The model port over the Anthropic SDK, which is used as a bare transport.

The SDK gives the connection, the credentials and the error classes. The request bytes are ours
(`request.py`), and so is the reading of the stream (`sse.py`, `reply.py`): its own builder and
accumulator cost several times the CPU and take a cut reply for a whole one. It never retries:
trying again is an edge of the loop. The SDK is imported when the first request leaves (2 s);
`preload` does it earlier.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import anyio
import orjson

from interlock.model import failures
from interlock.model.prices import facts, price
from interlock.model.reply import ReplyAssembler, ReplyError
from interlock.model.request import Gate, Outgoing
from interlock.model.sse import SseError, SseParser
from phases.world.failures import Failure
from phases.world.limits import Limits
from phases.world.messages import encoded
from phases.world.ports import Clock, Failed, Ids, ModelEvent, Replied, Request

if TYPE_CHECKING:
    import ssl

    import httpx2
    from anthropic import AsyncAnthropic

_CONNECT_S = 10.0  # a server that is there accepts within this time, however slow it thinks
_KEEP_ALIVE_S = 60.0  # tools run between two requests; a new TLS connection costs more than this
# One request at a time is the rule, a summary beside it the exception. A pool shared by many
# loops would be searched through by each of them, at three times the CPU.
_CONNECTIONS = 8
_DRAIN_S = 0.25  # for the end of the body after message_stop: only then can the line be kept
_CLOSE_S = 2.0  # for saying goodbye, which nobody may cancel; then the line is just dropped
_COUNT_S = 5.0  # a count saves a little room; it is not worth a longer wait
_CANNOT = (404, 405, 501)  # answers of servers that know no such address
_SHOWN_BYTES = 200  # of an answer that is no event stream
# Internal to the SDK, and pinned by a test: the answer comes back as a live httpx2.Response.
RAW_RESPONSE = {"X-Stainless-Raw-Response": "stream"}
# Without this the API refuses `context_management`.
EDITING_BETA = "context-management-2025-06-27"


def preload() -> threading.Thread:
    """Import the SDK in a thread, so that the first request need not wait for it."""
    thread = threading.Thread(target=_load, name="preload-anthropic", daemon=True)
    thread.start()
    return thread


class AnthropicModel:
    """Implements `phases.world.ports.Model` for one loop."""

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        auth_token: str | None = None,
        system: tuple[str, ...] = (),
        tools: Sequence[Mapping[str, Any]] = (),
        limits: Limits | None = None,
        thinking_budget: int | None = None,
        headers: Mapping[str, str] | None = None,
        raw_events: bool = False,
        context_management: Mapping[str, Any] | None = None,
        user_context: str | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        """What is None is read from the environment by the SDK, as its users know it.

        `api_key` goes before `auth_token`. `headers` go before all others. `context_management`
        is what each request then asks of the server: see `interlock/context/microcompact.py`.
        `user_context` stands in front of what the user says: see `interlock/context/inject.py`.
        """
        self.limits = limits or Limits()
        self.raw_events = raw_events
        self.time: Callable[[], float] = clock.time if clock else time.time
        self.new_id: Callable[[], str] = ids.new if ids else lambda: str(uuid.uuid4())
        self._gate = Gate(
            system=system,
            tools=tools,
            thinking_budget=thinking_budget,
            user_context=user_context,
        )
        self._base_url = base_url
        self._api_key = api_key.strip() if api_key else None
        self._auth_token = auth_token.strip() if auth_token and not self._api_key else None
        self._headers = dict(headers or {})
        self._editing = b""
        if context_management is not None:
            self._editing = b',"context_management":%b' % encoded(dict(context_management))
            self._headers = _with_beta(self._headers, EDITING_BETA)
        self._client: AsyncAnthropic | None = None
        self._counts = True  # until the server has no such address

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Make one request. The last event is `Replied` or `Failed`.

        Use `contextlib.aclosing`: a consumer that leaves early closes the connection with it.
        Raises HistoryError where the history cannot be sent, a bug of whoever made it.
        """
        known = facts(request.model)
        outgoing = self._gate.build(request, most_output=known.most_output if known else None)
        if "anthropic" not in sys.modules:
            await anyio.to_thread.run_sync(_load)
        answer = _Answer(self, request, outgoing)
        try:
            while not answer.over:
                for event in await answer.more():
                    yield event
        finally:
            await answer.close()
        yield answer.end()

    async def count(self, request: Request) -> int | None:
        """The tokens that `request` would read, as the server counts them.

        None where it does not say so in time. A server that cannot count is asked once.
        """
        if not self._counts:
            return None
        body = self._gate.build(request, counting=True).body
        if "anthropic" not in sys.modules:
            await anyio.to_thread.run_sync(_load)
        with anyio.move_on_after(_COUNT_S):
            try:
                async with aclosing(await self.post(body, counting=True)) as answer:
                    told = orjson.loads(await answer.aread()).get("input_tokens")
                return told if isinstance(told, int) and told > 0 else None
            except _foreseen() as error:
                self._counts = getattr(error, "status_code", None) not in _CANNOT
            except (ValueError, AttributeError):
                self._counts = False  # an answer of something else than the Messages API
        return None

    async def post(self, body: bytes, *, counting: bool = False) -> httpx2.Response:
        """The live answer to a request; for `_Answer`, which must close it."""
        import httpx2
        from anthropic import AsyncStream

        client = self._client = self._client or self._new_client()
        kind = "application/json" if counting else "text/event-stream"
        headers = {**RAW_RESPONSE, "Accept": kind}
        if client.api_key is not None and "x-api-key" not in map(str.lower, self._headers):
            # The SDK sends the key as a bearer token only; servers like the API's own, and most
            # gateways, look for this header too.
            headers["x-api-key"] = client.api_key
        if self._editing and not counting:
            body = b"%b%b}" % (body[:-1], self._editing)
        answer = await client.post(
            "/v1/messages/count_tokens" if counting else "/v1/messages",
            content=body,
            cast_to=httpx2.Response,
            stream=True,
            stream_cls=AsyncStream[bytes],
            options={"headers": headers},
        )
        return cast(httpx2.Response, answer)  # what that header makes of it

    @property
    def address(self) -> str:
        """Where requests go, without path and credentials."""
        if self._client is None:
            return self._base_url or "the model's server"
        url = self._client.base_url
        return f"{url.scheme}://{url.host}{f':{url.port}' if url.port else ''}"

    async def aclose(self) -> None:
        """Close the connections. A later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _new_client(self) -> AsyncAnthropic:
        import httpx2
        from anthropic import AsyncAnthropic

        # Reading is bounded by our own limits, which know what counts as an event.
        timeout = httpx2.Timeout(None, connect=_CONNECT_S)
        pool = httpx2.AsyncClient(
            verify=_ssl_context(),
            timeout=timeout,
            limits=httpx2.Limits(
                max_connections=_CONNECTIONS,
                max_keepalive_connections=_CONNECTIONS,
                keepalive_expiry=_KEEP_ALIVE_S,
            ),
            follow_redirects=False,  # x-api-key would go along to wherever it points
        )
        return AsyncAnthropic(
            base_url=self._base_url,
            api_key=self._api_key,
            auth_token=self._auth_token,
            default_headers=self._headers,
            max_retries=0,
            timeout=timeout,
            http_client=pool,
            open_telemetry=False,
        )


class _Answer:
    """One request under way: read in steps, so that no yield stands inside a cancel scope."""

    def __init__(self, model: AnthropicModel, request: Request, outgoing: Outgoing) -> None:
        self.over = False
        self._model, self._request, self._outgoing = model, request, outgoing
        self._parser = SseParser()
        self._assembler = ReplyAssembler(
            model=request.model,
            new_id=model.new_id,
            taken=outgoing.tool_ids,
            raw_events=model.raw_events,
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
        except _foreseen() as error:
            failure = failures.raised(error, self._asked(), streaming=self._response is not None)
            if failure is None:
                raise
            self._fail(failure)
        return []

    async def _step(self) -> list[ModelEvent]:
        limits, began = self._model.limits, time.monotonic()
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
        self._response = await self._model.post(self._outgoing.body)
        # Unpacked by httpx2 only where it is packed: that costs CPU with each chunk.
        packed = self._response.headers.get("content-encoding", "identity") != "identity"
        self._chunks = self._response.aiter_bytes() if packed else self._response.aiter_raw()

    async def _take(self, chunk: bytes) -> list[ModelEvent]:
        if len(self._begins) < _SHOWN_BYTES:
            self._begins = (self._begins + chunk)[:_SHOWN_BYTES]
        events = self._parser.feed(chunk)
        progress = self._assembler.progress
        told = self._assembler.feed(events)
        if self._assembler.progress != progress or (events and not self._any_event):
            self._waited_idle = 0.0
        self._any_event = self._any_event or bool(events)
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
            except _foreseen():
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
        assembler = self._assembler
        cost = price(assembler.model, assembler.usage)
        if cost is None:
            cost = price(self._request.model, assembler.usage)
        if self._failure is not None:
            nothing = not assembler.started
            return Failed(
                failure=self._failure, usage=assembler.usage, cost=0.0 if nothing else cost
            )
        reply = assembler.reply(self._headers.get("request-id"))
        return Replied(reply=reply, usage=assembler.usage, cost=cost)

    def _fail(self, failure: Failure) -> None:
        self._failure, self.over = failure, True

    def _expired(self) -> Failure:
        limits = self._model.limits
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
            address=self._model.address,
            now=self._model.time(),
            outgoing=self._outgoing,
        )


def _with_beta(headers: Mapping[str, str], beta: str) -> dict[str, str]:
    """`headers` with one more beta; what the user named stays."""
    name = next((name for name in headers if name.lower() == "anthropic-beta"), "anthropic-beta")
    named = [one.strip() for one in headers.get(name, "").split(",") if one.strip()]
    return {**headers, name: ",".join(dict.fromkeys((*named, beta)))}


def _load() -> None:
    importlib.import_module("anthropic")


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes longer than many a request."""
    import httpx2

    return httpx2.create_ssl_context()


@functools.cache
def _foreseen() -> tuple[type[Exception], ...]:
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
