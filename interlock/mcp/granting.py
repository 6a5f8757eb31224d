"""The package's OAuth providers, as they are used here: with a login that is kept, and without.

Imports the package, so it is imported where a connection is made, and only then.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import httpx2
from attrs import define, field
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from interlock.mcp.definitions import Definition
from interlock.mcp.oauth import OAuth
from interlock.mcp.tokens import Login, Tokens

_EARLY_S = 30.0  # a token is renewed before it has run out on the way
_ENDED = "the login has ended, and cannot be renewed"

Show: TypeAlias = Callable[[str], Awaitable[None]]
Answer: TypeAlias = Callable[[], Awaitable[AuthorizationCodeResult]]


@define
class _Kept:
    """A storage of the package, over our file."""

    definition: Definition
    tokens: Tokens
    client: OAuthClientInformationFull | None = None
    metadata: Callable[[], OAuthMetadata | None] = lambda: None

    async def get_tokens(self) -> OAuthToken | None:
        login = self.tokens.of(self.definition)
        return None if login is None else OAuthToken.model_validate(login.tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        metadata, lasts = self.metadata(), tokens.expires_in
        assert self.client is not None
        login = Login(
            tokens=tokens.model_dump(mode="json", exclude_none=True),
            client=self.client.model_dump(mode="json", exclude_none=True),
            metadata=None
            if metadata is None
            else metadata.model_dump(mode="json", exclude_none=True),
            ends=None if lasts is None else time.time() + lasts - _EARLY_S,
        )
        self.tokens.keep(self.definition, login)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@define
class _Forgotten:
    """A storage for tokens that anybody who knows the secret gets anew."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = field(default=None)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def for_a_program(definition: Definition, oauth: OAuth, secret: str) -> httpx2.Auth:
    """Client credentials; the secret is shown to the issuer that the definition names, only."""
    return ClientCredentialsOAuthProvider(
        server_url=definition.url,
        storage=_Forgotten(),
        client_id=oauth.client_id,
        client_secret=secret,
        scope=oauth.scopes or None,
        issuer=oauth.issuer,
    )


class Renewing(OAuthClientProvider):
    """A login that was made before: renewed as long as it can be, and never asked for."""

    def __init__(self, definition: Definition, tokens: Tokens, login: Login) -> None:
        self._kept = _Kept(
            definition, tokens, client=OAuthClientInformationFull.model_validate(login.client)
        )
        metadata = OAuthClientMetadata(
            redirect_uris=None, grant_types=["authorization_code", "refresh_token"]
        )
        super().__init__(definition.url, metadata, self._kept)
        self._kept.metadata = lambda: self.context.oauth_metadata

    async def _initialize(self) -> None:
        await super()._initialize()
        self._take_up()

    def _take_up(self) -> None:
        """What the package does not keep: until when a token is good, and who renews it."""
        login = self._kept.tokens.of(self._kept.definition)
        if login is None:
            return
        self.context.current_tokens = OAuthToken.model_validate(login.tokens)
        self.context.token_expiry_time = login.ends
        if login.metadata is not None:
            self.context.oauth_metadata = OAuthMetadata.model_validate(login.metadata)

    async def _refresh_token(self) -> httpx2.Request:
        self._take_up()  # another process may have renewed it, and what we hold is void
        return await super()._refresh_token()

    async def _perform_authorization(self) -> httpx2.Request:
        """The server refused a token before its time."""
        if not self.context.can_refresh_token():
            raise OAuthFlowError(_ENDED)
        return await self._refresh_token()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        if not await self._handle_refresh_response(response):
            raise OAuthFlowError(_ENDED)


def for_a_person(
    definition: Definition,
    oauth: OAuth,
    secret: str,
    tokens: Tokens,
    *,
    back_to: str,
    show: Show,
    answer: Answer,
) -> httpx2.Auth:
    """A login: `show` is given the address that a person must open, `answer` waits for what the
    browser brings `back_to` us. What comes of it is kept."""
    metadata = OAuthClientMetadata(
        client_name="Interlock",
        redirect_uris=[AnyUrl(back_to)],
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="client_secret_post" if secret else "none",
        scope=oauth.scopes or None,
    )
    client = None
    if oauth.client_id:
        client = OAuthClientInformationFull(
            **metadata.model_dump(), client_id=oauth.client_id, client_secret=secret or None
        )
    kept = _Kept(definition, tokens, client=client)
    provider = _LoggingIn(definition.url, metadata, kept, show, answer)
    kept.metadata = lambda: provider.context.oauth_metadata
    return provider


class _LoggingIn(OAuthClientProvider):
    """Who logs in anew does so because what is kept is of no use."""

    async def _initialize(self) -> None:
        self.context.client_info = await self.context.storage.get_client_info()
        self._initialized = True
