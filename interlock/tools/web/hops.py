"""One fetch over HTTP, hop by hop: each is judged by itself, and none leaves the host.

A connection goes to an address that was judged (see `addresses`), with the name kept for TLS and
the Host header. No proxy is used: behind one, nobody could say which address is reached.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any

from attrs import frozen

from interlock.tools.tool import ToolError
from interlock.tools.web.addresses import Network, NotAllowed
from interlock.tools.web.body import BadBody, Kind, Unpacked

if TYPE_CHECKING:
    import httpcore2
    import httpx2

MOST_HOPS = 5
_BETWEEN_PROGRESS_S = 1.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+")  # names, and IPv6 addresses
_HEADERS = (
    (b"User-Agent", b"interlock (a coding agent)"),
    (b"Accept", b"text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5"),
    (b"Accept-Encoding", b"gzip, deflate"),
)


@frozen(kw_only=True)
class Page:
    """What came back in the end."""

    url: str
    status: int
    kind: Kind
    data: bytes
    cut: bool  # there was more than may be read


@frozen(kw_only=True)
class Elsewhere:
    """The host sends us to another one: that is a question of its own."""

    url: str
    target: str


def parsed(written: str) -> httpx2.URL:
    """The one reading of an address: permission, checks and connection all go by it."""
    import httpx2

    try:
        url = httpx2.URL(written.strip())
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise ToolError(f"{written!r} is no address that can be fetched: {error}.") from error
    if url.scheme not in ("http", "https") or not _HOST.fullmatch(host_of(url)):
        raise ToolError(
            f"{written!r} cannot be fetched: only http and https addresses can, written in full."
        )
    if url.userinfo:
        raise ToolError("An address with a user name or password in it is not fetched.")
    return url.copy_with(fragment=None)


def host_of(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii").rstrip(".").lower()


def port_of(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


async def fetched(
    url: httpx2.URL, network: Network, *, most: int, progress: Callable[[str], None]
) -> Page | Elsewhere:
    """Follow the address as far as its host goes. Raises `ToolError`."""
    for _ in range(MOST_HOPS + 1):
        found = await _hop(url, network, most, progress)
        if isinstance(found, Page):
            return found
        if not _same_host(url, found):
            await _judged(found, network)
            return Elsewhere(url=str(url), target=str(found))
        url = found
    raise ToolError(f"{url} redirects in a circle, or more than {MOST_HOPS} times.")


async def _judged(url: httpx2.URL, network: Network) -> None:
    """Raise if a redirect leads where nobody may go; it is not followed either way."""
    try:
        await network.addresses(host_of(url), port_of(url))
    except NotAllowed as error:
        raise ToolError(f"The page redirects to {url}, which is refused: {error}") from error
    except OSError:
        return  # that it has no address is for the call to tell that goes there


def _same_host(old: httpx2.URL, new: httpx2.URL) -> bool:
    if host_of(old) != host_of(new):
        return False
    upgraded = (old.scheme, port_of(old), new.scheme, port_of(new)) == ("http", 80, "https", 443)
    return upgraded or (old.scheme, port_of(old)) == (new.scheme, port_of(new))


async def _hop(
    url: httpx2.URL, network: Network, most: int, progress: Callable[[str], None]
) -> Page | httpx2.URL:
    """One request: the page, or where it redirects to."""
    import httpcore2

    try:
        async with httpcore2.AsyncConnectionPool(network_backend=_backend(network)) as pool:
            target = httpcore2.URL(
                scheme=url.raw_scheme,
                host=url.raw_host,
                port=url.port,
                target=url.raw_path,
            )
            async with pool.stream("GET", target, headers=_HEADERS) as response:
                return await _answer(url, response, most, progress)
    except NotAllowed as error:
        raise ToolError(f"Not fetched: {error}") from error
    except BadBody as error:
        raise ToolError(f"What {url} sent cannot be read: {error}.") from error
    except OSError as error:
        raise ToolError(f"{url} cannot be reached: {error}.") from error
    except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
        raise ToolError(f"{url} cannot be reached: {_said(error)}.") from error
    except httpcore2.ProtocolError as error:
        raise ToolError(f"{url} does not answer as HTTP does: {_said(error)}.") from error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


async def _answer(
    url: httpx2.URL, response: httpcore2.Response, most: int, progress: Callable[[str], None]
) -> Page | httpx2.URL:
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
    }
    if response.status in _REDIRECTS and "location" in headers:
        import httpx2

        try:
            return parsed(str(url.join(headers["location"])))
        except (ToolError, httpx2.InvalidURL) as error:
            raise ToolError(f"{url} redirects to what cannot be followed: {error}") from error
    body = Unpacked(headers.get("content-encoding", ""), most)
    told, packed = monotonic(), 0
    async for piece in response.aiter_stream():
        packed += len(piece)
        # A packed body that unpacks to nothing could go on for ever.
        if not body.take(piece) or packed > most:
            body.cut = True
            break
        if monotonic() - told > _BETWEEN_PROGRESS_S:
            told = monotonic()
            progress(f"{len(body.data):,} bytes so far\n")
    data = bytes(body.data)
    kind = Kind.of(headers.get("content-type", ""), data)
    return Page(url=str(url), status=response.status, kind=kind, data=data, cut=body.cut)


def _backend(network: Network) -> httpcore2.AsyncNetworkBackend:
    """Connections to judged addresses only."""
    import httpcore2

    class Judged(httpcore2.AnyIOBackend):
        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> httpcore2.AsyncNetworkStream:
            problem: Exception | None = None
            for address in await network.addresses(host, port):
                try:
                    return await super().connect_tcp(address, port, timeout)
                except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                    problem = error
            assert problem is not None
            raise problem

    return Judged()
