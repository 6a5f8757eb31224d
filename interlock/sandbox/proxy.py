"""The only way out of a sandbox: an HTTP proxy on a Unix socket that knows a list of hosts.

Tunnels (CONNECT) and plain requests with an absolute address. A name is resolved here, and the
address that was looked at is the one that is connected to; an address of this machine or its own
network is refused, unless it is listed as such. Reads no more of a request than its head.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import h11
from anyio.abc import ByteStream, SocketStream
from attrs import define, field, frozen

_HEAD = 64 * 1024  # bytes of a request's head
_HEAD_S = 30.0
_CONNECT_S = 30.0
_CHUNK = 1 << 16


class Refused(Exception):
    """Why a request was not let through, in words for whoever made it."""


@frozen(kw_only=True)
class Target:
    """Where a request wants to go."""

    host: str
    port: int
    tunnel: bool
    head: bytes  # what is to be sent there first, of a plain request


@define(kw_only=True)
class Proxy:
    """`domains` are names (`github.com`), names with any below them (`*.github.com`), addresses.

    `refused` is told of each host that was asked for in vain.
    """

    domains: tuple[str, ...]
    refused: Callable[[str], None] = field(default=lambda host: None)

    @asynccontextmanager
    async def serving(self, path: Path) -> AsyncIterator[None]:
        """Serve on the Unix socket `path` until the context is left."""
        listener = await anyio.create_unix_listener(path, mode=0o600)
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, self._serve)
            yield
            tasks.cancel_scope.cancel()

    async def _serve(self, client: SocketStream) -> None:
        async with client:
            try:
                with anyio.fail_after(_HEAD_S):
                    target = await _asked(client)
                server = await self._connected(target)
            except Refused as refused:
                await _answer(client, "403 Forbidden", str(refused))
            except (OSError, TimeoutError, h11.ProtocolError) as error:
                await _answer(client, "502 Bad Gateway", str(error) or "no answer in time")
            except anyio.EndOfStream:
                pass
            else:
                await _joined(client, server, target)

    async def _connected(self, target: Target) -> SocketStream:
        if not self.allows(target.host):
            self.refused(target.host)
            raise Refused(
                f"{target.host} is not among the hosts this sandbox may reach "
                "(sandbox.network.allowedDomains)"
            )
        with anyio.fail_after(_CONNECT_S):
            address = await self._address(target)
            return await anyio.connect_tcp(address, target.port)

    async def _address(self, target: Target) -> str:
        found = await anyio.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        for *_, address in found:
            ip = ipaddress.ip_address(str(address[0]).partition("%")[0])
            if _is_public(ip) or target.host in self.domains:
                return str(address[0])
        self.refused(target.host)
        raise Refused(f"{target.host} leads into this machine's own network")

    def allows(self, host: str) -> bool:
        """Whether a host is on the list; an address is only if it is listed itself."""
        return any(
            host == domain or (domain.startswith("*.") and host.endswith(domain[1:]))
            for domain in map(str.lower, self.domains)
        )


def _is_public(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    inner = getattr(ip, "ipv4_mapped", None) or ip
    return bool(inner.is_global) and not inner.is_multicast


async def _asked(client: SocketStream) -> Target:
    """The target that the head of a request names."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
    event: object = connection.next_event()
    while event is h11.NEED_DATA:
        connection.receive_data(await client.receive(_CHUNK))
        event = connection.next_event()
    if not isinstance(event, h11.Request):
        raise Refused("that is no request")
    rest = connection.trailing_data[0]
    asked = event.target.decode("ascii")
    if event.method == b"CONNECT":
        host, port = _place(f"//{asked}", None)
        return Target(host=host, port=port, tunnel=True, head=rest)
    parts = urlsplit(asked)
    if parts.scheme != "http":
        raise Refused("a proxy is asked with an absolute http:// address, or CONNECT")
    host, port = _place(asked, 80)
    path = parts._replace(scheme="", netloc="").geturl() or "/"
    return Target(host=host, port=port, tunnel=False, head=_head(event, path) + rest)


def _place(address: str, default: int | None) -> tuple[str, int]:
    parts = urlsplit(address)
    try:
        port = parts.port or default
    except ValueError:
        port = None
    if not parts.hostname or port is None:
        raise Refused("no host and port in it")
    return parts.hostname.lower().rstrip("."), port


def _head(request: h11.Request, path: str) -> bytes:
    """For the server itself; one request a connection, so that each is looked at."""
    dropped = (b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive")
    lines = [b"%b %b HTTP/1.1" % (request.method, path.encode())]
    lines += [b"%b: %b" % pair for pair in request.headers if pair[0].lower() not in dropped]
    return b"\r\n".join([*lines, b"connection: close", b"", b""])


async def _answer(client: SocketStream, status: str, why: str) -> None:
    body = f"interlock sandbox: {why}\n".encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: text/plain\r\nconnection: close\r\n"
    with suppress(OSError, anyio.BrokenResourceError):  # nobody waits for it
        await client.send(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)


async def _joined(client: SocketStream, server: SocketStream, target: Target) -> None:
    async with server:
        if target.tunnel:
            await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        if target.head:
            await server.send(target.head)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_pumped, client, server)
            tasks.start_soon(_pumped, server, client)


async def _pumped(one: ByteStream, other: ByteStream) -> None:
    try:
        async for data in one:
            await other.send(data)
        await other.send_eof()
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await one.aclose()
        await other.aclose()
