"""One HTTP/1.1 connection of a client, over asyncio streams and h11.

Gives requests, takes answers, notices a client that leaves, and can cut the line. Knows nothing
of the Messages API.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Iterable, Mapping

import attrs
import h11

_READ = 256 * 1024
_HEADERS = 64 * 1024  # h11's 16 KiB is too little for long beta lists
BUFFER = 1024 * 1024  # of the stream reader: a long history then comes in few steps
_LINGER_OFF = struct.pack("ii", 1, 0)  # close sends RST at once


@attrs.frozen(kw_only=True)
class HttpRequest:
    """A request as it came."""

    method: str
    path: str  # without the query
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    too_large: bool  # then the body is not whole


class Connection:
    """A client's connection; `next_request` and the sending methods alternate."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, max_body: int
    ) -> None:
        self._reader, self._writer, self._max_body = reader, writer, max_body
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEADERS)
        self._early = b""  # sent by the client while it was still being answered
        # drain() then waits until all bytes are with the kernel, so that a reset or a stall
        # never swallows what was sent before it.
        writer.transport.set_write_buffer_limits(high=0)

    async def next_request(self) -> HttpRequest | None:
        """The next request, or None when the client has gone or does not speak HTTP."""
        try:
            return await self._next_request()
        except h11.RemoteProtocolError:
            return None

    async def _next_request(self) -> HttpRequest | None:
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        body: list[bytes] = []
        size = 0
        # A body over the limit is read to its end all the same, and dropped: a client that is
        # still sending would not read the refusal.
        while isinstance(event := await self._next_event(), h11.Data):
            size += len(event.data)
            if size <= self._max_body:
                body.append(bytes(event.data))
        if not isinstance(event, h11.EndOfMessage):
            return None
        return HttpRequest(
            method=head.method.decode(),
            path=head.target.decode().partition("?")[0],
            headers={name.decode(): value.decode("latin-1") for name, value in head.headers},
            body=b"".join(body),
            too_large=size > self._max_body,
        )

    async def _next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            if self._h11.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
                await self._send(go_on)
            data, self._early = self._early, b""
            self._h11.receive_data(data or await self._reader.read(_READ))
        return event

    async def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """A whole answer at once."""
        length = {"content-length": str(len(body))}
        await self._send(_head(status, {**headers, **length}), h11.Data(body), h11.EndOfMessage())

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of a streamed answer."""
        await self._send(_head(status, headers))

    async def send(self, data: bytes) -> None:
        """A piece of a streamed answer; returns when the kernel has it."""
        await self._send(h11.Data(data))

    async def end(self) -> None:
        """The end of a streamed answer, as HTTP has it."""
        await self._send(h11.EndOfMessage())

    async def stream(self, head: Mapping[str, str], pieces: Iterable[bytes]) -> None:
        """A streamed answer without pauses, in one write."""
        data = [h11.Data(piece) for piece in pieces]
        await self._send(_head(200, head), *data, h11.EndOfMessage())

    async def _send(self, *events: h11.Event) -> None:
        self._writer.write(b"".join([self._h11.send(event) or b"" for event in events]))
        await self._writer.drain()

    async def wait(self, seconds: float | None) -> bool:
        """Let time pass (None: for ever); False as soon as the client has left."""
        try:
            async with asyncio.timeout(seconds):
                while data := await self._reader.read(_READ):
                    self._early += data
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        return False

    def reset(self) -> None:
        """Cut the line: the client sees a reset, not an end."""
        sock = self._writer.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_OFF)
        self._writer.transport.abort()

    def recycle(self) -> bool:
        """Make ready for the next request on this line; False if it must be closed."""
        if self._h11.our_state is not h11.DONE or self._h11.their_state is not h11.DONE:
            return False
        self._h11.start_next_cycle()
        return True


def _head(status: int, headers: Mapping[str, str]) -> h11.Response:
    return h11.Response(status_code=status, headers=list(headers.items()), reason=b"")
