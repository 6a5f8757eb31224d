"""An address of this machine that a browser is sent back to after a login, once.

Just as much HTTP as a browser's GET needs. Knows nothing of tokens: what stood behind the question
mark is what comes of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketStream
from attrs import define, field

PATH = "/callback"
_LONGEST = 16_384  # bytes of a request that are read
_PATIENCE_S = 10.0  # for a request to come whole
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>Interlock</title><p>That is all: you can close this"
    " page and go back to the terminal."
)


@define
class Redirect:
    """`url` is the address; `answer` waits for what the browser brings."""

    url: str
    _came: anyio.Event = field(factory=anyio.Event)
    _query: dict[str, str] = field(factory=dict)

    async def answer(self) -> Mapping[str, str]:
        await self._came.wait()
        return self._query

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(_PATIENCE_S):
                target = await _target(stream)
                there = urlsplit(target).path == PATH
                await stream.send(_response("200 OK", _PAGE) if there else _response("404", ""))
                if there and not self._came.is_set():
                    asked = parse_qs(urlsplit(target).query)
                    self._query = {name: values[0] for name, values in asked.items()}
                    self._came.set()


@asynccontextmanager
async def awaited(port: int) -> AsyncIterator[Redirect]:
    """Listen, on this machine alone; 0: on any port. Raises OSError where it is taken."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port) as server:
        taken = server.extra(anyio.abc.SocketAttribute.local_port)
        redirect = Redirect(f"http://127.0.0.1:{taken}{PATH}")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, redirect.serve)
            yield redirect
            tasks.cancel_scope.cancel()


async def _target(stream: SocketStream) -> str:
    """What a request asks for; "" where it is none."""
    read = b""
    try:
        while b"\r\n\r\n" not in read and len(read) < _LONGEST:
            read += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return ""
    words = read.partition(b"\r\n")[0].decode("latin-1").split()
    return words[1] if len(words) == 3 and words[0] == "GET" else ""


def _response(status: str, page: str) -> bytes:
    body = page.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
