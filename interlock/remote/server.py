"""The HTTP side of `interlock serve`: who may come in, and four things that can be asked.

`POST /v1/runs` begins a run, `GET …/ID/lines?after=N` reads it, `POST …/ID/answers` answers a
question about a call, `POST …/ID/stop` ends it. Every request carries the token.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import orjson
import uvicorn
from attrs import frozen
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from interlock.remote.hosting import Host, Hosted
from interlock.remote.wire import (
    RUNS,
    VERSION,
    Answered,
    Garbled,
    Order,
    Welcome,
    decoded,
    encoded,
)

_LARGEST = 64_000_000  # bytes of a request: an errand, a fork with its conversation
_GRACEFUL_S = 8  # from the first signal to the end, whatever still runs
_BACKLOG = 64

Handler = Callable[[Request], Awaitable[Response]]


@frozen(kw_only=True)
class Service:
    """The four routes over one host."""

    host: Host
    token: str

    def app(self) -> Starlette:
        routes = [
            Route(RUNS, self._guarded(self._begin), methods=["POST"]),
            Route(f"{RUNS}/{{id}}/lines", self._guarded(self._lines), methods=["GET"]),
            Route(f"{RUNS}/{{id}}/answers", self._guarded(self._answer), methods=["POST"]),
            Route(f"{RUNS}/{{id}}/stop", self._guarded(self._stop), methods=["POST"]),
        ]
        return Starlette(routes=routes, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            self.host.tasks = tasks
            try:
                yield
            finally:
                self.host.stop()
                tasks.cancel_scope.cancel()

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
                return _refusal(401, "the token is missing or wrong")
            try:
                return await handler(request)
            except Garbled as error:
                return _refusal(400, str(error))

        return guarded

    async def _begin(self, request: Request) -> Response:
        said = await _body(request)
        version = said.get("version") if isinstance(said, dict) else None
        if version != VERSION:
            return _refusal(409, f"this server speaks version {VERSION}, not {version}")
        if self.host.closing:
            return _refusal(503, "the server is ending")
        hosted = self.host.begin(decoded(said, Order))
        return JSONResponse(encoded(Welcome(id=hosted.id, root=self.host.root)), 201)

    async def _lines(self, request: Request) -> Response:
        after = request.query_params.get("after", "0")
        if not (after.isascii() and after.isdigit()):
            return _refusal(400, "after is no number")
        lines = self._named(request).read(int(after))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    async def _answer(self, request: Request) -> Response:
        known = self._named(request).answer(decoded(await _body(request), Answered))
        return Response(status_code=204) if known else _refusal(409, "no such question waits")

    async def _stop(self, request: Request) -> Response:
        self._named(request).stop()
        return Response(status_code=204)

    def _named(self, request: Request) -> Hosted:
        hosted = self.host.runs.get(request.path_params["id"])
        if hosted is None:
            raise HTTPException(404, "no such run")
        return hosted


async def _body(request: Request) -> object:
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > _LARGEST:
            raise HTTPException(413, f"more than {_LARGEST:,} bytes")
    try:
        return orjson.loads(bytes(read))
    except orjson.JSONDecodeError as error:
        raise Garbled(f"the body is no JSON: {error}") from error


def _refusal(code: int, why: str) -> Response:
    return JSONResponse({"error": why}, code)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises OSError: busy, or not an address of ours."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class Server(uvicorn.Server):
    """uvicorn's, whose end others ask for: signals are ours."""

    def __init__(self, service: Service) -> None:
        self._service = service
        config = uvicorn.Config(
            service.app(),
            lifespan="on",
            log_level="warning",
            timeout_graceful_shutdown=_GRACEFUL_S,
        )
        super().__init__(config)

    def end(self) -> None:
        """Take nothing new, end all runs, let each say so, and return from `serve`."""
        self._service.host.stop()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
