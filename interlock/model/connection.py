"""The connections to one server, shared by all agents of a session: one pool, one sign-in.

Opened with the first request. Knows nothing of what is sent.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    import ssl

    from anthropic import AsyncAnthropic

_CONNECT_S = 10.0  # a server that is there accepts within this time, however slow it thinks
_KEEP_ALIVE_S = 60.0  # tools run between two requests; a new TLS connection costs more than this
# Beside the requests that may be under way at once: captions, counts. A pool is searched through
# for each request, so one that many loops share costs CPU: it is no larger than it must be.
_SPARE = 4


@define(kw_only=True)
class Connection:
    """What is None is read from the environment by the SDK. `api_key` goes before `auth_token`."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(factory=dict)
    most: int = 4  # requests at once
    _client: AsyncAnthropic | None = None

    def client(self) -> AsyncAnthropic:
        if self._client is None:
            self._client = self._new_client()
        return self._client

    @property
    def address(self) -> str:
        """Where requests go, without path and credentials."""
        if self._client is None:
            return self.base_url or "the model's server"
        url = self._client.base_url
        return f"{url.scheme}://{url.host}{f':{url.port}' if url.port else ''}"

    async def aclose(self) -> None:
        """Close them. A later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _new_client(self) -> AsyncAnthropic:
        import httpx2
        from anthropic import AsyncAnthropic

        # Reading is bounded by our own limits, which know what counts as an event.
        timeout = httpx2.Timeout(None, connect=_CONNECT_S)
        most = self.most + _SPARE
        pool = httpx2.AsyncClient(
            verify=_ssl_context(),
            timeout=timeout,
            limits=httpx2.Limits(
                max_connections=most,
                max_keepalive_connections=most,
                keepalive_expiry=_KEEP_ALIVE_S,
            ),
            follow_redirects=False,  # x-api-key would go along to wherever it points
        )
        return AsyncAnthropic(
            base_url=self.base_url,
            api_key=self.api_key,
            auth_token=self.auth_token,
            default_headers=self.headers,
            max_retries=0,
            timeout=timeout,
            http_client=pool,
            open_telemetry=False,
        )


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes longer than many a request."""
    import httpx2

    return httpx2.create_ssl_context()
