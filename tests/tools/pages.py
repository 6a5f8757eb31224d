"""A web server on loopback that answers each path with the bytes it is told to."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from attrs import define, field

Answer = bytes | Callable[[StreamWriter], Awaitable[None]]


def answer(
    body: bytes = b"", kind: str = "text/html", status: str = "200 OK", **headers: str
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close"]
    if kind:
        lines.append(f"content-type: {kind}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def to(location: str) -> bytes:
    return answer(status="302 Found", location=location)


async def send(stream: StreamWriter, data: bytes) -> None:
    stream.write(data)
    await stream.drain()


@define
class Site:
    port: int = 0
    answers: dict[str, Answer] = field(factory=dict)
    asked: list[str] = field(factory=list)  # the paths
    requests: list[str] = field(factory=list)
    _tasks: set[asyncio.Task[None]] = field(factory=set)

    def at(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = head.split(" ", 2)[1]
            self.asked.append(path)
            self.requests.append(head)
            said = self.answers.get(path, answer(b"no such page", status="404 Not Found"))
            if isinstance(said, bytes):
                await send(writer, said)
            else:
                await said(writer)
        writer.close()
        self._tasks.discard(task)

    async def end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    there = Site()
    server = await asyncio.start_server(there.serve, "127.0.0.1")
    there.port = server.sockets[0].getsockname()[1]
    yield there
    server.close()
    await there.end()
